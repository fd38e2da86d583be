"""Floor 9: fragments of all work-groups as parts of one matrix, where they are that.

Element e of subgroup s of work-group g is the matrix's element at ``corner[g] + places[s, e]``,
mode by mode. Two fragments lie over one another where these numbers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.whole_matrices.nodes import Node, Spread, Turned
from pycute_xe.numeric import Numeric

__all__ = ["Axis", "Constant", "Field", "NotWhole", "covers", "over"]

Ints: TypeAlias = NDArray[np.int64]


class NotWhole(Exception):
    """The maps do not cancel."""


@dataclass(frozen=True, eq=False)
class Axis:
    """One mode: its extent, and the index of each element along it.

    ``corner`` is (work-groups,), ``places`` (subgroups, elements). ``trips`` is (trips,), added to
    them, where a tile moves along with loops.
    """

    extent: int
    corner: Ints
    places: Ints
    trips: Ints | None = None

    def same(self, other: Axis) -> bool:
        """Whether every element has the same index along both."""
        return (
            self.extent == other.extent
            and _alike(self.trips, other.trips)
            and np.array_equal(self.corner, other.corner)
            and np.array_equal(self.places, other.places)
        )

    def group_in(self, other: Axis) -> int | None:
        """Return how many indices of another axis share one of this, None where none do."""
        if not (_is_alike_everywhere(self) and _is_alike_everywhere(other)):
            return None
        along, beside = np.unique(np.stack([self.places[0], other.places[0]]), axis=1)
        own, others = self.indices(along, _trips(other)), other.indices(beside, _trips(self))
        if own.shape != others.shape:
            return None
        inside = (others >= 0) & (others < other.extent)
        later = others[inside & (own == 1)]
        group = int(later.min()) if later.size else max(1, other.extent)
        if group < 1:
            return None
        fits = np.array_equal(others[inside] // group, own[inside])
        return group if fits and self.extent * group >= other.extent else None

    def indices(self, places: Ints, trips: int) -> Ints:
        """Return the index at places of the first work-group: (trips, places).

        Loops inside the one that moved a tile repeat it.
        """
        steps = np.zeros(1, np.int64) if self.trips is None else self.trips
        steps = np.repeat(steps, max(1, trips // steps.size))
        return self.corner[0] + steps[:, None] + places

    def take(self, elements: Ints | slice) -> Axis:
        """Return the axis with other register elements."""
        return replace(self, places=self.places[:, elements])


def _alike(one: Ints | None, other: Ints | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _trips(axis: Axis) -> int:
    return 1 if axis.trips is None else axis.trips.size


def _is_alike_everywhere(axis: Axis) -> bool:
    """Whether an axis is the same for all work-groups and subgroups."""
    corners = (axis.corner == axis.corner[:1]).all()
    return bool(corners and (axis.places == axis.places[:1]).all())


@dataclass(frozen=True, eq=False)
class Field:
    """A fragment as part of a matrix. Outside the matrix nothing is known of its elements.

    ``known`` are the register elements that hold an element of the matrix at all.
    """

    node: Node
    numeric: Numeric
    axes: tuple[Axis, ...]
    known: NDArray[np.bool_]

    def take(self, elements: Ints | slice) -> Field:
        """Return the field with other register elements."""
        axes = tuple(axis.take(elements) for axis in self.axes)
        return replace(self, axes=axes, known=self.known[elements])


@dataclass(frozen=True, eq=False)
class Constant:
    """A fragment of which every element is one number."""

    value: float


def over(field: Field, axes: tuple[Axis, ...]) -> Turned:
    """Return the node of a field broadcast along axes; `NotWhole` where it does not lie so."""
    if not field.known.all():
        raise NotWhole
    node, left = field.node, list(range(len(field.axes)))
    found: list[int | None] = []
    for axis in axes:
        match = next((i for i in left if field.axes[i].same(axis)), None)
        for i in left if match is None else ():
            group = field.axes[i].group_in(axis)
            if group is not None:
                match, node = i, Spread(node, i, group, axis.extent)
                break
        found.append(match)
        if match is not None:
            left.remove(match)
    if left:
        raise NotWhole
    return Turned(node, tuple(found))


def covers(axes: tuple[Axis, ...]) -> bool:
    """Tell whether all elements together are the whole matrix."""
    places = np.stack([axis.places.reshape(-1) for axis in axes])
    low, high = places.min(axis=1), places.max(axis=1) + 1
    box = tuple((high - low).tolist())
    seen = np.zeros(box, np.bool_)
    seen[tuple(places - low[:, None])] = True
    sorts = [np.unique(axis.corner, return_inverse=True) for axis in axes]
    starts = [start for start, _ in sorts]
    counts = tuple(start.size for start in starts)
    tiles = np.ravel_multi_index([number for _, number in sorts], counts)
    if not seen.all() or np.unique(tiles).size != np.prod(counts):
        return False
    for axis, start, first, end in zip(axes, starts, low.tolist(), high.tolist(), strict=True):
        gaps = np.diff(start, append=axis.extent - first) > end - first
        if start[0] + first > 0 or gaps.any():
            return False
    return True
