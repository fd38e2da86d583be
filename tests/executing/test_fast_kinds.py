"""Kinds of statements that a product does not need, on both executors."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import unsound_kernels
from attention_tile import attention_tile

import pycute_xe as cx
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.executing import run
from pycute_xe.holding.following import HOLDS
from pycute_xe.kernel import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Element,
    Fence,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Operand,
    Reduce,
    Shared,
    SharedLoad,
    SharedStore,
    Slot,
    Statement,
    Store,
    Tiles,
    Touched,
    gemm,
)
from pycute_xe.layout import Layout

BF16 = ml_dtypes.bfloat16


def small(**given: Any) -> Kernel:
    op = cx.XE_DPAS_TT(8, given.pop("acc", "f32"), given.pop("of", "bf16"))
    return gemm(cx.workgroup_mma(op, (16, 32, 32), ((2, 2, 1), (2, 1, 0))), **given)


def find(kernel: Kernel, kind: type) -> Any:
    return next(s for s in kernel.statements() if isinstance(s, kind))


def before_store(kernel: Kernel, *statements: Statement, **changes: Any) -> Kernel:
    changed = dataclasses.replace(kernel, computes=None, **changes)
    store = find(kernel, Store)
    return changed.replace(store, (*statements, store))


def outcome(kernel: Kernel, executor: Any, *operands: Any) -> Any:
    try:
        return run(kernel, *operands, executor=executor)
    except MachineError as error:
        return type(error).__name__


def alike(kernel: Kernel, *operands: Any) -> Any:
    """Return what both executors give, after checking that it is the same."""
    quick, slow = (outcome(kernel, e, *operands) for e in ("fast", "reference"))
    if isinstance(slow, str):
        assert isinstance(quick, str)
        return None
    assert not isinstance(quick, str)
    assert np.array_equal(quick, slow, equal_nan=True)
    return quick


def product(m: int = 20, n: int = 40, k: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(11)
    return rng.integers(-4, 5, (m, k)).astype(BF16), rng.integers(-4, 5, (k, n)).astype(BF16)


def exchange(
    *between: Statement, turn: int = 1, at: int = 0, after: tuple[Statement, ...] = ()
) -> Kernel:
    """Each subgroup hands its accumulator to a neighbour through shared memory."""
    kernel, count = small(), 128
    own = Layout((4, count), (count, 1))
    turned = Layout(((2, 2), count), ((2 * count, count) if turn else (count, 2 * count), 1))
    shared = Shared("S", kernel.fragment("tCrC").value_type, 4 * count)
    return before_store(
        kernel,
        SharedStore("tCrC", "S", own, Index(None, 0)),
        *between,
        SharedLoad("S", "tCrC", turned, Index(None, at)),
        *after,
        shared=(shared,),
    )


BARRIER = (Fence(), BarrierArrive(), BarrierWait())


def test_shared_memory_passes_registers_on() -> None:
    assert alike(exchange(*BARRIER), *product()) is not None
    assert np.array_equal(run(exchange(*BARRIER, turn=0), *product()), run(small(), *product()))


@pytest.mark.parametrize(
    "kernel",
    [
        exchange(),
        exchange(BarrierArrive(), BarrierWait(), at=1),
        exchange(*BARRIER, after=(SharedStore("tCrC", "S", Layout((4, 128), (128, 1))),)),
        exchange(Loop("z", Index(), Index("m"), BARRIER)),
    ],
    ids=["no barrier", "outside", "stored before others have loaded", "barriers of some groups"],
)
def test_races_and_bounds_of_shared_memory_are_refused(kernel: Kernel) -> None:
    assert alike(kernel, *product()) is None


def test_subgroups_may_read_their_own_without_a_barrier() -> None:
    assert alike(exchange(turn=0), *product()) is not None


def test_shared_memory_nobody_wrote_is_refused() -> None:
    kernel = small()
    shared = Shared("S", kernel.fragment("tCrC").value_type, 512)
    load = SharedLoad("S", "tCrC", Layout((4, 128), (128, 1)))
    assert alike(before_store(kernel, load, shared=(shared,)), *product()) is None


@pytest.mark.parametrize("how", ["sum", "max"])
@pytest.mark.parametrize("acc", ["f32", "bf16"])
def test_reductions(how: Any, acc: str) -> None:
    kernel = small(acc=acc)
    # Every second element gathers its neighbour; the others are written by nobody.
    pairs = Reduce(how, "tCrC", "tCrC", Layout((2, 64), (0, 1)))
    assert alike(before_store(kernel, pairs), *product()) is None
    rows = Reduce(how, "tCrC", "tCrC", Layout((16, 8), (8, 1)))
    assert alike(before_store(kernel, rows), *product()) is not None


@pytest.mark.parametrize(("acc", "of", "kind"), [("f32", "bf16", BF16), ("s32", "s8", np.int8)])
def test_atomic_stores_add_what_work_groups_computed(acc: str, of: str, kind: Any) -> None:
    kernel = small(acc=acc, of=of)
    store, loop = find(kernel, Store), kernel.loop("k")
    operands = tuple(
        dataclasses.replace(o, role="inout") if o.name == "D" else o for o in kernel.operands
    )
    kernel = dataclasses.replace(
        kernel, operands=operands, computes=None, grid=(("s", Tiles("K", 32)), *kernel.grid)
    )
    part = dataclasses.replace(loop, start=Index("s"), stop=Index("s", 1))
    kernel = kernel.replace(loop, part)
    added = AtomicStore(store.copy, "D", store.at, store.fragment, store.modes)
    kernel = kernel.replace(store, added)
    left, right = (x.astype(kind) for x in product(k=70))
    ones = np.ones((20, 40), np.float32 if acc == "f32" else np.int32)
    out = alike(kernel, left, right, ones)
    assert np.array_equal(out, left.astype(int) @ right.astype(int) + 1)


def test_places_looked_up_in_an_operand() -> None:
    kernel = small()
    load = next(s for s in kernel.loop("k").body if isinstance(s, Load) and s.operand == "A")
    row = 16 * Index.element("pages", Index("m"))
    paged = dataclasses.replace(load, at=(row, load.at[1]))
    pages = Operand("pages", "s32", ("P",))
    kernel = dataclasses.replace(kernel, operands=(*kernel.operands, pages), computes=None)
    kernel = kernel.replace(load, paged)
    left, right = product(m=32)
    out = alike(kernel, left, right, np.array([1, 0], np.int32))
    assert np.array_equal(out, run(small(), np.roll(left, 16, axis=0), right))
    # The last work-group looks up an entry that is not there.
    assert alike(kernel, left, right, np.array([1], np.int32)) is None


def test_conditions_of_work_groups_and_subgroups() -> None:
    kernel = small()
    store = find(kernel, Store)
    kernel = kernel.replace(store, If(Index("subgroup") + Index("m"), Index(None, 3), (store,)))
    out = alike(kernel, *product())
    assert 0 < np.isnan(out).sum() < out.size


@dataclasses.dataclass(frozen=True, slots=True)
class Doubled(Statement):
    fragment: str

    @property
    def touched(self) -> Touched:
        return Touched(updates=(self.fragment,))


def test_foreign_kinds_are_refused_by_name_even_where_nobody_comes_to_them() -> None:
    from pycute_xe.kernel.ir.checks import FITS

    FITS.of(Doubled)(lambda kernel, statement: None)
    try:
        never = If(Index(None, 1), Index(None, 0), (Doubled("tCrC"),))
        kernel = before_store(small(), never)
        with pytest.raises(KernelError, match="no meaning for Doubled"):
            run(kernel, *product())
    finally:
        FITS.without(Doubled)


def test_every_kind_of_statement_has_a_meaning() -> None:
    named = (getattr(cx.kernel, name) for name in cx.kernel.__all__)
    kinds = {k for k in named if isinstance(k, type) and issubclass(k, Statement)}
    assert kinds - {Statement} == set(HOLDS)


def test_attention_on_registers_of_all_work_groups() -> None:
    op, grid = cx.XE_DPAS_TT(8, "f32", "bf16"), ((4, 1, 1), (1, 1, 1))
    qk, pv = (cx.workgroup_mma(op, (64, 32, depth), grid) for depth in (16, 32))
    kernel = attention_tile(qk, pv)
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal(s).astype(BF16) for s in ((70, 20), (32, 20), (32, 40)))
    quick, slow = (run(kernel, q, k, v, 0.25, executor=e) for e in ("fast", "reference"))
    scores = np.exp(q.astype(float) @ k.astype(float).T / 4)
    wanted = scores / scores.sum(axis=1, keepdims=True) @ v.astype(float)
    # Scores may differ in the last place of f32, and then in the last one of bf16.
    assert np.allclose(quick, slow, rtol=0, atol=2.0**-7)
    assert np.allclose(quick, wanted, rtol=0, atol=0.03)


@pytest.mark.parametrize("batches", [1, 2, 5])
@pytest.mark.parametrize("squared", [False, True])
def test_batches_that_share_matrices(batches: int, squared: bool) -> None:
    """Batch l of D is matrix l mod 3 of A, or its elements squared."""
    at, turn = Index("l"), Index("l") % 3
    place = (Index("m") * 8, Index("n") * 16)
    operands = (
        Operand("A", "f32", (3, "M", "N")),
        Operand("D", "f32", ("L", "M", "N"), role="out"),
    )
    square = (Map("x", Slot("x") * Slot("x")),) if squared else ()
    kernel = unsound_kernels.kernel(
        Element("A", (turn, Index("m"), Index("n"))),
        unsound_kernels.load("A", "x", (turn, *place)),
        *square,
        unsound_kernels.store("D", "x", (at, *place)),
        more=operands,
        grid=(("l", Index("L")), *unsound_kernels.GRID),
    )
    a = np.random.default_rng(6).integers(-9, 10, (3, 9, 17)).astype(np.float32)
    wanted = np.concatenate([a, a])[:batches] ** (2 if squared else 1)
    for executor in ("fast", "reference"):
        found = run(kernel, a, executor=executor, L=batches)
        assert np.array_equal(found, wanted)
