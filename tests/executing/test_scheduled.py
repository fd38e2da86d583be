"""Kernels that follow plans or split K: both executors against NumPy; deadlocks and races."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.errors import InputError, KernelError, MachineError
from pycute_xe.kernel import Await, Index, Loop, Operand, Signal, scheduled, split_k
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
from pycute_xe.machine.trace import DeadlockFault, RaceFault

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0)))
PAIR = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (16, 32, 32), ((1, 2, 1), (2, 1, 0)))
EXECUTORS: tuple[Any, ...] = ("fast", "reference")
RNG = np.random.default_rng(7)


def factors(m: int, n: int, k: int, dtype: Any = ml_dtypes.bfloat16) -> tuple[Any, ...]:
    return tuple(RNG.integers(-3, 4, s).astype(dtype) for s in ((m, k), (k, n)))


def counts(m: int, n: int, k: int, mma: cx.TiledMma = MMA) -> tuple[int, int, int]:
    return tile_counts(m, n, k, mma.tile_mnk)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("given", [{"parts": 1}, {"parts": 3}, {"chunk": 2}, {"parts": 9}])
def test_split_k_adds_every_product_once(given: dict[str, Any], executor: Any) -> None:
    kernel = split_k(MMA, **given, a="col", stages=1)
    for m, n, k in ((9, 17, 70), (1, 2, 3)):
        a, b = factors(m, n, k)
        d = RNG.integers(-5, 6, (m, n)).astype(np.float32)
        wanted = d + a.astype(np.float64) @ b.astype(np.float64)
        assert np.array_equal(cx.run(kernel, a, b, d, executor=executor), wanted)


def test_split_k_has_no_more_parts_than_there_are_chunks() -> None:
    parts = dict(split_k(MMA, chunk=2).grid)["s"]  # of 32 k each
    assert [parts.at({"K": k}) for k in (1, 32, 33, 70)] == [1, 1, 2, 3]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    "schedule",
    [
        StreamK(5, least=1),
        StreamK(5, "unordered", least=1, backwards=False),
        SplitK(3, 4),
        SplitK(3, 4, "unordered", "xe"),
        Persistent(2, Raster("M", 1)),
        DataParallel(),
    ],
    ids=str,
)
def test_a_plan_is_followed(schedule: StreamK, executor: Any) -> None:
    a, b = factors(19, 40, 100)
    kernel = scheduled(MMA, epilogue="relu(acc + C)", stages=1)
    c = RNG.integers(-40, 40, (19, 40)).astype(np.float32)
    tables = plan_tables(schedule.plan(counts(19, 40, 100)))
    found = cx.run(kernel, a, b, C=c, **tables, executor=executor)
    assert np.array_equal(found, np.maximum(a.astype(float) @ b.astype(float) + c, 0))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_more_trips_than_a_run_does_are_refused(executor: Any) -> None:
    """A table may ask for any number of trips, a body for any number of turns."""
    a, b = factors(8, 16, 100)
    kernel = scheduled(MMA, stages=0)
    tables = plan_tables(Persistent(1, Raster("M", 1)).plan(counts(8, 16, 100)))
    assert tables["work"][0, 0, 4] == 7
    tables["work"][0, 0, 4] = 2**31 - 1
    with pytest.raises(InputError, match="k takes 2147483647 trips, a run does at most 1048576"):
        cx.run(kernel, a, b, **tables, executor=executor)
    one = cx.kernel.gemm(MMA, stages=0)
    (loop,) = (s for s in one.body if isinstance(s, Loop))
    long = replace(loop, stop=Index(None, 2**31))
    endless = replace(one, body=tuple(long if s is loop else s for s in one.body), computes=None)
    with pytest.raises(InputError, match="2147483648 trips"):
        cx.run(endless, a, b, executor=executor)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_more_work_groups_than_a_run_starts_are_refused(executor: Any) -> None:
    a, b = factors(8, 16, 16)
    one = cx.kernel.gemm(MMA, stages=0)
    wide = replace(one, grid=(*one.grid, ("w", Index(None, 2**31))), computes=None)
    with pytest.raises(InputError, match="2147483648 work-groups, a run starts at most 16777216"):
        cx.run(wide, a, b, executor=executor)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_integers_in_batches_and_a_converted_output(executor: Any) -> None:
    kernel = scheduled(PAIR, b="col", groups="batch", d_type="f32", epilogue="0.5 * acc")
    a, b = (RNG.integers(-99, 99, s).astype(np.int8) for s in ((2, 20, 130), (2, 130, 33)))
    plan = StreamK(5, least=1).plan(*(counts(20, 33, 130, PAIR),) * 2)
    found = cx.run(kernel, a, b, **plan_tables(plan), executor=executor)
    assert np.array_equal(found, 0.5 * (a.astype(int) @ b.astype(int)))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_experts_have_their_own_rows_and_weights(executor: Any) -> None:
    rows, tile = [9, 0, 1, 24], MMA.tile_mnk[0]
    each = moe_counts(rows, 20, 40, MMA.tile_mnk)
    starts = np.cumsum([0, *(c[0] * tile for c in each)])
    a, b = np.zeros((int(starts[-1]), 40), ml_dtypes.bfloat16), np.zeros((4, 40, 20))
    for e, (start, r) in enumerate(zip(starts, rows, strict=False)):
        (a[start : start + r], b[e]) = factors(r, 20, 40)
    kernel = scheduled(MMA, groups="stacked", fixup=False)
    tables = plan_tables(Grouped(3).plan(*each), stacked=True)
    found = cx.run(kernel, a, b, **tables, dtype={"B": "bf16"}, executor=executor)
    for e, (start, r) in enumerate(zip(starts, rows, strict=False)):
        assert np.array_equal(found[start : start + r], a[start : start + r].astype(float) @ b[e])


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.long
def test_weights_of_experts_are_scaled_by_groups_that_a_piece_may_begin_inside(
    executor: Any,
) -> None:
    text = "(B - zero[l,n]) * scale[l,k/32,n]"
    types = {"B": "s4", "zero": "s8", "scale": "bf16"}
    kernel = scheduled(MMA, groups="batch", transform_b=text, types=types, stages=1)
    plan = SplitK(3, 4).plan(*[tile_counts(9, 20, 144, MMA.tile_mnk)] * 2)
    assert any(piece.start % 2 for pieces in plan.units for piece in pieces)
    a, b = RNG.integers(-3, 4, (2, 9, 144)), RNG.integers(-8, 8, (2, 144, 20))
    zero, scale = RNG.integers(-2, 3, (2, 20)), np.exp2(RNG.integers(-1, 2, (2, 5, 20)))
    given = {"A": a, "B": b, "zero": zero, "scale": scale, **plan_tables(plan)}
    found = cx.run(kernel, **given, dtype=types | {"A": "bf16"}, executor=executor)
    assert np.array_equal(found, a @ ((b - zero[:, None]) * scale[:, np.arange(144) // 32]))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_wait_that_nothing_ends_is_a_deadlock(executor: Any) -> None:
    plan = SplitK(2, 4).plan(counts(8, 16, 64))
    (first,), (last,) = plan.units
    stuck = replace(plan, units=((first,), (replace(last, needs=99),)))
    with pytest.raises(
        DeadlockFault, match=r"deadlock: work-group u = 1 waits for locks\[0, 0\] >= 99"
    ):
        cx.run(scheduled(MMA), *factors(8, 16, 64), **plan_tables(stuck), executor=executor)


def test_a_last_piece_that_waits_for_the_first_alone_is_a_race() -> None:
    plan = SplitK(3, 20, fixup="first").plan(counts(8, 16, 64))
    with pytest.raises(
        RaceFault, match=r"u = 1 adds to it and thread 0 of work-group u = 2 reads it"
    ):
        cx.run(scheduled(MMA), *factors(8, 16, 64), **plan_tables(plan), executor="reference")


def test_a_piece_that_adds_before_the_first_has_stored_is_caught_by_both() -> None:
    middle, first = Piece(0, 0, 0, 2, 3, 0, 1, 1, 3), Piece(0, 0, 0, 0, 2, 0, 2, 0, 3)
    last = Piece(0, 0, 0, 3, 4, 3, 0, 2, 3)
    tables = plan_tables(Plan("wrong", ((1, 1, 4),), ((middle,), (first,), (last,))))
    a, b = factors(8, 16, 64)
    for executor in EXECUTORS:
        with pytest.raises(RaceFault, match="W"):
            cx.run(scheduled(MMA), a, b, **tables, executor=executor)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_counter_outside_its_operand_stops_the_run(executor: Any) -> None:
    kernel = scheduled(MMA)
    signal = next(s for s in kernel.statements() if isinstance(s, Signal))
    outside = kernel.replace(signal, replace(signal, at=(signal.at[0] + 9, signal.at[1])))
    tables = plan_tables(SplitK(2, 4).plan(counts(8, 16, 64)))
    with pytest.raises(MachineError, match="outside"):
        cx.run(outside, *factors(8, 16, 64), **tables, executor=executor)


def test_work_is_counted_as_the_reference_does_it() -> None:
    tables = plan_tables(StreamK(3, least=1).plan(counts(19, 40, 100)))
    given = factors(19, 40, 100)
    quick, slow = (
        cx.run(scheduled(MMA), *given, **tables, executor=e, report=True)[1] for e in EXECUTORS
    )
    assert (quick.messages, quick.dpas, quick.barriers) == (
        slow.messages,
        slow.dpas,
        slow.barriers,
    )


def test_two_pieces_that_store_one_tile_are_seen_by_both() -> None:
    twice = Piece(0, 0, 0, 0, 4), Piece(0, 0, 0, 0, 3)
    tables = plan_tables(Plan("twice", ((1, 1, 4),), tuple((p,) for p in twice)))
    for executor in EXECUTORS:
        with pytest.raises(MachineError, match="race"):
            cx.run(scheduled(MMA, fixup=False), *factors(8, 16, 64), **tables, executor=executor)


@pytest.mark.parametrize(
    ("operand", "told"),
    [
        (Operand("locks", "f32", (1, 1), role="scratch"), "a counter has 32 bits"),
        (Operand("locks", "s32", (1,), role="scratch"), "1 modes, 2 indices"),
        (Operand("locks", "s32", (1, 1)), "has the role in"),
    ],
)
def test_counters_are_writable_integers(operand: Operand, told: str) -> None:
    kernel = scheduled(MMA)
    operands = tuple(operand if o.name == "locks" else o for o in kernel.operands)
    with pytest.raises(KernelError, match=told):
        replace(kernel, operands=operands)


def test_counters_between_the_halves_of_a_barrier_are_refused() -> None:
    kernel = scheduled(MMA)
    arrive = next(s for s in kernel.loop("k").body if s.touched.meets == "arrive")
    wait = Await("locks", (Index(), Index()), Index())
    with pytest.raises(KernelError, match="at a counter between the halves"):
        kernel.replace(arrive, (arrive, wait))


def test_slips_are_refused_by_name() -> None:
    for given in ({"parts": 2, "chunk": 2}, {}, {"parts": 0}, {"chunk": 0}):
        with pytest.raises(KernelError, match="one of parts and chunk"):
            split_k(MMA, **given)
    with pytest.raises(KernelError, match="groups must be none, batch or stacked"):
        scheduled(MMA, groups="experts")
    with pytest.raises(KernelError, match="has no pieces"):
        plan_tables(Plan("none", ((0, 1, 1),), ((),)))
