"""Floor 9: the points at which a statement is executed, kept as a product of small tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import InputError
from pycute_xe.kernel.index import Index

__all__ = ["Space"]

MOST_ROWS = 1 << 24
"""Rows of a table, at most."""

Ints = NDArray[np.int64]
Axis = Mapping[str, Ints]


@dataclass(frozen=True, eq=False)
class Space:
    """Values of variables: every combination of a row of each axis.

    An axis is a table of variables that depend on one another, with a row for each combination of
    theirs; most have one variable. ``look_up`` gives elements of operands for tables of places,
    ``most`` is the rows that a table may have.

    >>> space = Space({"M": 70}, ({"m": np.arange(3)}, {"n": np.arange(4)}))
    >>> space.size, space.where(Index("m") * 32, Index("M") - 32).size
    (12, 8)
    """

    sizes: Mapping[str, int]
    axes: tuple[Axis, ...]
    look_up: Callable[[str, tuple[Any, ...]], Any] | None = None
    most: int = MOST_ROWS

    @property
    def size(self) -> int:
        """How many points there are."""
        return prod(_rows(axis) for axis in self.axes)

    def _of(self, axes: tuple[Axis, ...]) -> Space:
        return replace(self, axes=axes)

    def _check_rows(self, names: str, rows: int) -> None:
        if rows > self.most:
            raise InputError(
                "count",
                {"variables": names, "values": rows},
                f"{names} has {rows:,} values, must be at most {self.most:,}",
                "take smaller sizes",
            )

    def joined(self, names: Iterable[str]) -> tuple[Space, Axis]:
        """Return the space with the axes of some variables made one, and that axis.

        Raises `InputError` where its points are too many to be listed.
        """
        wanted = set(names)
        mine = [axis for axis in self.axes if wanted & axis.keys()]
        names_of = " x ".join(name for axis in mine for name in axis)
        self._check_rows(names_of, prod(map(_rows, mine)))
        rest = tuple(axis for axis in self.axes if not wanted & axis.keys())
        out: dict[str, Ints] = {}
        rows = 1
        for axis in mine:
            count = _rows(axis)
            out = {name: np.repeat(values, count) for name, values in out.items()}
            out |= {name: np.tile(values, rows) for name, values in axis.items()}
            rows *= count
        return self._of((*rest, out) if out else rest), out

    def values(self, index: Index, axis: Axis) -> Ints:
        """Return an index at every row of an axis that has all its variables."""
        names: dict[str, Any] = {**self.sizes, **axis}
        found = np.asarray(index.at(names, self.look_up))
        return np.broadcast_to(found, (_rows(axis) if axis else 1,))

    def variables(self, *indices: Index) -> frozenset[str]:
        """The variables of the space that indices depend on."""
        known = frozenset(name for axis in self.axes for name in axis)
        return known & frozenset[str]().union(*(index.names for index in indices))

    def where(self, index: Index, below: Index) -> Space:
        """Return the points at which one index is below another."""
        space, axis = self.joined(self.variables(index, below))
        kept = space.values(index, axis) < space.values(below, axis)
        if not axis:
            return self if kept.all() else self._of(({"": np.arange(0)},))
        picked = {name: values[kept] for name, values in axis.items()}
        return self._of((*space.axes[:-1], picked))

    def bound(self, name: str, start: Index, stop: Index) -> Space:
        """Return the points with one more variable, ``start <= name < stop``.

        Raises `InputError` where those are too many to be listed.
        """
        space, axis = self.joined(self.variables(start, stop))
        first, last = space.values(start, axis), space.values(stop, axis)
        self._check_rows(name, int(np.maximum(last - first, 0).sum()))
        if not axis:
            new: Axis = {name: np.arange(int(first[0]), int(last[0]), dtype=np.int64)}
            return self._of((*self.axes, new))
        count = np.maximum(last - first, 0)
        rows = np.repeat(np.arange(count.size), count)
        inside = np.arange(rows.size) - np.repeat(np.cumsum(count) - count, count)
        grown = {n: values[rows] for n, values in axis.items()} | {name: first[rows] + inside}
        return self._of((*space.axes[:-1], grown))

    def at(self, name: str, value: int) -> Space:
        """Return the points at which a variable has a value."""
        return self.where(Index(name), Index(None, value + 1)).where(
            Index(None, value) - Index(name), Index(None, 1)
        )


def _rows(axis: Axis) -> int:
    return next(iter(axis.values())).size
