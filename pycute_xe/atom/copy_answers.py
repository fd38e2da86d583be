"""What every copy atom answers: who is said to own an element, and who holds it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from pycute_xe.algebra import coalesce
from pycute_xe.algebra.compose import scaled
from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.lsc import Message
from pycute_xe.arch.target import Target
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.formula import formula_of
from pycute_xe.atom.register_picture import (
    SUBGROUP,
    UNITS,
    Place,
    RegisterPicture,
    is_index,
    places_by_work_item,
)
from pycute_xe.errors import CoordError, CuteError, ShapeError, quoted
from pycute_xe.facts import rows
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed
from pycute_xe.typing import shown

if TYPE_CHECKING:
    from pycute_xe.symbolic.terms import Expr

__all__ = [
    "AnyPlaced",
    "BlockAnswers",
    "CopyAnswers",
    "PlacedLinear",
    "PlacedMessage",
    "ValueOrder",
    "unit_of_own_elements",
]

AnyMessage = TypeVar("AnyMessage", bound=Block2D | Message, covariant=True)


@dataclass(frozen=True)
class Placed(Generic[AnyMessage]):
    """A message and where it starts in the block: ``x`` elements of the message, ``y`` rows.

    A linear message counts ``x`` in memory, in the elements of its data size, and has no rows.

    >>> print(PlacedMessage(Block2D("load", 16, 8, 16), 0, 8))
    lsc_load_block2d.ugm (M1,1) V:d16.1x16x8nn at x 0, y 8
    >>> from pycute_xe.arch.lsc import Address, DataType
    >>> block = DataType("d64", 64, transpose=True)
    >>> print(PlacedLinear(Message("load", "ugm", 1, block, Address("flat", 64, "V1"), "V"), 64))
    lsc_load.ugm (M1,1) V:d64x64t flat[V1]:a64 at element 64
    """

    message: AnyMessage
    x: int = 0
    y: int = 0

    def __str__(self) -> str:
        """The message as the vISA assembler takes it, then its place."""
        if isinstance(self.message, Block2D):
            return f"{self.message} at x {self.x}, y {self.y}"
        return f"{self.message} at element {self.x}"


PlacedMessage = Placed[Block2D]
"""One of block-2D messages."""

PlacedLinear = Placed[Message]
"""One of the messages that move what is contiguous, or what each work-item addresses."""

AnyPlaced = PlacedMessage | PlacedLinear


ValueOrder = Literal["layout", "registers"]
"""In which order the values of a work-item are counted."""

# ------------------------------------------------------------ copy answers


class CopyAnswers(ABC):
    """The two accounts of a copy atom: what CuTe's layouts say, and what the messages do.

    Rows and columns count in `shape`. `ownership` and `owner_of` are the first account, `registers`
    is the second; `faithful` compares them.
    """

    value_type: Numeric

    _repr_mimebundle_ = shown

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the block, in values."""

    @property
    def values(self) -> int:
        """Values each work-item holds."""
        return size(self.layout_ref_tv[1])

    @property
    @abstractmethod
    def layout_src_tv(self) -> Layout:
        """(work-item, value) → offset in the source, in values."""

    @property
    @abstractmethod
    def layout_dst_tv(self) -> Layout:
        """(work-item, value) → offset in the destination, in values."""

    @cached_property
    @abstractmethod
    def layout_ref_tv(self) -> Layout:
        """(work-item, value) → offset, in values."""

    @property
    @abstractmethod
    def notes_by_subject(self) -> dict[str, str]:
        """What a user of this atom should know, in words, by subject."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user of this atom should know, in words: `notes_by_subject` without the subjects.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_1D_LDSM<u8>").notes
        ('each element takes a dword in the registers of the message, zeros above it',)
        """
        return tuple(self.notes_by_subject.values())

    @cached_property
    @abstractmethod
    def faithful(self) -> bool:
        """Whether the layouts say what the registers hold, so that a work-item may look inside."""

    @cached_property
    @abstractmethod
    def _owned(self) -> tuple[tuple[Place, ...], ...]:
        """(row, column) of each value of each work-item."""

    @cached_property
    @abstractmethod
    def _picture(self) -> RegisterPicture:
        """The registers after a load, or before a store."""

    @abstractmethod
    def messages(self, target: str | Target) -> tuple[AnyPlaced, ...]:
        """Return the messages that move the block on a target; raise `LegalityError`."""

    @property
    @abstractmethod
    def _operation_cpp(self) -> str:
        """The C++ type of the operation, or of its traits."""

    @property
    def template(self) -> Block2DOp:
        """The block-2D operation that sends its messages.

        Raises `CuteError` for an atom of which no block-2D operation does.
        """
        raise CuteError(
            "template",
            {"atom": self},
            f"{self} is not a block-2D copy",
            "use a block-2D copy, such as XE_LOAD_2D(16, 8, 16) or XE_2D_U16x8x16_LD_N",
        )

    def to_cpp(self) -> str:
        """Return the C++ type: ``Copy_Atom`` of the operation and the type of the values.

        A block-2D operation stands in traits, whose modes are those of a tensor with rows.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_U16x32x16_LD_V", "bf16").to_cpp()
        'Copy_Atom<Copy_Traits<XE_2D_U16x32x16_LD_V>,bfloat16_t>'
        """
        return f"Copy_Atom<{self._operation_cpp},{self.value_type.to_cpp()}>"

    @property
    def thr_id(self) -> Layout:
        """The 16 work-items of a subgroup."""
        return Layout(SUBGROUP, 1)

    def place_in_memory(self, row: int, col: int) -> Place:
        """Return the (row, column) in memory, in values, of a value of the block.

        The place itself, except where the block lies transposed in memory.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_U16x16x8_LD_T").place_in_memory(0, 3)
        (3, 0)
        """
        return row, col

    def ownership(self) -> tuple[tuple[Place, ...], ...]:
        """Return for each work-item the (row, column) of each value it is said to own, in order.

        Law: agrees with `layout_ref_tv`. Document: CUTLASS, "2D Copy Operations for Intel XE
        Architecture", whose tables list the columns.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_Packed_U8x1x64_LD_N").ownership()[15]
        ((0, 30), (0, 31), (0, 62), (0, 63))
        """
        return self._owned

    def formula(self, order: ValueOrder = "layout") -> tuple[Expr, ...]:
        """Return `ownership` as sympy expressions: row and column of value v of work-item t.

        ``order`` counts the values of a work-item: as its ``"layout"`` lists them, or as its
        ``"registers"``, read in units of `unit_bits`, hold them. Law: at integers they are
        ``in_order(order)[t][v]``; `verify` takes them back with the same ``order``, as text or as
        expressions. Raises `ShapeError` where no formula of the digits of t and v says it, and as
        `in_order` does.

        >>> from pycute_xe.cutlass import get_atom
        >>> atom = get_atom("XE_2D_U16x8x32_LD_V")
        >>> atom.formula()
        (Mod(v, 2) + 2*floor(v/4), t + 16*(Mod(floor(v/2), 2)))
        >>> atom.formula(order="registers")
        (Mod(v, 8), t + 16*floor(v/8))
        """
        lanes = self.in_order(order)
        if len(set(map(len, lanes))) > 1:
            raise self._without_order("idle work-items")
        return formula_of(lanes, self)

    @typed
    def in_order(self, order: ValueOrder = "layout") -> tuple[tuple[Place, ...], ...]:
        """Return for each work-item the (row, column) of each value, in an order of the values.

        Law: in ``"layout"`` order it is ``ownership()``; in ``"registers"`` order the values that a
        work-item finds in its registers, read in units of `unit_bits`. Raises `ShapeError` for
        another order, and for ``"registers"`` of a prefetch or with padding between values.

        >>> from pycute_xe.cutlass import get_atom
        >>> atom = get_atom("XE_2D_U16x32x32_LD_N")
        >>> atom.in_order("layout")[3][:3], atom.in_order("registers")[3][:3]
        (((0, 3), (0, 19), (1, 3)), ((0, 3), (1, 3), (2, 3)))
        """
        if order == "layout":
            return self._owned
        if order != "registers":
            wrong = f"unknown order {quoted(order)}"
            raise ShapeError("in_order", {"atom": self}, wrong, 'use "layout" or "registers"')
        lanes = places_by_work_item(self.registers(), self.unit_bits)
        filled = [lane[: self.values] for lane in lanes]
        if not any(lanes):
            raise self._without_order("prefetch")
        if any(None in lane for lane in filled):
            raise self._without_order("padding")
        return tuple(tuple(place for place in lane if place is not None) for lane in filled)

    def _without_order(self, reason: str) -> ShapeError:
        row = next(row for row in rows("block2d_names", "without_order") if row["id"] == reason)
        return ShapeError(
            "in_order", {"atom": self}, f"{self}: {row['condition']}", str(row["fix"])
        )

    def register_values(self, unit_bits: int) -> tuple[tuple[int, ...], ...]:
        """Return value of the layout → value in registers, for each work-item.

        Law: ``held[register_values[t][v]] == ownership()[t][v]``, where ``held`` are the registers
        of work-item ``t``, read in units of ``unit_bits``. Raises `ShapeError` if a work-item does
        not find all that it owns there.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_U16x32x32_LD_N").register_values(16)[0][:4]
        (0, 32, 1, 33)
        """
        lanes = places_by_work_item(self.registers(), unit_bits)
        value_of = [{place: i for i, place in enumerate(lane)} for lane in lanes]
        out = [
            tuple(lane.get(place, -1) for place in own)
            for lane, own in zip(value_of, self._owned, strict=True)
        ]
        if any(-1 in lane for lane in out):
            raise self._without_order("other work-items")
        return tuple(out)

    def columns(self, work_item: int) -> tuple[int, ...]:
        """Return the columns of which a work-item is said to own values, ascending.

        Raises `CoordError` for a work-item out of range.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_U16x32x32_LD_V").columns(1)
        (1, 17)
        """
        owned = self._owned
        if not is_index(work_item, len(owned)):
            raise CoordError(
                "columns",
                {"atom": str(self), "work_item": work_item},
                f"the atom has {len(owned)} work-items",
                "count from 0",
            )
        return tuple(sorted({x for _, x in owned[work_item]}))

    def owner_of(self, row: int, col: int) -> tuple[int, int]:
        """Return (work-item, value) of a value of the block.

        Law: ``ownership()[work_item][value] == (row, col)``. Raises `CoordError` outside `shape`,
        and for a value without an owner.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_Packed_U8x8x64_LD_N").owner_of(0, 33)
        (0, 3)
        """
        owner = None
        if is_index(row) and is_index(col):
            owner = self._owner_table.get((row, col))
        if owner is not None:
            return owner
        rows, cols = self.shape
        condition = f"the block has rows 0 to {rows - 1} and columns 0 to {cols - 1}"
        way_out = "ask for one of these"
        if is_index(row, rows) and is_index(col, cols):
            condition = "no work-item owns this element"
            way_out = "see its notes, and registers() for who holds it"
        given = {"atom": str(self), "row": row, "col": col}
        raise CoordError("owner_of", given, condition, way_out)

    @cached_property
    def _owner_table(self) -> Mapping[Place, tuple[int, int]]:
        # The first owner stays where work-items repeat values.
        table: dict[Place, tuple[int, int]] = {}
        for work_item, places in enumerate(self._owned):
            for value, place in enumerate(places):
                table.setdefault(place, (work_item, value))
        return table

    def registers(self) -> RegisterPicture:
        """Return what the registers hold after the messages of a load, or before those of a store.

        Raises `LegalityError` where no messages can move the block.

        >>> from pycute_xe.cutlass import get_atom
        >>> atom = get_atom("XE_2D_U16x16x16_LD_V")
        >>> atom.owner_of(1, 0), atom.registers().owner_of(1, 0)
        ((0, 1), (1, 0))
        """
        return self._picture

    @cached_property
    def faithful_units(self) -> tuple[int, ...]:
        """The widths in bits, of 8, 16, 32 and 64, in which registers show what is said.

        A work-item that reads its registers in elements of such a width finds the values that
        `ownership` says, in that order. Nothing for a prefetch. Raises `LegalityError` as
        `registers` does. Document: intel/sycl-tla, media/docs/cpp/xe_rearchitecture.md, which
        notes that ownership depends on the width in which registers are read.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_U16x16x16_LD_N").faithful_units
        (16,)
        >>> get_atom("XE_2D_U16x16x16_LD_V").faithful_units
        (32,)
        """
        units = (unit for unit in UNITS if unit % self._picture.bits == 0)
        return tuple(unit for unit in units if self._shown_in(unit))

    @property
    def unit_bits(self) -> int:
        """The width in bits in which work-items read their registers.

        The least of `faithful_units`; where no unit is faithful, the least in which a work-item
        holds its own elements in any order; else what `registers` is shown in.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_U16x16x16_LD_V").unit_bits, get_atom("XE_2D_U8x8x32_LD_N").unit_bits
        (32, 8)
        """
        exact = next(iter(self.faithful_units), None)
        own = exact or unit_of_own_elements(self._picture, self._owned)
        return own or self._picture.unit_bits

    def _shown_in(self, unit_bits: int) -> bool:
        """Whether registers read in units of a width hold what is said, values in order."""
        return self._picture.shows(self._owned, unit_bits)


def unit_of_own_elements(picture: RegisterPicture, owned: Sequence[Sequence[Place]]) -> int | None:
    """Return the least width in bits in which each work-item holds its own elements, in any order.

    ``None`` if no width up to 64 bits does, or if an element is said to have two owners.

    >>> from pycute_xe.cutlass import get_atom
    >>> atom = get_atom("XE_2D_U16x8x32_LD_N")
    >>> unit_of_own_elements(atom.registers(), atom.ownership())
    16
    """
    whose = {place: t for t, places in enumerate(owned) for place in places}
    if sum(map(len, owned)) != len(whose):
        return None
    units = (u for u in range(picture.unit_bits, 65, picture.unit_bits) if 64 % u == 0)
    return next((unit for unit in units if _owned_by(picture, unit, whose)), None)


def _owned_by(picture: RegisterPicture, unit_bits: int, whose: dict[Place, int]) -> bool:
    """Whether registers hold these elements and no others, each with its work-item."""
    owners = picture.owners(unit_bits)
    return len(owners) == len(whose) and all(
        whose.get(place) == work_item for place, (work_item, _) in owners.items()
    )


# ------------------------------------------------------------ blocks


def widened(layout: Layout, n: int) -> Layout:
    """Split each element into ``n`` neighbours: a new fastest mode, everything else scaled."""
    return make_layout(Layout(n), scaled(layout, n)) if n > 1 else layout


def recast_values(tv: Layout, parts: int) -> Layout:
    """Split each value of (work-item, value) into neighbouring parts."""
    return coalesce(make_layout(scaled(tv[0], parts), widened(tv[1], parts)), (1, 1))


class BlockAnswers(CopyAnswers):
    """The layouts of a copy between registers and a block of rows, whose memory has no owner."""

    @property
    @abstractmethod
    def is_store(self) -> bool:
        """Whether registers are the source."""

    @abstractmethod
    def messages(self, target: str | Target) -> tuple[PlacedMessage, ...]:
        """Return the block-2D messages that move the block; raise `LegalityError`."""

    @property
    def layout_dst_tv(self) -> Layout:
        """Where a load's registers come from; for a store, memory, which no work-item owns."""
        return self._memory_tv if self.is_store else self.layout_ref_tv

    @property
    def layout_src_tv(self) -> Layout:
        """Where a store's registers go; for a load, memory, which no work-item owns."""
        return self.layout_ref_tv if self.is_store else self._memory_tv

    @property
    def _memory_tv(self) -> Layout:
        return make_layout(Layout(SUBGROUP, 0), self.layout_ref_tv[1])

    @property
    def layout_ref_tv_bits(self) -> Layout:
        """`layout_ref_tv` in bits: (work-item, bit) → bit offset."""
        return recast_values(self.layout_ref_tv, self.value_type.bits)

    @property
    def layout_src_tv_bits(self) -> Layout:
        """`layout_src_tv` in bits."""
        return recast_values(self.layout_src_tv, self.value_type.bits)

    @property
    def layout_dst_tv_bits(self) -> Layout:
        """`layout_dst_tv` in bits."""
        return recast_values(self.layout_dst_tv, self.value_type.bits)
