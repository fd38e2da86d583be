"""A name without an index in an epilogue is one number: slips are refused, numbers are said."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.errors import InputError, KernelError

MMA = cx.workgroup_mma("XE_DPAS_TT<8,f32,bf16>", (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
SLIPS = {
    "relu(ac + bias)": "ac .* resembles acc",
    "Acc": "Acc .* resembles acc",
    "acc + c": "c .* resembles C",
    "acc + bias[n] + bais": "bais .* resembles bias",
    "relu(bias)": "does not read acc",
    "alpha*C": "does not read acc",
    "acc*relu": "relu is a function",
}


def kinds(epilogue: str, **given: Any) -> Any:
    """The kernels that share an epilogue."""
    make = cx.kernel
    yield lambda: make.gemm(MMA, epilogue=epilogue, **given)
    yield lambda: make.gemm(MMA, epilogue=epilogue, epilogue_tile=(8, 16), **given)
    yield lambda: make.gemm(MMA, also={"E": epilogue}, **given)
    yield lambda: make.slm_gemm(MMA, epilogue=epilogue, **given)
    yield lambda: make.specialised_gemm(MMA, epilogue=epilogue, **given)


@pytest.mark.parametrize("text", SLIPS)
def test_a_slip_is_refused_in_every_kind(text: str) -> None:
    for make in kinds(text):
        with pytest.raises(KernelError, match=SLIPS[text]):
            make()


def test_the_way_out_names_the_nearest_and_works() -> None:
    with pytest.raises(KernelError) as refused:
        cx.kernel.gemm(MMA, epilogue="relu(ac + bias)")
    assert "write acc" in refused.value.fix
    assert 'types={"ac": "f32"}' in refused.value.fix
    for make in kinds("relu(ac + acc)", types={"ac": "f32"}):
        assert make().operand("ac").modes == ()


@pytest.mark.parametrize("text", ["alpha*acc + beta*C", "acc + bias", "acc*scale + shift", "C"])
def test_numbers_stay_numbers(text: str) -> None:
    for make in kinds(text):
        assert make()


def test_sums_and_combinations_share_the_rule() -> None:
    with pytest.raises(KernelError, match=r"ac .* resembles acc"):
        cx.kernel.gemm(MMA, also={"rows[m]": "sum(n, acc*ac)"})
    with pytest.raises(KernelError, match=r"acc2 .* resembles acc"):
        cx.kernel.dual_gemm(MMA, combine="acc0*acc1*acc2")
    with pytest.raises(KernelError, match=r"b .* resembles B"):
        cx.kernel.gemm(MMA, transform_b="B - b")


def test_a_number_is_said_to_be_one() -> None:
    kernel = cx.kernel.gemm(MMA, epilogue="acc + bias")
    assert "bias f32 (one number)" in str(kernel).splitlines()[0]
    A, B = (np.ones((8, 8), ml_dtypes.bfloat16) for _ in "AB")
    with pytest.raises(InputError, match=r"bias is one number of the kernel.*bias\[n\]"):
        cx.run(kernel, A, B, bias=np.zeros(8, np.float32))
    assert np.array_equal(cx.run(kernel, A, B, bias=2.0), np.full((8, 8), 10.0))
