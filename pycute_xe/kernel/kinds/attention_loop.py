"""The loop of attention: scores of a tile of keys, their softmax, weighted values."""

from __future__ import annotations

from pycute_xe.atom.block2d_copy import (
    make_block_2d_copy_A,
    make_block_2d_copy_B,
    make_block_2d_prefetch,
)
from pycute_xe.atom.reordering import is_identity, reorder
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Fragment
from pycute_xe.kernel.ir.statements import (
    Convert,
    Fill,
    If,
    Load,
    Loop,
    Map,
    Mma,
    Prefetch,
    Reorder,
    Statement,
)
from pycute_xe.kernel.kinds.attention_bias import Biases
from pycute_xe.kernel.kinds.attention_form import (
    F32,
    KV_SCALES,
    LOWEST,
    Form,
    Keys,
    Rows,
    guarded,
    place_in_tile,
    unmasked,
)
from pycute_xe.kernel.kinds.parts import gmem_stride
from pycute_xe.kernel.kinds.side import Side
from pycute_xe.kernel.kinds.vectors import one_copy
from pycute_xe.kernel.spec.expression import Const, Slot, Where, apply
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots, subgroup_tv
from pycute_xe.layout import Layout, size

__all__ = ["Mainloop"]


def brought(name: str, role: str, copy: TiledCopy, mma: TiledMma) -> Side:
    """Return an operand of an MMA on its way: loaded, converted, reordered, where it has to be."""
    moves = not is_identity(reorder(copy_slots(copy), mma_slots(mma, role)))
    names = ("t{0}c{0}", "tM{0}", "t{0}c{0}")
    return Side(name, copy, mma, (0, 1), (Index(), Index()), moves, of=role, names=names)


def fetched(
    side: Side, operand: str, at: tuple[Index, ...], modes: tuple[int, int]
) -> tuple[Statement, ...]:
    """Return what brings a tile of an operand to an MMA."""
    return Load(side.copy, operand, at, side.loaded, modes), *side.ready()


class Mainloop:
    """The statements of attention up to the end of the loops over keys, and their registers."""

    def __init__(self, form: Form) -> None:
        """Build the copies."""
        qk, pv, kind = form.qk, form.pv, form.kind
        self.form, self.rows, self.bias = form, Rows(qk, pv), Biases(form)
        queries = make_block_2d_copy_A(qk, gmem_stride("A", "row"), kind)
        keys = make_block_2d_copy_B(qk, gmem_stride("B", "col"), form.kv)
        values = make_block_2d_copy_B(pv, gmem_stride("B", "row"), form.kv)
        self.q = brought("Q", "A", queries, qk)
        self.k = {x.k: brought(x.k, "B", keys, qk) for x in form.keys}
        self.v = {x.v: brought(x.k.replace("K", "V"), "B", values, pv) for x in form.keys}
        bits = pv.atom.op.A.bits
        self.weights: Layout = reorder(
            subgroup_tv(qk.fragment("C"), bits), subgroup_tv(pv.fragment("A"), bits)
        )

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the registers."""
        qk, pv, rows = self.form.qk, self.form.pv, self.rows
        scores, out = size(qk.fragment("C")[1]), size(pv.fragment("C")[1])
        made = [
            Fragment("tSrS", qk.atom.op.D, scores),
            *(rows.fragment(name) for name in ("tSrMax", "tSrSum", "tSrNew", "tSrFix")),
            *rows.fragments("tSrTop"),
            *rows.fragments("tSrAdd"),
            Fragment("tSrP", pv.atom.op.A, scores),
            Fragment("tOrP", pv.atom.op.A, size(pv.fragment("A")[1])),
            *(Fragment(f"tOrO{v}", pv.atom.op.D, out) for v in range(self.form.vtiles)),
            *(Fragment(f"t_{x}", F32, 1) for x in KV_SCALES if self.form.scales == "heads"),
            *self.bias.fragments(),
        ]
        for side in (self.q, *self.k.values(), *self.v.values()):
            made += side.fragments()
        return tuple(made)

    def begin(self) -> tuple[Statement, ...]:
        """Return what the registers hold before any key."""
        form = self.form
        outs = (Fill(f"tOrO{v}") for v in range(form.vtiles))
        loads = (
            Load(one_copy(form.qk), name, (form.kv_head,), f"t_{name}", (None, 0))
            for name in KV_SCALES
            if form.scales == "heads"
        )
        return (Fill("tSrMax", LOWEST), Fill("tSrSum"), *outs, *loads, *self.bias.begin())

    # ------------------------------------------------------------------ prefetches

    def ahead(self, keys: Keys) -> tuple[Statement, ...]:
        """Return the prefetches before a loop over keys: of all of Q, and of the first tiles."""
        form, depth = self.form, Index("a") * self.form.tile[2]
        if not form.stages:
            return ()
        out: list[Statement] = []
        if keys is form.keys[0]:
            at = form.of_queries(Index("q") * form.tile[0], depth)
            self_q = Prefetch(make_block_2d_prefetch(self.q.copy), "Q", at, form.modes("Q"))
            out.append(Loop("a", Index(), form.depth_tiles, (self_q,)))
        warm, inner = f"w{keys.var}", f"w{keys.var}d"
        tile = form.tile_of(keys).substitute({keys.var: Index(warm)})
        body = self._prefetch(keys, tile, inner)
        if form.page is not None and keys.k == "K":  # of pages that there are
            body = (If(tile * form.tile[1], keys.count, body),)
        return (*out, Loop(warm, Index(), Index(None, form.stages), body))

    def _prefetch(self, keys: Keys, tile: Index, inner: str) -> tuple[Statement, ...]:
        form, copy = self.form, make_block_2d_prefetch(self.k[keys.k].copy)
        at = form.of_keys(keys, tile * form.tile[1], Index(inner) * form.tile[2])
        body = (Prefetch(copy, keys.k, at, form.modes(keys.k)),)
        return (Loop(inner, Index(), form.depth_tiles, body),)

    # ------------------------------------------------------------------ a tile of keys

    def tile(self, keys: Keys) -> tuple[Statement, ...]:
        """Return what is done for a tile of keys."""
        form = self.form
        body = (*self.scores(keys), *self.softmax(keys), *self.weigh(keys))
        if form.stages:
            tile = form.tile_of(keys) + form.stages * form.splits
            ahead = self._prefetch(keys, tile, f"n{keys.var}")
            body = (*body, If(tile * form.tile[1], keys.count, ahead))
        return guarded(form, keys, body)

    def scores(self, keys: Keys) -> tuple[Statement, ...]:
        """Return the product of Q and a tile of K."""
        form, name = self.form, keys.k
        (queries, width, depth), inner = form.tile, Index(f"d{keys.var}")
        q = form.of_queries(Index("q") * queries, inner * depth)
        k = form.of_keys(keys, form.tile_of(keys) * width, inner * depth)
        body = (
            *fetched(self.q, "Q", q, form.modes("Q")),
            *fetched(self.k[name], name, k, form.modes(name)),
            Mma(form.qk, "tSrS", self.q.read, self.k[name].read),
        )
        return Fill("tSrS"), Loop(f"d{keys.var}", Index(), form.depth_tiles, body)

    def softmax(self, keys: Keys) -> tuple[Statement, ...]:
        """Return what turns scores into weights, and keeps the maximum and sum of rows."""
        rows = self.rows
        score = self.bias.added(self.form.scored(Slot("tSrS"), in_registers=True))
        heads = self.form.by_head("k_scale", 16 * size(self.form.qk.fragment("C")[1]))
        weight = apply("exp2", Slot("tSrS") - Slot("tSrMax"))
        return (
            *self.bias.brought(keys),
            Map("tSrS", unmasked(self.form, keys, score), (*heads, *self.bias.gathers())),
            *rows.reduce("max", "tSrS", "tSrTop"),
            Map("tSrNew", apply("max", Slot("tSrMax"), Slot("tSrTop"))),
            Map("tSrFix", apply("exp2", Slot("tSrMax") - Slot("tSrNew"))),
            Map("tSrMax", Slot("tSrNew")),
            Map("tSrS", weight, (("tSrMax", rows.of_scores),)),
            *rows.reduce("sum", "tSrS", "tSrAdd"),
            Map("tSrSum", Slot("tSrSum") * Slot("tSrFix") + Slot("tSrAdd")),
            Convert("tSrS", "tSrP"),
            Reorder("tSrP", "tOrP", self.weights),
        )

    def weigh(self, keys: Keys) -> tuple[Statement, ...]:
        """Return what rescales O and adds the weighted values."""
        form, values, width = self.form, self.v[keys.v], self.form.pv.tile_mnk[1]
        rows, columns = form.modes(keys.v)
        modes = (columns, rows)
        out: list[Statement] = []
        row, begins = form.tile_of(keys) * form.tile[1], Index("v") * form.out
        places = [form.of_keys(keys, row, begins + v * width) for v in range(form.vtiles)]
        if form.stages:
            copy = make_block_2d_prefetch(values.copy)
            out += [Prefetch(copy, keys.v, at, modes) for at in places]
        for v, at in enumerate(places):
            acc = f"tOrO{v}"
            out += [
                Map(acc, Slot(acc) * Slot("tSrFix"), (("tSrFix", self.rows.of_out),)),
                *fetched(values, keys.v, at, modes),
                *self.cleared(keys, values.read),
                Mma(form.pv, acc, "tOrP", values.read),
            ]
        return tuple(out)

    def cleared(self, keys: Keys, values: str) -> tuple[Statement, ...]:
        """Return what puts zeros behind the last key, in the tile that has it.

        What lies there is another batch's or anybody's: its weight is zero, and zero times NaN is
        NaN. Behind the keys of an operand loads give zeros.
        """
        if not keys.count.looked_up:
            return ()
        row, width = self.form.tile_of(keys) * self.form.tile[1], self.form.tile[1]
        key = row + place_in_tile(self.form.pv, "k", "B")
        own = Where(key, keys.count, Slot(values), Const(0.0))
        return (If(keys.count, row + width, (Map(values, own),)),)
