"""Floor 7: pieces of one tile put together: a work-group's table of pieces, and their sum."""

from __future__ import annotations

from pycute_xe.atom.reordering import is_identity, reorder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.operands import Fragment, Operand, matrix
from pycute_xe.kernel.ir.statements import (
    AtomicStore,
    Await,
    If,
    Load,
    Map,
    Reorder,
    Signal,
    Statement,
    Store,
)
from pycute_xe.kernel.kinds.epilogue import Frame
from pycute_xe.kernel.kinds.parts import operand_copy, store_reorder
from pycute_xe.kernel.schedules.tables import FIELDS
from pycute_xe.kernel.spec.expression import Slot
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric

__all__ = ["Fixup", "TABLES", "table_field"]

TABLES = (Operand("work", "s32", ("U", "P", len(FIELDS))), Operand("count", "s32", ("U",)))
"""The operands that say which pieces each work-group computes."""


def table_field(name: str) -> Index:
    """Return what the table says of piece i of work-group u."""
    return Index.element("work", Index("u"), Index("i"), FIELDS.index(name))


class Fixup:
    """The statements by which pieces of a tile are added up in ``W``."""

    def __init__(self, frame: Frame, numeric: Numeric) -> None:
        """Find the copies."""
        mma, self.numeric, self.lead = frame.mma, numeric, frame.lead
        self.at = (*frame.first, *frame.corner)
        self.lock = (*frame.first, table_field("m"), table_field("n"))
        self.loads = operand_copy(mma, "C", "row", numeric)
        self.stores = operand_copy(mma, "D", "row", numeric)
        self.modes = len(self.lead), len(self.lead) + 1
        self.out = store_reorder(mma, self.stores)
        back = reorder(copy_slots(self.loads), mma_slots(mma, "C"))
        self.back = None if is_identity(back) else back
        self.mma = mma

    def operands(self) -> tuple[Operand, ...]:
        """Return the memory that is worked in."""
        tiles = self.mma.tile_mnk
        locks = (*self.lead, Tiles("M", tiles[0]), Tiles("N", tiles[1]))
        return (
            matrix("W", self.numeric, (*self.lead, "M", "N"), "row", role="scratch"),
            Operand("locks", "s32", locks, role="scratch"),
        )

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the registers that are worked in."""
        slots = size(self.mma.fragment("C")[1])
        names = ["tWrW"]
        names += ["tWsW"] if self.out is not None else []
        names += ["tWaW"] if self.back is not None else []
        return tuple(Fragment(name, self.numeric, slots) for name in names)

    def around(self, ending: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Return what a piece does behind its loop: first, middle, last."""
        first, last, none, one = table_field("first"), table_field("last"), Index(), Index(None, 1)
        wait = Await("locks", self.lock, table_field("needs"))
        source, turn = "tCrC", ()
        if self.out is not None:
            source, turn = "tWsW", (Reorder("tCrC", "tWsW", self.out),)
        store = Store(self.stores, "W", self.at, source, self.modes)
        add = AtomicStore(self.stores, "W", self.at, source, self.modes)
        found, back = "tWrW", ()
        if self.back is not None:
            found, back = "tWaW", (Reorder("tWrW", "tWaW", self.back),)
        load = Load(self.loads, "W", self.at, "tWrW", self.modes)
        total = Map("tCrC", Slot("tCrC") + Slot(found))
        shared = (
            *turn,
            If(none, first, (store,)),
            If(first, one, (wait, add)),
            Signal("locks", self.lock, table_field("gives")),
        )
        joined = (If(first, one, (wait, load, *back, total)), *ending)
        return If(last, one, shared), If(none, last, joined)
