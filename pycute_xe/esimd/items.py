"""Where a thread is in its launch: ``nd_item`` of one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, cast

from pycute_xe.errors import InputError
from pycute_xe.esimd.checks import whole

__all__ = ["MOST_THREADS", "Extents", "Grid", "Item", "grid_of", "items"]

MOST_THREADS = 1 << 15
"""How many threads a launch may have: they run in Python, one after the other."""

Extents = tuple[int, ...]
"""Of a work-group or of the launch, one number for each dimension, the last one fastest."""


@dataclass(frozen=True, slots=True)
class Item:
    """Where a thread is: C++'s ``nd_item`` of one to three dimensions.

    Law: linear numbers are row-major, the *last* dimension is the fastest, as in SYCL.

    >>> item = Item((1, 0, 3), (2, 2, 4), (0, 0, 1), (1, 1, 2))
    >>> item.get_local_id(2), item.get_local_linear_id(), item.get_global_id(2)
    (3, 11, 7)
    """

    local: Extents
    threads: Extents
    group: Extents
    groups: Extents

    def __post_init__(self) -> None:
        """Refuse anything but four tuples of as many integers: `InputError`."""
        given = (self.local, self.threads, self.group, self.groups)
        if any(type(one) is not tuple for one in given) or len({*map(len, given)}) > 1:
            condition = "an item must have four tuples, of one number for each dimension"
            raise InputError("Item", {"given": given}, condition, "Item((3,), (16,), (1,), (2,))")

    def get_local_id(self, dimension: int = 0) -> int:
        """The number of the thread in its work-group, along a dimension.

        >>> Item((3,), (16,), (1,), (2,)).get_local_id(0)
        3
        """
        return self.local[self._at(dimension)]

    def get_local_linear_id(self) -> int:
        """The number of the thread in its work-group, over all dimensions."""
        return _linear(self.local, self.threads)

    def get_local_range(self, dimension: int = 0) -> int:
        """Threads of a work-group along a dimension."""
        return self.threads[self._at(dimension)]

    def get_group(self, dimension: int = 0) -> int:
        """The number of the work-group along a dimension."""
        return self.group[self._at(dimension)]

    def get_group_linear_id(self) -> int:
        """The number of the work-group, over all dimensions."""
        return _linear(self.group, self.groups)

    def get_group_range(self, dimension: int = 0) -> int:
        """Work-groups of the launch along a dimension."""
        return self.groups[self._at(dimension)]

    def get_global_id(self, dimension: int = 0) -> int:
        """The number of the thread in the launch along a dimension.

        >>> Item((3,), (16,), (1,), (2,)).get_global_id(0)
        19
        """
        at = self._at(dimension)
        return self.group[at] * self.threads[at] + self.local[at]

    def get_global_range(self, dimension: int = 0) -> int:
        """Threads of the launch along a dimension."""
        at = self._at(dimension)
        return self.groups[at] * self.threads[at]

    def get_global_linear_id(self) -> int:
        """The number of the thread in the launch, over all dimensions."""
        each = range(len(self.local))
        where = tuple(self.get_global_id(i) for i in each)
        return _linear(where, tuple(self.get_global_range(i) for i in each))

    def _at(self, dimension: int) -> int:
        (found,) = whole("nd_item", dimension=dimension)
        if not 0 <= found < len(self.local):
            number = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}
            raise InputError(
                "nd_item",
                {"dimension": found},
                f"the launch has {number[len(self.local)]}",
                f"use 0 to {len(self.local) - 1}" if len(self.local) > 1 else "use 0",
            )
        return found


@dataclass(frozen=True, slots=True)
class Grid:
    """The extents of a launch: threads of a work-group, and work-groups."""

    threads: Extents
    groups: Extents


def grid_of(threads: object, groups: object) -> Grid:
    """Return the extents of a launch; `InputError` for wrong, different or too many of them.

    One number stands for one dimension; groups of 1 are as many as the threads have dimensions.

    >>> grid_of((2, 2, 4), 1)
    Grid(threads=(2, 2, 4), groups=(1, 1, 1))
    """
    given = {"threads": threads, "groups": groups}
    each, all_groups = _extents("threads", threads), _extents("groups", groups)
    if all_groups == (1,):
        all_groups = (1,) * len(each)
    if len(each) != len(all_groups) or not 1 <= len(each) <= 3:
        condition = "threads and groups must have the same number of dimensions, one to three"
        raise InputError("launch", given, condition, "threads=(2, 2, 4), groups=(1, 1, 8)")
    if min(*each, *all_groups) < 1:
        condition = "a launch needs at least one thread and one group"
        raise InputError("launch", given, condition, "use 1 or more")
    if prod(each) * prod(all_groups) > MOST_THREADS:
        condition = f"threads run one after the other, at most {MOST_THREADS} of them"
        raise InputError("launch", given, condition, "launch a part of the grid")
    return Grid(each, all_groups)


def items(grid: Grid) -> Iterator[tuple[int, list[Item]]]:
    """Yield the number of each work-group and its items, both in linear order.

    >>> [item.local for item in next(items(Grid((1, 2), (1, 1))))[1]]
    [(0, 0), (0, 1)]
    """
    for index, group in enumerate(_places(grid.groups)):
        yield index, [Item(i, grid.threads, group, grid.groups) for i in _places(grid.threads)]


def _extents(name: str, value: object) -> Extents:
    if not isinstance(value, tuple):
        return whole("launch", **{name: value})
    each = cast("tuple[Any, ...]", value)
    return tuple(n for one in each for n in whole("launch", **{name: one}))


def _places(extents: Extents) -> Iterator[Extents]:
    return product(*map(range, extents))


def _linear(where: Extents, extents: Extents) -> int:
    found = 0
    for at, extent in zip(where, extents, strict=True):
        found = found * extent + at
    return found
