"""CUTLASS's older block-2D copies: who owns which element, by one formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import cast

from pycute_xe.algebra import composition, upcast
from pycute_xe.algebra.compose import from_modes
from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.target import Target
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_answers import (
    BlockAnswers,
    PlacedMessage,
    recast_values,
    unit_of_own_elements,
)
from pycute_xe.atom.register_picture import (
    ANY_TARGET,
    PADDING,
    SUBGROUP,
    Place,
    RegisterPicture,
    slots_in,
)
from pycute_xe.bulk import entries
from pycute_xe.cutlass.legacy_lowering import lower, sent_by_cutlass, template_of, why_not
from pycute_xe.cutlass.legacy_name import (
    LegacyCopyName,
    Step,
    Steps,
    memory_steps,
    parse_block2d_name,
    places,
    register_steps,
)
from pycute_xe.errors import CuteError, DivisibilityError, DTypeError
from pycute_xe.layout import Layout, make_layout
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed_fields

__all__ = ["LegacyCopyAtom", "unit_of_own_elements"]

# ------------------------------------------------------------ legacy notes
# What a user of an older copy operation should know, in words.

_SIDES = {
    "one value": "a single value",
    "contiguous": "as many elements as a work-item holds, from the start of the block",
    "rows first": "the values of a work-item, rows before groups of columns",
}


def notes_of(name: LegacyCopyName) -> dict[str, str]:
    """Return what CUTLASS does under this name that its document does not say, by subject."""
    return dict((*_traits(name), *_letter(name), *_memory(name), *_sent(name)))


Note = tuple[str, str]


def _traits(name: LegacyCopyName) -> Iterator[Note]:
    rule = "the layouts here follow the documented ownership"
    if name.logical_shape[1] % SUBGROUP:
        rule = "here it has the block of its name; the documented ownership has none so narrow"
    if not name.shipped:
        yield "shipped", "CUTLASS ships no operation of this name"
    elif name.traits == "none":
        yield "shipped", f"CUTLASS ships it without Copy_Traits; {rule}"
    elif name.traits == "unusable":
        yield "shipped", f"CUTLASS's Copy_Traits of it do not compile; {rule}"
    if name.fact_of("traits_say"):
        yield "traits", f"CUTLASS's traits {name.fact_of('traits_say')}; {rule}"
    if name.fact_of("dealt") == "sides swapped":
        swapped = "CUTLASS's traits read the block with its sides exchanged"
        yield "dealt", f"{swapped}; the layouts equal them, ownership() is the documented one"
    if name.fact_of("dealt") == "by eight":
        eight = "CUTLASS's traits deal eight columns of two rows at a time"
        yield "dealt", f"{eight}, not one column to a work-item; layouts and ownership() equal them"


def _letter(name: LegacyCopyName) -> Iterator[Note]:
    if name.packed and name.bits > 8:
        yield "packed", "CUTLASS's document has Packed_ for U8 and U4 only"
    if name.packed and name.mode == "V":
        yield "grammar", "CUTLASS's document ends packed names in N or T, not V"
    if name.mode == "V" and name.bits >= 32:
        yield "letter", "VNNI does not pack elements of 32 bits or more: use LD_N"
    if name.mode == "V" and name.bits < 8:
        yield "VNNI", "VNNI packs bytes: a dword holds 4 rows of 2 columns, not the 8 rows of DPAS"
    if name.mode == "T":
        shape = "x".join(map(str, name.memory_shape))
        yield "sizes", f"rows x columns of its name count {name.counts}: {shape} in memory"


def _memory(name: LegacyCopyName) -> Iterator[Note]:
    if name.fact_of("memory_side"):
        other = "CUTLASS's traits list other elements for the memory side, which no work-item owns"
        yield "memory side", f"{other}: {_SIDES[str(name.fact_of('memory_side'))]}"


def _sent(name: LegacyCopyName) -> Iterator[Note]:
    """What CUTLASS sends where the name would make one expect another message."""
    sent = sent_by_cutlass(name)
    if sent is None:
        return
    why = why_not(name, sent)
    if why:
        text = f"CUTLASS sends {name.fact_of('sends')}, which {why}; the messages here do not"
    else:
        packed = ", packed as for VNNI" if sent.vnni and name.mode != "V" else ""
        text = f"CUTLASS moves it as {name.fact_of('sends')}{packed}"
    yield "message", text
    if name.fact_of("shuffles"):
        moved = "CUTLASS then moves values between work-items: registers() shows them before that"
        yield "shuffles", moved


def note_of_registers(
    picture: RegisterPicture, owned: tuple[tuple[Place, ...], ...], exact: tuple[int, ...]
) -> str:
    """Return how the registers of a work-item differ from what it is said to own.

    ``exact`` are the widths in which registers show what is said, values in order.
    """
    condition = "the registers of a work-item hold other elements than ownership() says"
    if exact:
        return f"{condition}, unless read {' or '.join(map(str, exact))} bits at a time"
    unit = unit_of_own_elements(picture, owned)
    if unit is None:
        return condition
    return (
        f"the registers of a work-item, read {unit} bits at a time, hold the elements "
        "that ownership() says in another order or with gaps"
    )


# ------------------------------------------------------------ legacy registers
# What registers hold after the messages of an older name.


def register_picture(name: LegacyCopyName, places: tuple[Place, ...], bits: int) -> RegisterPicture:
    """Return the picture of the registers, in values of a width, from their `legacy_places`.

    Registers are read in elements of the name, or in values where these are wider.
    """
    return RegisterPicture(bits, slots_in(places), max(name.bits, bits, 8))


def legacy_places(name: LegacyCopyName, value_bits: int) -> tuple[Place, ...]:
    """Return the (row, column) in each slot, in values, as CUTLASS counts them.

    The messages fill whole registers, one after the other; `PADDING` where a slot has no value.
    Nothing for a prefetch. Raises `LegalityError` where no messages can move the block.

    >>> from pycute_xe.cutlass import parse_block2d_name
    >>> legacy_places(parse_block2d_name("XE_2D_U16x16x16_LD_V"), 16)[:3]
    ((0, 0), (1, 0), (0, 1))
    """
    if name.is_prefetch:
        return ()
    places: list[Place] = []
    for part in lower(name, ANY_TARGET):
        first, rest = divmod(part.x * part.message.bits, value_bits)
        top, slots = part.y, _slots_of(part.message, rest, value_bits)
        places += (
            slots
            if not (top or first)
            else [(row + top, col + first) if row >= 0 else PADDING for row, col in slots]
        )
    return tuple((col, row) for row, col in places) if name.mode == "T" else tuple(places)


@lru_cache(maxsize=1 << 8)
def _slots_of(message: Block2D, start: int, value_bits: int) -> tuple[Place, ...]:
    """(row, column) of each value in the registers of a message that starts ``start`` bits on."""
    per_element, wide = max(1, message.bits // value_bits), max(1, value_bits // message.bits)
    columns = message.width * message.count
    elements = entries(message.position)
    out = [PADDING] * (message.register_bytes(ANY_TARGET) * 8 // value_bits)
    for index in range(0, columns * message.height, wide):
        row, column = divmod(index, columns)
        # Memory columns and register slots, both in values.
        first = (start + column * message.bits) // value_bits
        at = elements[index] * message.bits // value_bits
        for inside in range(per_element):
            out[at + inside] = row, first + inside
    return tuple(out)


def all_shown(
    registers: tuple[Place, ...], owned: tuple[tuple[Place, ...], ...], whole: int
) -> bool:
    """Return whether registers, in units of so many values, hold what work-items own, in order.

    What `CopyAnswers` asks of each work-item, asked of all at once: a search asks it of many atoms.
    """
    if not registers:
        return False
    span = SUBGROUP * whole
    for lane, own in enumerate(owned):
        first = lane * whole
        for unit in range(-(-len(own) // whole)):
            mine = own[unit * whole : (unit + 1) * whole]
            at = unit * span + first
            if registers[at : at + len(mine)] != mine:
                return False
    return True


# ------------------------------------------------------------ legacy values
# Maps of elements as maps of values that hold several.


def in_values(tv: Layout, bits: int, value_bits: int) -> Layout:
    """Count values instead of elements of so many bits."""
    if value_bits > bits:
        return upcast(tv, value_bits // bits)
    return recast_values(tv, bits // value_bits)


# ------------------------------------------------------------ legacy copy


@typed_fields
@dataclass(frozen=True)
class LegacyCopyAtom(BlockAnswers):
    """A copy operation by its older name, with the type of the values it moves.

    Law: of the block of `logical_shape`, work-item ``i`` owns columns ``i``, ``i + 16``, … or, of a
    ``Packed`` name, as many adjacent columns from each group of them; LD_N, LD_V and LD_T of one
    block agree, for the VNNI packing hides in the order of the values. ``layout_*_tv`` map
    (work-item, value) to ``x + width * y`` of the block in values, or to ``y + height * x`` for a
    tensor whose first mode is contiguous (``m_major``). They equal CUTLASS's traits wherever those
    map onto the block; `notes` tells where they are not. Types narrower than the name's
    elements lie side by side in them; wider ones need adjacent columns with one work-item.
    Raises `DTypeError` for other types.
    Document: CUTLASS, "2D Copy Operations for Intel XE Architecture". C++: ``Copy_Traits``.

    >>> from pycute_xe.cutlass import get_atom
    >>> print(get_atom("XE_2D_Packed_U8x8x64_LD_N").layout_dst_tv)
    (16,(2,16)):(2,(1,32))
    """

    name: LegacyCopyName
    value_type: Numeric
    m_major: bool = False

    def __post_init__(self) -> None:
        """Check that values tile the elements of the name, or elements the values."""
        if type(self.name) is not LegacyCopyName:
            object.__setattr__(self, "name", parse_block2d_name(cast("str", self.name)))
        object.__setattr__(self, "value_type", as_numeric(self.value_type))
        bits, wanted = self.name.bits, self.value_type.bits
        if not bits % wanted:
            return
        condition = f"{wanted}-bit values do not tile {bits}-bit elements"
        if not wanted % bits:
            if self._values_stay_whole(wanted // bits):
                return
            condition = f"no work-item owns the {wanted // bits} elements of a {wanted}-bit value"
        raise DTypeError(
            "get_atom",
            {"name": self.name, "value_type": self.value_type},
            condition,
            f"use a type of {bits} bits, or of fewer that divide them",
        )

    def _values_stay_whole(self, elements: int) -> bool:
        """Whether each work-item owns so many neighbours of a row, and no message parts them."""
        if self.name.mode != "N" or self._column_major:
            return False
        try:
            extent, down, right = self._steps[1][0]
        except DivisibilityError:
            return False
        return (down, right) == (0, 1) and extent % elements == 0

    @property
    def template(self) -> Block2DOp:
        """The operation that moves the same bytes as its messages: see `template_of`.

        Its elements are as wide as the values, where these are wider than those of the name.
        """
        op = template_of(self.name)
        wide = max(1, self.value_type.bits // op.bits)
        width, block = op.width // wide, op.block_width // wide
        return replace(op, bits=op.bits * wide, width=width, block_width=block)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of `logical_shape`, in values: neighbours in memory make up an element.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_U8x8x32_LD_N", "s4").shape, get_atom("XE_2D_U16x16x8_LD_T", "u8").shape
        ((8, 64), (16, 16))
        """
        rows, cols = self.logical_shape
        bits, wanted = self.name.bits, self.value_type.bits
        if self.name.mode == "T":
            return rows * bits // wanted, cols
        return rows, cols * bits // wanted

    def place_in_memory(self, row: int, col: int) -> Place:
        """Return the (row, column) in memory, in values: exchanged for LD_T and its twins."""
        return (col, row) if self.name.mode == "T" else (row, col)

    @property
    def logical_shape(self) -> tuple[int, int]:
        """(rows, columns) of the block that work-items own, in elements of the name."""
        return self.name.logical_shape

    @property
    def memory_shape(self) -> tuple[int, int]:
        """(rows, elements of a row) of the block in memory."""
        return self.name.memory_shape

    @property
    def block_shape(self) -> tuple[int, int]:
        """The shape whose last mode is fastest in the offsets of ``layout_*_tv``, in elements.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_U16x8x16_LD_N", gmem_stride=(1, "ld")).block_shape
        (16, 8)
        """
        turned = self._first_mode_contiguous != self._sides_swapped
        rows, cols = self.logical_shape
        return (cols, rows) if turned else (rows, cols)

    @property
    def _first_mode_contiguous(self) -> bool:
        # The traits of stores know row-major tensors only.
        return self.m_major and not self.name.is_store

    @property
    def _column_major(self) -> bool:
        return self._first_mode_contiguous or self._sides_swapped

    @property
    def _sides_swapped(self) -> bool:
        return self.name.fact_of("dealt") == "sides swapped"

    @cached_property
    def _steps(self) -> Steps:
        return register_steps(self.name)

    def _placed(self, modes: tuple[Step, ...]) -> Layout:
        """Rows and columns as offsets in `block_shape`."""
        rows, cols = self.logical_shape
        down, right = (1, rows) if self._column_major else (cols, 1)
        return from_modes([(n, y * down + x * right) for n, y, x in modes])

    @cached_property
    def layout_ref_tv(self) -> Layout:
        """(work-item, value) → offset in `block_shape`, in values.

        Raises `DivisibilityError` for a block whose columns 16 work-items cannot share evenly.
        """
        tv = make_layout(*map(self._placed, self._steps))
        if self._sides_swapped and not self._first_mode_contiguous:
            # CUTLASS takes offset o of a (rows, columns) block for one of (columns, rows).
            rows, cols = self.logical_shape
            tv = composition(Layout((cols, rows), (rows, 1)), tv)
        return in_values(tv, self.name.bits, self.value_type.bits)

    @property
    def is_store(self) -> bool:
        """Whether the name is that of a store."""
        return self.name.is_store

    @property
    def _memory_tv(self) -> Layout:
        modes = memory_steps(self.name)
        if modes is None:
            return super()._memory_tv
        tv = make_layout(Layout(SUBGROUP, 0), self._placed(modes))
        return in_values(tv, self.name.bits, self.value_type.bits)

    @cached_property
    def _owned(self) -> tuple[tuple[Place, ...], ...]:
        lanes, values = map(places, self._steps)
        bits, wanted = self.name.bits, self.value_type.bits
        wide, parts = max(1, wanted // bits), range(max(1, bits // wanted))
        if self.name.mode == "T":
            inside = [(v * len(parts) + k, w) for v, w in values for k in parts]
            lanes = [(y * len(parts), x) for y, x in lanes]
        else:
            inside = [(v, w * len(parts) // wide + k) for v, w in values[::wide] for k in parts]
            lanes = [(y, x * len(parts) // wide) for y, x in lanes]
        return tuple(tuple((y + v, x + w) for v, w in inside) for y, x in lanes)

    def _shown_in(self, unit_bits: int) -> bool:
        return all_shown(self.places_held, self._owned, unit_bits // self.value_type.bits)

    @cached_property
    def _picture(self) -> RegisterPicture:
        return register_picture(self.name, self.places_held, self.value_type.bits)

    @cached_property
    def places_held(self) -> tuple[Place, ...]:
        """The (row, column) of each slot of `registers`; (-1, -1) for padding.

        Raises `LegalityError` where no messages can move the block.
        """
        return legacy_places(self.name, self.value_type.bits)

    def messages(self, target: str | Target) -> tuple[PlacedMessage, ...]:
        """Return the block-2D messages that move the block on a target.

        Law: together they move every element once. What CUTLASS's maps call a work-item's need not
        be what the registers hold: see `registers`.
        Raises `LegalityError` with the rules that forbid it and the nearest names that work.

        >>> from pycute_xe.cutlass import get_atom
        >>> print(*get_atom("XE_2D_U16x32x32_LD_V").messages("pvc"))
        lsc_load_block2d.ugm (M1,1) V:d16.2x16x32nt at x 0, y 0
        """
        return lower(self.name, target)

    @cached_property
    def faithful(self) -> bool:
        """Whether the layouts say what the registers hold, read in elements of the name.

        Wider values are read whole, 4-bit ones by bytes; `faithful_units` has the other widths.
        Raises `LegalityError` where no messages can move the block.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_U16x16x16_LD_N").faithful, get_atom("XE_2D_U16x16x16_LD_V").faithful
        (True, False)
        """
        return self._holds_what_it_owns and not self._sides_swapped

    @cached_property
    def _holds_what_it_owns(self) -> bool:
        return self.name.is_prefetch or self._shown_in(self._picture.unit_bits)

    @property
    def is_artefact(self) -> bool:
        """Whether CUTLASS's traits of this name do not map onto the block."""
        return self.name.fact_of("traits_say") is not None

    @property
    def notes_by_subject(self) -> dict[str, str]:
        """What a user of this atom should know, in words, by subject.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_2D_U16x32x16_LD_T").notes_by_subject["shipped"]
        'CUTLASS ships no operation of this name'
        """
        notes = notes_of(self.name)
        if self.m_major and self.name.is_store:
            notes["stride"] = (
                "CUTLASS's traits of stores know row-major tensors only: its layouts are theirs"
            )
        try:
            if not self._holds_what_it_owns:
                units = self.faithful_units
                notes["registers"] = note_of_registers(self._picture, self._owned, units)
        except CuteError:  # no messages move it, or work-items cannot share it: they will say so
            pass
        return notes

    @property
    def _operation_cpp(self) -> str:
        return f"Copy_Traits<{self.name}{',Stride<_1,int64_t,int64_t>' if self.m_major else ''}>"

    def __repr__(self) -> str:
        """The call that builds it."""
        stride = ", gmem_stride=(1, 'ld')" if self.m_major else ""
        return f"get_atom({str(self.name)!r}, {self.value_type.name!r}{stride})"

    def __str__(self) -> str:
        """The name CUTLASS gives it."""
        return str(self.name)
