"""What users hand in: layouts, types and shapes of arrays, and the errors for the wrong ones."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from every import every
from hypothesis import given, strategies as st
from numpy.typing import NDArray

import pycute_xe as cx
from pycute_xe.errors import DTypeError, InputError, KernelError, LegalityError, TargetError
from pycute_xe.executing.problem import rounded
from pycute_xe.kernel import If, Index, Kernel, Load, Prefetch, Statement
from pycute_xe.numeric import as_numeric

BF16 = ml_dtypes.bfloat16


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma)


def matrix(m: int, n: int, dtype: Any = BF16) -> NDArray[Any]:
    return (np.arange(m * n).reshape(m, n) % 7 - 3).astype(dtype)


def aligned(m: int, n: int) -> NDArray[Any]:
    """A matrix on a 64-byte address."""
    room = np.zeros(m * n + 64, BF16)
    start = -room.ctypes.data % 64 // 2
    out = room[start : start + m * n].reshape(m, n)
    out[:] = matrix(m, n)
    return out


def _spread(array: NDArray[Any]) -> NDArray[Any]:
    """The same values, every second row and third column of a larger array."""
    room = np.zeros((2 * array.shape[0], 3 * array.shape[1]), array.dtype)
    room[::2, ::3] = array
    out = room[::2, ::3]
    assert not out.flags.contiguous
    return out


@pytest.mark.parametrize("executor", ["fast", "reference"])
def test_any_memory_layout_works(kernel: Kernel, executor: Any) -> None:
    a, b = matrix(20, 36), matrix(36, 50)
    want = a.astype(float) @ b.astype(float)
    layouts = [
        (a, b),
        (np.asfortranarray(a), np.asfortranarray(b)),
        (_spread(a), _spread(b)),
        (np.repeat(a, 2, 0)[::2], np.repeat(b, 3, 1)[:, ::3]),
        (a[::-1].copy()[::-1], b.T.copy().T),
    ]
    for left, right in layouts:
        assert np.array_equal(cx.run(kernel, left, right, executor=executor), want)


@every("size", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
@every("executor", ["fast", "reference"])
def test_zero_extents_give_what_numpy_gives(
    kernel: Kernel, size: tuple[int, int, int], executor: Any
) -> None:
    m, n, k = size
    out, report = cx.run(
        kernel, np.zeros((m, k), BF16), np.zeros((k, n), BF16), executor=executor, report=True
    )
    assert out.shape == (m, n)
    assert (out == 0).all()
    assert report.messages == {}


def test_lists_and_integers_need_a_dtype(kernel: Kernel) -> None:
    assert cx.run(kernel, [[1, 2]], [[3], [4]], dtype="bf16").tolist() == [[11.0]]
    with pytest.raises(DTypeError, match=r"A is int64.*dtype=\"bf16\""):
        cx.run(kernel, [[1, 2]], [[3], [4]])


def test_wider_floats_are_refused_unless_rounding_is_asked_for(kernel: Kernel) -> None:
    for dtype in (np.float64, np.float32, np.float16):
        with pytest.raises(DTypeError, match="the kernel multiplies bf16"):
            cx.run(kernel, matrix(2, 2, dtype), matrix(2, 2))
    with pytest.raises(DTypeError, match="rounding to f16 was asked for"):
        cx.run(kernel, matrix(2, 2, np.float64), matrix(2, 2), dtype="f16")
    with pytest.raises(DTypeError, match="unknown element type"):
        cx.run(kernel, matrix(2, 2), matrix(2, 2), dtype="bf17")


@pytest.mark.parametrize(
    "value", [np.zeros((2, 2), complex), np.array([["a", "b"]]), np.array([[None]])]
)
def test_what_holds_no_real_numbers_is_refused(kernel: Kernel, value: Any) -> None:
    with pytest.raises(DTypeError, match="holds no real numbers"):
        cx.run(kernel, value, matrix(2, 2), dtype="bf16")


def test_shapes_that_do_not_match(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="A has 3 columns, B has 4 rows"):
        cx.run(kernel, matrix(2, 3), matrix(4, 5))
    with pytest.raises(InputError, match="B has 1 dimension"):
        cx.run(kernel, matrix(2, 3), np.zeros(3, BF16))


def test_unknown_executor_and_target(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="is unknown"):
        cx.run(kernel, matrix(2, 2), matrix(2, 2), executor="gpu")
    with pytest.raises(TargetError):
        cx.run(kernel, matrix(2, 2), matrix(2, 2), target="h100")


@pytest.mark.parametrize("executor", ["fast", "reference"])
def test_two_loops_add_up(kernel: Kernel, executor: Any) -> None:
    loop = kernel.loop("k")
    with pytest.raises(KernelError, match="k is bound twice"):
        kernel.replace(loop, (loop, loop))
    again = dataclasses.replace(loop, var="j", body=tuple(map(with_j, loop.body)))
    twice = kernel.replace(loop, (loop, again))
    out = cx.run(twice, matrix(2, 40), matrix(40, 2), executor=executor)
    assert np.array_equal(out, 2 * (matrix(2, 40).astype(float) @ matrix(40, 2).astype(float)))


def with_j(statement: Statement) -> Statement:
    """The same statement with j in the place of k."""
    j = {"k": Index("j")}
    if isinstance(statement, (Load, Prefetch)):
        return dataclasses.replace(statement, at=tuple(i.substitute(j) for i in statement.at))
    if isinstance(statement, If):
        inner = tuple(map(with_j, statement.body))
        return If(statement.index.substitute(j), statement.below.substitute(j), inner)
    return statement


# ------------------------------------------------------------------ strict


def test_strict_takes_arrays_that_are_legal_as_they_lie(kernel: Kernel) -> None:
    a, b = aligned(8, 64), aligned(64, 32)
    want = a.astype(float) @ b.astype(float)
    out, report = cx.run(kernel, a, b, strict=True, report=True)
    assert np.array_equal(out, want)
    assert report.copies == ()


def test_strict_names_the_rule_its_source_and_the_nearest_legal_value(kernel: Kernel) -> None:
    wide = aligned(8, 64)
    with pytest.raises(LegalityError, match=r"base-64.*OpenCL.*nearest legal: base 0x") as base:
        cx.run(kernel, wide[:, 4:36], aligned(32, 64), strict=True)
    assert "must be a multiple of 64" in str(base.value)
    with pytest.raises(LegalityError, match=r"width-4.*sycl-tla.*width 124, pitch 124"):
        cx.run(kernel, aligned(8, 61), aligned(61, 64), strict=True)
    with pytest.raises(LegalityError, match=r"declared row, but its K is not contiguous"):
        cx.run(kernel, np.asfortranarray(wide), aligned(64, 64), strict=True)


def test_strict_takes_empty_operands(kernel: Kernel) -> None:
    out = cx.run(kernel, np.zeros((0, 64), BF16), aligned(64, 32), strict=True)
    assert out.shape == (0, 32)


def test_ragged_lists_and_things_that_are_no_kernel(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="A cannot be read as a"):
        cx.run(kernel, [[1, 2], [3]], [[1], [2]], dtype="bf16")
    with pytest.raises(InputError, match="only kernels, copy atoms and tiled copies run"):
        cx.run(kernel.mma, aligned(2, 2), aligned(2, 2))


def test_strict_judges_what_rounding_makes(kernel: Kernel) -> None:
    wide, tall = np.ones((8, 64)), np.ones((64, 32))
    assert (cx.run(kernel, wide, tall, strict=True, dtype="bf16") == 64).all()
    with pytest.raises(LegalityError, match="width-4"):
        cx.run(kernel, np.ones((8, 61)), np.ones((61, 32)), strict=True, dtype="bf16")


def test_unaligned_operands_are_copied_and_the_report_says_so(kernel: Kernel) -> None:
    _, report = cx.run(kernel, aligned(8, 61), aligned(61, 64), report=True)
    assert report.copies == ("A",)
    assert "copied onto a legal surface: A" in str(report)


# ------------------------------------------------------------------ rounding


def nearest_bf16(value: float) -> float:
    """Round to bfloat16 by exact fractions: 8 bits of significand, ties to even."""
    exact = Fraction(value)
    if exact == 0:
        return 0.0
    exponent = max(-126, (abs(exact).numerator.bit_length() - abs(exact).denominator.bit_length()))
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while exponent > -126 and abs(exact) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - 7)
    out = round(exact / unit) * unit  # Python rounds halves to even.
    return float("inf") if out >= Fraction(2) ** 128 else float(out)


@given(st.floats(min_value=0, max_value=3.5e38, allow_nan=False, allow_subnormal=False))
def test_rounding_to_bf16_is_to_nearest_even_in_one_step(value: float) -> None:
    got = float(rounded(np.array([value]), as_numeric("bf16"))[0])
    assert got == nearest_bf16(value)


def test_elements_that_float64_does_not_hold_are_refused() -> None:
    for array in (np.array([2**60 + 1]), np.array([1.5], np.longdouble)):
        with pytest.raises(DTypeError, match="rounding would be done twice"):
            rounded(array, as_numeric("bf16"))


def test_rounding_of_ties_that_float32_would_spoil() -> None:
    # Just above a tie of bfloat16: rounding through float32 would hit the tie and go down.
    value = 1 + 2.0**-8 + 2.0**-40
    assert float(rounded(np.array([value]), as_numeric("bf16"))[0]) == 1 + 2.0**-7
    assert float(np.array([value]).astype(np.float32).astype(BF16)[0]) == 1.0


def test_rounding_keeps_signs_infinities_and_nan() -> None:
    values = np.array([-0.0, np.inf, -np.inf, np.nan, -3.3895e38, 1e300])
    out = rounded(values, as_numeric("bf16")).astype(float)
    assert np.signbit(out[0])
    assert out[1] == np.inf
    assert out[2] == -np.inf
    assert np.isnan(out[3])
    assert out[5] == np.inf
