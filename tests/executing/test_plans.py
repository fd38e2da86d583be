"""Kernels that look like products of whole matrices, or are: planned or not, they give the same."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unsound_kernels import GRID, M, N, X, Y, kernel, load, store

import pycute_xe as cx
from pycute_xe.errors import MachineError, UndecidableError
from pycute_xe.executing.arrays.plans import run_on_arrays
from pycute_xe.executing.problem import prepare
from pycute_xe.kernel import (
    Fill,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Mma,
    Operand,
    Reorder,
    Slot,
    Store,
    gemm,
    scheduled,
)
from pycute_xe.kernel.schedules import SplitK, plan_tables, tile_counts

BF16 = ml_dtypes.bfloat16
L, K = Index("l"), Index("k")
A = np.arange(1, 2 * 9 * 17 + 1, dtype=np.float32).reshape(2, 9, 17)
AT = (M * 8, N * 16)


def has_plan(made: Kernel, *operands: Any) -> bool:
    """Whether whole arrays give what a kernel does."""
    try:
        run_on_arrays(prepare(made, operands, {}, None))
    except UndecidableError:
        return False
    return True


def outcome(made: Kernel, executor: Any, *operands: Any) -> Any:
    try:
        return cx.run(made, *operands, executor=executor)
    except MachineError:
        return None


def alike(made: Kernel, *operands: Any) -> Any:
    """What both executors give, None for a fault of both."""
    quick, slow = (outcome(made, executor, *operands) for executor in ("fast", "reference"))
    assert (quick is None) == (slow is None)
    one, other = (x if isinstance(x, tuple) else (x,) for x in (quick, slow))
    if slow is not None:
        for x, y in zip(one, other, strict=True):
            assert np.array_equal(x, y, equal_nan=True)
    return quick


def of_batches(*body: Any, claim: Any = 0.0, grid: Any = None, out: Any = "L") -> Kernel:
    modes = ("M", "N") if out is None else (out, "M", "N")
    operands = (Operand("A", "f32", ("L", "M", "N")), Operand("D", "f32", modes, role="out"))
    made = kernel(claim, *body, more=operands, grid=GRID if grid is None else grid)
    return dataclasses.replace(made, computes=None)


EACH = (("l", Index("L")), *GRID)


def test_copies_of_batches_are_planned() -> None:
    made = of_batches(load("A", "x", (L, *AT)), store("D", "x", (L, *AT)), grid=EACH)
    assert has_plan(made, A)
    assert np.array_equal(alike(made, A), A)


@pytest.mark.parametrize("off", [-1, 0])
def test_a_batch_before_the_first_or_behind_the_last_is_a_fault(off: int) -> None:
    """One work-group more than there are batches, so that all of D is covered."""
    at = (L + off, *AT)
    grid = (("l", Index("L") + 1), *GRID)
    made = of_batches(load("A", "x", at), store("D", "x", at), grid=grid)
    assert not has_plan(made, A)
    assert alike(made, A) is None


def test_one_matrix_for_all_batches_is_not_a_whole_one() -> None:
    out = Operand("D", "f32", ("L", "M", "N"), role="out")
    made = kernel(0.0, load("A", "x"), store("D", "x", (L, *AT)), more=(out,), grid=EACH)
    for executor in ("fast", "reference"):
        found = cx.run(made, A[0], executor=executor, L=2)
        assert np.array_equal(found, np.stack([A[0], A[0]]))


def test_a_store_in_a_loop_of_no_trips_stores_nothing() -> None:
    for trips in (0, 1, 2):
        loop = Loop("k", Index(), Index("M") - 9 + trips, (load("A", "x"), store("D", "x")))
        found = alike(dataclasses.replace(kernel(0.0, loop), computes=None), A[0])
        assert np.array_equal(found, A[0]) if trips else np.isnan(found).all()


def test_what_is_loaded_before_it_is_stored_over_is_what_lay_there() -> None:
    """Y takes X + Y, and then D takes Y as it was."""
    inout = Operand("Y", "f32", ("M", "N"), role="inout")
    body = (load("A", "x"), load("Y", "y"), Map("x", X + Y), store("Y", "x"), store("D", "y"))
    plain = kernel(0.0, load("A", "x"), store("D", "x"))
    made = dataclasses.replace(plain, operands=(*plain.operands, inout), body=body, computes=None)
    x, y = A
    given = {"A": x, "Y": y}
    for executor in ("fast", "reference"):
        found = cx.run(made, **{n: v.copy() for n, v in given.items()}, executor=executor)
        assert np.array_equal(found.D, y)
        assert np.array_equal(found.Y, x + y)


def test_a_reorder_that_does_not_reach_all_of_a_fragment_leaves_the_rest_unwritten() -> None:
    """The first element, to all others; wherever it is taken from, it is the same one."""
    first = Map("y", X, (("x", cx.Layout((16, 8), (0, 0))),))
    for slots, right in ((cx.Layout(128), True), (cx.Layout((2, 64), (0, 1)), False)):
        moved, add = Reorder("y", "z", slots), Map("x", X + Slot("z"))
        made = kernel(0.0, load("A", "x"), first, moved, add, store("D", "x"))
        made, a = dataclasses.replace(made, computes=None), A[0, :8, :16]
        assert has_plan(made, a) == right
        found = alike(made, a)
        assert np.array_equal(found, a + a[0, 0]) if right else found is None


# ------------------------------------------------------------------ products


def small(**given: Any) -> Kernel:
    op = cx.XE_DPAS_TT(8, given.pop("acc", "f32"), "bf16")
    return gemm(cx.workgroup_mma(op, (16, 32, 32), ((2, 2, 1), (2, 1, 0))), stages=0, **given)


def find(made: Kernel, kind: type, operand: str = "") -> Any:
    return next(
        s
        for s in made.statements()
        if isinstance(s, kind) and operand in ("", getattr(s, "operand", ""))
    )


def columns(*values: tuple[int, int], depth: int = 128) -> tuple[Any, Any]:
    """A row of ones, and a column with some values at some k."""
    b = np.zeros((depth, 1), BF16)
    for k, value in values:
        b[k] = value
    return np.ones((1, depth), BF16), b


def backwards(made: Kernel, tiles: int) -> Kernel:
    last = {"k": Index(None, tiles - 1) - K}
    made = dataclasses.replace(made, computes=None)
    for operand in "AB":
        old = find(made, Load, operand)
        at = tuple(i.substitute(last) for i in old.at)
        made = made.replace(old, dataclasses.replace(old, at=at))
    return made


def test_a_narrow_sum_is_rounded_in_the_order_of_its_trips() -> None:
    """256 + 1 is 256 in bf16, and 1 + 1 + 256 is 258; beyond K there are zeros."""
    made = small(acc="bf16")
    a, b = columns((0, 256), (33, 1), (65, 1), depth=70)
    assert float(alike(made, a, b)[0, 0]) == 256
    turned = backwards(made, 3)
    assert has_plan(turned, a, b)
    assert float(alike(turned, a, b)[0, 0]) == 258


def test_two_products_of_a_trip_are_rounded_one_after_the_other() -> None:
    """512 stays 512 where 2 is added to it; 256 takes it up."""
    made = dataclasses.replace(small(acc="bf16"), computes=None)
    multiply = find(made, Mma)
    twice = made.replace(multiply, (multiply, multiply))
    a, b = columns((0, 256), (32, 2), (64, 2), (96, 2))
    assert not has_plan(twice, a, b)
    assert float(alike(made, a, b)[0, 0]) == 262
    assert float(alike(twice, a, b)[0, 0]) == 512


def test_an_accumulator_may_begin_with_a_number() -> None:
    made = dataclasses.replace(small(), computes=None)
    filled = made.replace(find(made, Fill), Fill("tCrC", 3.0))
    a, b = columns((0, 5), (40, 2))
    assert has_plan(filled, a, b)
    assert float(alike(filled, a, b)[0, 0]) == 10


def test_two_batch_modes_of_one_extent_are_told_apart() -> None:
    """Where each has one matrix, nothing but their order says which is which."""
    made = gemm(
        cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0))),
        batch=True,
        stages=0,
    )
    operands = tuple(
        dataclasses.replace(o, modes=("H", *o.modes), contiguous=o.contiguous + 1)
        for o in made.operands
    )

    def deeper(s: Any) -> Any:
        if isinstance(s, Loop):
            return dataclasses.replace(s, body=tuple(map(deeper, s.body)))
        if isinstance(s, (Load, Store)):
            modes = tuple(mode + 1 for mode in s.modes)
            return dataclasses.replace(s, at=(Index("h"), *s.at), modes=modes)
        return s

    made = dataclasses.replace(
        made,
        operands=operands,
        body=tuple(map(deeper, made.body)),
        grid=(("h", Index("H")), *made.grid),
        computes=None,
    )
    rng = np.random.default_rng(4)
    for batches in ((1, 1), (2, 3), (2, 2)):
        a, b = (rng.integers(-3, 4, (*batches, *s)).astype(BF16) for s in ((9, 20), (20, 17)))
        assert has_plan(made, a, b)
        assert np.array_equal(alike(made, a, b), a.astype(float) @ b.astype(float))


def test_a_matrix_times_itself_in_parts_of_k() -> None:
    """Two windows of one operand, of one shape, at different places."""
    op, alone = cx.XE_DPAS_TT(8, "f32", "bf16"), ((1, 1, 1), (1, 1, 0))
    mma = cx.workgroup_mma(op, (16, 16, 16), alone)
    made = dataclasses.replace(scheduled(mma), computes=None)
    load_b = find(made, Load, "B")
    made = made.replace(load_b, dataclasses.replace(load_b, operand="A"))
    a = np.random.default_rng(5).integers(-3, 4, (32, 32)).astype(BF16)
    tables = plan_tables(SplitK(2, 16).plan(tile_counts(32, 32, 32, mma.tile_mnk)))
    found = cx.run(made, a, np.zeros_like(a), **tables)
    assert np.array_equal(found, a.astype(float) @ a.astype(float))
