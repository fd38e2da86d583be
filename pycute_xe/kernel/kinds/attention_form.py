"""What kinds of attention differ in: tilings, masks, and how keys and queries lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import e, inf, log2
from typing import Literal, TypeAlias

from pycute_xe.algebra.compose import index_at
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import layout_of
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Index, Tiles
from pycute_xe.kernel.ir.operands import Fragment, Operand, Role
from pycute_xe.kernel.ir.statements import If, Map, Part, Reduce, Statement
from pycute_xe.kernel.kinds.vectors import accumulator_places, vector_gather
from pycute_xe.kernel.spec.expression import Const, Element, Expression, Slot, Where, apply
from pycute_xe.kernel.spec.functions import reduction
from pycute_xe.kernel.spec.tables import Assumption, AtMost, InRange, Rising
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric

__all__ = [
    "KV_SCALES",
    "LOG2E",
    "LOWEST",
    "Bias",
    "CacheOrder",
    "Form",
    "Keys",
    "Rows",
    "place_in_tile",
    "Conditions",
    "guarded",
    "seen",
    "unmasked",
]

# ------------------------------------------------------------ attention rows
# Rows of scores in registers: where each element is, and what a row comes to.

F32 = as_numeric("f32")
LOWEST = -(2.0**127)
"""The largest of no numbers: finite, so that what is taken from it stays a number."""

KV_SCALES = ("k_scale", "v_scale")
Bias = Literal["alibi", "matrix", "drafts"]
"""What is added to scores."""
CacheOrder = Literal["heads", "tokens"]
"""What comes first in a page: heads (P, G, page, D), or tokens (P, page, G, D)."""
LOG2E = log2(e)


@lru_cache(maxsize=64)
def place_in_tile(mma: TiledMma, letter: str, role: str = "C") -> Index:
    """Return the row ("m"), column ("n") or depth ("k") of a register element, as an index.

    It names ``subgroup`` and ``element``. Raises `KernelError` where no layout says it.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (128, 64, 32), ((8, 1, 1), (1, 1, 1)))
    >>> print(place_in_tile(mma, "m"))
    16*subgroup+element/16-16*(element/16/16)
    """
    part = accumulator_places(mma, letter, role)
    starts = part.min(axis=1)
    inside = part[0] - starts[0]
    if (part - starts[:, None] != inside).any():
        raise _unplaced(mma)
    return _index(starts.tolist(), SUBGROUP_INDEX, mma) + _index(
        inside.tolist(), ELEMENT_INDEX, mma
    )


def _index(values: list[int], name: str, mma: TiledMma) -> Index:
    """Return values at 0, 1, 2, … as an index of a name."""
    layout = layout_of(values)
    if layout is None:
        raise _unplaced(mma)
    return index_at(layout, Index(name))


def _unplaced(mma: TiledMma) -> KernelError:
    return KernelError(
        "attention", {"mma": mma}, "no layout places the scores", "use workgroup_mma"
    )


class Rows:
    """The rows of a subgroup's scores, one number for each.

    A fragment of rows holds row ``r`` in element ``r``; fewer than 16 rows are repeated until they
    fill a register. ``of_scores`` and ``of_out`` map elements of accumulators to their rows.
    """

    def __init__(self, qk: TiledMma, pv: TiledMma) -> None:
        """Read the rows off the accumulators."""
        self.of_scores, self.of_out = vector_gather(qk, "m"), vector_gather(pv, "m")
        places = accumulator_places(qk, "m")[0]
        self.rows = places - places.min()
        self.count = int(self.rows.max()) + 1
        self.slots = -(-self.count // 16)
        self.mma = qk

    def fragment(self, name: str, numeric: Numeric = F32) -> Fragment:
        """Return a fragment of rows."""
        return Fragment(name, numeric, self.slots)

    @property
    def folds(self) -> int:
        """How often halves of a register are put together."""
        return (16 // self.count).bit_length() - 1 if self.count < 16 else 0

    def fragments(self, name: str) -> tuple[Fragment, ...]:
        """Return what `reduce` into a fragment of that name needs, itself included."""
        parts = [f"{name}{i}{half}" for i in range(self.folds) for half in "ab"]
        last = [f"{name}{i}" for i in range(self.folds)]
        return tuple(map(self.fragment, (*parts, *last, name)))

    def reduce(self, how: str, source: str, name: str) -> tuple[Statement, ...]:
        """Return what puts the sum or maximum of every row of scores into a fragment of rows.

        Fewer than 16 rows are first reduced to as many parts as fill a register: lanes far apart
        of one row. Each fold then puts two halves of it together and repeats what comes out.
        """
        if not self.folds:
            return (Reduce(how, source, name, self.of_scores),)
        width = 16 // self.count
        parts = [int(row) + self.count * (e % 16 % width) for e, row in enumerate(self.rows)]
        slots = layout_of(parts)
        if slots is None:
            raise _unplaced(self.mma)
        fragment = f"{name}0"
        out: list[Statement] = [Reduce(how, source, fragment, slots)]
        both = reduction(how).combine
        for step in range(self.folds):
            width //= 2
            kept = self.count * width
            halves = Layout((kept, 16 // kept), (1, 0))
            a, b = (f"{name}{step}{half}" for half in "ab")
            to = name if step == self.folds - 1 else f"{name}{step + 1}"
            out += [Part(fragment, a, halves), Part(fragment, b, halves, kept)]
            out.append(Map(to, apply(both, Slot(a), Slot(b))))
            fragment = to
        return tuple(out)


# ------------------------------------------------------------ attention form

Window = tuple[int, int]


@dataclass(frozen=True)
class Keys:
    """Keys and values that a loop goes through: their operands, and how many keys precede them.

    ``var`` is the loop's variable, ``count`` the keys of a batch, ``first`` the position of the
    first among all keys of its batch.
    """

    k: str
    v: str
    var: str
    count: Index
    first: Index


@dataclass(frozen=True)
class Form:
    """A form of attention forward, checked: see `attention` for what its fields mean."""

    qk: TiledMma
    pv: TiledMma
    out: int
    kind: Numeric
    out_type: Numeric
    kv: Numeric
    causal: bool = False
    window: Window | None = None
    group: int = 1
    stages: int = 2
    sink: bool = False
    lse: bool = False
    cached: bool = False
    page: int | None = None
    packed: bool = False
    splits: int = 1
    softcap: float | None = None
    latent: bool = False
    scales: bool | Literal["heads"] = False
    cache: CacheOrder = "heads"
    bias: Bias | None = None

    @property
    def rows(self) -> int:
        """Queries of a subgroup."""
        return self.qk.tile_mnk[0] // size(self.qk.atom_layout_mnk[0])

    @property
    def across(self) -> int:
        """Subgroups that share the keys of a tile."""
        return size(self.qk.atom_layout_mnk[1])

    @property
    def tile(self) -> tuple[int, int, int]:
        """Queries, keys and depth of a tile of scores."""
        return self.qk.tile_mnk

    @property
    def vtiles(self) -> int:
        """Tiles of the weighted sum that a work-group accumulates."""
        return self.out // self.pv.tile_mnk[1]

    # ------------------------------------------------------------------ operands

    @property
    def heads(self) -> Index:
        """Heads of the queries."""
        return Index("G") * self.group

    @property
    def kv_head(self) -> Index:
        """The head of keys and values that a head of queries reads."""
        return Index("h") // self.group

    @property
    def operands(self) -> tuple[Operand, ...]:
        """All operands, in the order of a run."""
        kind, lead = self.kind, ("B", self.heads)
        queries = (self.heads, "T") if self.packed else (*lead, "M")
        out = [Operand("Q", kind, (*queries, self.depth))]
        if self.cached:
            cache = ("G", "C") if self.packed else ("B", "G", "C")
            out += self._keys_and_values("0", cache)
        keys = ("B", "G", "N")
        if self.page is not None:
            keys = ("P", "G", self.page) if self.cache == "heads" else ("P", self.page, "G")
        elif self.packed:
            keys = ("G", "N")
        out += self._keys_and_values("", keys)
        if self.packed:
            out += [Operand("starts", "s32", ("U",)), Operand("longest", "s32", ())]
        if self.page is not None:
            out += [Operand("pages", "s32", (self.batches, "S"))]
            out += [Operand("lengths", "s32", (self.batches,))]
        elif self.packed:
            out += [Operand("key_starts", "s32", ("U",))]
            out += [Operand("cache_starts", "s32", ("U",))] if self.cached else []
        out.append(Operand("scale", "f32", ()))
        each = ("G",) if self.scales == "heads" else ()
        out += [Operand(name, "f32", each) for name in KV_SCALES if self.scales]
        out += [Operand("sink", "f32", (self.heads,))] if self.sink else []
        out += self._biases()
        parts = (self.splits,) if self.splits > 1 else ()
        out += [Operand("O", self.out_type, (*parts, *queries, "E"), role="out")]
        role: Role = "inout" if self.packed else "out"
        out += [Operand("lse", "f32", (*parts, *queries), role=role)] if self.lse else []
        return tuple(out)

    def _biases(self) -> list[Operand]:
        """Return what is added to scores: of all keys of a batch, or of the last so many."""
        lead, row = ((), "T") if self.packed else (("B",), "M")
        match self.bias:
            case None:
                return []
            case "alibi":
                slopes = Operand("slopes", "f32", (self.heads,))
                return [slopes, Operand("numbers", "f32", (self.most_keys,))]
            case "matrix":
                return [Operand("bias", "f32", (*lead, self.heads, row, self.most_keys))]
            case "drafts":
                return [Operand("tree", "f32", (*lead, row, self.drafts))]

    @property
    def most_keys(self) -> Index:
        """How many keys a bias has numbers for."""
        return Index("L") if self.all_keys.looked_up else self.all_keys

    @property
    def drafts(self) -> Index:
        """How many drafted tokens a mask has columns for."""
        return Index("W" if self.packed else "M")

    @property
    def context(self) -> Index:
        """How many keys are before the first query's own."""
        return self.all_keys - self.queries

    def _keys_and_values(
        self, number: str, keys: tuple[Index | str | int, ...]
    ) -> tuple[Operand, ...]:
        k = Operand(f"K{number}", self.kv, (*keys, self.depth))
        return (k,) if self.latent else (k, Operand(f"V{number}", self.kv, (*keys, "E")))

    @property
    def depth(self) -> Index:
        """How long a query and a key are."""
        return Index("E") + Index("R") if self.latent else Index("D")

    @property
    def depth_tiles(self) -> Index:
        """Tiles of the depth."""
        return (self.depth + (self.tile[2] - 1)) // self.tile[2]

    def modes(self, name: str) -> tuple[int, int]:
        """Return the modes of an operand that rows and columns of a tile run along."""
        rank = next(len(o.modes) for o in self.operands if o.name == name)
        by_token = self.page is not None and self.cache == "tokens" and name in ("K", "V")
        return rank - (3 if by_token else 2), rank - 1

    def kv_scale(self, name: str, in_registers: bool) -> Expression:
        """Return what keys or values were divided by: a scalar, or a number of their head."""
        if self.scales != "heads":
            return Element(name)
        return Slot(f"t_{name}") if in_registers else Element(name, (self.kv_head,))

    def by_head(self, name: str, count: int) -> tuple[tuple[str, Layout], ...]:
        """Return how so many elements take a number of their head, if there is one."""
        return ((f"t_{name}", Layout(count, 0)),) if self.scales == "heads" else ()

    def scored(self, product: Expression, in_registers: bool = False) -> Expression:
        """Return the score of a query's product with a key, to base 2."""
        scale: Expression = Element("scale")
        if self.scales:
            scale = scale * self.kv_scale("k_scale", in_registers)
        if self.softcap is None:
            return product * (scale * LOG2E)
        capped = apply("tanh", product * (scale * (1 / self.softcap)))
        return capped * (self.softcap * LOG2E)

    def valued(self, value: Expression, in_registers: bool = False) -> Expression:
        """Return a weighted sum of values as it is stored."""
        return value * self.kv_scale("v_scale", in_registers) if self.scales else value

    @property
    def tables(self) -> tuple[Assumption, ...]:
        """What is assumed of lengths, starts and pages."""
        out: list[Assumption] = []
        batches, b = ("b", self.batches), Index("b")
        if self.packed:
            own = Index.element("starts", b + 1) - Index.element("starts", b)
            out.append(Rising("starts", Index("T")))
            out.append(AtMost(own, Index.element("longest"), (batches,)))
        if self.page is not None:
            count, used = Index.element("lengths", b), Index("i") * self.page
            out.append(AtMost(count, Index("S") * self.page, (batches,)))
            out.append(InRange("pages", Index("P"), ("b", "i"), ((used, count),)))
        elif self.packed:
            out.append(Rising("key_starts", Index("N"), whole=False))
            out += [Rising("cache_starts", Index("C"), whole=False)] if self.cached else []
        if self.bias in ("alibi", "matrix") and self.most_keys == Index("L"):
            out.append(AtMost(self.all_keys, Index("L"), (batches,)))
        return tuple(out)

    @property
    def batches(self) -> Index:
        """How many batches there are."""
        return Index("U") - 1 if self.packed else Index("B")

    @property
    def grid(self) -> tuple[tuple[str, Index], ...]:
        """Batches, heads, tiles of queries and of columns of V, and parts of the keys."""
        longest = Tiles("M", self.tile[0])
        if self.packed:
            longest = (Index.element("longest") + (self.tile[0] - 1)) // self.tile[0]
        axes = (("b", self.batches), ("h", self.heads), ("q", longest), ("v", Tiles("E", self.out)))
        return (*axes, ("s", Index(None, self.splits))) if self.splits > 1 else axes

    # ------------------------------------------------------------------ lengths and places

    @property
    def queries(self) -> Index:
        """Queries of the batch at hand."""
        return self._batch("starts") if self.packed else Index("M")

    @cached_property
    def keys(self) -> tuple[Keys, ...]:
        """What the loops go through, the cached keys first."""
        count, first = Index("N"), Index()
        if self.page is not None:
            count = Index.element("lengths", Index("b"))
        elif self.packed:
            count = self._batch("key_starts")
        out: list[Keys] = []
        if self.cached:
            first = self._batch("cache_starts") if self.packed else Index("C")
            out.append(Keys("K0", "K0" if self.latent else "V0", "c", first, Index()))
        return (*out, Keys("K", "K" if self.latent else "V", "k", count, first))

    def tile_of(self, keys: Keys) -> Index:
        """Return the number of the tile of a trip: parts of the keys take tiles in turn."""
        tile = Index(keys.var)
        return tile * self.splits + Index("s") if self.splits > 1 else tile

    @property
    def may_lack_keys(self) -> bool:
        """Whether a query may see no key: lengths may be 0, a part of the keys may have none."""
        masked = self.bias is not None and self.bias != "alibi"
        return self.splits > 1 or self.packed or self.page is not None or masked

    @property
    def all_keys(self) -> Index:
        """Keys of the batch at hand, the cached ones included."""
        return self.keys[-1].first + self.keys[-1].count

    def _batch(self, operand: str) -> Index:
        """Return how many rows the batch at hand has of what an operand says the starts of."""
        return self._start(operand, 1) - self._start(operand, 0)

    @staticmethod
    def _start(operand: str, ahead: int) -> Index:
        return Index.element(operand, Index("b", ahead))

    def of_queries(self, row: Index, column: Index | None) -> tuple[Index, ...]:
        """Return where a row of the queries lies, or of what has their modes."""
        behind = () if column is None else (column,)
        if self.packed:
            return (Index("h"), self._start("starts", 0) + row, *behind)
        return (Index("b"), Index("h"), row, *behind)

    def of_out(self, row: Index, column: Index | None) -> tuple[Index, ...]:
        """Return where a row of an output lies."""
        parts = (Index("s"),) if self.splits > 1 else ()
        return (*parts, *self.of_queries(row, column))

    def of_keys(self, keys: Keys, row: Index, column: Index) -> tuple[Index, ...]:
        """Return where a tile of keys, or of their values, begins."""
        if keys.k == "K" and self.page is not None:
            page = Index.element("pages", Index("b"), row // self.page)
            inside = (self.kv_head, row % self.page)
            return (page, *(inside if self.cache == "heads" else reversed(inside)), column)
        if self.packed:
            starts = "key_starts" if keys.k == "K" else "cache_starts"
            return (self.kv_head, self._start(starts, 0) + row, column)
        return (Index("b"), self.kv_head, row, column)

    # ------------------------------------------------------------------ what is refused

    def check(self) -> None:
        """Raise `KernelError` for what does not fit, by name."""
        (queries, keys, _), (_, columns, depth) = self.qk.tile_mnk, self.pv.tile_mnk
        wrong, fix = "", "share queries and keys out alike in both products"
        if queries != self.pv.tile_mnk[0] or keys != depth:
            weights = self.pv.tile_mnk[::2]
            wrong = f"the scores are {(queries, keys)}, the weights {weights}"
        elif self._starts("m", self.qk) != self._starts("m", self.pv):
            wrong = "the two products share the queries out over subgroups in different ways"
        elif self.across != size(self.pv.atom_layout_mnk[2]):
            wrong = (
                f"{self.across} subgroups share the keys of the scores, "
                f"{size(self.pv.atom_layout_mnk[2])} those of the values"
            )
        elif size(self.pv.atom_layout_mnk[1]) > 1 or size(self.qk.atom_layout_mnk[2]) > 1:
            wrong, fix = "a sum is shared by several subgroups", "share queries or keys"
        elif self.across > 1 and self.across != self.qk.num_subgroups:
            wrong, fix = "queries and keys are both shared out", "share one of them"
        elif self.out < columns or self.out % columns:
            wrong = f"{self.out} columns are not a multiple of the {columns} of a tile"
            fix = f"use out={columns * max(1, self.out // columns)}"
        elif self.rows % 16 and 16 % self.rows:
            wrong = f"a subgroup has {self.rows} queries, neither a divisor of 16 nor a multiple"
            fix = "use a tile with 1, 2, 4, 8 or a multiple of 16 queries for each subgroup"
        elif self.page is not None and (self.page < keys or self.page % keys):
            wrong = f"pages of {self.page} keys are not a multiple of the {keys} keys of a tile"
            fix = self._other_pages(self.page, keys)
        wrong, fix = (wrong, fix) if wrong else self._clash()
        if wrong:
            raise KernelError("attention", {"qk": self.qk, "pv": self.pv}, wrong, fix)

    def _other_pages(self, page: int, keys: int) -> str:
        """Pages for the tile, and the largest tile of the instruction's keys that the page has."""
        step = self.pv.atom.shape_mnk[2] * self.across
        tiles = [n for n in range(step, min(page, keys) + 1, step) if page % n == 0]
        pages = f"use pages of {keys * max(1, page // keys)} keys"
        return f"{pages}, or tiles of {tiles[-1]}" if tiles else pages

    def _clash(self) -> tuple[str, str]:
        for name, low in (("group", 1), ("splits", 1), ("stages", 0)):
            if (given := getattr(self, name)) < low:
                return f"{name} is {given}, and must be {low} or more", f"use {name}={low}"
        if self.window is not None and min(self.window) < 0:
            return (
                f"the window {self.window} is negative",
                "write window=(128, 0): keys before, keys behind",
            )
        if self.cached and self.page is not None:
            return "cached keys cannot be combined with paged ones", "page the cache"
        if self.cache == "tokens" and self.page is None:
            return "only pages hold tokens before heads", "use page=64"
        if self.softcap is not None and not 0 < self.softcap < inf:
            return f"the cap {self.softcap} is not a positive number", "use softcap=50.0"
        if self.lse and not self.packed and self.rows % 16:
            why = "is written for 16 queries at a time, padding included"
            return f"lse {why}", "leave lse out, or use 16 queries for each subgroup"
        if self.splits > 1 and not (self.lse and self.out_type.name == "f32" and not self.sink):
            return (
                "parts are put together by their lse, in f32, without a sink",
                'use lse=True, out_type="f32", sink=False',
            )
        return "", ""

    def _starts(self, letter: str, mma: TiledMma) -> list[int]:
        return [int(row.min()) for row in accumulator_places(mma, letter)]


# ------------------------------------------------------------ attention masks
# Which keys a query sees: the mask of a tile of scores, and the tiles that have any.

Conditions: TypeAlias = list[tuple[Index, Index]]


def seen(form: Form, query: Index, key: Index) -> Conditions:
    """Return when a query sees a key, by their positions: each pair is ``one < other``.

    The last query is beside the last key, as many keys as there may be. C++: ``full_tile_offset``.
    """
    beside = query + form.all_keys - form.queries
    out: Conditions = []
    behind: int | None = 0 if form.causal else None
    if form.window is not None:
        before, more = form.window
        behind = more if behind is None else min(more, behind)
        out.append((beside - before, key + 1))
    if behind is not None:
        out.append((key, beside + behind + 1))
    return out


def unmasked(form: Form, keys: Keys, score: Expression) -> Expression:
    """Return the score of an element of a tile, minus infinity where its query does not see it."""
    query = Index("q") * form.tile[0] + place_in_tile(form.qk, "m")
    key = form.tile_of(keys) * form.tile[1] + place_in_tile(form.qk, "n")
    for one, other in (*seen(form, query, keys.first + key), (key, keys.count)):
        score = Where(one, other, score, Const(-inf))
    return score


def guarded(form: Form, keys: Keys, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return a body that is done for those tiles of keys of which some query sees some key."""
    queries, width, _ = form.tile
    first, start = Index("q") * queries, keys.first + form.tile_of(keys) * width
    last_query, last_key = first + (queries - 1), start + (width - 1)
    for number in range(len(seen(form, first, start))):
        early, late = seen(form, first, last_key)[number], seen(form, last_query, start)[number]
        # A window begins soonest for the first query and the last key, and ends for the others.
        one, other = early if number == 0 and form.window is not None else late
        body = (If(one, other, body),)
    return body
