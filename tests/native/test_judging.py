"""`native.compare` as a judge: right kernels that it calls so, and texts that it tells apart."""

from __future__ import annotations

import random
from collections.abc import Callable

import ml_dtypes  # noqa: F401  (names bfloat16 to NumPy)
import numpy as np
import pytest
from compiled_cases import needs_compiler
from compiled_kinds import CASES
from sampling import sampled
from text_changes import changed, emitted  # pyright: ignore[reportMissingImports]

import pycute_xe as cx
from pycute_xe.kernel import Kernel
from pycute_xe.native.allowing import allowances, roundings, tolerance
from pycute_xe.native.trying import apart
from pycute_xe.trials.edge_sizes import edge_sizes


def gemm(epilogue: str | None = None, d_type: str = "f32") -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, epilogue=epilogue, d_type=d_type)


def test_sizes_lie_around_each_tile_with_trips_enough() -> None:
    assert edge_sizes(gemm()) == [
        {"M": 33, "N": 65, "K": 97},
        {"M": 32, "N": 128, "K": 128},  # not a square grid
        {"M": 31, "N": 63, "K": 127},
    ]


def test_functions_have_a_tolerance_and_others_none() -> None:
    assert tolerance(gemm("clamp(alpha * acc, -4, 6) + bias[n]")) == 0
    assert tolerance(gemm("relu(acc)")) == 0
    # silu is made of sigmoid; the row of it says 2 to the power of -19.
    assert tolerance(gemm("silu(acc)")) == 2.0**-19
    assert tolerance(gemm("sqrt(abs(acc)) + tanh(acc)")) == 2.0**-19 + 2.0**-22


def test_an_output_beside_a_sum_of_rows_is_equal_byte_for_byte() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    beside = cx.kernel.gemm(mma, d_type="bf16", epilogue="2 * acc", also={"rows[m]": "sum(n, acc)"})
    assert allowances(beside) == {"D": 0.0, "rows": 2.0**-20}


def test_the_last_rounding_is_judged_where_nothing_was_rounded_before() -> None:
    assert set(roundings(gemm("silu(acc)", "bf16"))) == {"D"}
    assert set(roundings(gemm("relu(acc)", "bf16"))) == set()  # equal byte for byte
    assert set(roundings(gemm("silu(acc)"))) == set()  # f32, as computed
    # The weights of attention are rounded to bf16 before they are multiplied.
    rounded_before = CASES["attention, two subgroups"].make()[0]
    assert str(rounded_before.operand("O").value_type) == "bf16"
    assert set(roundings(rounded_before)) == set()


def test_what_is_stored_lies_between_what_is_rounded_below_and_above() -> None:
    kernel = gemm("silu(acc)", "bf16")
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(shape).astype("bfloat16") for shape in ((32, 32), (32, 64)))
    low, out, high = (
        cx.run(roundings(kernel)["D"].moved(by), a, b).astype(np.float64)
        for by in (-(2.0**-16), 0.0, 2.0**-16)
    )
    assert ((low <= out) & (out <= high)).all()
    # Most have no choice, so that a value cut instead of rounded is noticed.
    assert (low == high).mean() > 0.75


RIGHT: dict[str, Callable[[], Kernel]] = {
    "silu": lambda: gemm("silu(acc)"),
    "tanh": lambda: gemm("tanh(acc)", "bf16"),
    "sqrt": lambda: gemm("sqrt(abs(acc))"),
    "a gate": lambda: CASES["a gate"].make()[0],
    "a loop that is written out": lambda: CASES["parts of K"].make()[0],
    "softmax": lambda: CASES["softmax of rows"].make()[0],
}


@needs_compiler
@pytest.mark.parametrize("name", sampled(RIGHT, 2))
@pytest.mark.long
def test_right_kernels_are_called_right(name: str) -> None:
    found = cx.native.compare(RIGHT[name]())
    assert found, str(found)
    assert len(found.runs) >= 3
    if name == "a loop that is written out":
        assert "a loop is written out" in str(found)


GATED = ("relu(acc + bias[n]) * gate[m,n]", "bf16")
# A kind of wrong text, its epilogue and the type of D, a seed, and what the answer calls it.
WRONG = {
    "rounding": (GATED, "rounding"),
    "precision": ((None, "f32"), "precision"),
    "remainders": ((None, "f32"), "remainder"),
    "hints": ((None, "f32"), "cache hint"),
    "barriers": ((None, "f32"), "barriers"),
    "strides": (GATED, "stride"),
    "signs": (GATED, "sign"),
    "offsets": (GATED, "offset"),
    "counts": ((None, "f32"), "count"),
    "lanes": (GATED, "lanes"),
}


@needs_compiler
@pytest.mark.parametrize("name", sampled(WRONG, 3))
@pytest.mark.long
def test_a_wrong_text_is_noticed_and_its_kind_is_named(name: str) -> None:
    (epilogue, d_type), kind = WRONG[name]
    kernel = gemm(epilogue, d_type)
    change = changed(random.Random(3), kernel, name)
    assert change is not None
    with emitted(change.text):
        answer = cx.native.compare(kernel)
    assert not answer, f"{change.lines}: {answer}"
    assert kind in answer.kinds, f"{change.lines}: {answer}"
    assert f"  {kind}: " in str(answer)


@needs_compiler
@pytest.mark.long
def test_a_remainder_of_one_is_named_by_its_size() -> None:
    kernel = gemm()
    text = cx.emit(kernel).replace("k < ((K + 31) >> 5)", "k < ((K + 30) >> 5)")
    with emitted(text):
        answer = cx.native.compare(kernel)
    (named,) = (one for one in answer.differences if one.kind == "remainder")
    assert named.where == "K"
    assert answer.equal is False


def test_nans_are_equal_and_zeros_of_both_signs() -> None:
    def wrong(got: list[float], allowed: float = 0) -> list[str]:
        expected, there = (np.array([x], np.float32) for x in ([np.nan, 0.0, 1.0], got))
        return [one.words for one in apart(gemm(), {"D": expected}, {"D": there}, {"D": allowed})]

    assert wrong([np.nan, -0.0, 1.0]) == []
    assert wrong([np.nan, 0.0, 1.5]) == ["1 of 3 elements differ, D[0, 2] is 1.5 instead of 1.0"]
    infinite = {"D": np.array([[np.inf, -np.inf, 1.0]], np.float32)}
    beside = {"D": np.array([[np.inf, -np.inf, 2.0]], np.float32)}
    (apart_,) = apart(gemm(), infinite, beside, {"D": 2.0**-19})
    assert apart_.element == "D[0, 2]"
    (words,) = wrong([2.0, 0.0, 1.0], 2.0**-19)
    assert "D[0, 0] is 2.0 instead of nan" in words
