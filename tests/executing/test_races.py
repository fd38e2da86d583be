"""Races in global memory are faults of the reference executor, which name element and writers."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from broken_kernels import find, tiled_mma
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.errors import MachineError
from pycute_xe.kernel import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Fill,
    If,
    Index,
    Kernel,
    Map,
    Operand,
    Slot,
    Statement,
    Store,
)
from pycute_xe.layout import Layout
from pycute_xe.machine.trace import RaceFault

BARRIER = (BarrierArrive(), BarrierWait())


def only_first(*body: Statement) -> If:
    return If(Index("subgroup"), Index(None, 1), body)


def only_second(*body: Statement) -> If:
    return If(Index(None, 0) - Index("subgroup"), Index(), body)


SECOND = only_first(Fill("x", 1.0))


def together(*body: Statement) -> Kernel:
    """Two subgroups whose stores go to one tile; x is 2, and 1 in the first of them."""
    operands = (Operand("Y", "f32", ("M", "N"), role="out"),)
    grid = (("g", Index(None, 1)),)
    return Kernel("together", 2, operands, (fragment("x", "f32", 8),), grid, body)


def onto_one_tile() -> Store:
    store = store_of("Y", "x")
    both = Layout(((16, 2), 8), ((8, 0), 1))
    copy = cx.make_tiled_copy(store.copy.atom, both, (8, 16))
    return dataclasses.replace(store, copy=copy)


def run(kernel: Kernel, **given: Any) -> Any:
    return cx.run(kernel, executor="reference", **given)


def test_two_subgroups_that_store_different_values_to_one_place() -> None:
    kernel = together(Fill("x", 2.0), SECOND, onto_one_tile())
    with pytest.raises(RaceFault) as info:
        run(kernel, M=8, N=16)
    told = str(info.value)
    assert "Y[0, 0]" in told
    assert re.search(r"thread 0 of work-group g = 0 writes it.*thread 1 .*writes it", told)


def test_the_fast_executor_stops_where_subgroups_disagree_in_one_store() -> None:
    def fast(*body: Statement) -> Any:
        return cx.run(together(Fill("x", 2.0), *body), executor="fast", M=8, N=16)

    store = onto_one_tile()
    with pytest.raises(MachineError, match=r"Y\[0, 0\]\): race: "):
        fast(SECOND, store)
    assert (fast(store) == 2).all()
    # The last store of each subgroup counts.
    assert (fast(SECOND, store, Fill("x", 5.0), store) == 5).all()
    with pytest.raises(MachineError, match="race: thread"):
        fast(store, SECOND, store)


def test_equal_values_and_stores_in_order_are_let_pass() -> None:
    store = onto_one_tile()
    assert (run(together(Fill("x", 2.0), store), M=8, N=16) == 2).all()
    first, second = only_first(store), only_second(store)
    ordered = together(Fill("x", 2.0), SECOND, first, *BARRIER, Fill("x", 7.0), second)
    assert (run(ordered, M=8, N=16) == 7).all()
    unordered = together(Fill("x", 2.0), SECOND, first, Fill("x", 7.0), second)
    with pytest.raises(RaceFault):
        run(unordered, M=8, N=16)


@pytest.mark.parametrize("half", BARRIER)
def test_half_a_barrier_orders_nothing(half: Statement) -> None:
    store = onto_one_tile()
    first = only_first(store)
    rest = (Fill("x", 7.0), only_second(store))
    middle = (BARRIER[0], first, BARRIER[1]) if half is BARRIER[1] else (first, BARRIER[0])
    tail = (*rest,) if half is BARRIER[1] else (*rest, BARRIER[1])
    with pytest.raises(RaceFault):
        run(together(Fill("x", 2.0), *middle, *tail), M=8, N=16)


def test_a_thread_may_store_twice_and_the_last_counts() -> None:
    store = onto_one_tile()
    twice = together(Fill("x", 2.0), SECOND, store, Fill("x", 5.0), store)
    assert (run(twice, M=8, N=16) == 5).all()


def test_two_work_groups_that_store_different_rows_to_one_place() -> None:
    gemm = cx.kernel.gemm(tiled_mma((16, 32, 32), (2, 2)))
    store = find(gemm, Store)
    kernel = gemm.replace(store, dataclasses.replace(store, at=(Index(), store.at[1])))
    a, b = np.arange(48.0).reshape(48, 1), np.ones((1, 4))
    with pytest.raises(RaceFault, match=r"D\[0, 0\].*m = 0, n = 0 writes it.*m = 1, n = 0 writes"):
        run(kernel, A=a.astype("bfloat16"), B=b.astype("bfloat16"))
    assert (run(kernel, A=np.ones((48, 1), "bfloat16"), B=b.astype("bfloat16"))[0] == 1).all()


def adding(*body: Statement) -> Kernel:
    """Three work-groups that load a tile of X and do things to Y."""
    operands = (Operand("X", "f32", ("M", "N")), Operand("Y", "f32", ("M", "N"), role="inout"))
    fragments = (fragment("x", "f32", 8), fragment("y", "f32", 8))
    load = load_of("X", "x")
    return Kernel("adding", 1, operands, fragments, (("g", Index(None, 3)),), (load, *body))


def test_additions_are_in_order_and_a_store_among_them_is_not() -> None:
    store = store_of("Y", "x")
    add = AtomicStore(store.copy, "Y", store.at, "x", store.modes)
    ones = np.ones((8, 16), np.float32)
    assert (run(adding(add), X=ones, Y=ones) == 4).all()
    with pytest.raises(RaceFault, match="writes it and thread 0 of work-group g = 1 adds to it"):
        run(adding(If(Index("g"), Index(None, 1), (store,)), add), X=ones, Y=ones)


def test_what_one_work_group_reads_and_another_writes() -> None:
    store = store_of("Y", "x")
    load = load_of("Y", "y")
    ones = np.ones((8, 16), np.float32)
    first = If(Index("g"), Index(None, 1), (store,))
    with pytest.raises(RaceFault, match=r"g = 0 writes it.*g = 1 reads it"):
        run(adding(load, first), X=ones, Y=0 * ones)
    last = If(Index(None, 1), Index("g"), (store,))
    with pytest.raises(RaceFault, match=r"reads it.*g = 2 writes it"):
        run(adding(load, last), X=ones, Y=0 * ones)
    # What is written is what lay there.
    assert (run(adding(load, last), X=ones, Y=ones) == 1).all()
    own = Map("x", Slot("x") + Slot("y"))
    alone = If(Index("g"), Index(None, 1), (load, own, store, load, store))
    assert (run(adding(alone), X=ones, Y=ones) == 2).all()


@pytest.mark.parametrize("executor", ["fast", "reference"])
def test_what_pads_a_row_of_a_surface_is_no_race(executor: Any) -> None:
    """Columns of nine rows lie in lines of 64 bytes; tiles beyond row 9 meet in the rest."""
    k = cx.kernel.KernelBuilder("beyond", 1)
    A = k.input("A", "s32", ("M", 16))
    k.input("L", "s32", ("G",))
    D = k.output("D", "s32", ("M", 16), "col")
    (m,) = k.grid(m=cx.kernel.Tiles("M", 2))
    k.load("x", A, (2, 16), at=(m * 2, 0))
    k.store(D, "x", at=(Index.element("L", m) + m * 2, 0))
    a = np.arange(144, dtype=np.int32).reshape(9, 16)
    out = cx.run(k.build(), a, np.array([10, 8, 6, 0, 90], np.int32), executor=executor)
    wanted = np.full((9, 16), -1, np.int32)  # what was never written
    wanted[6:8] = a[6:8]
    np.testing.assert_array_equal(out, wanted)
