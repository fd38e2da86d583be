"""Pieces of plans on the fast executor: sums of products that several work-groups take up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.errors import MachineError
from pycute_xe.kernel import (
    Fill,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Mma,
    Prefetch,
    Reorder,
    Statement,
    Store,
    apply,
    scheduled,
)
from pycute_xe.kernel.schedules import (
    DataParallel,
    Grouped,
    Persistent,
    Piece,
    Plan,
    Raster,
    SplitK,
    StreamK,
    moe_counts,
    plan_tables,
    tile_counts,
)

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0)))
WIDE = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 32), ((1, 2, 1), (2, 1, 0)))
NARROW = cx.workgroup_mma(cx.XE_DPAS_TT(8, "bf16", "bf16"), (16, 32, 32), ((1, 2, 1), (2, 1, 0)))
BYTES = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (16, 32, 32), ((1, 2, 1), (2, 1, 0)))
EXECUTORS: tuple[Any, ...] = ("fast", "reference")


@pytest.mark.parametrize(
    "schedule",
    [DataParallel(), Persistent(3, Raster("M", 1)), StreamK(5, least=1), SplitK(3, 4)],
    ids=str,
)
@pytest.mark.parametrize("orders", [("row", "row", "row"), ("col", "col", "row")], ids=str)
@pytest.mark.parametrize("mma", [MMA, WIDE, BYTES], ids=["one", "pairs", "bytes"])
def test_tiles_of_a_plan_are_a_product(schedule: StreamK, orders: Any, mma: Any) -> None:
    rng, dtype = np.random.default_rng(1), np.int8 if mma is BYTES else ml_dtypes.bfloat16
    a, b = (rng.integers(-3, 4, s).astype(dtype) for s in ((39, 300), (300, 70)))
    tables = plan_tables(schedule.plan(tile_counts(39, 70, 300, mma.tile_mnk)))
    found = cx.run(scheduled(mma, *orders), a, b, **tables)
    assert np.array_equal(found, a.astype(float) @ b.astype(float))


@pytest.mark.parametrize("groups", ["stacked", "batch"])
def test_each_expert_or_problem_is_a_product(groups: Any) -> None:
    rng, rows, stacked = np.random.default_rng(2), [9, 0, 1, 24], groups == "stacked"
    each = moe_counts(rows, 40, 50, MMA.tile_mnk)
    starts = np.cumsum([0, *(8 * m for m, _, _ in each)])
    a = np.zeros((int(starts[-1]), 50) if stacked else (4, 24, 50), ml_dtypes.bfloat16)
    b = rng.integers(-3, 4, (4, 50, 40)).astype(ml_dtypes.bfloat16)
    kernel = scheduled(MMA, groups=groups, fixup=not stacked)
    pairs = zip(starts, rows, strict=False)
    parts = [a[s : s + r] if stacked else a[e, :r] for e, (s, r) in enumerate(pairs)]
    for part in parts:
        part[...] = rng.integers(-3, 4, part.shape)
    found = cx.run(kernel, a, b, **plan_tables(Grouped(3).plan(*each), stacked=stacked))
    for e, (start, part) in enumerate(zip(starts, parts, strict=False)):
        own = found[start:] if stacked else found[e]
        assert np.array_equal(own[: len(part)], part.astype(float) @ b[e].astype(float))


def test_an_epilogue_of_parts_of_k() -> None:
    a, b = (np.ones(s, ml_dtypes.bfloat16) for s in ((16, 64), (64, 32)))
    tables = plan_tables(SplitK(4, 16).plan((2, 2, 4)))
    found = cx.run(scheduled(MMA, epilogue="relu(acc)"), a, b, **tables)
    assert (found == 64).all()


def _fetching(kernel: Kernel, at: Index, guarded: bool) -> Kernel:
    """Return a kernel whose first prefetch of B is of another matrix, under a condition if so."""
    before = next(s for s in kernel.statements() if isinstance(s, Prefetch) and s.operand == "B")
    changed: Any = replace(before, at=(at, *before.at[1:]))
    if guarded:
        changed = If(Index("u") * 0 + 1, Index(), (changed,))
    return kernel.replace(before, changed)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    "at",
    [
        Index(None, 2),
        Index.element("work", Index("u"), Index("i"), 99),
        Index.element("work", Index("u"), Index("i") - 5, 0),
        Index("p") + 2,
    ],
    ids=str,
)
@pytest.mark.long
def test_a_prefetch_outside_is_seen_where_it_is_done(at: Index, executor: Any) -> None:
    kernel = scheduled(MMA, groups="stacked", fixup=False)
    a, b = np.ones((8, 32), ml_dtypes.bfloat16), np.ones((2, 32, 16), ml_dtypes.bfloat16)
    tables = plan_tables(Grouped(3).plan((1, 1, 2)), stacked=True)
    with pytest.raises(MachineError, match="outside"):
        cx.run(_fetching(kernel, at, False), a, b, **tables, executor=executor)
    found = cx.run(_fetching(kernel, at, True), a, b, **tables, executor=executor)
    assert (found == 32).all()


def _loading(operand: str, change: Any, **given: Any) -> Kernel:
    """Return a kernel whose loads of an operand begin elsewhere."""
    kernel = scheduled(WIDE, fixup=False, **given)
    load = next(s for s in kernel.statements() if isinstance(s, Load) and s.operand == operand)
    return kernel.replace(load, replace(load, at=tuple(map(change, load.at))))


@pytest.mark.parametrize(
    "change",
    [
        lambda index: index - 16 if "k" in index.names else index,
        lambda index: index + 16 * Index("subgroup") if "k" in index.names else index,
        lambda index: index + 16 if "k" in index.names else index,
    ],
    ids=["before the first", "by subgroup", "behind"],
)
def test_loads_that_begin_elsewhere_do_what_the_reference_does(change: Any) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-3, 4, s).astype(ml_dtypes.bfloat16) for s in ((16, 96), (96, 32)))
    tables = plan_tables(DataParallel().plan(tile_counts(16, 32, 96, WIDE.tile_mnk)))
    fast, slow = (
        cx.run(_loading("A", change), a, b, **tables, executor=executor) for executor in EXECUTORS
    )
    assert np.array_equal(fast, slow)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_load_of_a_matrix_behind_the_last_is_outside(executor: Any) -> None:
    kernel = _loading(
        "B", lambda x: x + 2 if "k" not in x.names and x.looked_up else x, groups="batch"
    )
    a, b = (np.ones((2, *s), ml_dtypes.bfloat16) for s in ((16, 32), (32, 32)))
    tables = plan_tables(DataParallel().plan(*(tile_counts(16, 32, 32, WIDE.tile_mnk),) * 2))
    with pytest.raises(MachineError, match="outside"):
        cx.run(kernel, a, b, **tables, executor=executor)


def test_what_a_piece_stores_is_what_the_next_one_loads() -> None:
    kernel = scheduled(MMA, fixup=False, d_type="bf16")
    store = next(s for s in kernel.statements() if isinstance(s, Store))
    a, *more = kernel.operands
    operands = (replace(a, role="inout"), *(o for o in more if o.name != "D"))
    bare = replace(kernel, operands=(*operands, kernel.operand("D")), computes=None, plan=None)
    over = replace(bare.replace(store, replace(store, operand="A")), operands=operands)
    pieces = Piece(0, 0, 0, 0, 2), Piece(0, 1, 0, 0, 2)
    tables = plan_tables(Plan("in turn", ((1, 2, 2),), (pieces,)))
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-1, 2, s).astype(ml_dtypes.bfloat16) for s in ((8, 32), (32, 32)))
    fast, slow = (cx.run(over, a, b, **tables, executor=executor) for executor in EXECUTORS)
    first = a.astype(float)
    for columns in (slice(0, 16), slice(16, 32)):
        first[:, columns] = (first @ b.astype(float))[:, columns]
    assert np.array_equal(slow, first)
    assert np.array_equal(fast, slow)


def _pipelined(kernel: Kernel) -> Kernel:
    """Every trip multiplies what the trip before has loaded."""
    loop = kernel.loop("k")
    own = [s for s in loop.body if isinstance(s, (Load, Reorder))]
    product = next(s for s in loop.body if isinstance(s, Mma))
    first = {loop.var: loop.start}
    before = tuple(
        replace(s, at=tuple(i.substitute(first) for i in s.at)) if isinstance(s, Load) else s
        for s in own
    )
    return kernel.replace(loop, (*before, replace(loop, body=(product, *own))))


def _squared(kernel: Kernel) -> Kernel:
    """Both sides are tiles of A."""
    loads = [s for s in kernel.statements() if isinstance(s, Load)]
    other = next(s for s in loads if s.operand == "B")
    operands = tuple(o for o in kernel.operands if o.name != "B")
    bare = replace(kernel, body=tuple(_without(kernel.body, "B")), computes=None, plan=None)
    return replace(bare.replace(other, replace(other, operand="A")), operands=operands)


def _without(body: tuple[Statement, ...], operand: str) -> Iterator[Statement]:
    for s in body:
        if isinstance(s, (Loop, If)):
            yield replace(s, body=tuple(_without(s.body, operand)))
        elif not (isinstance(s, Prefetch) and s.operand == operand):
            yield s


def _of_some(*body: Statement) -> If:
    return If(Index("subgroup"), Index(None, 1), body)


def _one(kernel: Kernel, kind: type, operand: str = "") -> Any:
    kinds = (s for s in kernel.statements() if isinstance(s, kind))
    return next(s for s in kinds if not operand or getattr(s, "operand", "") == operand)


@pytest.mark.parametrize(
    "made",
    [
        lambda: _pipelined(scheduled(WIDE, fixup=False)),
        lambda: _squared(scheduled(WIDE, fixup=False)),
        lambda: scheduled(NARROW, fixup=False),
        lambda: (k := scheduled(WIDE)).replace(one := _one(k, Map), _of_some(one)),
        lambda: (k := scheduled(WIDE)).replace(
            one := _one(k, Store, "D"), (_of_some(Fill("tCrC")), one)
        ),
        lambda: (k := scheduled(WIDE)).replace(
            one := _one(k, Map), replace(one, value=apply("max", *one.value.arguments))
        ),
        lambda: (k := scheduled(WIDE)).replace(one := _one(k, Fill), replace(one, value=2.0)),
    ],
    ids=["pipelined", "squared", "narrow", "some add", "some fill", "a maximum", "a number"],
)
def test_what_is_not_a_sum_of_products_is_done_as_the_reference_does(made: Any) -> None:
    kernel = made()
    rng, n = np.random.default_rng(8), 64
    a, b = (rng.integers(-3, 4, (n, n)).astype(ml_dtypes.bfloat16) for _ in "AB")
    plan = SplitK(2, 4) if "W" in [o.name for o in kernel.operands] else DataParallel()
    tables = plan_tables(plan.plan(tile_counts(n, n, n, WIDE.tile_mnk)))
    known = {o.name for o in kernel.operands}
    given = {"A": a, "B": b} if "B" in known else {"A": a, "N": n}
    fast, slow = (cx.run(kernel, **given, **tables, executor=e) for e in EXECUTORS)
    assert np.array_equal(fast, slow)
