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
    Raises `KernelError` for a plan without pieces, with numbers beyond 32 bits or groups that it
    does not have, and for one whose pieces add by atomics alone.

    >>> from pycute_xe.kernel.schedules import StreamK
    >>> tables = plan_tables(StreamK(4, least=4).plan((3, 1, 16)))
    >>> {name: table.shape for name, table in tables.items()}
    {'work': (4, 2, 9), 'count': (4,)}
    """
    import numpy as np

    _check(plan)
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


def _check(plan: Plan) -> None:
    """Refuse what no table holds, and what the kernel does otherwise."""
    for piece in (piece for unit in plan.units for piece in unit):
        numbers = (piece.m, piece.n, piece.start, piece.stop, piece.needs, piece.gives)
        wrong, fix = "", "ask covers(plan)"
        if not 0 <= piece.group < len(plan.groups):
            wrong = f"{piece} is of group {piece.group}, the plan has {len(plan.groups)}"
        elif min(numbers) < 0 or max(numbers) >= 1 << 31:
            wrong = f"{piece} needs numbers beyond 32 bits, or below 0"
        elif plan.fixup == "atomic" and piece.parts > 1:
            wrong = "its pieces add to the output by atomics, which no table tells a kernel"
            fix = 'use kernel.split_k(mma, 4), or fixup="unordered"'
        if wrong:
            raise KernelError("plan_tables", {"plan": plan}, wrong, fix)
