"""Sizes around the tiles of a kernel: one above, at and one below, no two of them alike."""

from __future__ import annotations

from functools import partial
from math import prod

from pycute_xe.kernel import Kernel
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.identities import extents_of
from pycute_xe.trials.problems import tile_of, with_trips

__all__ = ["edge_sizes", "least_edges"]


def edge_sizes(kernel: Kernel) -> list[dict[str, int]]:
    """Return sizes one above, at and one below whole tiles of every mode, with trips enough.

    Law: any two sizes differ in one of the three at least, and so do the numbers of work-groups
    along any two axes of the grid: a size or an axis that stands for another shows.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")), stages=2)
    >>> for sizes in edge_sizes(gemm):
    ...     print(sizes)
    {'M': 257, 'N': 257, 'K': 97}
    {'M': 256, 'N': 512, 'K': 128}
    {'M': 255, 'N': 255, 'K': 127}
    """
    units = {name: tile_of(kernel, name) for name in extents_of(kernel)}
    lists: list[dict[str, int]] = []
    for step in (1, 0, -1):
        near = {name: max(1, unit + step) for name, unit in units.items()}
        lists.append(with_trips(kernel, near, {}, units))
    counted = [n for _, count in kernel.grid for n in sorted(count.names & {*units})]
    known: list[str] = []
    for name in dict.fromkeys((*counted, *units)):
        known.append(name)
        longer = (
            [sizes | {name: sizes[name] + units[name] * more}
             for sizes, more in zip(lists, code, strict=True)]
            for code in _TILES_MORE
        )  # fmt: skip
        apart = [each for each in longer if _are_distinct(kernel, known, each)]
        lists = min(apart or [lists], key=partial(_groups, kernel))
    return lists


def least_edges(kernel: Kernel) -> dict[str, int]:
    """Return sizes one below the tile of every mode, with trips enough; 1 for axes of the grid.

    >>> import pycute_xe as cx
    >>> least_edges(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")), stages=2))
    {'M': 255, 'N': 255, 'K': 127}
    """
    units = {name: tile_of(kernel, name) for name in extents_of(kernel)}
    alone = {name for name in units if any(count == Index(name) for _, count in kernel.grid)}
    near = {n: 1 if n in alone else max(1, unit - 1) for n, unit in units.items()}
    return with_trips(kernel, near, {}, units)


_TILES_MORE = ((0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 1), (0, 2, 0), (0, 2, 1))
"""How many tiles more a size may have above, at and below whole tiles."""


def _are_distinct(kernel: Kernel, names: list[str], lists: list[dict[str, int]]) -> bool:
    """Whether sizes differ in one of some lists, and so do axes of the grid that they count."""
    extents = [tuple(sizes[name] for sizes in lists) for name in names]
    axes = dict.fromkeys(
        count for _, count in kernel.grid if count.names <= {*names} and not count.looked_up
    )
    counts = [tuple(count.at(sizes) for sizes in lists) for count in axes if count.names]
    return all(len({*each}) == len(each) for each in (extents, counts))


def _groups(kernel: Kernel, lists: list[dict[str, int]]) -> int:
    """Return how many work-groups some problems have; those that tables count are left out."""
    axes = [count for _, count in kernel.grid if not count.looked_up]
    return sum(prod(count.at(sizes) for count in axes) for sizes in lists)
