"""`native.compare` as a judge: right kernels that it calls so, and texts that it tells apart."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from compiled_cases import needs_compiler
from compiled_kinds import CASES
from sampling import sampled

import pycute_xe as cx
from pycute_xe.kernel import Kernel
from pycute_xe.native import compiler
from pycute_xe.native.judging import tolerance
from pycute_xe.trials.problems import edge_sizes


def gemm(epilogue: str | None = None, d_type: str = "f32") -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, epilogue=epilogue, d_type=d_type)


def test_sizes_lie_around_each_tile_with_trips_enough() -> None:
    assert edge_sizes(gemm()) == [
        {"M": 33, "N": 65, "K": 97},
        {"M": 32, "N": 64, "K": 128},
        {"M": 31, "N": 63, "K": 127},
    ]


def test_functions_have_a_tolerance_and_others_none() -> None:
    assert tolerance(gemm("clamp(alpha * acc, -4, 6) + bias[n]")) == 0
    assert tolerance(gemm("relu(acc)")) == 0
    # silu is made of sigmoid; the row of it says 2 to the power of -19.
    assert tolerance(gemm("silu(acc)")) == 2.0**-19
    assert tolerance(gemm("sqrt(abs(acc)) + tanh(acc)")) == 2.0**-19 + 2.0**-22


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
def test_right_kernels_are_called_right(name: str) -> None:
    found = cx.native.compare(RIGHT[name]())
    assert found, str(found)
    assert len(found.runs) >= 3
    if name == "a loop that is written out":
        assert "a loop is written out" in str(found)


STORE = r"(  XE_STORE_2D\(sD, .*\n)"
# What is wrong: the type of D, a pattern in the text, what stands there instead.
WRONG = {
    "a remainder of one": ("f32", r"k < \(\(K \+ 31\) >> 5\)", "k < ((K + 30) >> 5)"),
    "an accumulator cut to 16 bits": (
        "f32",
        STORE,
        r"  XE_ALU(and (M1_NM, 16) tCrC(0,0)<1> tCrC(0,0)<1;1,0> 0xffff0000:ud);\n\1",
    ),
    "a rounding towards zero": (
        "bf16",
        r"(  XE_ALU\(mov \(M1_NM, 16\) tErD_bf)",
        r"  XE_ALU(and (M1_NM, 16) tCrC(0,0)<1> tCrC(0,0)<1;1,0> 0xffff0000:ud);\n\1",
    ),
    "a column at the edge": ("f32", r"(XE_SURFACE\(B, B_width), K", r"\1, K - 1"),
}


@needs_compiler
@pytest.mark.parametrize("name", sampled(WRONG, 2))
def test_a_text_that_shows_on_some_sizes_or_numbers_alone_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, pattern, instead = WRONG[name]
    kernel = gemm(d_type=kind)
    text = cx.emit(kernel)
    head, mark, body = text.partition("// ---- The kernel.")
    changed, count = re.subn(pattern, instead, body, count=1)
    assert count == 1
    compiler._compiled.cache_clear()
    monkeypatch.setattr(compiler, "emit", lambda *_: head + mark + changed)
    try:
        found = cx.native.compare(kernel)
    finally:
        compiler._compiled.cache_clear()
    assert not found, str(found)
    assert found.equal is False
    assert "instead of" in str(found)


def test_nans_are_equal_and_zeros_of_both_signs() -> None:
    from pycute_xe.native.judging import _apart

    kernel = gemm()
    a = np.array([[np.nan, 0.0, 1.0]], np.float32)
    assert [*_apart(kernel, a, np.array([[np.nan, -0.0, 1.0]], np.float32), 0)] == []
    (said,) = _apart(kernel, a, np.array([[np.nan, 0.0, 1.5]], np.float32), 0)
    assert said == "1 of 3 elements differ, D[0, 2] is 1.5 instead of 1.0"
    (said,) = _apart(kernel, a, np.array([[2.0, 0.0, 1.0]], np.float32), 2.0**-19)
    assert "D[0, 0] is 2.0 instead of nan" in said
