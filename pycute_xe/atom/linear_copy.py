"""Linear copy atoms: who owns what of a block, or of what one work-item addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from pycute_xe.algebra import coalesce, upcast
from pycute_xe.arch.lsc import Address, DataType, Message
from pycute_xe.arch.rules import errors
from pycute_xe.arch.target import Target, get_target
from pycute_xe.atom.copy_answers import CopyAnswers, PlacedLinear
from pycute_xe.atom.linear_op import LinearOp, Side
from pycute_xe.atom.register_picture import SUBGROUP, Place, RegisterPicture
from pycute_xe.bulk import entries
from pycute_xe.errors import CuteError, DTypeError, LegalityError
from pycute_xe.facts import rows
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed_fields

__all__ = ["LinearCopyAtom", "make_linear_copy_atom"]

# ------------------------------------------------------------ linear lowering
# The messages of linear copies, and what stands in registers with them.


def lower(op: LinearOp, target: str | Target) -> tuple[PlacedLinear, ...]:
    """Return the messages of an operation for a subgroup of 16 work-items.

    Raises `LegalityError` with the rules that forbid it and their sources, `TargetError` for an
    unknown target.

    >>> from pycute_xe.atom.linear_op import XE_1D_LOAD_GLOBAL
    >>> print(*lower(XE_1D_LOAD_GLOBAL("u16", "u64"), "bmg"))
    lsc_load.ugm (M1,1) V:d64x16t flat[V1]:a64 at element 0
    """
    known = get_target(target)
    parts = tuple(_blocks(op) if op.is_block else _lanes(op))
    broken = {b.rule: b for part in parts for b in errors(part.message.check(known))}
    if broken:
        less = f"u{op.registers.bits // 2}"
        raise LegalityError(
            "lower",
            {"op": op, "target": known.name},
            "; ".join(f"{b.rule}: {b.condition} [{b.source}]" for b in broken.values()),
            f"move less at once, such as {op.kind}<{less}>",
        )
    return parts


def _blocks(op: LinearOp) -> Iterator[PlacedLinear]:
    """Cut the block of the subgroup into transposed messages, as long as they may be."""
    nbytes = SUBGROUP * op.registers.bytes
    row = next(
        row
        for row in rows("linear", "block")
        if op.registers.bytes % cast("int", row["align"]) == 0
    )
    size, most = cast("str", row["data"]), cast("int", row["most"])
    count = nbytes * 8 // DataType(size).memory_bits
    for first in range(0, count, most):
        data = DataType(size, min(most, count - first), transpose=True)
        yield PlacedLinear(_message(op.moves[0], op, data, 1), first)


def _lanes(op: LinearOp) -> Iterator[PlacedLinear]:
    for move in op.moves:
        moved = op.D if move == "store" and "load" in op.moves else op.registers
        data = DataType(f"d{moved.bits}") if move == "atomic" else lane_data(moved)
        yield PlacedLinear(_message(move, op, data, SUBGROUP))


def lane_data(moved: Numeric) -> DataType:
    """Return the data of a message that moves one value of a type for each work-item.

    >>> from pycute_xe.numeric import as_numeric
    >>> print(*(lane_data(as_numeric(name)) for name in ("u8", "bf16", "f32", "u64", "u128")))
    d8u32 d16u32 d32 d32x2 d32x4
    """
    *_, row = (row for row in rows("linear", "lane") if cast("int", row["bits"]) <= moved.bits)
    return DataType(cast("str", row["data"]), moved.bits // cast("int", row["bits"]))


def _message(move: str, op: LinearOp, data: DataType, lanes: int) -> Message:
    name = _addition(op.D) if move == "atomic" else move
    sfid = cast("str", op.fact["sfid"])
    address = Address("flat", 32 if sfid == "slm" else 64, "V1")
    if move == "load":
        return Message(name, sfid, lanes, data, address, dst="V")
    return Message(name, sfid, lanes, data, address, src1="V")


def _addition(added: Numeric) -> str:
    (name,) = (row["op"] for row in rows("linear", "atomic") if row["kind"] == added.kind)
    return cast("str", name)


def picture(op: LinearOp, bits: int) -> RegisterPicture:
    """Return what the registers of 16 work-items hold, in values of ``bits``.

    Of a block that is memory as it lies, as (0, value), and a work-item holds what fills its type.
    Else the row is the work-item, and the column one of its values, or of the 32 bits in one.
    """
    if op.is_block:
        count = SUBGROUP * op.registers.bits // bits
        return RegisterPicture(bits, tuple((0, i) for i in range(count)), op.registers.bits)
    atomic = "atomic" in op.moves
    data = DataType(f"d{op.D.bits}") if atomic else lane_data(op.registers)
    # A value that is converted is what it has become.
    part = min(op.D.bits if atomic and op.S != op.D else bits, data.register_bits)
    return RegisterPicture(part, tuple(_slots(data, part)), data.register_bits)


def _slots(data: DataType, part: int) -> Iterator[Place | None]:
    """The values of each dword of each work-item: all first dwords, then all second ones."""
    stored, room = data.memory_bits // part, data.register_bits // part
    for element in range(data.vector):
        for lane in range(SUBGROUP):
            yield from ((lane, element * stored + i) for i in range(stored))
            yield from [None] * (room - stored)


# ------------------------------------------------------------ linear copy

_NOTES = {cast("str", row["id"]): cast("str", row["text"]) for row in rows("linear", "note")}


@typed_fields
@dataclass(frozen=True)
class LinearCopyAtom(CopyAnswers):
    """A linear copy operation with the type of the values it moves.

    ``layout_*_tv`` map (work-item, value) to an offset in values, as CUTLASS's traits define them.
    Of an operation of 16 work-items they cover the subgroup's block: value ``v`` of work-item ``t``
    is element ``t + 16 * v``, and no work-item owns memory. All others have one work-item, whose
    values follow each other, at an address of its own; `registers` then shows 16 such work-items,
    row ``t`` of the picture being what work-item ``t`` moves. ``shape`` is (1, values).
    Raises `DTypeError` for values that do not tile the smaller type, and both sides of one
    work-item. Counterpart: ``include/cute/atom/copy_traits_xe.hpp``.

    >>> from pycute_xe.cutlass import get_atom
    >>> print(get_atom("XE_1D_LOAD_GLOBAL<u16,u64>").layout_dst_tv)
    (16,4):(1,16)
    >>> print(get_atom("XE_1D_LDSM<u32,u128>").layout_dst_tv)
    (1,4):(0,1)
    """

    op: LinearOp
    value_type: Numeric

    def __post_init__(self) -> None:
        """Check the operation, and that values tile what it moves."""
        if type(self.op) is not LinearOp:
            raise CuteError(
                "make_copy_atom",
                {"op": self.op},
                f"{type(self.op).__name__} is not a linear operation",
                'use XE_1D_LOAD_GLOBAL("u16", "u64") or a relative',
            )
        object.__setattr__(self, "value_type", as_numeric(self.value_type))
        # Of a block they tile S and D both: several elements are several work-items'.
        for numeric in self._sides:
            if numeric.bits % self.value_type.bits:
                raise DTypeError(
                    "make_copy_atom",
                    {"op": self.op, "value_type": self.value_type},
                    f"{self.value_type.bits}-bit values do not tile {numeric.bits} bits",
                    "use a type whose width divides it",
                )

    @property
    def _sides(self) -> tuple[Numeric, Numeric]:
        """The types whose bits one work-item's source and destination have."""
        src, dst = cast("Side", self.op.fact["src"]), cast("Side", self.op.fact["dst"])
        return self.op.side(src), self.op.side(dst)

    @property
    def thr_id(self) -> Layout:
        """The 16 work-items of a subgroup, or one.

        >>> from pycute_xe.cutlass import get_atom
        >>> print(get_atom("XE_1D_LOAD_GLOBAL<f32>").thr_id, get_atom("XE_1D_LDSM<f32>").thr_id)
        16:1 1:0
        """
        return Layout(SUBGROUP, 1) if self.op.is_block else Layout(1, 0)

    @property
    def shape(self) -> tuple[int, int]:
        """(1, values) of the block, or of what one work-item moves."""
        return 1, size(self.layout_ref_tv)

    def _traits(self, side: str) -> Layout:
        """(work-item, bit) → bit of the source or destination, "src" or "dst"."""
        src, dst = self._sides
        bits = (src if side == "src" else dst).bits
        if not self.op.is_block:
            return Layout((1, bits), (0, 1))
        if self.op.fact["ref"] != side:
            return Layout((SUBGROUP, bits), (0, 1))
        element = min(src.bits, dst.bits)
        values = ((self.op.vector, element), (SUBGROUP * element, 1))
        return Layout((SUBGROUP, values[0]), (element, values[1]))

    @property
    def layout_src_tv_bits(self) -> Layout:
        """(work-item, bit) → bit of the source.

        >>> from pycute_xe.cutlass import get_atom
        >>> print(get_atom("XE_1D_STORE_GLOBAL<u64,u16>").layout_src_tv_bits)
        (16,(4,16)):(16,(256,1))
        """
        return coalesce(self._traits("src"), (1, 1))

    @property
    def layout_dst_tv_bits(self) -> Layout:
        """(work-item, bit) → bit of the destination."""
        return coalesce(self._traits("dst"), (1, 1))

    @property
    def layout_ref_tv_bits(self) -> Layout:
        """(work-item, bit) → bit of the side that the other is compared with."""
        return coalesce(self._traits(cast("str", self.op.fact["ref"])), (1, 1))

    def _in_values(self, side: str) -> Layout:
        return coalesce(upcast(self._traits(side), self.value_type.bits), (1, 1))

    @property
    def layout_src_tv(self) -> Layout:
        """(work-item, value) → offset in the source, in values; memory of a block has no owner."""
        return self._in_values("src")

    @property
    def layout_dst_tv(self) -> Layout:
        """(work-item, value) → offset in the destination, in values."""
        return self._in_values("dst")

    @cached_property
    def layout_ref_tv(self) -> Layout:
        """(work-item, value) → offset in values, of the side that the other is compared with."""
        return self._in_values(cast("str", self.op.fact["ref"]))

    @cached_property
    def _owned(self) -> tuple[tuple[Place, ...], ...]:
        threads = size(self.layout_ref_tv[0])
        places = [(0, offset) for offset in entries(self.layout_ref_tv)]
        return tuple(tuple(places[lane::threads]) for lane in range(threads))

    @cached_property
    def _picture(self) -> RegisterPicture:
        return picture(self.op, self.value_type.bits)

    @property
    def _operation_cpp(self) -> str:
        return self.op.to_cpp()

    def messages(self, target: str | Target) -> tuple[PlacedLinear, ...]:
        """Return the messages that 16 work-items send together on a target.

        A block is moved by messages of one channel, in order; everything else by one message with
        an address for each work-item, `UniversalCopy` by its load, then its store.
        Raises `LegalityError` with the rules that forbid it.

        >>> from pycute_xe.cutlass import get_atom
        >>> print(*get_atom("XE_1D_LDSM<u32,u128>").messages("bmg"))
        lsc_load.slm (M1,16) V:d32x4 flat[V1]:a32 at element 0
        """
        return lower(self.op, target)

    @cached_property
    def faithful(self) -> bool:
        """Whether a work-item ends up with the values that the layouts say, in that order.

        Of a block each work-item reads what fills its type, as ``group_load`` places it.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_1D_LOAD_GLOBAL<u32>").faithful
        True
        >>> atom = get_atom("XE_1D_LOAD_GLOBAL<u16,u64>")
        >>> atom.faithful, atom.ownership()[1][:2], atom.registers().held_by(1)[:2]
        (False, ((0, 1), (0, 17)), ((0, 4), (0, 5)))
        """
        return self._shown_in(self._picture.unit_bits)

    def _shown_in(self, unit_bits: int) -> bool:
        if self.op.is_block:
            return super()._shown_in(unit_bits)
        return all(
            owner == (lane, column)
            for (lane, column), owner in self._picture.owners(unit_bits).items()
        )

    @property
    def notes_by_subject(self) -> dict[str, str]:
        """What a user of this atom should know, in words, by the names of the rows that say it."""
        return {name: _NOTES[name] for name in self._noted()}

    def _noted(self) -> Iterator[str]:
        op = self.op
        if op.is_block:
            if op.vector > 1:
                yield "blocked"
                if self.value_type.bits < min(op.S.bits, op.D.bits):
                    yield "parts-last"
            yield "own-elements"
            if op.registers.bytes < 4:
                yield "dword-address"
        elif "atomic" in op.moves:
            yield "adds"
        else:
            if lane_data(op.registers).register_bits > op.registers.bits:
                yield "zero-extended"
            if self.value_type.bits > 32:
                yield "in-dwords"
        yield from self._noted_types()

    def _noted_types(self) -> Iterator[str]:
        op = self.op
        if op.S != op.D and self.op.fact["src"] != op.fact["dst"] and not op.is_block:
            yield "converts"
        if op.S.bits != op.D.bits and op.fact["src"] == op.fact["dst"]:
            yield "equal-types"
        if len(op.moves) > 1:
            yield "either-memory"

    def __repr__(self) -> str:
        """The call that builds it."""
        return f"make_copy_atom({self.op!r}, {self.value_type.name!r})"

    def __str__(self) -> str:
        """The operation, as C++ names the type."""
        return str(self.op)


def make_linear_copy_atom(op: LinearOp, value_type: Numeric | str | None = None) -> LinearCopyAtom:
    """Return the atom of a linear operation; values are of the smaller of its types by default.

    Raises as `LinearCopyAtom` does.

    >>> from pycute_xe.atom.linear_op import XE_1D_LDSM
    >>> make_linear_copy_atom(XE_1D_LDSM("u32", "u128"))
    make_copy_atom(XE_1D_LDSM('u32', 'u128'), 'u32')
    """
    smaller = op.S if op.S.bits <= op.D.bits else op.D
    return LinearCopyAtom(op, smaller if value_type is None else as_numeric(value_type))
