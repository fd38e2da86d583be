"""The fast executor against the reference executor and NumPy, on kernels that are right."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from sampling import EXAMPLES, sampled

import pycute_xe as cx
from pycute_xe.executing import run
from pycute_xe.executing.arrays.plans import run_on_arrays
from pycute_xe.executing.problem import prepare
from pycute_xe.kernel import Kernel, gemm

Array = NDArray[Any]
BF16 = ml_dtypes.bfloat16


def tiled(a: str = "bf16", d: str = "f32", b: str | None = None, **shape: Any) -> Any:
    given = {"tile": (32, 64, 32), "subgroups": ((2, 2, 1), (2, 1, 0))} | shape
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, d, a, b or a), **given)


def numbers(shape: tuple[int, ...], seed: int, kind: Any = BF16) -> Array:
    """Small whole numbers, whose products sum without rounding in any order."""
    low, high = (0, 8) if kind in (np.uint8, ml_dtypes.uint4) else (-4, 5)
    return np.random.default_rng(seed).integers(low, high, shape).astype(kind)


def both(kernel: Kernel, *operands: Array, **named: Any) -> tuple[Array, Array]:
    return tuple(run(kernel, *operands, **named, executor=e) for e in ("fast", "reference"))


def on_arrays(kernel: Kernel, *operands: Array) -> dict[str, Array]:
    """The outputs, where whole arrays give them and not the byte machine."""
    return dict(run_on_arrays(prepare(kernel, operands, {}, None)))


TYPES = [
    ("bf16", "bf16", "f32", BF16, BF16),
    ("f16", "f16", "f32", np.float16, np.float16),
    ("tf32", "tf32", "f32", np.float32, np.float32),
    ("bf16", "bf16", "bf16", BF16, BF16),
    ("f16", "f16", "f16", np.float16, np.float16),
    ("s8", "s8", "s32", np.int8, np.int8),
    ("u8", "s8", "s32", np.uint8, np.int8),
    ("u8", "u8", "u32", np.uint8, np.uint8),
    ("u4", "s4", "s32", ml_dtypes.uint4, ml_dtypes.int4),
    ("s8", "s4", "s32", np.int8, ml_dtypes.int4),
]


@pytest.mark.parametrize(("a", "b", "d", "host_a", "host_b"), sampled(TYPES, 5))
def test_types(a: str, b: str, d: str, host_a: Any, host_b: Any) -> None:
    kernel = gemm(tiled(a, d, b, tile=(32, 64, 64)))
    left, right = numbers((37, 70), 1, host_a), numbers((70, 66), 2, host_b)
    out, slow = both(kernel, left, right)
    assert np.array_equal(out, slow)
    assert np.array_equal(on_arrays(kernel, left, right)["D"], slow)
    assert np.array_equal(out, left.astype(int) @ right.astype(int))


ORDERS = product(("row", "col"), repeat=3)


@pytest.mark.parametrize(("order_a", "order_b", "order_d"), sampled(ORDERS, 4))
def test_orders(order_a: Any, order_b: Any, order_d: Any) -> None:
    kernel = gemm(tiled(), order_a, order_b, order_d)
    left, right = numbers((37, 70), 3), numbers((70, 66), 4)
    out, slow = both(kernel, left, right)
    assert np.array_equal(out, slow)
    assert np.array_equal(on_arrays(kernel, left, right)["D"], slow)


@pytest.mark.parametrize(
    ("epilogue", "given"),
    [
        ("relu(acc + bias[n])", {"d_type": "bf16"}),
        ("acc + bias[m]", {}),
        ("2*acc + alpha*C", {"d_type": "f16"}),
        ("clamp(acc * X[m,n], -3, 3)", {"d_type": "s8", "orders": {"X": "col"}}),
        ("bf16(acc) + C", {"d": "col"}),
        ("acc", {"also": {"E": "relu(acc)"}}),
    ],
)
def test_epilogues(epilogue: str, given: dict[str, Any]) -> None:
    kernel = gemm(tiled(), epilogue=epilogue, **given)
    sizes = {"M": 37, "N": 66, "K": 40}
    operands = [
        np.asarray(numbers(tuple(m.at(sizes) for m in o.modes), i), np.float32)
        if i > 1
        else numbers(tuple(m.at(sizes) for m in o.modes), i)
        for i, o in enumerate(kernel.inputs)
    ]
    out, slow = both(kernel, *operands)
    registers = on_arrays(kernel, *operands)
    for name, one, other in zip(
        (o.name for o in kernel.outputs),
        out if isinstance(out, tuple) else (out,),
        slow if isinstance(slow, tuple) else (slow,),
        strict=True,
    ):
        assert np.array_equal(one, other)
        assert np.array_equal(registers[name], other)


def test_batches_are_one_product() -> None:
    kernel = gemm(tiled(), batch=True)
    left, right = numbers((3, 37, 40), 5), numbers((3, 40, 66), 6)
    out, slow = both(kernel, left, right)
    assert np.array_equal(out, slow)
    assert np.array_equal(out, left.astype(int) @ right.astype(int))
    assert np.array_equal(on_arrays(kernel, left, right)["D"], slow)


@settings(max_examples=min(15, EXAMPLES // 2), deadline=None)
@given(st.tuples(*[st.integers(1, 90)] * 3), st.integers(0, 2**32 - 1))
def test_rounding_stays_within_the_bound(size: tuple[int, int, int], seed: int) -> None:
    (m, n, k), rng = size, np.random.default_rng(seed)
    left = rng.standard_normal((m, k)).astype(BF16)
    right = rng.standard_normal((k, n)).astype(BF16)
    wide = left.astype(np.float64), right.astype(np.float64)
    bound = k * 2.0**-24 * (np.abs(wide[0]) @ np.abs(wide[1]))
    kernel = gemm(tiled())
    for out in (run(kernel, left, right), on_arrays(kernel, left, right)["D"]):
        assert (np.abs(out - wide[0] @ wide[1]) <= bound).all()


def test_narrow_accumulators_are_rounded_after_every_instruction() -> None:
    kernel = gemm(tiled(d="bf16"))
    ones = np.ones((1, 5 * 1024), BF16)
    # 16 at a time, until a step of 16 is half of the last place or less.
    assert float(run(kernel, ones, ones.T)[0, 0]) == 4096.0
    assert float(on_arrays(kernel, ones, ones.T)["D"][0, 0]) == 4096.0


def test_integers_wrap_around_and_are_exact() -> None:
    left = np.full((1, 2**17), -128, np.int8)
    kernel = gemm(tiled("s8", "s32"))
    assert run(kernel, left, left.T)[0, 0] == -(2**31)
    right = np.random.default_rng(0).integers(-128, 128, (5000, 9)).astype(np.int8)
    wanted = right.T.astype(np.int64) @ right.astype(np.int64)
    assert np.array_equal(run(kernel, np.ascontiguousarray(right.T), right), wanted)


def test_nan_and_infinity_pass_as_in_numpy() -> None:
    left, right = numbers((70, 40), 7), numbers((40, 35), 8)
    left[3, 5], left[8, 34], right[7, 2], right[34, 30] = np.nan, np.inf, -np.inf, np.nan
    kernel = gemm(tiled())
    with np.errstate(invalid="ignore"):
        want = left.astype(np.float32) @ right.astype(np.float32)
    for out in (run(kernel, left, right), on_arrays(kernel, left, right)["D"]):
        assert np.array_equal(out, want, equal_nan=True)


def test_inputs_are_left_alone_and_progress_is_told() -> None:
    left, right, told = numbers((37, 40), 5), numbers((40, 66), 6), list[float]()
    before = left.copy(), right.copy()
    run(gemm(tiled()), left, right, progress=told.append)
    assert np.array_equal(left, before[0])
    assert np.array_equal(right, before[1])
    assert told == [1.0]
