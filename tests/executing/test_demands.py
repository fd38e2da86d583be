"""What would stop the machine, or depends on its order, is not evaluated on whole arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from slm_faults import edited, without
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.errors import MachineError, UndecidableError
from pycute_xe.executing.arrays.plans import run_on_arrays
from pycute_xe.executing.problem import prepare
from pycute_xe.kernel import (
    Await,
    BarrierArrive,
    BarrierWait,
    Fence,
    Fill,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Operand,
    Reduce,
    Signal,
    Slot,
    Statement,
    Store,
    scheduled,
)
from pycute_xe.kernel.schedules import SplitK, plan_tables
from pycute_xe.layout import Layout
from pycute_xe.machine.trace import RaceFault

OF_M, OF_N = Index("m") * 8, Index(None, 0)


def on_rows(*body: Statement, role: Any = "out", groups: int = 2, **fragments: int) -> Kernel:
    """A kernel in which work-group m has rows 8 m to 8 m + 7 of X and Y."""
    operands = (Operand("X", "f32", ("M", "N")), Operand("Y", "f32", ("M", "N"), role=role))
    names = {"x": 8, **fragments}
    held = tuple(fragment(name, "f32", count) for name, count in names.items())
    return Kernel("rows", 1, operands, held, (("m", Index(None, groups)),), body)


def load(name: str, into: str = "x", at: Index = OF_M) -> Load:
    return replace(load_of(name, into), at=(at, OF_N))


def store(of: str = "x", at: Index = OF_M) -> Store:
    return replace(store_of("Y", of), at=(at, OF_N))


def given(kernel: Kernel) -> dict[str, np.ndarray]:
    X = np.arange(256, dtype=np.float32).reshape(16, 16)
    return {"X": X, "Y": -X} if kernel.operand("Y").role == "inout" else {"X": X}


def refused(kernel: Kernel, words: str, **more: Any) -> None:
    with pytest.raises(UndecidableError, match=words):
        run_on_arrays(prepare(kernel, (), given(kernel) | more, None))


def both(kernel: Kernel) -> np.ndarray:
    """What both executors give, which must be the same."""
    fast, slow = (cx.run(kernel, **given(kernel), executor=e) for e in ("fast", "reference"))
    assert np.array_equal(fast, slow)
    return fast


def test_integers_beyond_those_of_f32_are_multiplied_exactly() -> None:
    """300 times 255² is beyond 2²⁴, so f32 has no odd number there."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "u8"), (16, 32, 32), ((1, 1, 1), (1, 1, 1)))
    a, b = np.full((1, 300), 255, np.uint8), np.full((300, 1), 255, np.uint8)
    b[0] = 254
    assert cx.run(cx.kernel.gemm(mma), a, b).item() == 300 * 255**2 - 255


def test_a_work_group_whose_loop_is_over_keeps_its_state() -> None:
    """x becomes 2 x + X once in the first work-group, twice in the second."""
    step = Loop("k", Index(), Index("m") + 1, (Map("x", Slot("x") * 2 + Slot("t")),))
    kernel = on_rows(Fill("x", 1), load("X", "t"), step, store(), t=8)
    X = given(kernel)["X"]
    wanted = np.vstack([2 + X[:8], 4 + 3 * X[8:]])
    assert np.array_equal(both(kernel), wanted)
    run_on_arrays(prepare(kernel, (), given(kernel), None))  # not by the byte machine


def test_a_work_group_keeps_its_state_where_two_numbers_end_its_loop() -> None:
    """Work-group (m, n) does as many trips as m and a condition on n together let it."""
    at = Index("m") * 8, Index("n") * 16
    double = If(Index("i"), Index("n") + 1, (Map("x", Slot("x") * 2 + 1),))
    loop = Loop("i", Index(), Index("m") + 1, (double,))
    plain = on_rows(load("X"), store())
    first, last = (replace(s, at=at) for s in plain.body if isinstance(s, (Load, Store)))
    grid = (("m", Index(None, 3)), ("n", Index(None, 3)))
    made = replace(plain, body=(first, loop, last), grid=grid)
    x = np.arange(24 * 48, dtype=np.float32).reshape(24, 48)
    run_on_arrays(prepare(made, (x,), {}, None))  # not by the byte machine
    fast, slow = (cx.run(made, x, executor=executor) for executor in ("fast", "reference"))
    assert np.array_equal(fast, slow)
    assert fast[0, 0] == 2 * x[0, 0] + 1
    assert fast[16, 16] == 4 * x[16, 16] + 3


def test_what_is_loaded_and_stored_in_turn_is_left_to_the_machine() -> None:
    again = Loop("t", Index(), Index(None, 2), (load("Y"), Map("x", Slot("x") + 1), store()))
    kernel = on_rows(again, role="inout")
    refused(kernel, "Y is loaded and stored again and again")
    assert np.array_equal(both(kernel), given(kernel)["Y"] + 2)


def test_tiles_that_others_store_are_left_to_the_machine() -> None:
    """The first work-group stores what the second loads: the machine says that they race."""
    kernel = on_rows(load("Y"), store(at=Index(None, 8) - OF_M), role="inout")
    refused(kernel, "Y is loaded by others than store it")
    for executor in ("fast", "reference"):
        with pytest.raises(MachineError, match="race"):
            cx.run(kernel, **given(kernel), executor=executor)


def test_registers_of_which_a_part_was_never_written_are_not_read() -> None:
    """What is read is not stored, so no element tells."""
    half = Reduce("max", "x", "t", Layout((16, 8), (1, 0)))
    kernel = on_rows(load("X"), half, Map("t", Slot("t") + 1), store(), t=2)
    refused(kernel, "t is read, which was never written")
    for executor in ("fast", "reference"):
        with pytest.raises(MachineError, match="uninitialised"):
            cx.run(kernel, **given(kernel), executor=executor)


def test_a_batch_before_the_first_is_a_fault() -> None:
    operands = (
        Operand("X", "f32", ("B", "M", "N")),
        Operand("Y", "f32", ("B", "M", "N"), role="out"),
    )
    body = (
        replace(load_of("X", "x", at=(0, 0, 0)), at=(Index("b") - 1, Index(), Index())),
        replace(store_of("Y", "x", at=(0, 0, 0)), at=(Index("b"), Index(), Index())),
    )
    kernel = Kernel("batch", 1, operands, (fragment("x", "f32", 8),), (("b", Index("B")),), body)
    X = np.ones((2, 8, 16), np.float32)
    with pytest.raises(UndecidableError, match="outside"):
        run_on_arrays(prepare(kernel, (X,), {}, None))
    for executor in ("fast", "reference"):
        with pytest.raises(MachineError, match="index -1 is outside"):
            cx.run(kernel, X, executor=executor)


@pytest.mark.parametrize("place", [-1, 2])
def test_a_grid_that_is_looked_up_outside_its_operand_is_a_fault(place: int) -> None:
    kernel = on_rows(load("X"), store())
    counts, grid = Operand("T", "s32", ("P",)), (("m", Index.element("T", place)),)
    looked = replace(kernel, operands=(counts, *kernel.operands), grid=grid)
    T = np.array([2, 1], np.int32)
    refused(looked, "outside", T=T)
    for executor in ("fast", "reference"):
        with pytest.raises(MachineError, match=f"index {place} is outside"):
            cx.run(looked, T=T, **given(kernel), executor=executor, report=True)


def test_blocks_that_begin_between_two_elements_of_a_message_are_faults() -> None:
    """Rows of bf16 are turned in pairs, by a message of 32 bits."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.gemm(mma, b="col", stages=0)
    old = next(s for s in kernel.statements() if isinstance(s, Load) and s.operand == "B")
    assert old.copy.op.bits > old.copy.value_type.bits
    along = old.modes[old.copy.x_mode]
    moved = replace(old, at=tuple(i + int(n == along) for n, i in enumerate(old.at)))
    odd = replace(kernel.replace(old, moved), computes=None)
    operands = np.ones((16, 64), ml_dtypes.bfloat16), np.ones((64, 32), ml_dtypes.bfloat16)
    with pytest.raises(UndecidableError, match="starts between two"):
        run_on_arrays(prepare(odd, operands, {}, None))
    for executor in ("fast", "reference"):
        with pytest.raises(MachineError):
            cx.run(odd, *operands, executor=executor)


def test_shared_memory_without_a_barrier_is_left_to_the_machine() -> None:
    kernel = edited(2, without(Fence, BarrierArrive, BarrierWait))
    sides = np.ones((64, 64), ml_dtypes.bfloat16), np.ones((64, 64), ml_dtypes.bfloat16)
    with pytest.raises(UndecidableError, match="no barrier orders"):
        run_on_arrays(prepare(kernel, sides, {}, None))
    with pytest.raises(RaceFault):
        cx.run(kernel, *sides)


def test_a_wait_that_signals_of_others_end_orders_nothing() -> None:
    """Every piece signals before it waits, so that what comes first is not known to have stored."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0)))
    kernel = scheduled(mma)
    wait = next(s for s in kernel.statements() if isinstance(s, Await))
    early = kernel.replace(wait, (Signal(wait.operand, wait.at, Index(None, 1)), wait))
    sides = np.ones((8, 64), ml_dtypes.bfloat16), np.ones((64, 16), ml_dtypes.bfloat16)
    tables = plan_tables(SplitK(4, 4).plan((1, 1, 4)))
    for executor in ("fast", "reference"):
        with pytest.raises(RaceFault, match="nothing orders"):
            cx.run(early, *sides, **tables, executor=executor)
