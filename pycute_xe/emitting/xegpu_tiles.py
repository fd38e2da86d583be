"""Floor 9: tiles of a work-group as XeGPU says them: a matrix dealt to a grid of subgroups.

XeGPU names whole tiles where a kernel names registers. What a fragment holds is therefore followed
as a table, (subgroup, element) → (row, column) in the tile, and held against what is read from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.atom import TiledCopy
from pycute_xe.errors import KernelError
from pycute_xe.holding.tables import Multiplied, anchors, copied

__all__ = [
    "Deal",
    "Held",
    "Ints",
    "agree",
    "dealt",
    "loaded",
    "multiplied_places",
    "prefetched",
    "swapped",
    "tile_of",
    "unsaid",
]

Ints: TypeAlias = NDArray[np.int64]
NOWHERE = -1
"""The place of a register element that no element of the tile fills."""


def swapped(pair: tuple[int, int]) -> tuple[int, int]:
    """Return the two the other way round."""
    return pair[1], pair[0]


def unsaid(given: object, condition: str, fix: str = "") -> KernelError:
    """Return the refusal of something that XeGPU cannot say."""
    return KernelError("emit", {"to": "xegpu", "given": given}, condition, fix)


@dataclass(frozen=True)
class Deal:
    """A tile cut in equal blocks and dealt to a grid of subgroups, around again where blocks end.

    ``order`` is which mode of the grid runs fastest in a subgroup's number, 0 or 1.
    """

    grid: tuple[int, int]
    block: tuple[int, int]
    fastest: int

    def text(self, instruction: tuple[int, int], ordered: bool = False) -> str:
        """Return the attribute, with the block that one instruction takes.

        The order that is usual is said where it is asked for: MLIR compares the two layouts of a
        transposition only if both say theirs, and elsewhere passes drop it.
        """
        usual = ", order = [1, 0]" if ordered else ""
        order = usual if self.fastest == 1 else ", order = [0, 1]"
        return (
            f"#xegpu.layout<sg_layout = {list(self.grid)}, sg_data = {list(self.block)}, "
            f"inst_data = {list(instruction)}{order}>"
        )

    @property
    def turned(self) -> Deal:
        """The same deal of the tile with its modes exchanged."""
        return Deal(swapped(self.grid), swapped(self.block), 1 - self.fastest)

    def origins(self, tile: tuple[int, int], subgroups: int) -> Ints:
        """Return where the block of each subgroup begins."""
        number = np.arange(subgroups)
        fast, slow = number % self.grid[self.fastest], number // self.grid[self.fastest]
        place = (slow, fast) if self.fastest == 1 else (fast, slow)
        return np.stack([p * b % t for p, b, t in zip(place, self.block, tile, strict=True)], 1)


@dataclass(frozen=True, eq=False)
class Held:
    """A value, its tile, its type; and which place of the tile each register element holds.

    ``places`` is ``None`` where every element holds the same number.
    """

    value: str
    tile: tuple[int, ...]
    kind: str
    places: Ints | None

    @property
    def type(self) -> str:
        """The type of the value in MLIR."""
        return f"vector<{'x'.join(map(str, self.tile))}x{self.kind}>"


def dealt(places: Ints, tile: tuple[int, int], like: tuple[int, int]) -> Deal | None:
    """Return how a tile is dealt, where each subgroup has one whole block; else ``None``.

    ``places`` is (subgroup, element, mode). Of grids that say the same, the one ``like`` another
    tile's comes first.
    """
    subgroups, count = places.shape[:2]
    low, high = places.min(axis=1), places.max(axis=1)
    block = high[0] - low[0] + 1
    if (high - low + 1 != block).any() or int(block.prod()) > count:
        return None
    inside = (places - low[:, None]) @ np.array([block[1], 1])
    if any(np.unique(row).size != block.prod() for row in inside):
        return None
    rows = sorted(
        (n for n in range(1, subgroups + 1) if subgroups % n == 0), key=lambda n: n != like[0]
    )
    for first in rows:
        for fastest in (1, 0):
            grid = first, subgroups // first
            deal = Deal(grid, (int(block[0]), int(block[1])), fastest)
            if np.array_equal(deal.origins(tile, subgroups), low):
                return deal
    return None


def tile_of(copy_tile: tuple[int, ...], modes: tuple[int | None, ...]) -> tuple[int, int]:
    """Return the extents of a copy's tile in the order of the operand's modes."""
    sizes = [copy_tile[modes.index(m)] for m in sorted(m for m in modes if m is not None)]
    if len(sizes) != 2:
        raise unsaid(modes, "only tiles of two modes are said; a vector is not")
    return sizes[0], sizes[1]


def loaded(copy: TiledCopy, modes: tuple[int | None, ...]) -> Ints:
    """Return (subgroup, register element, mode of the operand) → place in the tile."""
    found = copied(copy)
    places = np.where(found.padded[None, :, None], NOWHERE, found.places)
    places = places[:, : copy.messages * copy.atom.values * 16]
    order = [modes.index(m) for m in sorted(m for m in modes if m is not None)]
    return places[..., order]


def prefetched(copy: TiledCopy, modes: tuple[int | None, ...]) -> Ints:
    """Return (subgroup, element, mode of the operand) → place, of what messages bring to caches."""
    starts, atom = anchors(copy), copy.block
    inside = np.zeros((atom.height * atom.width, starts.shape[2]), dtype=np.int64)
    y, x = np.indices((atom.height, atom.width))
    inside[:, copy.y_mode], inside[:, copy.x_mode] = y.ravel(), x.ravel()
    places = (starts[:, :, None, :] + inside).reshape(starts.shape[0], -1, starts.shape[2])
    return places[..., [modes.index(m) for m in sorted(m for m in modes if m is not None)]]


def agree(given: object, held: Held, places: Ints | None) -> None:
    """Refuse registers that hold a tile in another order than they are read in."""
    if held.places is not None and places is not None and not np.array_equal(held.places, places):
        raise unsaid(
            given,
            "the registers hold the tile in another order than the statement reads it in",
            "verify(kernel) shows an element",
        )


def multiplied_places(given: object, a: Held, b: Held, tables: Multiplied) -> Ints:
    """Return the places of a product's elements; refuse registers that DPAS reads otherwise."""
    if a.places is None or b.places is None:
        raise unsaid(given, "a number in every element is multiplied", "load both factors")
    left, right = a.places[:, tables.a], b.places[:, tables.b]
    row, column = left[:, :, :1, 0], right[:, :, :1, 1]
    depth, depth_b = left[:, :1, :, 1], right[:, :1, :, 0]
    whole = np.array_equal(np.sort(depth[:, 0]), np.tile(np.arange(a.tile[1]), (len(depth), 1)))
    same = (left[..., 0] == row).all() and (left[..., 1] == depth).all()
    same = same and (right[..., 1] == column).all() and (right[..., 0] == depth_b).all()
    if not (same and whole and np.array_equal(depth, depth_b) and a.tile[1] == b.tile[0]):
        raise unsaid(
            given,
            "the registers do not hold the rows, the columns and the depth that DPAS multiplies",
            "verify(kernel) shows an element",
        )
    places = np.empty((len(left), tables.c.size, 2), dtype=np.int64)
    places[:, tables.c, 0] = row[:, :, 0][:, :, None]
    places[:, tables.c, 1] = column[:, :, 0][:, None, :]
    return places
