"""Floor 9: memory whose tiles may still be sums, multiplied when the operand is looked at.

Tiles that continue one another, along rows or columns of all that is multiplied, become one
product. What no statement looks at, such as memory that was worked in, is never computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

from numpy.typing import NDArray

from pycute_xe.converting import host_dtype
from pycute_xe.executing.groups.sums import Box, Sum, Term, joined, matrices_of
from pycute_xe.executing.groups.windows import Windows

__all__ = ["Later", "Tile"]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Tile:
    """Where in an operand a tile is: ``box`` ends with the operand, ``full`` are its extents.

    ``modes`` are those of its rows and columns.
    """

    box: Box
    full: tuple[int, ...]
    modes: tuple[int, int]

    @property
    def aligned(self) -> bool:
        """Whether it is one of a grid of tiles, none of which overlap."""
        return all(first % n == 0 for (first, _), n in zip(self.box, self.full, strict=True))

    @property
    def shape(self) -> tuple[int, int]:
        """Its rows and columns inside the operand."""
        rows, columns = (self.box[mode][1] - self.box[mode][0] for mode in self.modes)
        return rows, columns

    def of(self, array: Array) -> Array:
        """Return the view of its rows and columns."""
        view = array[tuple(slice(*x) for x in self.box)]
        beside = [mode for mode in range(len(self.box)) if mode not in self.modes]
        return view.transpose(*beside, *self.modes)[(0,) * len(beside)]


class Later(dict[str, Array]):
    """Operands by name; looking one up brings it up to date."""

    def __init__(self, memory: dict[str, Array], windows: Windows) -> None:
        """Take arrays that may be written, and who multiplies."""
        super().__init__(memory)
        self.windows = windows
        self._waiting: dict[str, dict[Box, tuple[Tile, Sum]]] = {}

    def __getitem__(self, name: str) -> Array:
        """Return an array with everything in it that was stored."""
        self.settle(name)
        return super().__getitem__(name)

    def raw(self, name: str) -> Array:
        """Return an array whose tiles may be out of date."""
        return super().__getitem__(name)

    def store(self, name: str, tile: Tile, total: Sum) -> bool:
        """Store a sum in a tile, later; return whether that can be done."""
        if not tile.aligned or total.shape != tile.shape:
            return False
        if self.raw(name).dtype != host_dtype(total.numeric):
            return False
        tiles = self._waiting.setdefault(name, {})
        other = next(iter(tiles.values()), (tile, total))[0]
        if (other.full, other.modes) != (tile.full, tile.modes):
            return False
        tiles[tile.box] = tile, total
        return True

    def add(self, name: str, tile: Tile, total: Sum) -> bool:
        """Add a sum to one that waits in a tile; return whether that can be done."""
        before = self.load(name, tile)
        if before is None or before.numeric != total.numeric or before.shape != total.shape:
            return False
        self._waiting[name][tile.box] = tile, before.plus(total)
        return True

    def load(self, name: str, tile: Tile) -> Sum | None:
        """Return the sum that waits in a tile, None where none does."""
        found = self._waiting.get(name, {}).get(tile.box)
        return found[1] if found is not None and found[0] == tile else None

    def settle(self, name: str) -> None:
        """Compute what waits in an operand."""
        if name not in self._waiting:
            return
        tiles, alone = self._waiting.pop(name), list[tuple[Tile, Term]]()
        array = self.raw(name)
        for tile, total in tiles.values():
            if total.alone is None:
                tile.of(array)[...] = total.matrix()
            else:
                alone.append((tile, total.alone))
        merged = _merged(alone)
        once = self._once([term for _, term in merged])
        for tile, term in merged:
            self.windows.multiply(term, tile.of(array), once)

    def _once(self, terms: list[Term]) -> frozenset[Any]:
        """Return the matrices no more of whose elements are asked for than they have."""
        asked, rooms = Counter[Any](), dict[Any, int]()
        for term in terms:
            form = term.form
            for side, key in enumerate(matrices_of(term)):
                asked[key] += prod(end - first for first, end in term.boxes[side])
                shape = self.raw(form.names[side]).shape
                rooms[key] = shape[form.rows[side]] * shape[form.depth[side]]
        return frozenset(key for key, count in asked.items() if count <= rooms[key])


def _merged(tiles: list[tuple[Tile, Term]]) -> list[tuple[Tile, Term]]:
    """Return tiles with those beside one another as one, then those below one another."""
    beside = _runs(sorted(tiles, key=lambda x: _order(x, 0, 1)), 1)
    return _runs(sorted(beside, key=lambda x: _order(x, 1, 0)), 0)


def _order(one: tuple[Tile, Term], first: int, second: int) -> Any:
    tile, modes = one[0], one[0].modes
    outer = tuple(x for mode, x in enumerate(tile.box) if mode not in modes)
    return outer, tile.box[modes[first]], tile.box[modes[second]]


def _runs(tiles: Iterable[tuple[Tile, Term]], side: int) -> list[tuple[Tile, Term]]:
    """Return tiles, of which those that follow along rows (0) or columns (1) are one."""
    out: list[tuple[Tile, Term]] = []
    for tile, term in tiles:
        both = _together(out[-1], (tile, term), side) if out else None
        if both is None:
            out.append((tile, term))
        else:
            out[-1] = both
    return out


def _together(
    one: tuple[Tile, Term], other: tuple[Tile, Term], side: int
) -> tuple[Tile, Term] | None:
    (tile, term), (new, more) = one, other
    mode, rows = tile.modes[side], term.form.rows
    before, after = tile.box, new.box
    beside = before[:mode] == after[:mode] and before[mode + 1 :] == after[mode + 1 :]
    if not beside or before[mode][1] != after[mode][0]:
        return None
    both = joined(term, more, (rows[0], -1) if side == 0 else (-1, rows[1]))
    if both is None:
        return None
    box = (*before[:mode], (before[mode][0], after[mode][1]), *before[mode + 1 :])
    return replace(tile, box=box), both
