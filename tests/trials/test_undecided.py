"""What no proof decides a run may disprove, such as loads that hold other elements."""

from __future__ import annotations

from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe.kernel import KernelBuilder, Tiles


@pytest.mark.filterwarnings("ignore::pycute_xe.errors.UnfaithfulWarning")
@pytest.mark.parametrize("kind", ["slm_gemm", "specialised_gemm"])
def test_a_load_that_holds_other_elements_is_disproved_by_its_run(kind: str) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (32, 64, 32), ((4, 4, 1), (4, 1, 0)))
    make: Any = getattr(cx.kernel, kind)
    kernel = make(mma)
    assert not cx.check(kernel, "bmg")
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved"
    assert verdict.counterexample is not None


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_a_run_that_only_rounds_disproves_nothing(scale: float) -> None:
    """Undecided by the laws, and right: a run differs by no more than roundings."""
    k = KernelBuilder("mapped", 1)
    A, D = k.input("A", "f32", ("M", "N")), k.output("D", "f32", ("M", "N"))
    m, n = k.grid(m=Tiles("M", 16), n=Tiles("N", 16))
    k.load("v", A, (16, 16), at=(m * 16, n * 16))
    k.map("z", f"{scale}*(2*sigmoid(2*v) - 1)")
    k.store(D, "z", at=(m * 16, n * 16))
    assert cx.verify(k.build(f"D[m,n] = {scale}*tanh(A[m,n])")).answer == "undecided"
