"""Floor 9: fragments as tiles: which element of a tile each register element is.

A tile has a few axes. Element e of subgroup s is the tile's element at ``places[s, e]``, axis by
axis. Two fragments lie over one another where these numbers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Axes", "Axis", "Held", "Laid", "NotTiled", "laid"]

Array: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[np.int64]


class NotTiled(Exception):
    """What is done is not done to tiles, or is refused by who does it register by register."""


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a tile: its extent, and where along it (subgroups, elements) are."""

    extent: int
    places: Ints

    def same(self, other: Axis) -> bool:
        """Whether every element is at the same place along both."""
        return self.extent == other.extent and np.array_equal(self.places, other.places)

    def only(self) -> int:
        """Return the place of all elements; `NotTiled` where they are at several."""
        first = int(self.places.flat[0])
        if (self.places != first).any():
            raise NotTiled
        return first


@dataclass(frozen=True, eq=False)
class Axes:
    """The axes of a tile; ``known`` are the register elements that are elements of it."""

    axes: tuple[Axis, ...]
    known: NDArray[np.bool_]

    def take(self, elements: Ints) -> Axes:
        """Return the same for other register elements, -1 for what is not known."""
        if (elements >= self.known.size).any():
            raise NotTiled
        known = self.known[elements] & (elements >= 0)
        axes = (Axis(axis.extent, axis.places[:, elements]) for axis in self.axes)
        return Axes(tuple(axes), known)

    def first(self, count: int) -> Axes:
        """Return the same for the first register elements, all of which must be known."""
        out = self.take(np.arange(count))
        if not out.known.all():
            raise NotTiled
        return out

    def holders(self) -> Ints | None:
        """Return who holds each element, counted over subgroups and registers.

        None where one is held twice, or by no register.
        """
        extents = tuple(axis.extent for axis in self.axes)
        at = tuple(axis.places.reshape(-1) for axis in self.axes)
        if not at or not self.known.all() or at[0].size != int(np.prod(extents)):
            return None
        flat = np.ravel_multi_index(at, extents)
        out = np.full(flat.size, -1, np.int64)
        out[flat] = np.arange(flat.size)
        return None if (out < 0).any() else out.reshape(extents)


@dataclass(eq=False)
class Held:
    """What a fragment holds in all work-groups of a block.

    ``values`` are numbers, not bytes: an array (one axis for each of the grid, of extent 1 where
    they are alike, then those of the tile), or one number for all, where ``axes`` is None. ``own``
    tells that nothing else looks at the array.
    """

    values: Any
    axes: Axes | None
    own: bool = False


@dataclass(frozen=True)
class Laid:
    """How a tile lies along the axes of another one.

    ``order`` names its axis along each of them, None for none. ``at`` are places of further axes,
    along which all elements are at one place.
    """

    order: tuple[int | None, ...]
    at: tuple[tuple[int, int], ...]

    def view(self, array: Array) -> Array:
        """Return the view of an array that lies so."""
        grid = array.ndim - len(self.at) - sum(i is not None for i in self.order)
        for axis, place in reversed(self.at):
            array = array.take(place, axis=grid + axis)
        left = sorted(i for i in self.order if i is not None)
        if self.order == tuple(range(len(self.order))):
            return array
        kept = (grid + left.index(i) for i in self.order if i is not None)
        new = (None if i is None else slice(None) for i in self.order)
        return array.transpose(*range(grid), *kept)[(..., *new)]


def laid(axes: Axes, over: Axes) -> Laid:
    """Return how a tile lies along others; `NotTiled` where it does not."""
    if not axes.known.all():
        raise NotTiled
    left, out = dict(enumerate(axes.axes)), list[int | None]()
    for other in over.axes:
        same = (i for i, axis in left.items() if axis.same(other))
        match = next(same, None)
        out.append(match)
        if match is not None:
            del left[match]
    at = tuple((i, axis.only()) for i, axis in sorted(left.items()))
    return Laid(tuple(out), at)
