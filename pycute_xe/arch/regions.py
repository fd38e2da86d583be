"""A permutation of register elements as moves, each of one region to one region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import KernelError

__all__ = ["GRF", "SPAN", "Ints", "Move", "Region", "moves", "moves_from", "region"]

Ints: TypeAlias = NDArray[np.int64]
# A region reads at most two neighbouring registers.
GRF = 64
SPAN = 2 * GRF
_VERTICAL = (0, 1, 2, 4, 8, 16, 32)
_HORIZONTAL = (0, 1, 2, 4)


@dataclass(frozen=True, slots=True)
class Region:
    """How a source operand walks: ``<vertical; width, horizontal>``, counted in elements."""

    vertical: int
    width: int
    horizontal: int

    def __str__(self) -> str:
        """As vISA writes it."""
        return f"<{self.vertical};{self.width},{self.horizontal}>"


@dataclass(frozen=True, slots=True)
class Move:
    """``count`` elements of ``bytes`` each: where they go with a stride, where they come from."""

    bytes: int
    count: int
    to: int
    stride: int
    source: int
    region: Region


def region(places: Ints) -> Region | None:
    """Return the region that reads elements at these offsets from the first, None if none does.

    Document: vISA manual, operands: vertical strides 0 to 32, horizontal strides 0 to 4.

    >>> print(region(np.array([0, 1, 2, 3])), region(np.array([0, 2, 1, 3])))
    <1;1,0> <1;2,2>
    >>> region(np.array([0, 3, 1, 2])) is None
    True
    """
    count = places.size
    if count == 1:
        return Region(0, 1, 0)
    step = int(places[1] - places[0])
    if step in _VERTICAL and np.array_equal(places, np.arange(count) * step):
        return Region(step, 1, 0)
    width = 2
    while width < count:
        rows = places.reshape(-1, width)
        across, down = int(rows[0, 1]), int(rows[1, 0])
        grid = np.arange(count // width)[:, None] * down + np.arange(width) * across
        if across in _HORIZONTAL and down in _VERTICAL and np.array_equal(rows, grid):
            return Region(down, width, across)
        width *= 2
    return None


def moves(slots: Ints, bits: int, elements: int) -> list[Move]:
    """Return moves that bring element ``i`` of the source to element ``slots[i]``.

    Elements that nothing goes to are left alone. Elements that travel together travel as one wider
    element. Raises `KernelError` for elements below a byte whose neighbours in a byte part.

    >>> for move in moves(np.array([0, 2, 1, 3]), 16, 4): print(move.count, move.region)
    4 <1;2,2>
    """
    source = np.full(elements, -1, dtype=np.int64)
    source[slots] = np.arange(slots.size)
    return moves_from(source, bits)


def moves_from(source: Ints, bits: int) -> list[Move]:
    """Return moves that bring element ``source[i]`` to element ``i``; -1 leaves an element alone.

    Raises `KernelError` as `moves` does.

    >>> for move in moves_from(np.arange(16, 32), 32): print(move.count, move.source, move.region)
    16 16 <1;1,0>
    """
    source, width = _widened(source, bits)
    out: list[Move] = []
    left = source >= 0
    for first in range(source.size):
        if left[first]:
            move = _longest(source, left, first, width)
            left[first : first + move.count * move.stride : move.stride] = False
            out.append(move)
    return out


def _widened(source: Ints, bits: int) -> tuple[Ints, int]:
    """Join neighbours that stay neighbours, up to a dword; return the elements and their bytes."""
    while bits < 32 and source.size % 2 == 0:
        pairs = source.reshape(-1, 2)
        empty = (pairs < 0).all(axis=1)
        together = (pairs[:, 0] % 2 == 0) & (pairs[:, 1] == pairs[:, 0] + 1)
        if not (empty | together).all():
            break
        source, bits = np.where(empty, -1, pairs[:, 0] // 2), 2 * bits
    if bits < 8:
        raise KernelError(
            "emit",
            {"bits": bits},
            "the reorder parts elements that share a byte, which no move of a region does",
            "reorder before narrowing, or use a copy that needs no reorder",
        )
    return source, bits // 8


def _longest(source: Ints, left: NDArray[np.bool_], first: int, width: int) -> Move:
    """Return the move of the most elements that starts at a destination."""
    for count in (32, 16, 8, 4, 2):
        for stride in (1, 2, 4):
            stop = first + (count - 1) * stride + 1
            if stop > source.size or not _fits(first, stop - first, width):
                continue
            where = np.arange(first, stop, stride)
            if not left[where].all():
                continue
            places = source[where]
            reach = int(places.max()) - int(places[0])
            start = int(places[0]) * width % GRF
            block = region(places - places[0])
            # The compiler would part a move of 32 elements in rows, by way of other registers.
            if block is not None and count > 16 and block.width > 1:
                continue
            if block is not None and start + (reach + 1) * width <= SPAN:
                return Move(width, count, first, stride, int(places[0]), block)
    return Move(width, 1, first, 1, int(source[first]), Region(0, 1, 0))


def _fits(first: int, span: int, width: int) -> bool:
    """Whether a destination lies in one register, or fills two."""
    start = first * width % GRF
    return start + span * width <= GRF or (start == 0 and span * width == SPAN)
