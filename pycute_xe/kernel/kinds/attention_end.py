"""Floor 7: the end of attention: parts of the keys put together, rows divided by their sums."""

from __future__ import annotations

from dataclasses import replace
from math import gcd, log

import numpy as np

from pycute_xe.algebra import composition
from pycute_xe.atom.block2d_copy import make_block_2d_copy_D
from pycute_xe.atom.block2d_op import XE_LOAD_2D, XE_STORE_2D
from pycute_xe.atom.copy_atom import make_copy_atom
from pycute_xe.atom.reordering import is_identity, layout_of, reorder
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.bulk import table
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.operands import Fragment, Shared
from pycute_xe.kernel.ir.statements import (
    BarrierArrive,
    BarrierWait,
    Convert,
    Fill,
    If,
    Load,
    Map,
    Part,
    Reorder,
    SharedLoad,
    SharedStore,
    Statement,
    Store,
)
from pycute_xe.kernel.kinds.attention_form import Form
from pycute_xe.kernel.kinds.attention_loop import LOG2E
from pycute_xe.kernel.kinds.attention_rows import F32, Rows
from pycute_xe.kernel.kinds.parts import gmem_stride
from pycute_xe.kernel.kinds.shared_tiles import MEET
from pycute_xe.kernel.kinds.vectors import vector_copy
from pycute_xe.kernel.spec.expression import Slot, apply
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric

__all__ = ["Ending"]


class Ending:
    """What follows the loops over keys."""

    def __init__(self, form: Form) -> None:
        """Build the copies."""
        self.form, self.rows = form, Rows(form.qk, form.pv)
        self.copy = make_block_2d_copy_D(form.pv, gmem_stride("D", "row"), form.out_type)
        self.slots = reorder(mma_slots(form.pv, "C"), copy_slots(self.copy))
        self.moves = not is_identity(self.slots)
        self.elements = 16 * size(form.pv.fragment("C")[1])

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the registers."""
        form, rows = self.form, self.rows
        slots = self.elements // 16
        out = [Fragment(name, kind, slots) for name, kind in self._stored_fragments()]
        if form.sink:
            out += [Fragment("tSink", F32, 1), rows.fragment("tSrSink")]
        if form.lse:
            out.append(rows.fragment("tSrLse"))
        if form.packed:
            width = form.pv.tile_mnk[1]
            out.append(Fragment("tOrRow", form.out_type, width // 16))
        if form.across > 1:
            out += [rows.fragment(name) for name in ("tSrAll", "tSrOther", "tSrPart")]
            out += [Fragment(name, F32, slots) for name in ("tOrSum", "tOrOther")]
        return tuple(out)

    def _stored_fragments(self) -> list[tuple[str, Numeric]]:
        form = self.form
        out: list[tuple[str, Numeric]] = []
        if form.out_type != form.pv.atom.op.D:
            out.append(("tOrN", form.out_type))
        if self.moves:
            out.append(("tOrD", form.out_type))
        return out

    def shared(self) -> tuple[Shared, ...]:
        """Return the arrays in which subgroups put their parts together."""
        form = self.form
        if form.across == 1:
            return ()
        rows, out = form.across * 16 * self.rows.slots, form.across * self.elements
        return Shared("sMax", F32, rows), Shared("sSum", F32, rows), Shared("sO", F32, out)

    def statements(self) -> tuple[Statement, ...]:
        """Return all that is done."""
        form = self.form
        out: list[Statement] = [*self._together(), *self._sunk()]
        if form.lse:
            out += self._lse()
        for v in range(form.vtiles):
            out += self._stored(v)
        return tuple(out)

    # ------------------------------------------------------------------ parts of the keys

    def _together(self) -> tuple[Statement, ...]:
        """Return what gives every subgroup the maximum and the sum over all keys."""
        across = self.form.across
        if across == 1:
            return ()
        count = 16 * self.rows.slots
        own = Layout((across, count), (count, 1))
        theirs = Layout((across, count), (0, 1))
        out: list[Statement] = [SharedStore("tSrMax", "sMax", own), *MEET]
        out.append(Map("tSrAll", Slot("tSrMax")))
        for s in range(across):
            out.append(SharedLoad("sMax", "tSrOther", theirs, Index(None, s * count)))
            out.append(Map("tSrAll", apply("max", Slot("tSrAll"), Slot("tSrOther"))))
        out += [
            Map("tSrFix", apply("exp2", Slot("tSrMax") - Slot("tSrAll"))),
            Map("tSrMax", Slot("tSrAll")),
            *self._rescaled(),
            Map("tSrPart", Slot("tSrSum") * Slot("tSrFix")),
            SharedStore("tSrPart", "sSum", own),
            *MEET,
            Fill("tSrSum"),
        ]
        for s in range(across):
            out.append(SharedLoad("sSum", "tSrOther", theirs, Index(None, s * count)))
            out.append(Map("tSrSum", Slot("tSrSum") + Slot("tSrOther")))
        return tuple(out)

    def _rescaled(self) -> tuple[Statement, ...]:
        """Return what takes all tiles of O from one maximum to another."""
        rows, outs = (("tSrFix", self.rows.of_out),), range(self.form.vtiles)
        return tuple(Map(f"tOrO{v}", Slot(f"tOrO{v}") * Slot("tSrFix"), rows) for v in outs)

    def _put_together(self, v: int) -> tuple[Statement, ...]:
        """Return what gives one subgroup a tile of O over all keys."""
        form, acc, count = self.form, f"tOrO{v}", self.elements
        own = Layout((form.across, count), (count, 1))
        theirs = Layout((form.across, count), (0, 1))
        out: list[Statement] = [SharedStore(acc, "sO", own), *MEET, Fill("tOrSum")]
        for s in range(form.across):
            out.append(SharedLoad("sO", "tOrOther", theirs, Index(None, s * count)))
            out.append(Map("tOrSum", Slot("tOrSum") + Slot("tOrOther")))
        if v < form.vtiles - 1:  # before the next tile is written over it
            out += [BarrierArrive(), BarrierWait()]
        return tuple(out)

    # ------------------------------------------------------------------ sink and logarithm

    def _sunk(self) -> tuple[Statement, ...]:
        """Return what takes the sink's score into the sum; the maximum may be below it."""
        form = self.form
        if not form.sink:
            return ()
        atom = make_copy_atom(XE_LOAD_2D(32, 1, 16), F32)
        tv = make_layout(
            make_layout(atom.layout_ref_tv[0], Layout(form.qk.num_subgroups, 0)),
            make_layout(atom.layout_ref_tv[1], Layout(1, 0)),
        )
        copy = TiledCopy(atom, tv, (1, 16), 1, 0)
        first = (("tSink", Layout(16 * self.rows.slots, 0)),)
        sink, top = Slot("tSrSink"), apply("max", Slot("tSrMax"), Slot("tSrSink"))
        return (
            Load(copy, "sink", (Index("h"),), "tSink", (None, 0)),
            Map("tSrSink", Slot("tSink") * LOG2E, first),
            Map("tSrNew", top),
            Map("tSrFix", apply("exp2", Slot("tSrMax") - Slot("tSrNew"))),
            Map("tSrMax", Slot("tSrNew")),
            Map("tSrSum", Slot("tSrSum") * Slot("tSrFix") + apply("exp2", sink - Slot("tSrMax"))),
            *self._rescaled(),
        )

    def _lse(self) -> tuple[Statement, ...]:
        form = self.form
        loads = vector_copy(form.qk, "m", F32)
        copy = replace(loads, atom=make_copy_atom(XE_STORE_2D(32, 1, loads.op.message.width), F32))
        at = form.of_out(Index("q") * form.tile[0], None)
        value = Slot("tSrMax") * log(2.0) + apply("log", Slot("tSrSum"))
        store: tuple[Statement, ...] = (Store(copy, "lse", at, "tSrLse", (None, len(at) - 1)),)
        if form.across > 1:
            store = (If(Index(SUBGROUP_INDEX), Index(None, 1), store),)
        first: tuple[Statement, ...] = (If(Index("v"), Index(None, 1), store),)
        return (Map("tSrLse", value), *first)

    # ------------------------------------------------------------------ O

    def _stored(self, v: int) -> tuple[Statement, ...]:
        """Return what divides a tile of O by the sums, converts and stores it."""
        form, held = self.form, f"tOrO{v}"
        before: tuple[Statement, ...] = ()
        if form.across > 1:
            before, held = self._put_together(v), "tOrSum"
        rows = (("tSrSum", self.rows.of_out),)
        # Where a part of the keys has none for a query, its sum is 0; any other is 1 at least.
        sums = apply("max", Slot("tSrSum"), 1.0) if form.splits > 1 else Slot("tSrSum")
        out: list[Statement] = [Map(held, Slot(held) / sums, rows)]
        if form.out_type != form.pv.atom.op.D:
            out.append(Convert(held, "tOrN"))
            held = "tOrN"
        if self.moves:
            out.append(Reorder(held, "tOrD", self.slots))
            held = "tOrD"
        column = Index("v") * form.out + v * form.pv.tile_mnk[1]
        stores: list[Statement] = [self._store(column, held)]
        if form.packed:
            stores = self._rows(column, held)
        if form.across > 1:  # all have the whole sum; tiles of O in turn, one subgroup each
            turn = v % form.across
            mine = If(Index(None, turn - 1), Index(SUBGROUP_INDEX), tuple(stores))
            stores = [If(Index(SUBGROUP_INDEX), Index(None, turn + 1), (mine,))]
        return (*before, *out, *stores)

    def _store(self, column: Index, held: str) -> Store:
        at = self.form.of_out(Index("q") * self.form.tile[0], column)
        return Store(self.copy, "O", at, held, (len(at) - 2, len(at) - 1))

    def _rows(self, column: Index, held: str) -> list[Statement]:
        """Return stores row by row, of rows before the next batch."""
        form, copy = self.form, self.copy
        rows = table(copy_slots(copy))[:, 0]
        columns = table(copy_slots(copy))[:, 1]
        starts = Index(SUBGROUP_INDEX) * self.rows.count if form.across == 1 else Index()
        out: list[Statement] = []
        for row in range(self.rows.count):
            mine = np.flatnonzero(rows == row)
            mine = mine[np.argsort(columns[mine])]
            first = int(mine[0])
            slots = layout_of((mine - first).tolist())
            if slots is None:
                raise KernelError(
                    "attention", {"copy": copy}, "no layout takes a row out of O", "use 16 columns"
                )
            at = form.of_out(Index("q") * form.tile[0] + row, column)
            place = Index("q") * form.tile[0] + starts + row
            store = Store(self._row_copy, "O", at, "tOrRow", (len(at) - 2, len(at) - 1))
            out.append(Part(held, "tOrRow", Layout(slots.shape, slots.stride), first))
            out.append(If(place, form.queries, (store,)))
        return out

    @property
    def _row_copy(self) -> TiledCopy:
        """Return the copy of one row of each subgroup's share."""
        copy, width = self.copy, self.form.pv.tile_mnk[1]
        block = gcd(512 // copy.value_type.bits, width)
        small = replace(copy.op, height=1, width=block, block_width=block)
        atom = make_copy_atom(small, copy.value_type)
        tile = copy.tiler_mn
        lanes, values = composition(Layout((block, 1), (tile[0], 1)), atom.layout_ref_tv)
        messages = Layout(width // block, block * tile[0])
        subgroups = copy.layout_tv_tiled[0][1]
        tv = make_layout(make_layout(lanes, subgroups), make_layout(values, messages))
        return replace(copy, atom=atom, layout_tv_tiled=tv)
