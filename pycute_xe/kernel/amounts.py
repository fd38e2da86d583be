"""How much a run takes: bytes of operands, statements that subgroups do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import prod

from pycute_xe.errors import CuteError, InputError
from pycute_xe.kernel.binding import shape_of
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.statements import If, Loop, Statement

__all__ = [
    "MOST_BYTES",
    "MOST_GROUPS",
    "MOST_STEPS",
    "MOST_TRIPS",
    "amount",
    "groups_in",
    "launches",
    "steps",
    "trips",
    "weight",
    "work_in",
]

MOST_BYTES = 1 << 30
"""Bytes of operands that a replay runs; larger counterexamples are refused."""
MOST_STEPS = 1 << 20
"""Statements that the subgroups of a counterexample do, at most."""
MOST_TRIPS = 1 << 20
"""Trips that a run does of one loop, at most; an operand may ask for any number."""
MOST_GROUPS = 1 << 24
"""Work-groups that a run starts, at most."""


def weight(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Return the bytes of all operands of a kernel, 1 at least for each element."""
    total = 0
    for operand in kernel.operands:
        elements = 1
        for extent in shape_of(operand, sizes):
            elements *= extent
        total += elements * max(1, operand.value_type.bits // 8)
    return total


def steps(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Return about how many statements all subgroups do together.

    Bounds of loops that depend on variables are taken where those are 0.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16),
    ...     ((1, 1, 1), (1, 1, 0))), stages=0)
    >>> trip = len(gemm.loop("k").body)
    >>> steps(gemm, {"M": 9, "N": 1, "K": 17}) == 2 * (1 + 2 * trip + 1)
    True
    """
    names = dict(sizes) | {name: 0 for name, _ in kernel.grid}

    def cost(statement: Statement) -> int:
        return 0 if isinstance(statement, (Loop, If)) else 1

    return groups_in(kernel, sizes) * kernel.subgroups * work_in(kernel.body, names, cost)


def groups_in(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Return how many work-groups a grid has, a count that is an operand's element taken as 1."""
    out = 1
    for _, count in kernel.grid:
        with suppress(CuteError):
            out *= max(1, count.at(sizes))
    return out


def work_in(
    body: tuple[Statement, ...], names: Mapping[str, int], cost: Callable[[Statement], int]
) -> int:
    """Return what statements cost together, a loop as often as it repeats them; 1 if unknown."""
    total = 0
    for statement in body:
        total += cost(statement)
        if isinstance(statement, Loop):
            count = 1
            with suppress(CuteError):
                count = max(0, statement.stop.at(names) - statement.start.at(names))
            total += count * work_in(statement.body, {**names, statement.var: 0}, cost)
        elif isinstance(statement, If):
            total += work_in(statement.body, names, cost)
    return total


def trips(loop: Loop, start: int, stop: int) -> range:
    """Return the values that the variable of a loop takes.

    Raises `InputError` for more than `MOST_TRIPS`.

    >>> from pycute_xe.kernel import Index
    >>> trips(Loop("k", Index(), Index("K"), ()), 0, 3)
    range(0, 3)
    """
    if stop - start > MOST_TRIPS:
        asked = dict.fromkeys(x.operand for i in (loop.start, loop.stop) for x in i.looked_up)
        raise InputError(
            "run",
            {"loop": loop.var, "start": start, "stop": stop},
            f"the loop {loop.var} takes {stop - start} trips, a run does at most {MOST_TRIPS}",
            f"correct the bounds in {', '.join(asked)}" if asked else "use smaller sizes",
        )
    return range(start, stop)


def launches(kernel: Kernel, counts: Sequence[int]) -> Sequence[int]:
    """Return how many work-groups lie along each axis of a grid, which may be an operand's element.

    Raises `InputError` for more than `MOST_GROUPS` altogether.
    """
    whole = prod(counts)
    if whole > MOST_GROUPS:
        asked = dict.fromkeys(x.operand for _, i in kernel.grid for x in i.looked_up)
        raise InputError(
            "run",
            {"kernel": kernel.name, "grid": tuple(counts)},
            f"the grid has {whole} work-groups, a run starts at most {MOST_GROUPS}",
            f"correct the counts in {', '.join(asked)}" if asked else "use smaller sizes",
        )
    return counts


def amount(nbytes: int) -> str:
    """Return a number of bytes as it is read.

    >>> amount(512), amount(3 * 2**30)
    ('512 bytes', '3 GiB')
    """
    for exponent, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if nbytes >= 1 << exponent:
            return f"{nbytes / (1 << exponent):.3g} {unit}"
    return f"{nbytes} bytes"
