"""Attention forward: online softmax between two products, for prefill and for decode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd, log
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from pycute_xe.algebra import composition
from pycute_xe.atom.block2d_copy import make_block_2d_copy_D
from pycute_xe.atom.block2d_op import XE_STORE_2D
from pycute_xe.atom.copy_atom import make_copy_atom
from pycute_xe.atom.reordering import is_identity, reorder
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import layout_of, table
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Shared
from pycute_xe.kernel.ir.statements import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Convert,
    Fill,
    If,
    Load,
    Loop,
    Map,
    Part,
    Reorder,
    SharedLoad,
    SharedStore,
    Statement,
    Store,
)
from pycute_xe.kernel.kinds.attention_claim import claims
from pycute_xe.kernel.kinds.attention_form import (
    F32,
    LOG2E,
    Bias,
    CacheOrder,
    Form,
    Keys,
    Rows,
    Window,
)
from pycute_xe.kernel.kinds.attention_loop import Mainloop
from pycute_xe.kernel.kinds.parts import gmem_stride, in_one_pass
from pycute_xe.kernel.kinds.side import MEET
from pycute_xe.kernel.kinds.vectors import one_copy, vector_copy
from pycute_xe.kernel.spec.expression import Const, Expression, Slot, Where, apply
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed

__all__ = ["attention"]

# ------------------------------------------------------------ attention end
# The end of attention: parts of the keys put together, rows divided by their sums.


class Ending:
    """What follows the loops over keys."""

    def __init__(self, form: Form) -> None:
        """Build the copies."""
        self.form, self.rows = form, Rows(form.qk, form.pv)
        self.copy = make_block_2d_copy_D(form.pv, gmem_stride("D", "row"), form.out_type)
        self.slots = reorder(mma_slots(form.pv, "C"), copy_slots(self.copy))
        self.moves, types = not is_identity(self.slots), (form.pv.atom.op.D, form.out_type)
        self.converts = types[0] != types[1] and not in_one_pass(self.slots, *types)
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
        if self.converts:
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
        own, other = Layout((across, count), (count, 1)), Slot("tSrOther")
        largest = apply("max", Slot("tSrAll"), other)
        return (
            SharedStore("tSrMax", "sMax", own),
            *MEET,
            Map("tSrAll", Slot("tSrMax")),
            *self._each("sMax", "tSrOther", count, Map("tSrAll", largest)),
            Map("tSrFix", apply("exp2", Slot("tSrMax") - Slot("tSrAll"))),
            Map("tSrMax", Slot("tSrAll")),
            *self._rescaled(),
            Map("tSrPart", Slot("tSrSum") * Slot("tSrFix")),
            SharedStore("tSrPart", "sSum", own),
            *MEET,
            Fill("tSrSum"),
            *self._each("sSum", "tSrOther", count, Map("tSrSum", Slot("tSrSum") + other)),
        )

    def _each(self, array: str, part: str, count: int, then: Map) -> Iterator[Statement]:
        """Yield what loads the part of each subgroup in turn, and takes it in."""
        theirs = Layout((self.form.across, count), (0, 1))
        for s in range(self.form.across):
            yield from (SharedLoad(array, part, theirs, Index(None, s * count)), then)

    def _rescaled(self) -> tuple[Statement, ...]:
        """Return what takes all tiles of O from one maximum to another."""
        rows, outs = (("tSrFix", self.rows.of_out),), range(self.form.vtiles)
        return tuple(Map(f"tOrO{v}", Slot(f"tOrO{v}") * Slot("tSrFix"), rows) for v in outs)

    def _put_together(self, v: int) -> tuple[Statement, ...]:
        """Return what gives one subgroup a tile of O over all keys."""
        form, acc, count = self.form, f"tOrO{v}", self.elements
        own = Layout((form.across, count), (count, 1))
        out: list[Statement] = [SharedStore(acc, "sO", own), *MEET, Fill("tOrSum")]
        out += self._each("sO", "tOrOther", count, Map("tOrSum", Slot("tOrSum") + Slot("tOrOther")))
        if v < form.vtiles - 1:  # before the next tile is written over it
            out += [BarrierArrive(), BarrierWait()]
        return tuple(out)

    # ------------------------------------------------------------------ sink and logarithm

    def _sunk(self) -> tuple[Statement, ...]:
        """Return what takes the sink's score into the sum; the maximum may be below it."""
        form = self.form
        if not form.sink:
            return ()
        first = (("tSink", Layout(16 * self.rows.slots, 0)),)
        sink, top = Slot("tSrSink"), apply("max", Slot("tSrMax"), Slot("tSrSink"))
        return (
            Load(one_copy(form.qk), "sink", (Index("h"),), "tSink", (None, 0)),
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
        put = AtomicStore if form.packed else Store
        store: tuple[Statement, ...] = (put(copy, "lse", at, "tSrLse", (None, len(at) - 1)),)
        if form.packed:
            value = self._own(value)
        if form.across > 1:
            store = (If(Index(SUBGROUP_INDEX), Index(None, 1), store),)
        first: tuple[Statement, ...] = (If(Index("v"), Index(None, 1), store),)
        return (Map("tSrLse", value), *first)

    def _own(self, value: Expression) -> Expression:
        """Return a value for each row of the batch, and 0 for those of a message behind it.

        A message clips to an operand, not to a batch: behind it lie rows of another one.
        """
        row = Index(ELEMENT_INDEX)
        first = Index(SUBGROUP_INDEX) * self.rows.count if self.form.across == 1 else Index()
        place = Index("q") * self.form.tile[0] + first + row
        value = Where(place, self.form.queries, value, Const(0.0))
        return Where(row, Index(None, self.rows.count), value, Const(0.0))

    # ------------------------------------------------------------------ O

    def _stored(self, v: int) -> tuple[Statement, ...]:
        """Return what divides a tile of O by the sums, converts and stores it."""
        form, fragment = self.form, f"tOrO{v}"
        before: tuple[Statement, ...] = ()
        if form.across > 1:
            before, fragment = self._put_together(v), "tOrSum"
        rows = (("tSrSum", self.rows.of_out),)
        # Where there is no key for a query, its sum is 0; any other is 1 at least.
        sums = apply("max", Slot("tSrSum"), 1.0) if form.may_lack_keys else Slot("tSrSum")
        value = form.valued(Slot(fragment) / sums, in_registers=True)
        heads = form.by_head("v_scale", self.elements)
        out: list[Statement] = [Map(fragment, value, (*rows, *heads))]
        if self.converts:
            out.append(Convert(fragment, "tOrN"))
            fragment = "tOrN"
        if self.moves:
            out.append(Reorder(fragment, "tOrD", self.slots))
            fragment = "tOrD"
        column = Index("v") * form.out + v * form.pv.tile_mnk[1]
        stores: list[Statement] = [self._store(column, fragment)]
        if form.packed:
            stores = self._rows(column, fragment)
        if form.across > 1:  # all have the whole sum; tiles of O in turn, one subgroup each
            stores = [s if s.touched.writes else self._in_turn(s, v) for s in stores]
        return (*before, *out, *stores)

    def _in_turn(self, store: Statement, v: int) -> If:
        """Return a store that one of the subgroups does, another one for the next tile."""
        turn = v % self.form.across
        mine = If(Index(None, turn - 1), Index(SUBGROUP_INDEX), (store,))
        return If(Index(SUBGROUP_INDEX), Index(None, turn + 1), (mine,))

    def _store(self, column: Index, fragment: str) -> Store:
        at = self.form.of_out(Index("q") * self.form.tile[0], column)
        return Store(self.copy, "O", at, fragment, (len(at) - 2, len(at) - 1))

    def _rows(self, column: Index, fragment: str) -> list[Statement]:
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
            out.append(Part(fragment, "tOrRow", Layout(slots.shape, slots.stride), first))
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


# ------------------------------------------------------------ attention


class Asked(TypedDict, total=False):
    """What attention may be asked by name.

    ``out``: the columns of V of a work-group, by default those of a tile of ``pv``. ``causal``: a
    query sees the keys up to its own, the last beside the last, also where M is not N. ``window``:
    so many keys before and behind that one. ``group``: heads of queries for each head of keys.
    ``stages``: how many tiles of K the prefetch runs ahead. ``sink``: an extra score for each head,
    with weight but without a value. ``lse``: also returns log(sum(exp(scores))), minus infinity
    where there is no key; of packed queries it is added to an ``lse`` that must be zero before.
    ``cached``: keys K0, V0 that precede K, V, in a loop of their own. ``page``: K and V are pages
    of so many keys, which ``pages`` lists for each batch, and ``lengths`` counts its keys;
    ``cache="tokens"``: a page is (page, G, D), not (G, page, D). ``packed``: batches of different
    length lie one behind the other, and ``starts``, ``key_starts`` tell where, ``longest`` how many
    queries there are at most. ``splits``: the keys are parted over so many work-groups, whose O and
    lse `attention_combine` puts together. ``kind`` is the type in memory, converted for the
    products, ``kv`` that of keys and values where it is another. ``softcap``: scores become
    ``softcap * tanh(score / softcap)``. ``latent``: values are the first E of the E + R numbers of
    a key, as in MLA. ``scales``: keys and values are stored divided by the scalars ``k_scale`` and
    ``v_scale``; "heads": by one number of ``k_scale`` (G) and ``v_scale`` (G) for each of their
    heads. ``bias`` is added to scores, behind a cap: "alibi": ``slopes[h] * numbers[n]``, of f32,
    with 0, 1, 2, … for the keys of a batch, or the same less any number; "matrix": ``bias`` (B,
    heads, M, L), or (heads, T, L) of packed queries; "drafts": ``tree`` (B, M, M), or (T, W), on
    the last keys, which are the queries' own: the mask of a tree of drafted tokens, 0 or minus
    infinity.
    """

    out: int | None
    causal: bool
    window: Window | None
    group: int
    stages: int
    sink: bool
    lse: bool
    cached: bool
    page: int | None
    packed: bool
    splits: int
    kind: Numeric | str | None
    out_type: Numeric | str
    kv: Numeric | str | None
    softcap: float | None
    latent: bool
    scales: bool | Literal["heads"]
    cache: CacheOrder
    bias: Bias | None


@typed
def attention(qk: TiledMma, pv: TiledMma, **given: Unpack[Asked]) -> Kernel:
    """Return the kernel ``O = softmax(scale · Q Kᵀ + mask) V`` for batches and heads.

    Q is (B, heads, M, D), K and V are (B, heads / ``group``, N, D or E), O is (B, heads, M, E); a
    work-group has a tile of queries and ``out`` columns of V. ``qk`` multiplies Q by K, ``pv`` the
    weights by V: both share the queries out over subgroups alike, or the keys, whose parts are then
    put together in shared memory. The loop over keys keeps a running maximum and sum of each row;
    the weights are rounded to the type that ``pv`` reads, and reach it by a reorder of registers.
    Any M, N, D, E work. `Asked` lists what else may be asked for, by name.

    Raises `KernelError` for tilings that do not fit one another, and for pages that a tile does not
    divide. C++: ``xe_fmha_fwd_mainloop.hpp``, ``xe_fmha_fwd_epilogue.hpp``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> op, grid = XE_DPAS_TT(8, "f32", "bf16"), ((8, 1, 1), (1, 1, 1))
    >>> tiles = workgroup_mma(op, (128, 64, 32), grid), workgroup_mma(op, (128, 32, 64), grid)
    >>> kernel = attention(*tiles, out=64, causal=True)
    >>> print(*(str(operand) for operand in kernel.operands[:2]), sep="; ")
    Q[B,G,M,D] bf16 row-major; K[B,G,N,D] bf16 row-major
    """
    form = _form(qk, pv, given)
    loop, end = Mainloop(form), Ending(form)
    body = (*loop.begin(), *(s for keys in form.keys for s in _over(form, loop, keys)))
    body = (*body, *end.statements())
    if form.packed:
        body = (If(Index("q") * form.tile[0], form.queries, body),)
    return Kernel(
        "attention",
        qk.num_subgroups,
        form.operands,
        (*loop.fragments(), *end.fragments()),
        form.grid,
        body,
        claims(form),
        end.shared(),
    )


def _form(qk: TiledMma, pv: TiledMma, given: Asked) -> Form:
    """Return the form that is asked for, checked."""
    types = (given.get("kind"), given.get("out_type", "f32"), given.get("kv"))
    kind = as_numeric(types[0] or qk.atom.op.A)
    named: dict[str, Any] = {n: x for n, x in given.items() if n not in ("kind", "out_type", "kv")}
    if named.get("out") is None:
        named["out"] = pv.tile_mnk[1]
    form = Form(
        qk, pv, kind=kind, out_type=as_numeric(types[1]), kv=as_numeric(types[2] or kind), **named
    )
    form.check()
    return form


def _over(form: Form, loop: Mainloop, keys: Keys) -> tuple[Statement, ...]:
    """Return the prefetches ahead and the loop over tiles of keys, or over every so many."""
    stop = (keys.count + (form.tile[1] - 1)) // form.tile[1]
    if form.splits > 1:
        stop = (stop + (form.splits - 1) - Index("s")) // form.splits
    return (*loop.ahead(keys), Loop(keys.var, Index(), stop, loop.tile(keys)))
