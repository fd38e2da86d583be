"""Floor 6: CUTLASS's older block-2D copies: who owns which element, by one formula."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from pycute_xe.algebra import composition
from pycute_xe.algebra.simplify import from_modes
from pycute_xe.arch.target import Target
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.placed_message import PlacedMessage
from pycute_xe.atom.register_picture import SUBGROUP, Place, RegisterPicture
from pycute_xe.cutlass.legacy_lowering import lower
from pycute_xe.cutlass.legacy_name import LegacyCopyName, parse_block2d_name
from pycute_xe.cutlass.legacy_notes import note_of_registers, notes_of
from pycute_xe.cutlass.legacy_registers import all_shown, legacy_places, register_picture
from pycute_xe.cutlass.legacy_steps import Step, Steps, memory_steps, places, register_steps
from pycute_xe.cutlass.legacy_values import in_values, recast_values
from pycute_xe.errors import CuteError, DivisibilityError, DTypeError
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric, as_numeric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LegacyCopyAtom"]


@dataclass(frozen=True)
class LegacyCopyAtom(CopyAnswers):
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
        return self.name.says("dealt") == "sides swapped"

    @cached_property
    def _steps(self) -> Steps:
        return register_steps(self.name)

    def _placed(self, modes: tuple[Step, ...]) -> Layout:
        """Rows and columns as offsets in `block_shape`."""
        rows, cols = self.logical_shape
        down, right = (1, rows) if self._column_major else (cols, 1)
        return from_modes([(n, y * down + x * right) for n, y, x in modes])

    @property
    def values(self) -> int:
        """Values each work-item holds."""
        return size(self.layout_ref_tv) // SUBGROUP

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
    def layout_dst_tv(self) -> Layout:
        """Where a load's registers come from; for a store, memory, which no work-item owns."""
        return self._memory_tv if self.name.is_store else self.layout_ref_tv

    @property
    def layout_src_tv(self) -> Layout:
        """Where a store's registers go; for a load, memory, which no work-item owns."""
        return self.layout_ref_tv if self.name.is_store else self._memory_tv

    @property
    def _memory_tv(self) -> Layout:
        modes = memory_steps(self.name)
        if modes is None:
            return make_layout(Layout(SUBGROUP, 0), self.layout_ref_tv[1])
        tv = make_layout(Layout(SUBGROUP, 0), self._placed(modes))
        return in_values(tv, self.name.bits, self.value_type.bits)

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
        return all_shown(self.places_held, self._owned_table, unit_bits // self.value_type.bits)

    @cached_property
    def _owned_table(self) -> NDArray[np.int64]:
        import numpy as np

        return np.array(self._owned, dtype=np.int64)

    @cached_property
    def _picture(self) -> RegisterPicture:
        return register_picture(self.name, self.places_held, self.value_type.bits)

    @cached_property
    def places_held(self) -> NDArray[np.int64]:
        """The (row, column) of each slot of `registers`, as an array; (-1, -1) for padding.

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
        return self.name.says("traits_say") is not None

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
