"""Faults of attention: one slip each in a kernel that is right, and the problem that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from attention_problems import Problem, problem, tilings

from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Convert,
    Expression,
    Fence,
    Fill,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Reduce,
    Reorder,
    SharedLoad,
    SharedStore,
    Slot,
    Statement,
    Store,
    apply,
)
from pycute_xe.kernel.spec.expression import Apply, Const, Where
from pycute_xe.layout import Layout, size

Change = Callable[[Statement], "Statement | tuple[Statement, ...] | None"]

BASES: dict[str, tuple[dict[str, Any], list[tuple[int, int]], dict[str, Any]]] = {
    "plain": ({}, [(16, 64)], {}),
    "remainder": ({}, [(19, 45)], {}),
    "causal": ({}, [(20, 45)], {"causal": True}),
    "two subgroups": ({"queries": 32, "subgroups": 2}, [(32, 40)], {"causal": True}),
    "window": ({}, [(20, 45)], {"window": (9, 3)}),
    "grouped": ({}, [(16, 17), (16, 17)], {"group": 2, "heads": 4}),
    "sink": ({}, [(16, 33)], {"sink": True}),
    "cached": ({}, [(20, 80)], {"cached": True, "causal": True}),
    "paged": ({}, [(16, 130), (16, 140)], {"page": 64}),
    "packed": ({}, [(17, 33), (5, 9)], {"packed": True}),
    "shared": ({"queries": 8, "keys": 64, "across": 4}, [(8, 150)], {}),
}


@cache
def right(base: str) -> Problem:
    """A kernel without a fault, its operands, and what it should give."""
    shape, lengths, options = BASES[base]
    rng = np.random.default_rng(11)
    given = {"out": 32, "stages": 0, "heads": 1, **options}
    if base in ("packed", "paged"):
        given |= {"out": 16, "columns": 16}
    return problem(rng, tilings(**shape), lengths, **given)


def changed(kernel: Kernel, change: Change) -> Kernel:
    """The kernel with every statement changed: to another, to several, or to none."""

    def body(old: tuple[Statement, ...]) -> tuple[Statement, ...]:
        out: list[Statement] = []
        for statement in old:
            inner = statement
            if isinstance(statement, (Loop, If)):
                inner = replace(statement, body=body(statement.body))
            new = change(inner)
            out += () if new is None else new if isinstance(new, tuple) else (new,)
        return tuple(out)

    return replace(kernel, body=body(kernel.body))


def of_map(name: str, value: Callable[[Expression], Expression], number: int = -1) -> Change:
    """Change what maps into a fragment compute: all of them, or one by its number."""
    seen = [-1]

    def change(s: Statement) -> Statement:
        if not isinstance(s, Map) or s.destination.rstrip("0123456789") != name:
            return s
        seen[0] += 1
        if number not in (-1, seen[0]):
            return s
        new = value(s.value)
        read = replace(s, value=new, gathers=()).sources
        return replace(s, value=new, gathers=tuple(g for g in s.gathers if g[0] in read))

    return change


def mask(number: int, by: Callable[[Where], Expression]) -> Change:
    """Change a condition of the mask, the outermost is 0; the remainder's."""

    def value(old: Expression) -> Expression:
        def inside(x: Expression, depth: int) -> Expression:
            if not isinstance(x, Where):
                return x
            return by(x) if depth == number else replace(x, then=inside(x.then, depth + 1))

        return inside(old, 0)

    return of_map("tSrS", value)


def later(by: int) -> Callable[[Where], Expression]:
    return lambda x: replace(x, below=x.below + by)


def without(*kinds: type) -> Change:
    return lambda s: None if isinstance(s, kinds) else s


def loads(name: str, mode: int, index: Callable[[Index], Index | int]) -> Change:
    """Change an index of the loads of operands whose names begin so."""

    def change(s: Statement) -> Statement:
        if not isinstance(s, Load) or not s.operand.startswith(name):
            return s
        at = list(s.at)
        at[mode] = Index() + index(at[mode])
        return replace(s, at=tuple(at))

    return change


def loop(var: str, **parts: Callable[[Loop], Any]) -> Change:
    """Change the bounds of a loop."""

    def change(s: Statement) -> Statement:
        if not isinstance(s, Loop) or s.var != var:
            return s
        return replace(s, **{name: part(s) for name, part in parts.items()})

    return change


def renamed(**indices: Index) -> Change:
    """Take other indices for names, wherever loads use them."""

    def change(s: Statement) -> Statement:
        if not isinstance(s, (Load, Store)):
            return s
        return replace(s, at=tuple(i.substitute(indices) for i in s.at))

    return change


def gathered(name: str, source: str, by: Callable[[Layout], Layout]) -> Change:
    """Change which element of a row's fragment an element reads."""

    def change(s: Statement) -> Statement:
        if not isinstance(s, Map) or s.destination.rstrip("0123456789") != name:
            return s
        found = tuple((n, by(g) if n == source else g) for n, g in s.gathers)
        return replace(s, gathers=found)

    return change


def first_row(g: Layout) -> Layout:
    return Layout(size(g), 0)


def by_lane(g: Layout) -> Layout:
    """Every lane a row of its own, as if the accumulator were transposed."""
    return Layout((16, size(g) // 16), (1, 0))


def dropped(name: str) -> Change:
    """Leave out what a map multiplies first, or the whole map: see `FAULTS`."""
    return lambda s: None if isinstance(s, Map) and s.destination == name else s


def left(value: Expression) -> Expression:
    assert isinstance(value, Apply)
    return value.arguments[0]


def on(kind: type, name: str, change: Change) -> Change:
    """Change only statements of a kind that write a fragment."""

    def chosen(s: Statement) -> Any:
        mine = isinstance(s, kind) and any(n.startswith(name) for n in s.touched.writes)
        return change(s) if mine else s

    return chosen


def fix_only(value: Expression) -> Expression:
    """A rescaling of O without its factor."""
    return left(value) if "tSrFix" in str(value) else value


def moved_out(s: Statement) -> Any:
    """Scores are cleared before the loop over keys, not in it."""
    if isinstance(s, Loop) and s.var == "k":
        rest = tuple(x for x in s.body if not isinstance(x, Fill))
        return (Fill("tSrS"), replace(s, body=rest))
    return s


def twice(s: Statement) -> Any:
    """The last block is done twice: once more behind the loop."""
    if not isinstance(s, Loop) or s.var != "k":
        return s
    again = {"k": s.stop - 1}

    def renamed_body(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        out: list[Statement] = []
        for x in body:
            if isinstance(x, Loop):
                out.append(replace(x, var=x.var + "again", body=renamed_body(x.body)))
            elif isinstance(x, Load):
                names = {**again, "dk": Index("dkagain")}
                out.append(replace(x, at=tuple(i.substitute(names) for i in x.at)))
            elif isinstance(x, Map) and isinstance(x.value, Where):
                value = x.value
                new = replace(value, index=value.index.substitute(again))
                out.append(replace(x, value=new))
            else:
                out.append(x)
        return tuple(out)

    return (s, *renamed_body(s.body))


OFFSET = Index("N") - Index("M")


def only_ends(s: Statement) -> Any:
    """Rows of a tile are stored whether they belong to the batch or not."""
    return s.body if isinstance(s, If) and isinstance(s.body[0], Store) else s


def by_twos(s: Statement) -> Any:
    """Pairs of elements change places on their way to the second product."""
    assert isinstance(s, Reorder)
    return replace(s, slots=Layout((2, size(s.slots) // 2), (size(s.slots) // 2, 1)))


def early(s: Statement) -> Any:
    """Weights leave before the exponential is taken: P holds what was there before."""
    return (
        (Convert("tSrS", "tSrP"), s)
        if isinstance(s, Map) and "exp2(tSrS" in str(s.value)
        else (None if isinstance(s, Convert) and s.destination == "tSrP" else s)
    )


def scores(change: Callable[[Expression], Expression]) -> Change:
    """Change the scaled score inside the mask."""

    def value(old: Expression) -> Expression:
        return replace(old, then=value(old.then)) if isinstance(old, Where) else change(old)

    return of_map("tSrS", lambda v: v if "exp2" in str(v) else value(v))


def unscaled(value: Expression) -> Expression:
    """The score times the scale alone."""
    assert isinstance(value, Apply)
    return Apply("mul", (value.arguments[0], left(value.arguments[1])))


def again(value: Expression) -> Expression:
    """The score times the scale, and once more."""
    assert isinstance(value, Apply)
    return Apply("mul", (value, left(value.arguments[1])))


def next_page(index: Index) -> Index:
    """The entry behind the one that is meant, or the first."""
    (entry,) = index.looked_up
    batch, page = entry.at
    return Index.element("pages", batch, (page + 1) % 2)


def of_first(index: Index) -> Index:
    """The same of the first batch."""
    (entry,) = index.looked_up
    return Index.element(entry.operand, *(i.substitute({"b": Index()}) for i in entry.at))


def as_queries(index: Index) -> Index:
    """A place counted from where the queries of the batch begin."""
    return index - Index.element("key_starts", Index("b")) + Index.element("starts", Index("b"))


def shared_loads(array: str, change: Callable[[SharedLoad], Any]) -> Change:
    """Change the loads from a shared array."""
    return lambda s: change(s) if isinstance(s, SharedLoad) and s.array == array else s


def flat(s: Statement) -> Any:
    """Every subgroup stores where the first one does."""
    if not isinstance(s, SharedStore):
        return s
    subgroups, elements = (size(mode) for mode in s.places)
    return replace(s, places=Layout((subgroups, elements), (0, 1)))


FAULTS: dict[str, tuple[str, Change]] = {
    "the remainder is unmasked": ("remainder", mask(0, lambda x: x.then)),
    "the remainder ends one key late": ("remainder", mask(0, later(1))),
    "the remainder ends one key early": ("remainder", mask(0, later(-1))),
    "masked scores are zero": ("remainder", mask(0, lambda x: replace(x, otherwise=Const(0.0)))),
    "causal, one key late": ("causal", mask(1, later(1))),
    "causal, one key early": ("causal", mask(1, later(-1))),
    "causal, beside the first key": (
        "causal",
        mask(1, lambda x: replace(x, below=x.below - OFFSET)),
    ),
    "causal, the mask of the first subgroup": (
        "two subgroups",
        mask(1, lambda x: replace(x, below=x.below.substitute({"subgroup": Index()}))),
    ),
    "causal, rows and columns exchanged": (
        "causal",
        mask(1, lambda x: replace(x, index=x.below - 1 - OFFSET, below=x.index + 1 + OFFSET)),
    ),
    "the window begins one key late": ("window", mask(2, later(-1))),
    "the window begins one key early": ("window", mask(2, later(1))),
    "the window ends one key late": ("window", mask(1, later(1))),
    "the window ends one key early": ("window", mask(1, later(-1))),
    "O is not rescaled": ("plain", of_map("tOrO", fix_only)),
    "the sum is not rescaled": (
        "plain",
        of_map("tSrSum", lambda v: Slot("tSrSum") + Slot("tSrAdd")),
    ),
    "rescaled by the inverse": (
        "plain",
        of_map("tSrFix", lambda v: apply("exp2", Slot("tSrNew") - Slot("tSrMax"))),
    ),
    "the maximum is not kept": ("plain", dropped("tSrMax")),
    "the maximum of the first row": ("plain", gathered("tSrS", "tSrMax", first_row)),
    "the maximum of the wrong row": ("plain", gathered("tSrS", "tSrMax", by_lane)),
    "the rescaling of the wrong row": ("plain", gathered("tOrO", "tSrFix", by_lane)),
    "the sum of the wrong row": ("plain", gathered("tOrO", "tSrSum", by_lane)),
    "sums down columns": (
        "plain",
        lambda s: (
            replace(s, slots=by_lane(s.slots)) if isinstance(s, Reduce) and s.how == "sum" else s
        ),
    ),
    "the sum takes a maximum": (
        "plain",
        lambda s: replace(s, how="max") if isinstance(s, Reduce) else s,
    ),
    "P is not reordered": (
        "plain",
        on(Reorder, "tOrP", by_twos),
    ),
    "P is converted before the exponential": ("plain", early),
    "the scale is applied twice": (
        "plain",
        scores(again),
    ),
    "the scale lacks log2(e)": ("plain", scores(unscaled)),
    "exp for exp2": (
        "plain",
        of_map("tSrS", lambda v: apply("exp", left(v)) if "exp2" in str(v) else v),
    ),
    "O is not divided": ("plain", of_map("tOrO", lambda v: left(v) if "div" in repr(v) else v)),
    "scores are not cleared": ("plain", moved_out),
    "the first block is left out": ("plain", loop("k", start=lambda s: Index(None, 1))),
    "the last block is left out": ("remainder", loop("k", stop=lambda s: s.stop - 1)),
    "the last block is done twice": ("plain", twice),
    "values of the block before": ("plain", loads("V", 2, lambda i: i.substitute({"k": Index()}))),
    "a part of the depth is left out": ("plain", loop("dk", stop=lambda s: s.stop - 1)),
    "the wrong columns of V": (
        "plain",
        loads("V", 3, lambda i: i - i.offset),
    ),
    "the wrong queries": ("remainder", loads("Q", 2, lambda i: i.substitute({"q": Index()}))),
    "the head of another group": ("grouped", loads("K", 1, lambda i: Index("h") % 2)),
    "the head is not divided by the group": ("grouped", loads("V", 1, lambda i: Index("h"))),
    "the keys of the first batch": ("grouped", loads("K", 0, lambda i: 0)),
    "the sink is left out": ("sink", of_map("tSrSum", left, 1)),
    "the sink lacks log2(e)": ("sink", of_map("tSrSink", left)),
    "cached keys do not count in the mask": (
        "cached",
        mask(1, lambda x: replace(x, index=x.index - Index("C"))),
    ),
    "the next page": ("paged", loads("K", 0, next_page)),
    "the pages of the first batch": ("paged", loads("V", 0, of_first)),
    "always the first half of a page": ("paged", loads("K", 2, lambda i: 0)),
    "the length of another batch": (
        "paged",
        mask(0, lambda x: replace(x, below=of_first(x.below))),
    ),
    "rows of the next batch are written": ("packed", only_ends),
    "keys start where queries do": ("packed", loads("K", 1, as_queries)),
    "reduction without a barrier": ("shared", without(BarrierArrive, BarrierWait)),
    "reduction without a fence": ("shared", without(Fence)),
    "a part is added unscaled": ("shared", of_map("tSrPart", left)),
    "a part is left out": (
        "shared",
        shared_loads("sO", lambda s: None if s.at == Index() else s),
    ),
    "the part of one subgroup for all": (
        "shared",
        shared_loads("sSum", lambda s: replace(s, at=Index())),
    ),
    "all parts at one place": (
        "shared",
        flat,
    ),
}
