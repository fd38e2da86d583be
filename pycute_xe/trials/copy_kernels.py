"""Small programs that lay bare what a copy puts into registers, and claim who owns it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra import composition
from pycute_xe.algebra.compose import index_at
from pycute_xe.atom import XE_LOAD_2D, XE_STORE_2D, CopyAtom, TiledCopy, make_copy_atom
from pycute_xe.atom.register_picture import ANY_TARGET, SUBGROUP
from pycute_xe.bulk import layout_of
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.cutlass.legacy_lowering import op_sending
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Operand
from pycute_xe.kernel.ir.statements import Load, Part, Statement, Store
from pycute_xe.kernel.spec.expression import Const, Element, Expression, Where
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.layout import Layout, make_layout
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["BlockCopy", "Dumped", "Formula", "everywhere", "ownership", "returned"]

BlockCopy = CopyAtom | LegacyCopyAtom

Formula = tuple[Index, Index]
"""The row and the column of the element that value ``v`` of work-item ``t`` is."""

GRF = 64
T, V = "t", "v"


def ownership(copy: BlockCopy | TiledCopy, formula: Formula, unit_bits: int) -> Kernel:
    """Return a kernel that moves blocks as a copy does, and claims a formula of ownership.

    Of a load each work-group copies a block of A, and stores the registers of its subgroups as they
    lie: ``R[m,n,g,i]`` is slot ``i`` of row ``g`` of them. What is claimed of it is the element of
    A that the formula gives, in memory, to the work-item and the value that the slot is where
    registers are read in units of ``unit_bits``; zero outside A. Of a store it is the reverse.
    Raises `KernelError` where no kernel moves it, `LegalityError` as its messages do.
    """
    parts = _parts(_of_bits(copy))
    rows, columns = _tile(copy)
    subgroups = copy.num_subgroups if isinstance(copy, TiledCopy) else 1
    value = parts[0].copy.value_type
    dumped = Dumped(value, subgroups, sum(part.slots for part in parts))
    grid = (("m", Tiles("M", rows)), ("n", Tiles("N", columns)))
    m, n = Index("m"), Index("n")
    stores = parts[0].copy.block.is_store
    along = parts[0].copy.x_mode
    matrix = Operand("A", value, ("M", "N"), along, "out" if stores else "in")
    registers = Operand(
        "R",
        value,
        (*(count for _, count in grid), subgroups * dumped.rows, dumped.width),
        role="in" if stores else "out",
    )
    body: list[Statement] = []
    fragments: list[Fragment] = []
    first = 0
    for number, part in enumerate(parts):
        name = f"r{number}"
        fragments.append(Fragment(name, value, part.slots))
        at = (m * rows + part.row, n * columns + part.column)
        place = (m, n, Index(None, first), Index())
        raw = dumped.copy(part.slots, stores)
        if stores:
            body += [Load(raw, "R", place, name, (2, 3)), Store(part.copy, "A", at, name, (0, 1))]
        else:
            body += [Load(part.copy, "A", at, name, (0, 1)), Store(raw, "R", place, name, (2, 3))]
        first += part.slots * SUBGROUP // dumped.width
    claimed = _Claimed(formula, (rows, columns), subgroups, dumped, unit_bits)
    claim = claimed.of_matrix() if stores else claimed.of_registers()
    return Kernel(
        name=f"ownership of {copy.atom if isinstance(copy, TiledCopy) else copy}",
        operands=(registers, matrix) if stores else (matrix, registers),
        fragments=tuple(fragments),
        shared=(),
        grid=grid,
        subgroups=subgroups,
        body=tuple(body),
        computes=Specification((claim,)),
    )


def returned(copy: BlockCopy | TiledCopy) -> Kernel | None:
    """Return a kernel that loads blocks as a copy does, and stores them again; or None.

    None where no store has the rows of its messages: of transposed, packed and padded ones, and of
    stores.
    """
    rows, columns = _tile(copy)
    fragments: list[Fragment] = []
    body: list[Statement] = []
    m, n = Index("m"), Index("n")
    for number, part in enumerate(_parts(_of_bits(copy))):
        atom, name = part.copy.block, f"r{number}"
        op = atom.op
        if op.kind != "XE_LOAD_2D" or part.copy.messages * part.copy.num_subgroups > 1:
            return None
        if atom.registers().padding:
            return None
        value, wide = atom.value_type, op.block_width
        high = max(h for h in range(1, 9) if op.height % h == 0)
        store = _alone(make_copy_atom(XE_STORE_2D(op.bits, high, wide), value))
        each = store.atom.values
        at = (m * rows + part.row, n * columns + part.column)
        fragments.append(Fragment(name, value, part.slots))
        body.append(Load(part.copy, "A", at, name, (0, 1)))
        blocks = [(x, y) for x in range(0, op.width, wide) for y in range(0, op.height, high)]
        for i, (x, y) in enumerate(blocks):
            piece = f"{name}_{i}"
            fragments.append(Fragment(piece, value, each))
            body.append(Part(name, piece, Layout(each * SUBGROUP), i * each * SUBGROUP))
            right = x * op.bits // value.bits
            body.append(Store(store, "D", (at[0] + y, at[1] + right), piece, (0, 1)))
    grid = (("m", Tiles("M", rows)), ("n", Tiles("N", columns)))
    value = fragments[0].value_type
    operands = (
        Operand("A", value, ("M", "N")),
        Operand("D", value, ("M", "N"), role="out"),
    )
    same = Specification((Claim("D", ("m", "n"), Element("A", (m, n))),))
    name = f"{copy} and back"
    return Kernel(name, 1, operands, tuple(fragments), grid, tuple(body), same)


# ------------------------------------------------------------ parts


@dataclass(frozen=True)
class _Part:
    """A copy of a template, and where in the block it begins."""

    copy: TiledCopy
    row: int = 0
    column: int = 0

    @property
    def slots(self) -> int:
        """Values of a work-item."""
        return self.copy.messages * self.copy.atom.values


def _of_bits(copy: BlockCopy | TiledCopy) -> BlockCopy | TiledCopy:
    """Return a copy of integers of the same width: it moves bits, and not every type has a zero."""
    if isinstance(copy, TiledCopy):
        block = copy.atom
        return replace(copy, atom=_of_bits(block)) if isinstance(block, BlockCopy) else copy
    return replace(copy, value_type=as_numeric(f"u{copy.value_type.bits}"))


def _parts(copy: BlockCopy | TiledCopy) -> list[_Part]:
    """Return the copies of templates that send the messages of a copy."""
    if isinstance(copy, TiledCopy):
        return [_Part(copy.sent)]
    if isinstance(copy, CopyAtom):
        return [_Part(_alone(copy))]
    out: list[_Part] = []
    for part in copy.messages(ANY_TARGET):
        atom = make_copy_atom(op_sending(part.message), copy.value_type)
        column = part.x * part.message.bits // copy.value_type.bits
        out.append(_Part(_alone(atom), part.y, column))
    whole = all(p.slots * SUBGROUP * copy.value_type.bits % (8 * GRF) == 0 for p in out)
    if len(out) > 1 and not whole:
        wrong = "its messages end inside registers"
        raise KernelError("ownership", {"copy": copy}, wrong, "see registers()")
    return out


def _alone(atom: CopyAtom) -> TiledCopy:
    """Return a block as the tile of one subgroup."""
    rows, columns = atom.shape
    # Offsets in a block count rows of memory; in a tile the first mode is fastest.
    turned = Layout((columns, rows), (rows, 1))
    tv = make_layout(*(composition(turned, mode) for mode in atom.layout_ref_tv))
    return TiledCopy(atom, tv, (rows, columns), x_mode=1, y_mode=0)


def _tile(copy: BlockCopy | TiledCopy) -> tuple[int, int]:
    """Return the rows and columns of memory that a work-group moves, in values."""
    if not isinstance(copy, TiledCopy):
        rows, columns = copy.shape
        last = copy.place_in_memory(rows - 1, columns - 1)
        return last[0] + 1, last[1] + 1
    if len(copy.tiler_mn) != 2:
        wrong = f"its tile has {len(copy.tiler_mn)} modes"
        raise KernelError("ownership", {"copy": copy}, wrong, "ask of a tile of two modes")
    return copy.tiler_mn[0], copy.tiler_mn[1]


# ------------------------------------------------------------ registers


@dataclass(frozen=True)
class Dumped:
    """The registers of subgroups in memory, as they lie: rows of ``width`` values."""

    value: Numeric
    subgroups: int
    slots: int

    @property
    def width(self) -> int:
        """Values in a row: those of a register, where registers are full."""
        return gcd(self.slots * SUBGROUP * self.value.bits // 8, GRF) * 8 // self.value.bits

    @property
    def rows(self) -> int:
        """Rows of a subgroup."""
        return self.slots * SUBGROUP // self.width

    def copy(self, slots: int, loads: bool) -> TiledCopy:
        """Return the copy of so many values of each work-item, between registers and memory."""
        rows, bits = slots * SUBGROUP // self.width, max(self.value.bits, 8)
        high = max(h for h in range(1, 9) if rows % h == 0)
        elements = self.width * self.value.bits // bits
        op = (XE_LOAD_2D if loads else XE_STORE_2D)(bits, high, elements)
        # Slot by slot along rows; the subgroups one below the other.
        order = Layout((self.width, rows), (self.subgroups * rows, 1))
        lanes = composition(order, Layout(SUBGROUP))
        values = composition(order, Layout(slots, SUBGROUP))
        threads = make_layout(lanes, Layout(self.subgroups, rows))
        tile = (self.subgroups * rows, self.width)
        return TiledCopy(make_copy_atom(op, self.value), make_layout(threads, values), tile)


# ------------------------------------------------------------ claims


@dataclass(frozen=True)
class _Claimed:
    """A formula of ownership as a claim about what lies in memory."""

    formula: Formula
    tile: tuple[int, int]
    subgroups: int
    dumped: Dumped
    unit_bits: int

    @property
    def per(self) -> int:
        """Values in a unit."""
        return self.unit_bits // self.dumped.value.bits

    def of_registers(self) -> Claim:
        """``R[m,n,g,i]`` is the element that its work-item is said to own."""
        g, i = Index("g"), Index("i")
        subgroup, row = g // self.dumped.rows, g % self.dumped.rows
        if self.subgroups == 1:
            subgroup, row = Index(), g
        slot, per = row * self.dumped.width + i, self.per
        lane = slot // per % SUBGROUP
        value = slot // (per * SUBGROUP) * per + slot % per
        names = {T: subgroup * SUBGROUP + lane, V: value}
        at = [x.substitute(names) for x in self.formula]
        y, x = (
            Index(name) * extent + inside
            for name, extent, inside in zip("mn", self.tile, at, strict=True)
        )
        element: Expression = Element("A", (y, x))
        for index, extent, inside in ((x, "N", self.formula[1]), (y, "M", self.formula[0])):
            element = Where(index, Index(extent), element, Const(0))
            if self._least(inside) < 0:
                element = Where(index * -1, Index(None, 1), element, Const(0))
        return Claim("R", ("m", "n", "g", "i"), element)

    def _least(self, inside: Index) -> int:
        return everywhere(inside, SUBGROUP * self.subgroups, self.dumped.slots).min()

    def of_matrix(self) -> Claim:
        """Each element of A is the slot of which its owner and value are made."""
        rows, columns = self.tile
        per, each, threads = self.per, self.dumped.slots, SUBGROUP * self.subgroups
        (subgroup, lane), v = np.divmod(np.arange(threads)[:, None], SUBGROUP), np.arange(each)
        number = subgroup * each * SUBGROUP + (v // per * SUBGROUP + lane) * per + v % per
        places = np.stack([everywhere(x, threads, each) for x in self.formula], axis=-1)
        pairs = map(tuple, places.reshape(-1, 2).tolist())
        slots = dict(zip(pairs, number.reshape(-1).tolist(), strict=True))
        down = [slots.get((y, 0), -1) for y in range(rows)]
        right = [slots.get((0, x), -1) for x in range(columns)]
        along, across = _from(down), _from(right)
        first = slots.get((0, 0), -1)
        if (
            along is None
            or across is None
            or any(
                slots.get((y, x), -1) != down[y] + right[x] - first
                for y in range(rows)
                for x in range(columns)
            )
        ):
            wrong = "the owner of an element is not a sum of digits of its row and its column"
            raise KernelError("ownership", {"formula": self.words}, wrong, "see run(atom, held)")
        y, x = Index("y"), Index("x")
        slot = index_at(along, y % rows) + index_at(across, x % columns) + first
        width = self.dumped.width
        at = (y // rows, x // columns, slot // width, slot % width)
        return Claim("A", ("y", "x"), Element("R", at))

    @property
    def words(self) -> str:
        """The formula in words."""
        return f"row {self.formula[0]}, column {self.formula[1]}"


def everywhere(index: Index, threads: int, values: int) -> NDArray[np.object_]:
    """Return an index of t and v at all of them, (work-item, value), as integers of any size.

    >>> everywhere(Index("t") * 2 + Index("v") // 2, 2, 4).tolist()
    [[0, 0, 1, 1], [2, 2, 3, 3]]
    """
    t, v = (np.arange(count).astype(object) for count in (threads, values))
    at: Any = {T: t[:, None], V: v}
    return np.broadcast_to(np.asarray(index.at(at), object), (threads, values))


def _from(offsets: Sequence[int]) -> Layout | None:
    return layout_of([offset - offsets[0] for offset in offsets])
