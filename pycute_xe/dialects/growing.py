"""A linear layout that grows: a tile by a factor in one dimension, bit by bit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from pycute_xe.dialects.linear import PLACES, LinearLayout, dims, is_power
from pycute_xe.errors import RankError, ShapeError, quoted

__all__ = ["Growth", "demand_shape", "unit"]


def unit(rank: int, dim: int, step: int) -> tuple[int, ...]:
    """Return the coordinate that lies a step along one dimension."""
    return tuple(step if i == dim else 0 for i in range(rank))


def demand_shape(operation: str, shape: Any, rank: int) -> tuple[int, ...]:
    """Return a tensor's shape of powers of two, or refuse it.

    Raises `RankError` for another rank, `ShapeError` for other extents.
    """
    extents = cast("tuple[Any, ...]", tuple(shape) if type(shape) in (tuple, list) else ())
    if type(shape) not in (tuple, list):
        wrong = f"{quoted(shape)} is not a tensor's shape"
        raise ShapeError(operation, {"shape": quoted(shape)}, wrong, "give (32, 32)")
    for extent in extents:
        if not is_power(extent):
            wrong = f"extent {quoted(extent)} is not a power of two"
            fix = "Triton's tensors are powers of two: pad it"
            raise ShapeError(operation, {"shape": quoted(shape)}, wrong, fix)
    if len(extents) != rank:
        wrong = f"the tensor has rank {len(extents)}, and the encoding rank {rank}"
        raise RankError(operation, {"shape": quoted(shape)}, wrong, f"give {rank} extents")
    return extents


class Growth:
    """The bases of a tile, which only grows.

    >>> growth = Growth(2)
    >>> growth.by("lane", 1, 4)
    >>> growth.by("register", 0, 2)
    >>> print(growth.over((4, 4), (1, 0)))
    #ttg.linear<{register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2]], warp = [], block = []}>
    """

    def __init__(self, rank: int) -> None:
        """Begin with one element."""
        self.bases: dict[str, list[tuple[int, ...]]] = {place: [] for place in PLACES}
        self.reach = [1] * rank

    def by(self, place: str, dim: int, factor: int) -> None:
        """Make the tile ``factor`` times as large along a dimension; places tell the parts."""
        while factor > 1:
            self.bases[place].append(unit(len(self.reach), dim, self.reach[dim]))
            self.reach[dim] *= 2
            factor //= 2

    def copied(self, place: str, factor: int) -> None:
        """Give ``factor`` places the same elements."""
        self.bases[place] += [unit(len(self.reach), 0, 0)] * (factor.bit_length() - 1)

    def over(self, shape: Sequence[int], order: Iterable[int]) -> LinearLayout:
        """Return the layout of a tensor: more registers, or copies where the tile is larger.

        ``order``: the dimensions in which registers go on, the first one first.
        """
        for dim in order:
            self.by("register", dim, shape[dim] // self.reach[dim])
        cut = {
            place: [
                tuple(entry & (extent - 1) for entry, extent in zip(vector, shape, strict=True))
                for vector in basis
            ]
            for place, basis in self.bases.items()
        }
        return LinearLayout(cut, dims(shape))
