"""Floor 10: the sizes of a trial: an interior and an edge tile in every mode, and trips enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import lcm

from pycute_xe.errors import CuteError
from pycute_xe.kernel import AtomicStore, If, Kernel, Load, Loop, Prefetch, Statement, Store
from pycute_xe.kernel.index import Index, Quotient
from pycute_xe.kernel.ir.identities import extents_of
from pycute_xe.kernel.ir.walking import walk

__all__ = ["least_sizes", "telling_sizes", "trips_wanted"]

MORE = 2
"""Trips of a loop beyond its stages."""
MOST_STAGES = 64
"""Stages from which on a loop is taken for one without any: they come from sizes of problems."""


def least_sizes(kernel: Kernel, fixed: Mapping[str, int]) -> dict[str, int]:
    """Return the smallest sizes there are."""
    return dict.fromkeys(extents_of(kernel), 1) | dict(fixed)


def telling_sizes(kernel: Kernel, fixed: Mapping[str, int]) -> dict[str, int]:
    """Return sizes with an interior and an edge tile in every tiled mode, and trips enough.

    No two axes of the grid have as many tiles, where their sizes are free: what stands for
    another shows.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")), stages=2)
    >>> telling_sizes(gemm, {})
    {'M': 387, 'N': 643, 'K': 115}
    """
    units = {name: _unit(kernel, name) for name in extents_of(kernel)}
    counted = [n for _, count in kernel.grid for n in sorted(count.names & {*units})]
    more = {n: i for i, n in enumerate(n for n in dict.fromkeys(counted) if units[n] > 1)}
    sizes = {n: unit + unit // 2 + 3 + unit * more.get(n, 0) for n, unit in units.items()}
    sizes |= dict(fixed)
    for loop, outer in _loops(kernel.body, {}):
        names = (loop.stop.names & set(kernel.sizes)) - fixed.keys()
        wanted = trips_wanted(loop)
        for _ in range(4 * MOST_STAGES if names else 0):
            if _trips(loop, sizes, outer) >= wanted:
                break
            sizes |= {name: sizes[name] + units[name] for name in names}
    return sizes


def trips_wanted(loop: Loop) -> int:
    """Return two trips more than a loop has stages: distances, divisors, limits of conditions."""
    stages, var = 1, loop.var
    ahead = 0
    for statement in (loop, *walk(loop.body)):
        for index in statement.touched.indices:
            step = dict(index.terms).get(var, 0)
            if isinstance(statement, (Prefetch, If)) and step:
                ahead = max(ahead, abs(index.offset) // abs(step))
            for divisor in _divisors(index, var):
                if lcm(stages, divisor) <= MOST_STAGES:
                    stages = lcm(stages, divisor)
    return max(stages, ahead if ahead <= MOST_STAGES else 0) + MORE


def _divisors(index: Index, var: str) -> Iterator[int]:
    """Yield how many steps of a variable the quotients of an index count."""
    for atom, _ in index.terms:
        if isinstance(atom, Quotient) and var in atom.index.names:
            step = abs(dict(atom.index.terms).get(var, 1))
            yield max(1, atom.divisor // step)
            yield from (atom.divisor * inner for inner in _divisors(atom.index, var))


def _unit(kernel: Kernel, size: str) -> int:
    """Return how many elements of a mode make a tile: the largest of small divisors; 1 for none."""
    counts = [count for _, count in kernel.grid]
    counts += [i for s in kernel.statements() for i in s.touched.indices]
    found = [divisor for index in counts for divisor in _divisors(index, size)]
    found += [
        tile
        for s in kernel.statements()
        if isinstance(s, (Load, Store, AtomicStore))
        for mode, tile in zip(s.modes, s.copy.tiler_mn, strict=True)
        if mode is not None and kernel.operand(s.operand).modes[mode] == Index(size)
    ]
    return max((divisor for divisor in found if divisor <= 1024), default=1)


def _loops(
    body: tuple[Statement, ...], outer: Mapping[str, int]
) -> Iterator[tuple[Loop, Mapping[str, int]]]:
    for statement in body:
        if isinstance(statement, Loop):
            yield statement, outer
            yield from _loops(statement.body, {**outer, statement.var: 0})
        elif isinstance(statement, If):
            yield from _loops(statement.body, outer)


def _trips(loop: Loop, sizes: Mapping[str, int], outer: Mapping[str, int]) -> int:
    names = {name: 0 for index in (loop.start, loop.stop) for name in index.names}
    names |= {**outer, **sizes}
    try:
        return loop.stop.at(names) - loop.start.at(names)
    except CuteError:  # it depends on an element of an operand
        return MOST_STAGES + MORE
