"""Both executors against NumPy in float64, and against each other."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from sampling import sampled

import pycute_xe as cx
from pycute_xe.kernel import Kernel

TILES = {
    "256x256x32": ((256, 256, 32), ((8, 4, 1), (4, 1, 0))),
    "128x128x32": ((128, 128, 32), ((4, 2, 1), (2, 1, 0))),
}
ORDERS = [(a, b) for a in ("row", "col") for b in ("row", "col")]
TYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}

_random = np.random.default_rng(20260101)
# Ones, primes, exact multiples of the tiles, and what chance brings.
FIXED = [(1, 1, 1), (256, 256, 32), (512, 256, 64), (128, 128, 96), (7, 13, 17), (1, 599, 2)]
FIXED += [(509, 1, 31), (257, 129, 33), (600, 600, 600), (64, 64, 1)]
SIZES = FIXED + [tuple(map(int, _random.integers(1, 601, 3))) for _ in range(30 - len(FIXED))]
SMALL = [(1, 1, 1), (2, 3, 5), (33, 300, 1), (128, 128, 32), (256, 256, 64), (300, 299, 100)]
SMALL += [(61, 67, 71), (17, 255, 300)]


def gemm(tile: str, a: Any, b: Any, numeric: str = "bf16") -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", numeric), *TILES[tile])
    return cx.kernel.gemm(mma, a, b)


def operands(size: tuple[int, ...], dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    m, n, k = size
    rng = np.random.default_rng(m * 10**6 + n * 10**3 + k)
    return (
        rng.standard_normal((m, k)).astype(dtype),
        rng.standard_normal((k, n)).astype(dtype),
    )


def assert_close(out: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> None:
    exact_a, exact_b = a.astype(np.float64), b.astype(np.float64)
    bound = a.shape[1] * 2.0**-24 * (np.abs(exact_a) @ np.abs(exact_b))
    assert out.shape == (a.shape[0], b.shape[1])
    assert out.dtype == np.float32
    assert (np.abs(out - exact_a @ exact_b) <= bound).all()


@pytest.mark.parametrize(("a", "b"), ORDERS)
@pytest.mark.parametrize("tile", TILES)
def test_fast_agrees_with_numpy(tile: str, a: str, b: str) -> None:
    kernel = gemm(tile, a, b)
    for size in sampled(SIZES, 2):
        left, right = operands(size, ml_dtypes.bfloat16)
        assert_close(cx.run(kernel, left, right), left, right)


@pytest.mark.parametrize(
    ("tile", "a", "b", "size"),
    sampled(((t, a, b, s) for s, t, (a, b) in product(SMALL, TILES, ORDERS)), 2),
    ids=str,
)
def test_reference_agrees_with_numpy_and_counts_what_fast_counts(
    tile: str, a: str, b: str, size: tuple[int, int, int]
) -> None:
    kernel = gemm(tile, a, b)
    left, right = operands(size, ml_dtypes.bfloat16)
    out, slow = cx.run(kernel, left, right, executor="reference", report=True)
    assert_close(out, left, right)
    _, fast = cx.run(kernel, left, right, report=True)
    assert (fast.messages, fast.bytes, fast.dpas) == (slow.messages, slow.bytes, slow.dpas)
    assert (fast.barriers, fast.copies) == (slow.barriers, slow.copies)


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize("m", sampled(range(1, 9), 4))
def test_every_dpas_height_in_half_precision(m: int, executor: Any) -> None:
    op = cx.XE_DPAS_TT(m, "f32", "f16")
    kernel = cx.kernel.gemm(cx.workgroup_mma(op, (8 * m, 64, 32), ((2, 2, 1), (2, 1, 0))))
    left, right = operands((8 * m + 3, 70, 45), np.float16)
    assert_close(cx.run(kernel, left, right, executor=executor), left, right)


@pytest.mark.parametrize("order", ["row", "col"])
def test_column_major_d(order: Any) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), *TILES["128x128x32"])
    kernel = cx.kernel.gemm(mma, d=order)
    left, right = operands((131, 77, 40), ml_dtypes.bfloat16)
    for executor in ("fast", "reference"):
        assert_close(cx.run(kernel, left, right, executor=executor), left, right)


def test_narrow_accumulator_is_rounded_after_every_dpas() -> None:
    op = cx.XE_DPAS_TT(8, "bf16", "bf16")
    kernel = cx.kernel.gemm(cx.workgroup_mma(op, (16, 32, 32), ((2, 2, 1), (2, 1, 0))))
    ones = np.ones((9, 4096), ml_dtypes.bfloat16)
    slow = cx.run(kernel, ones, ones.T, executor="reference")
    fast = cx.run(kernel, ones, ones.T)
    # 16 at a time, until a step of 16 is less than half of the last place.
    assert slow.dtype == ml_dtypes.bfloat16
    assert (slow == fast).all()
    assert float(slow[0, 0]) == 4096.0
    tall = np.ones((1, 5 * 1024), ml_dtypes.bfloat16)
    assert float(cx.run(kernel, tall, tall.T)[0, 0]) == 4096.0


@pytest.mark.parametrize("executor", ["fast", "reference"])
def test_nan_and_inf_pass_as_in_numpy(executor: Any) -> None:
    kernel = gemm("128x128x32", "row", "row")
    left, right = operands((70, 40, 35), ml_dtypes.bfloat16)
    left[3, 5], left[8, 34], right[7, 2], right[34, 39] = np.nan, np.inf, -np.inf, np.nan
    with np.errstate(invalid="ignore"):
        want = left.astype(np.float32) @ right.astype(np.float32)
    out = cx.run(kernel, left, right, executor=executor)
    assert np.array_equal(np.isnan(out), np.isnan(want))
    assert np.array_equal(np.isposinf(out), np.isposinf(want))
    assert np.array_equal(np.isneginf(out), np.isneginf(want))
