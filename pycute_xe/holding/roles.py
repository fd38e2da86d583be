"""Floor 8: fragments of kernels whose subgroups do different things: each has one set of owners."""

from __future__ import annotations

from pycute_xe.holding.contents import undecided
from pycute_xe.holding.follower import situated
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.ir.roles import doing

__all__ = ["check_roles"]


def check_roles(kernel: Kernel) -> None:
    """Demand that whoever reads a fragment has written all of it. Raises `UndecidableError`."""
    writers: dict[str, tuple[bool, ...]] = {}
    touching = list(situated(kernel.body))
    for statement, around in touching:
        mine = doing(around, kernel.subgroups)
        for name in (*statement.touched.writes, *statement.touched.updates):
            if writers.setdefault(name, mine) != mine:
                raise undecided(
                    f"{name} is written by different subgroups in different statements",
                    "give each of them a fragment of its own",
                )
    for statement, around in touching:
        mine = doing(around, kernel.subgroups)
        for name in (*statement.touched.reads, *statement.touched.updates):
            if any(
                one and not other for one, other in zip(mine, writers.get(name, mine), strict=True)
            ):
                raise undecided(f"{name} is read by subgroups that do not write it")
