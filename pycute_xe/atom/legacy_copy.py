"""Floor 6: CUTLASS's older block-2D copies: who owns which element, by one formula."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pycute_xe.algebra import coalesce, composition
from pycute_xe.algebra.simplify import from_modes, scaled
from pycute_xe.atom.block2d_name import Block2DName
from pycute_xe.atom.copy_atom import SUBGROUP
from pycute_xe.errors import CoordError, DivisibilityError, DTypeError
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric

__all__ = ["LegacyCopyAtom"]

# One mode of a (work-item, value) map: its extent, and the rows and columns it steps.
Step = tuple[int, int, int]
Steps = tuple[tuple[Step, ...], tuple[Step, ...]]


@dataclass(frozen=True)
class LegacyCopyAtom:
    """A copy operation by its older name, with the type of the values it moves.

    Law: of the block of `logical_shape`, work-item ``i`` owns columns ``i``, ``i + 16``, … or, of a
    ``Packed`` name, as many adjacent columns from each group of them; LD_N, LD_V and LD_T of one
    block agree, for the VNNI packing hides in the order of the values. ``layout_*_tv`` map
    (work-item, value) to ``x + width * y`` of the block in values, or to ``y + height * x`` for a
    tensor whose first mode is contiguous (``m_major``). They equal CUTLASS's traits wherever those
    are a map onto the block; `notes` tells where they are not. Types narrower than the name's
    elements lie side by side in them. Raises `DTypeError` for types that do not tile the elements.
    Document: CUTLASS, "2D Copy Operations for Intel XE Architecture". C++: ``Copy_Traits``.

    >>> from pycute_xe.atom import get_atom
    >>> print(get_atom("XE_2D_U16x32x32_LD_N").layout_dst_tv)
    (16,(2,32)):(1,(16,32))
    """

    name: Block2DName
    value_type: Numeric
    m_major: bool = False

    def __post_init__(self) -> None:
        """Check that values tile the elements of the name."""
        if self.name.bits % self.value_type.bits:
            raise DTypeError(
                "get_atom",
                {"name": self.name, "value_type": self.value_type},
                f"{self.value_type.bits}-bit values do not tile {self.name.bits}-bit elements",
                f"use a type of {self.name.bits} bits, or of fewer that divide them",
            )

    @property
    def thr_id(self) -> Layout:
        """The 16 work-items of a subgroup."""
        return Layout(SUBGROUP, 1)

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

        >>> from pycute_xe.atom import get_atom
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
    def _sides_swapped(self) -> bool:
        return self._quirk("dealt") == "sides swapped"

    def _quirk(self, key: str) -> object:
        return self.name.fact.get(key) if self.name.fact else None

    @cached_property
    def _steps(self) -> Steps:
        """The map as modes: of the 16 work-items, then of the values of each."""
        rows, cols = self.logical_shape
        if self._quirk("dealt") == "by eight":
            lanes = ((8, 0, 1), (2, 1, 0))
            return lanes, ((cols // 8, 0, 8), (rows // 2, 2, 0))
        adjacent = _adjacent(self.name.data_type, cols) if self.name.packed else 1
        group = SUBGROUP * adjacent
        if cols % group:
            return _narrow(self.name, rows, cols)
        inner, across = (adjacent, 0, 1), (cols // group, 0, group)
        lanes = ((SUBGROUP, 0, adjacent),)
        if self._quirk("order") == "rows first":
            return lanes, (inner, (rows, 1, 0), across)
        return lanes, (inner, *_down(self.name, rows, across))

    @property
    def values(self) -> int:
        """Values each work-item holds."""
        return size(self.layout_ref_tv) // SUBGROUP

    @cached_property
    def layout_ref_tv(self) -> Layout:
        """(work-item, value) → offset in `block_shape`, in values.

        Raises `DivisibilityError` for a block whose columns 16 work-items cannot share evenly.
        """
        rows, cols = self.logical_shape
        turned = self._first_mode_contiguous or self._sides_swapped
        down, right = (1, rows) if turned else (cols, 1)
        lanes, values = (
            from_modes([(n, y * down + x * right) for n, y, x in modes]) for modes in self._steps
        )
        tv = make_layout(lanes, values)
        if self._sides_swapped and not self._first_mode_contiguous:
            # CUTLASS takes offset o of a (rows, columns) block for one of (columns, rows).
            tv = composition(Layout((cols, rows), (rows, 1)), tv)
        return self._recast(tv, self.name.bits // self.value_type.bits)

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
        return make_layout(Layout(SUBGROUP, 0), self.layout_ref_tv[1])

    @property
    def layout_ref_tv_bits(self) -> Layout:
        """`layout_ref_tv` in bits: (work-item, bit) → bit offset."""
        return self._recast(self.layout_ref_tv, self.value_type.bits)

    @property
    def layout_src_tv_bits(self) -> Layout:
        """`layout_src_tv` in bits."""
        return self._recast(self.layout_src_tv, self.value_type.bits)

    @property
    def layout_dst_tv_bits(self) -> Layout:
        """`layout_dst_tv` in bits."""
        return self._recast(self.layout_dst_tv, self.value_type.bits)

    @staticmethod
    def _recast(tv: Layout, parts: int) -> Layout:
        """Split each value into neighbouring parts."""
        values = make_layout(Layout(parts), scaled(tv[1], parts)) if parts > 1 else tv[1]
        return coalesce(make_layout(scaled(tv[0], parts), values), (1, 1))

    def ownership(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return for each work-item the (row, column) of each element it holds, in value order.

        Rows and columns count in `logical_shape`, in elements of the name. Raises
        `DivisibilityError` as `layout_ref_tv` does.

        >>> from pycute_xe.atom import get_atom
        >>> get_atom("XE_2D_Packed_U8x1x64_LD_N").ownership()[15]
        ((0, 30), (0, 31), (0, 62), (0, 63))
        """
        lanes, values = map(_places, self._steps)
        return tuple(tuple((y + v, x + w) for v, w in values) for y, x in lanes)

    def columns(self, work_item: int) -> tuple[int, ...]:
        """Return the columns of `logical_shape` of which a work-item holds elements, ascending.

        >>> from pycute_xe.atom import get_atom
        >>> get_atom("XE_2D_U16x32x32_LD_V").columns(1)
        (1, 17)
        """
        if not 0 <= work_item < SUBGROUP:
            raise CoordError(
                "columns", {"work_item": work_item}, "a subgroup has 16 work-items", "use 0 to 15"
            )
        return tuple(sorted({x for _, x in self.ownership()[work_item]}))

    def owner_of(self, row: int, col: int) -> tuple[int, int]:
        """Return (work-item, value) of an element of `logical_shape`.

        Law: ``ownership()[work_item][value] == (row, col)``. Raises `CoordError` outside the block.

        >>> from pycute_xe.atom import get_atom
        >>> get_atom("XE_2D_Packed_U8x8x64_LD_N").owner_of(0, 33)
        (0, 3)
        """
        for work_item, places in enumerate(self.ownership()):
            if (row, col) in places:
                return work_item, places.index((row, col))
        rows, cols = self.logical_shape
        raise CoordError(
            "owner_of",
            {"atom": self, "row": row, "col": col},
            f"the block has rows 0 to {rows - 1} and columns 0 to {cols - 1}",
            "ask for one of these",
        )

    @property
    def is_artefact(self) -> bool:
        """Whether CUTLASS's traits of this name are no map onto the block."""
        return self._quirk("traits_say") is not None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user of this atom should know, in words.

        >>> from pycute_xe.atom import get_atom
        >>> get_atom("XE_2D_U16x32x16_LD_T").notes[0]
        'CUTLASS ships no operation of this name'
        """
        rule = "the layouts here follow the documented ownership"
        notes: list[str] = []
        if not self.name.shipped:
            notes.append("CUTLASS ships no operation of this name")
        elif self.name.traits == "none":
            notes.append(f"CUTLASS ships it without Copy_Traits; {rule}")
        elif self.name.traits == "unusable":
            notes.append(f"CUTLASS's Copy_Traits of it do not compile; {rule}")
        if self.is_artefact:
            notes.append(f"CUTLASS's traits {self._quirk('traits_say')}; {rule}")
        if self._sides_swapped:
            notes.append(
                "CUTLASS's traits read the block with its sides exchanged; the layouts equal "
                "them, ownership() is the documented one"
            )
        if self._quirk("dealt") == "by eight":
            notes.append(
                "CUTLASS's traits deal eight columns of two rows at a time, not one column to a "
                "work-item; layouts and ownership() equal them"
            )
        if self.name.mode == "V" and self.name.bits >= 32:
            notes.append("VNNI packs nothing from 32 bits on: use LD_N")
        if self.name.mode == "T":
            shape = "x".join(map(str, self.memory_shape))
            notes.append(f"rows x columns of its name count {self.name.counts}: {shape} in memory")
        return tuple(notes)

    def __repr__(self) -> str:
        """The call that builds it."""
        stride = ", gmem_stride=(1, 'ld')" if self.m_major else ""
        return f"get_atom({str(self.name)!r}, {self.value_type.name!r}{stride})"

    def __str__(self) -> str:
        """The name CUTLASS gives it."""
        return str(self.name)


def _adjacent(data_type: str, cols: int) -> int:
    """Adjacent columns that a work-item takes of a packed block.

    Two, as documented; of 4-bit elements as many of 8, 4 and 2 as the columns allow.
    """
    if data_type != "U4":
        return 2
    return next((n for n in (8, 4) if cols % (SUBGROUP * n) == 0), 2)


def _down(name: Block2DName, rows: int, across: Step) -> tuple[Step, ...]:
    """Order the values of a work-item: from column to column first, then down the rows.

    VNNI hides here: 16-bit copies take the two rows of a dword first, narrower ones all rows.
    """
    if name.mode != "V":
        return across, (rows, 1, 0)
    if name.bits == 16 and rows % 2 == 0:
        return (2, 1, 0), across, (rows // 2, 2, 0)
    return (rows, 1, 0), across


def _narrow(name: Block2DName, rows: int, cols: int) -> Steps:
    """Deal a block narrower than 16 columns: element ``x + cols * y`` to work-item ``… mod 16``."""
    count = rows * cols
    if not name.packed and SUBGROUP % cols == 0:
        if count % SUBGROUP == 0:
            at_once = SUBGROUP // cols
            return ((cols, 0, 1), (at_once, 1, 0)), ((rows // at_once, at_once, 0),)
        if SUBGROUP % count == 0:  # too few elements: the other work-items repeat them
            return ((cols, 0, 1), (rows, 1, 0), (SUBGROUP // count, 0, 0)), ((1, 0, 0),)
    unit = "pairs of columns" if name.packed else "columns"
    raise DivisibilityError(
        "get_atom",
        {"name": name},
        f"16 work-items cannot share {rows} rows of {cols} columns evenly by {unit}",
        f"use columns in multiples of {SUBGROUP * (2 if name.packed else 1)}",
    )


def _places(steps: tuple[Step, ...]) -> list[tuple[int, int]]:
    """Every (row, column) of a list of modes, first mode fastest."""
    out = [(0, 0)]
    for extent, down, right in steps:
        out = [(y + i * down, x + i * right) for i in range(extent) for y, x in out]
    return out
