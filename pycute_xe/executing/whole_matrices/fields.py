"""Floor 9: fragments of all work-groups as parts of one matrix, where they are that.

Element e of subgroup s of work-group g is the matrix's element at ``corner[g] + places[s, e]``,
mode by mode. Two fragments lie over one another where these numbers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.whole_matrices.nodes import Node, Turned
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
            and self.trips is None
            and other.trips is None
            and np.array_equal(self.corner, other.corner)
            and np.array_equal(self.places, other.places)
        )

    def take(self, elements: Ints | slice) -> Axis:
        """Return the axis with other register elements."""
        return replace(self, places=self.places[:, elements])


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
    left = list(range(len(field.axes)))
    found: list[int | None] = []
    for axis in axes:
        match = next((i for i in left if field.axes[i].same(axis)), None)
        found.append(match)
        if match is not None:
            left.remove(match)
    if left:
        raise NotWhole
    return Turned(field.node, tuple(found))


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
