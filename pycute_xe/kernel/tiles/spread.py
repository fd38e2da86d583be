"""How a tile is spread over the registers of subgroups, and the copies that follow.

Tiles are in the order of their operand's modes: of B, (K, N).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Literal

import numpy as np

from pycute_xe.algebra import composition
from pycute_xe.algebra.compose import index_at
from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom.block2d_op import XE_LOAD_2D, XE_STORE_2D
from pycute_xe.atom.copy_atom import make_copy_atom
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import layout_of, table
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.tiles.slots import by_registers, copy_slots, mma_slots, separated
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import checked_fields, shortly, typed

__all__ = ["Share", "Spread", "contiguous_axis", "modes_of"]

MESSAGES = {"load": (XE_LOAD_2D, 32), "store": (XE_STORE_2D, 8)}
"""The operation in each direction, and the rows that one message moves at most."""


MOST_ELEMENTS = 1 << 22
"""Elements of a tile that subgroups share: more than any work-group's registers and caches have."""


@checked_fields
@dataclass(frozen=True, slots=True)
class Share:
    """What each subgroup of a tiled MMA multiplies of A or B, or adds up of C.

    >>> import pycute_xe as cx
    >>> print(Share(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")), "B"))
    B of 256x256x32
    """

    mma: TiledMma
    role: Literal["A", "B", "C"]

    @property
    def numeric(self) -> Numeric:
        """The type that the instruction takes."""
        op = self.mma.atom.op
        return {"A": op.A, "B": op.B, "C": op.D}[self.role]

    @property
    def slots(self) -> int:
        """Slots of each work-item."""
        return size(self.mma.fragment(self.role)[1])

    def __str__(self) -> str:
        """The operand, and the tile of the MMA."""
        return f"{self.role} of {'x'.join(map(str, self.mma.tile_mnk))}"


@dataclass(frozen=True, eq=False)
class Spread:
    """Which element of a tile each register element is: (subgroup, element) → coordinate.

    ``starts`` is where the part of each subgroup begins, ``places`` where a subgroup's elements
    lie from there. A tile of extent 1 is shared by all rows or columns beside it.
    """

    tile: tuple[int, int]
    starts: Ints
    places: Ints
    share: Share | None = None

    @classmethod
    def of_copy(cls, copy: TiledCopy, modes: tuple[int | None, ...]) -> Spread:
        """Return how a copy spreads its tile, along these modes of an operand."""
        (_, subgroups), _ = copy.fragment
        turned = modes[0] is not None and modes[1] is not None and modes[0] > modes[1]
        made = cls(_two(copy.tiler_mn), _coordinates(subgroups), _coordinates(copy_slots(copy)))
        return made.turned() if turned else made

    @classmethod
    def of_share(cls, share: Share) -> Spread:
        """Return how an MMA spreads the tile of an operand."""
        mma, role = by_registers(share.mma), share.role
        (_, threads), _ = mma.fragment(role)
        order = table(mma.operand_subgroups(role)).reshape(-1)
        starts, places = _coordinates(threads)[order], _coordinates(mma_slots(mma, role))
        made = cls(mma.operand_tile(role), starts, places, share)
        return made.turned() if role == "B" else made

    @classmethod
    @typed
    def even(cls, tile: tuple[int, int], subgroups: int, x: int, bits: int) -> Spread:
        """Return a tile of which each subgroup has an equal part, as wide as messages allow."""
        y = 1 - x
        if tile[0] * tile[1] > MOST_ELEMENTS:
            wrong = f"a tile of {tile[0]} x {tile[1]} has more than {MOST_ELEMENTS} elements"
            fix = "use the tile of a work-group, such as (256, 32)"
            raise KernelError("tile", {"tile": tile}, wrong, fix)
        width = gcd(tile[x], 512 // bits)
        while width * bits > 32 and tile[x] // width * tile[y] % subgroups:
            width //= 2
        across = gcd(subgroups, tile[x] // width)
        down = subgroups // across
        if width * bits % 32 or tile[y] % down:
            raise KernelError(
                "tile",
                {"tile": tile, "subgroups": subgroups, "bits": bits},
                f"{subgroups} subgroups cannot take equal parts of a tile of {tile[0]} x {tile[1]}",
                "use a larger tile or fewer subgroups",
            )
        return cls.parts(tile, (down, across) if x == 1 else (across, down), x)

    @classmethod
    @typed
    def parts(cls, tile: tuple[int, int], over: tuple[int, int], fastest: int = 1) -> Spread:
        """Return a tile cut into equal parts, so many along each mode, a subgroup for each.

        >>> Spread.parts((64, 32), (4, 1)).starts[:, 0].tolist()
        [0, 16, 32, 48]
        """
        if any(n < 1 or extent < n or extent % n for extent, n in zip(tile, over, strict=True)):
            raise KernelError(
                "tile",
                {"tile": tile, "over": over},
                f"{over[0]} x {over[1]} subgroups do not cut {tile[0]} x {tile[1]} evenly",
                "use divisors of the tile",
            )
        part = tuple(extent // n for extent, n in zip(tile, over, strict=True))
        if prod(part) > MOST_ELEMENTS or prod(over) > MOST_ELEMENTS:
            raise KernelError(
                "tile",
                {"tile": shortly(tile), "over": shortly(over)},
                f"a subgroup's part of the tile is above {MOST_ELEMENTS} elements",
                "use a smaller tile",
            )
        number = np.arange(over[0] * over[1], dtype=np.int64)
        quick, slow = number % over[fastest], number // over[fastest]
        at = (slow, quick) if fastest == 1 else (quick, slow)
        starts = np.stack([at[0] * part[0], at[1] * part[1]], axis=1)
        return cls(tile, starts, np.argwhere(np.ones(part, dtype=bool)).astype(np.int64))

    def turned(self) -> Spread:
        """Return the same with the two modes exchanged."""
        first, second = self.tile
        return replace(
            self,
            tile=(second, first),
            starts=np.ascontiguousarray(self.starts[:, ::-1]),
            places=np.ascontiguousarray(self.places[:, ::-1]),
        )

    def place(self, axis: int) -> Index:
        """Return the row (axis 0) or column of an element, of its number and the subgroup's."""
        start, inside = (
            layout_of([int(x) for x in at[:, axis]]) for at in (self.starts, self.places)
        )
        if start is None or inside is None:
            raise _refused(self, "no layout says which row or column an element is of")
        return index_at(start, Index(SUBGROUP_INDEX)) + index_at(inside, Index(ELEMENT_INDEX))

    def along(self, axis: int) -> Spread:
        """Return a vector for the rows (axis 0) or columns (axis 1): each subgroup has its own."""
        starts, other = self.starts.copy(), 1 - axis
        starts[:, other] = 0
        lines = np.unique(self.places[:, axis])
        if not np.array_equal(lines, np.arange(lines.size)):
            raise _refused(
                self, f"a subgroup's {('rows', 'columns')[axis]} do not lie side by side"
            )
        places = np.zeros((lines.size, 2), dtype=np.int64)
        places[:, axis] = lines
        tile = (self.tile[0], 1) if axis == 0 else (1, self.tile[1])
        return Spread(tile, starts, places)

    def is_like(self, other: Spread) -> bool:
        """Whether each register element is the same element of a tile of the same extents."""
        return (
            self.tile == other.tile
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.places, other.places)
        )

    def gathered(self, source: Spread) -> Layout | None:
        """Return register element → element of a source that holds it; None where none does.

        A source of one row or column is broadcast.
        """
        axes = [i for i in (0, 1) if source.tile[i] == self.tile[i] or source.tile[i] > 1]
        if any(source.tile[i] != self.tile[i] for i in axes):
            return None
        if not np.array_equal(self.starts[:, axes], source.starts[:, axes]):
            return None
        numbers = _numbered(source.places[:, axes])
        elements = [numbers.get(at) for at in _rows(self.places[:, axes])]
        if None in elements:
            return None
        return layout_of([e for e in elements if e is not None]) if elements[0] == 0 else None

    def moved(self, to: Spread) -> Layout | None:
        """Return the reorder into another spread of the tile, None where elements change hands."""
        if self.tile != to.tile or not np.array_equal(self.starts, to.starts):
            return None
        where = _numbered(to.places)
        elements = [where.get(at) for at in _rows(self.places)]
        if None in elements or len(where) != len(elements):
            return None
        return layout_of([e for e in elements if e is not None])

    def reduced(self, axis: int) -> Layout:
        """Return register element → row or column of the subgroup that it goes into."""
        layout = layout_of([int(x) for x in self.places[:, 1 - axis]])
        if layout is None:
            raise _refused(self, "no layout says which row or column an element is of")
        return layout

    def in_array(self, place: Layout) -> Layout:
        """Return (subgroup, element) → place in a shared array that holds the tile."""
        rows, columns = self.tile
        of = table(place).reshape(columns, rows).T
        starts, inside = (of[at[:, 0], at[:, 1]] for at in (self.starts, self.places))
        return separated(starts, inside)

    # ------------------------------------------------------------------ copies

    def copy(self, verb: Literal["load", "store"], numeric: Numeric, x: int) -> TiledCopy:
        """Return the copy that moves each subgroup's part by block messages, contiguous along x."""
        part = tuple(int(n) for n in self.places.max(axis=0) + 1)
        if prod(part) != len(np.unique(self.places, axis=0)):
            wrong = "no block messages move a subgroup's part"
            raise _refused(self, f"{wrong} of {numeric}", "give a copy: make_block_2d_copy(op, …)")
        if 1 in self.tile and self.tile[1 - x] == 1:
            return self.row(verb, numeric, x, part[x])
        y, (make, most) = 1 - x, MESSAGES[verb]
        width, height = gcd(part[x], 512 // numeric.bits), gcd(part[y], most)
        if width * numeric.bits % 32:
            wrong = f"{width} values of {numeric} do not fill dwords"
            raise _refused(self, wrong, "use a larger tile")
        try:
            moved = max(8, numeric.bits)  # of bytes, in which narrow elements lie
            atom = make_copy_atom(make(moved, height, width * numeric.bits // moved), numeric)
        except CuteError as error:
            wrong = f"no message moves {height} x {width} of it: {error.condition}"
            raise _refused(self, wrong, "use a larger tile or fewer subgroups") from error
        steps, block, counts = (1, self.tile[0]), [0, 0], [0, 0]
        block[x], block[y] = width, height
        counts[x], counts[y] = part[x] // width, part[y] // height
        lanes, values = composition(
            Layout((width, height), (steps[x], steps[y])), atom.layout_ref_tv
        )
        messages = Layout(tuple(counts), tuple(b * s for b, s in zip(block, steps, strict=True)))
        threads = self._starts(self.starts @ np.array(steps))
        tv = make_layout(make_layout(lanes, threads), make_layout(values, messages))
        return TiledCopy(atom, tv, self.tile, x, y)

    def row(
        self, verb: Literal["load", "store"], numeric: Numeric, x: int, count: int
    ) -> TiledCopy:
        """Return the copy of a vector: a whole register a message, which may reach past a part."""
        width = grf_bytes() * 8 // numeric.bits
        if verb == "store" and count % width:
            wrong = f"a subgroup has {count} values, a message of {width} would write beyond them"
            raise _refused(self, wrong, f"give each subgroup a multiple of {width}")
        make, _ = MESSAGES[verb]
        moved = max(8, numeric.bits)
        atom = make_copy_atom(make(moved, 1, grf_bytes() * 8 // moved), numeric)
        values = make_layout(atom.layout_ref_tv[1], Layout(-(-count // width), width))
        threads = make_layout(atom.layout_ref_tv[0], self._starts(self.starts[:, x]))
        return TiledCopy(atom, make_layout(threads, values), (1, self.tile[x]), 1, 0)

    def _starts(self, offsets: Ints) -> Layout:
        layout = layout_of([int(o) for o in offsets])
        if layout is None:
            raise _refused(self, "no layout numbers the subgroups' parts")
        return Layout(layout.shape, layout.stride)


def contiguous_axis(operand: Operand) -> int:
    """Return which of an operand's last two modes is contiguous, 1 for a vector.

    >>> contiguous_axis(Operand("B", "bf16", ("K", "N")))
    1
    """
    rank = len(operand.modes)
    axis = operand.contiguous - (rank - 2)
    if rank == 0 or axis < 0:
        wrong = f"{operand.name} has no matrix in its last two modes"
        fix = "make one of its last two modes contiguous, or read a scalar by name"
        raise KernelError("tile", {"operand": operand}, wrong, fix)
    return axis


def modes_of(operand: Operand, copy: TiledCopy) -> tuple[int | None, int | None]:
    """Return the modes of an operand that the two modes of a copy's tile run along."""
    rank, contiguous = len(operand.modes), operand.contiguous
    other = None if rank < 2 else 2 * rank - 3 - contiguous
    return (contiguous, other) if copy.x_mode == 0 else (other, contiguous)


def _coordinates(layout: Layout) -> Ints:
    coordinates = table(layout).reshape(size(layout), -1)
    at = np.zeros((coordinates.shape[0], 2), dtype=np.int64)
    at[:, : coordinates.shape[1]] = coordinates
    return at


def _rows(places: Ints) -> list[tuple[int, ...]]:
    return [tuple(int(x) for x in at) for at in places]


def _numbered(places: Ints) -> dict[tuple[int, ...], int]:
    """Return the first element at each place."""
    numbers: dict[tuple[int, ...], int] = {}
    for element, at in enumerate(_rows(places)):
        numbers.setdefault(at, element)
    return numbers


def _two(tile: tuple[int, ...]) -> tuple[int, int]:
    first, second = tile
    return first, second


def _refused(spread: Spread, wrong: str, fix: str = "use a tile of equal parts") -> KernelError:
    tile = " x ".join(map(str, spread.tile))
    return KernelError("tile", {"tile": tile}, wrong, fix)
