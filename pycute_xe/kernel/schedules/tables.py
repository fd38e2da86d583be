"""Floor 7: a plan as the tables that a kernel looks its work up in."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from pycute_xe.errors import KernelError
from pycute_xe.kernel.schedules.plan import Plan
from pycute_xe.signatures import typed

__all__ = ["FIELDS", "plan_tables"]

FIELDS = ("m", "n", "group", "start", "stop", "needs", "gives", "first", "last")
"""What a row of ``work`` says of a piece. ``first`` and ``last`` are 1 or 0."""


@typed
def plan_tables(plan: Plan, stacked: bool = False) -> dict[str, Any]:
    """Return the operands, arrays, that make `pycute_xe.kernel.scheduled` follow a plan.

    ``work[u, i]`` has the `FIELDS` of piece i of unit u, ``count[u]`` says how many it has.
    ``stacked`` counts rows of tiles through all groups, as they lie one after the other.
    Raises `KernelError` for a plan without pieces.

    >>> from pycute_xe.kernel.schedules import StreamK
    >>> tables = plan_tables(StreamK(4, least=4).plan((3, 1, 16)))
    >>> {name: table.shape for name, table in tables.items()}
    {'work': (4, 2, 9), 'count': (4,)}
    """
    import numpy as np

    most = max(map(len, plan.units), default=0)
    if not most:
        raise KernelError("plan_tables", {"plan": plan}, "the plan has no pieces", "give tiles")
    above = [0, *accumulate(m for m, _, _ in plan.groups)] if stacked else [0] * len(plan.groups)
    work = np.zeros((len(plan.units), most, len(FIELDS)), np.int32)
    for unit, pieces in enumerate(plan.units):
        for i, p in enumerate(pieces):
            ends = int(p.turn == 0), int(p.turn == p.parts - 1)
            m = p.m + above[p.group]
            work[unit, i] = (m, p.n, p.group, p.start, p.stop, p.needs, p.gives, *ends)
    count = np.array([len(pieces) for pieces in plan.units], np.int32)
    return {"work": work, "count": count}
