"""Floor 9: judging whether a fence lies between stores to shared memory and the barrier."""

from __future__ import annotations

from typing import cast

from pycute_xe.arch import Broken
from pycute_xe.arch.rules import Level
from pycute_xe.checking.found import Found
from pycute_xe.errors import UndecidableError
from pycute_xe.facts import rows_for
from pycute_xe.kernel import Kernel

__all__ = ["judge_fences"]


def judge_fences(kernel: Kernel, found: Found) -> None:
    """Refuse a store that another subgroup uses behind a barrier, with no fence before it.

    That a barrier lies between at all is what `verify` proves. Places known only in a run are not
    judged.
    """
    try:
        unfenced = _unfenced(kernel)
    except UndecidableError:
        return
    for row in rows_for("arch", "fence", found.target.name):
        rule, source = cast("str", row["id"]), cast("str", row["source"])
        for array in unfenced:
            broken = Broken(
                rule,
                cast("Level", row["level"]),
                f"no fence lies between the store to {array} and the barrier",
                source,
                "put a Fence() between the SharedStore and the BarrierArrive",
            )
            found.refuse(f"shared array {array}", (broken,))
        if not unfenced:
            condition = "a fence lies between a store and the barrier behind it"
            found.hold("shared memory", rule, condition, source)


def _unfenced(kernel: Kernel) -> list[str]:
    """Return the arrays that are stored to without a fence before the barrier."""
    from pycute_xe.holding.meeting import disorder, has_roles
    from pycute_xe.holding.ordering import clashes

    if has_roles(kernel):
        found = disorder(kernel, {})
        return [found.array] if found is not None and found.unfenced else []
    return [clash.first.statement.array for clash in clashes(kernel) if clash.unfenced]
