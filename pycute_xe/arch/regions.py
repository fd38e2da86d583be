"""A permutation of register elements as moves, each of one region to one region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from pycute_xe.errors import KernelError

__all__ = [
    "GRF",
    "SPAN",
    "Ints",
    "Move",
    "Region",
    "fits",
    "in_reach",
    "moves",
    "moves_from",
    "passes",
    "region",
]

Ints: TypeAlias = Sequence[int]
# A region reads at most two neighbouring registers.
GRF = 64
SPAN = 2 * GRF
_VERTICAL = (0, 1, 2, 4, 8, 16, 32)
_HORIZONTAL = (0, 1, 2, 4)
_DWORD = 4
_LANES = 16
_NONE = -1 << 40
# Elements below a dword, read at steps and written closer together: bytes of an element, of a step
# where they go and where they come from. They may move at once where both sides are in the same
# lanes; at other steps never. Document: Bspec 56640, register region restrictions of Xe2, as
# ``required_src_byte_offset`` of Mesa's brw_lower_regioning.cpp reads it; the compiler of Xe-HPC
# keeps to it as well (tests/arch/test_regions.py).
_CLOSER = {(1, 1, 2), (1, 1, 4), (1, 2, 4), (1, 2, 8), (2, 2, 4)}


@dataclass(frozen=True, slots=True)
class Region:
    """How a source operand walks: ``<vertical; width, horizontal>``, counted in elements."""

    vertical: int
    width: int
    horizontal: int

    def __str__(self) -> str:
        """As vISA writes it."""
        return f"<{self.vertical};{self.width},{self.horizontal}>"

    @property
    def step(self) -> int:
        """From an element to the next one of its row."""
        return self.horizontal if self.width > 1 else self.vertical

    @property
    def is_even(self) -> bool:
        """Whether all elements are a step apart, rows or not."""
        return self.width == 1 or self.vertical == self.width * self.horizontal


@dataclass(frozen=True, slots=True)
class Move:
    """``count`` elements of ``bytes`` each: where they go with a stride, where they come from."""

    bytes: int
    count: int
    to: int
    stride: int
    source: int
    region: Region

    @property
    def instructions(self) -> int:
        """How many instructions of the hardware it is: 2 where it goes by way of dwords.

        A region of elements below a dword that the hardware does not read into places less than a
        dword apart is first read into one dword each, and these are then brought together.

        >>> Move(2, 16, 0, 2, 0, Region(1, 8, 2)).instructions
        1
        >>> Move(2, 16, 0, 1, 0, Region(1, 8, 2)).instructions
        2
        """
        apart, step = self.stride * self.bytes, self.region.step * self.bytes
        if apart >= _DWORD or self.count == 1:
            return 1
        if step < _DWORD and not (apart == 1 and step > 1):
            row = self.region.width * apart
            whole = row % _DWORD == 0 and self.to * self.bytes % _DWORD == 0
            return 1 if self.region.is_even or whole else 2
        if not self.region.is_even or (self.bytes, apart, step) not in _CLOSER:
            return 2
        ratio = step // apart
        lanes = GRF // self.bytes // ratio
        return 1 if self.source // ratio % lanes == self.to % lanes else 2


def region(places: Ints) -> Region | None:
    """Return the region that reads elements at these offsets from the first, None if none does.

    Document: vISA manual, operands: vertical strides 0 to 32, horizontal strides 0 to 4.

    >>> print(region([0, 1, 2, 3]), region([0, 2, 1, 3]))
    <1;1,0> <1;2,2>
    >>> region([0, 3, 1, 2]) is None
    True
    """
    return _region(tuple(places))


@lru_cache(maxsize=1 << 12)
def _region(places: tuple[int, ...]) -> Region | None:
    count = len(places)
    if count == 1:
        return Region(0, 1, 0)
    across = places[1] - places[0]
    if across in _VERTICAL and places == _grid(count, across, count, 0):
        return Region(across, 1, 0)
    width = 2
    while width < count:
        across, down = places[1], places[width]
        walks = across in _HORIZONTAL and down in _VERTICAL
        if walks and places == _grid(width, across, count, down):
            return Region(down, width, across)
        width *= 2
    return None


def _grid(width: int, across: int, count: int, down: int) -> tuple[int, ...]:
    """Return the offsets of ``count`` elements in rows of ``width``."""
    return tuple(
        [row * down + column * across for row in range(count // width) for column in range(width)]
    )


def moves(slots: Ints, bits: int, elements: int) -> list[Move]:
    """Return moves that bring element ``i`` of the source to element ``slots[i]``.

    Elements that nothing goes to are left alone. Elements that travel together travel as one wider
    element. Raises `KernelError` for elements below a byte whose neighbours in a byte part.

    >>> for move in moves([0, 2, 1, 3], 16, 4): print(move.count, move.region)
    4 <1;2,2>
    """
    source = [-1] * elements
    for element, slot in enumerate(slots):
        source[slot] = element
    return moves_from(source, bits)


def moves_from(source: Ints, bits: int) -> list[Move]:
    """Return moves that bring element ``source[i]`` to element ``i``; -1 leaves an element alone.

    Raises `KernelError` as `moves` does.

    >>> for move in moves_from(range(16, 32), 32): print(move.count, move.source, move.region)
    16 16 <1;1,0>
    """
    left, width = _widened(list(source), bits)
    out: list[Move] = []
    lanes, reach = GRF // width, SPAN // width
    for first, source_of_first in enumerate(left):
        if source_of_first >= 0:
            # From one register to the next nothing changes, so that most windows are known.
            base, at = source_of_first // lanes * lanes, first // lanes * lanes
            ahead = left[first : first + reach]
            window = tuple([place - base if place >= 0 else _NONE for place in ahead])
            best = _most(window, first - at, width)
            for moved in range(first, first + best.count * best.stride, best.stride):
                left[moved] = -1
            out.append(Move(width, best.count, first, best.stride, best.source + base, best.region))
    return out


def passes(to: Ints, source: int, target: int) -> list[tuple[list[int], list[int]]]:
    """Return which elements are converted together on their way, 16 at a time, and to where.

    Element ``i``, of ``source`` bits, goes to ``to[i]``, of ``target`` bits. Either those are taken
    that lie side by side where they go, or those that do where they come from; elements that share
    a byte are read side by side. Of two that go to one place the later comes last. Empty where a
    region does not read 16 of them, or a step of 1, 2 or 4 does not reach their places.

    >>> packed = [i % 16 * 2 + i // 16 for i in range(32)]
    >>> [(a[:3], b[:3]) for a, b in passes(packed, 4, 16)]
    [([0, 1, 2], [0, 2, 4]), ([16, 17, 18], [1, 3, 5])]
    >>> passes([i ^ 1 for i in range(16)], 4, 16)
    []
    """
    count = len(to)
    if count % _LANES:
        return []
    for order in (sorted(range(count), key=to.__getitem__), list(range(count))):
        rows = [order[i : i + _LANES] for i in range(0, count, _LANES)]
        parts = [(row, [to[i] for i in row]) for row in rows]
        if all(_is_read(row, source) and _is_written(into, target) for row, into in parts):
            return parts
    return []


def _is_read(places: Ints, bits: int) -> bool:
    """Whether a region reads elements of so many bits."""
    if bits < 8:
        return places[0] * bits % 8 == 0 and all(b - a == 1 for a, b in pairwise(places))
    walk = region([place - places[0] for place in places])
    return walk is not None and in_reach(places, walk, bits // 8)


def _is_written(places: Ints, bits: int) -> bool:
    """Whether a step reaches elements of so many bits."""
    step = places[1] - places[0]
    span = (len(places) - 1) * step + 1
    even = step in (1, 2, 4) and all(b - a == step for a, b in pairwise(places))
    return bits >= 8 and even and fits(places[0], span, bits // 8)


def _widened(source: list[int], bits: int) -> tuple[list[int], int]:
    """Join neighbours that stay neighbours, up to a dword; return the elements and their bytes."""
    while bits < 32 and len(source) % 2 == 0:
        pairs = list(zip(source[::2], source[1::2], strict=True))
        if not all((a < 0 and b < 0) or (a % 2 == 0 and b == a + 1) for a, b in pairs):
            break
        source, bits = [-1 if a < 0 else a // 2 for a, _ in pairs], 2 * bits
    if bits < 8:
        raise KernelError(
            "emit",
            {"bits": bits},
            "the reorder parts elements that share a byte, which no move of a region does",
            "reorder before narrowing, or use a copy that needs no reorder",
        )
    return source, bits // 8


@lru_cache(maxsize=1 << 12)
def _most(source: tuple[int, ...], first: int, width: int) -> Move:
    """Return the move of the most elements for each instruction that starts at a destination.

    ``source`` are the sources of the places from ``first`` on, as far as a move reaches.
    """
    best = Move(width, 1, first, 1, source[0], Region(0, 1, 0))
    for count in (32, 16, 8, 4, 2):
        for stride in (1, 2, 4):
            move = _of(source, (first, count, stride), width)
            if move and move.count * best.instructions > best.count * move.instructions:
                best = move
        if best.count >= count // 2 * best.instructions:
            break
    return best


def _of(source: tuple[int, ...], to: tuple[int, int, int], width: int) -> Move | None:
    """Return the move to so many elements from one on at a step, None where no region reads it."""
    first, count, stride = to
    span = (count - 1) * stride + 1
    if span > len(source) or not fits(first, span, width):
        return None
    places = source[:span:stride]
    if _NONE in places:
        return None
    walk = _region(tuple([place - places[0] for place in places]))
    if walk is None or not in_reach(places, walk, width):
        return None
    move = Move(width, count, first, stride, places[0], walk)
    # Dwords of 32 elements fill two registers, which the compiler brings together one by one.
    return move if count <= 16 or move.instructions == 1 else None


def in_reach(places: Ints, walk: Region, width: int) -> bool:
    """Tell whether a region of elements of so many bytes may be read.

    It starts at its lowest element and lies in two registers, and each row of it in one, unless all
    elements are a step apart.

    >>> in_reach(range(16), Region(1, 1, 0), 4), in_reach(range(0, 64, 4), Region(4, 1, 0), 4)
    (True, False)
    """
    start = places[0] * width % GRF
    if start + (max(places) - places[0] + 1) * width > SPAN or min(places) < places[0]:
        return False
    rows, last = range(0, len(places), walk.width), walk.width - 1
    return walk.is_even or all(
        places[row] * width // GRF == places[row + last] * width // GRF for row in rows
    )


def fits(first: int, span: int, width: int) -> bool:
    """Tell whether a destination of so many elements lies in one register, or fills two.

    >>> fits(8, 8, 4), fits(8, 16, 4), fits(0, 32, 4)
    (True, False, True)
    """
    start = first * width % GRF
    return start + span * width <= GRF or (start == 0 and span * width == SPAN)
