"""Floor 6: the verdict on a copy that feeds an operand, and its words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from textwrap import wrap
from typing import Literal, cast

from pycute_xe.arch.rules import Broken
from pycute_xe.atom.mma_atom import MmaAtom, Operand
from pycute_xe.atom.register_picture import SUBGROUP, Place
from pycute_xe.atom.reordering import classify_reorder, layout_of
from pycute_xe.comparing.atom_arguments import (
    Copy,
    name_of,
)
from pycute_xe.comparing.operand_places import said_of
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.layout import Layout
from pycute_xe.signatures import held_fields

__all__ = ["Feed", "Kind", "Order", "default_order", "words_of"]

Order = Literal["row", "col"]

Kind = Literal["free", "reorder", "impossible"]

_UNITS = (8, 16, 32)

_COLUMNS = 100


@held_fields
@dataclass(frozen=True, repr=False)
class Feed:
    """Whether a copy leaves in registers what a DPAS reads, or a DPAS what a store writes.

    ``tiles`` are the (row, column) origins in the block of the operand tiles it holds, in the order
    of their registers; ``places[t][i]`` is the slot of ``copy.registers()`` that holds element
    ``i`` of the operand's registers of tile ``t``. Both are empty where it is impossible.
    ``warnings``: rules that a document has and a looser one has not, which a free operand breaks.
    Law: ``kind`` is ``"free"`` exactly when every ``places[t]`` counts up by one, from a byte where
    DPAS may read.
    Counterpart: whether ``reorder`` of two subgroup tensors moves anything.

    >>> from pycute_xe.comparing.feeding import feeds
    >>> print(feeds("XE_2D_U16x32x16_LD_V", "XE_DPAS_TT<8,f32,bf16>", "B"))
    XE_2D_U16x32x16_LD_V feeds B of XE_DPAS_TT<8,f32,bf16,bf16,f32>: free
    2 tiles of 16x16, in the registers and the order that DPAS reads
    """

    copy: Copy
    mma: MmaAtom
    operand: Operand
    order: Order
    kind: Kind
    reason: str
    tiles: tuple[Place, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()
    warnings: tuple[Broken, ...] = ()

    @cached_property
    def slots(self) -> Layout | tuple[int | None, ...]:
        """Source register element → destination register element, of the whole block.

        A load goes from the copy's registers to the operand's, a store from D's to the copy's; on
        the side of the operand, tiles follow each other in the order of ``tiles``. A layout where
        one says it, else the destinations one by one, ``None`` for padding. Empty where it is
        impossible.

        >>> from pycute_xe.comparing.feeding import feeds
        >>> print(feeds("XE_2D_U16x16x16_LD_N", "XE_DPAS_TT<8,f32,bf16>", "B").slots)
        (16,2,8):(2,1,32)
        """
        held = [slot for places in self.places for slot in places]
        moved: list[int | None] = list(held)
        if held and self.operand != "D":
            moved = [None] * (max(held) + 1)
            for element, slot in enumerate(held):
                moved[slot] = element
        if None in moved or not held:
            return tuple(moved)
        return layout_of(cast("list[int]", moved)) or tuple(moved)

    @cached_property
    def units(self) -> tuple[int, int] | None:
        """Widths in bits, of 8, 16 and 32, in which no value changes its work-item.

        Registers read in units of the first and written in units of the second: unit ``u`` of
        either belongs to work-item ``u mod 16``. Equal and narrow ones come first. ``None`` if
        there are no widths.

        >>> from pycute_xe.comparing.feeding import feeds
        >>> feeds("XE_2D_U16x16x16_LD_N", "XE_DPAS_TT<8,f32,bf16>", "B").units
        (16, 32)
        """
        bits = self.mma.operand_type(self.operand).bits
        widths = [unit for unit in _UNITS if unit % bits == 0]
        pairs = sorted(product(widths, repeat=2), key=lambda pair: (pair[0] != pair[1], pair))
        for source, destination in pairs if self.places else ():
            copy, mma = (destination, source) if self.operand == "D" else (source, destination)
            if all(_stays(held, bits, copy, mma) for held in self.places):
                return source, destination
        return None

    @property
    def movement(self) -> str:
        """Whether values leave their work-items: "none", "within work-items", "across work-items".

        Within: in some `units` every value stays with its work-item. Empty where it is impossible.
        """
        if self.kind != "reorder":
            return "none" if self.kind == "free" else ""
        return "within work-items" if self.units else "across work-items"

    @property
    def pattern(self) -> str:
        """CUTLASS's name of the reorder, see `classify_reorder`; empty where no layout says it.

        >>> from pycute_xe.comparing.feeding import feeds
        >>> feeds("XE_2D_U16x16x16_LD_N", "XE_DPAS_TT<8,f32,bf16>", "B").pattern
        'UV'
        """
        if not isinstance(self.slots, Layout):
            return ""
        bits = self.mma.operand_type(self.operand).bits
        return classify_reorder(self.slots, bits, bits)

    def __repr__(self) -> str:
        """The verdict."""
        return f"<Feed {str(self).partition(chr(10))[0]}>"

    def __str__(self) -> str:
        """The verdict, then the reason, in lines of 100 columns."""
        verb = "takes" if self.operand == "D" else "feeds"
        order = "" if self.order == default_order(self.copy) else f" ({self.order}-major)"
        what = f"{name_of(self.copy)} {verb} {self.operand} of {self.mma}"
        return "\n".join(
            [f"{what}{order}: {self.kind}", *wrap(self.reason, _COLUMNS, break_on_hyphens=False)]
        )


def _stays(places: tuple[int, ...], bits: int, copy_unit: int, mma_unit: int) -> bool:
    """Whether the elements of a tile have the same work-item on both sides."""
    copy, mma = copy_unit // bits, mma_unit // bits
    return all(slot // copy % SUBGROUP == i // mma % SUBGROUP for i, slot in enumerate(places))


def default_order(copy: Copy) -> Order:
    """Return the order in memory that a copy is asked about where none is given."""
    if isinstance(copy, LegacyCopyAtom):
        return "col" if copy.name.mode == "T" else "row"
    return "col" if copy.op.kind == "XE_LOAD_2D_TRANSPOSE" else "row"


_PATTERNS = {
    "UV": "rows lie one after the other and must be packed into dwords (VNNI)",
    "VU": "rows are packed into dwords (VNNI) and must lie one after the other",
    "UU": "runs of whole registers lie in another order",
    "UU_Universal": "runs of 16 elements lie in another order",
}


def words_of(feed: Feed) -> str:
    """Why it is free, or what is to be done."""
    rows, cols = feed.mma.operand_shape(feed.operand)
    count = len(feed.tiles)
    tiles = f"{count} tiles of {rows}x{cols}" if count > 1 else f"one tile of {rows}x{cols}"
    if feed.kind == "free":
        reads = "leaves" if feed.operand == "D" else "reads"
        told = said_of(feed.operand, feed.warnings)
        free = f"{tiles}, in the registers and the order that DPAS {reads}{_read(feed)}"
        return f"{free}; {told}" if told else free
    what = _PATTERNS.get(feed.pattern, "elements lie in another order")
    how = feed.movement
    if feed.units and feed.units[0] != feed.units[1]:
        how += f", read in {feed.units[0]}-bit units and written in {feed.units[1]}-bit ones"
    elif feed.units:
        how += f", in units of {feed.units[0]} bits"
    return f"{tiles}, but {what}: a reorder {how}{_read(feed)}"


def _read(feed: Feed) -> str:
    """What becomes of values of another type of the same width."""
    held, wanted = feed.copy.value_type, feed.mma.operand_type(feed.operand)
    if held == wanted or held.kind == "unsigned":  # unsigned stands for bits of any kind
        return ""
    if feed.operand == "D":
        held, wanted = wanted, held
    return f"; bits of {held} are taken for {wanted}"
