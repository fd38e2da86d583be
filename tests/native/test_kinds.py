"""Binaries of each kind of kernel; `make compiled` executes all of them."""

from __future__ import annotations

import pytest
from attention_problems import tilings
from compiled_cases import needs_compiler
from compiled_kinds import CASES
from every import every
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, attention, specialised_gemm
from pycute_xe.swizzle import Swizzle

# A sample would leave attention out as often as not.
KEPT = ("attention, keys of one query shared",)


@needs_compiler
@pytest.mark.parametrize("name", sampled(CASES, 0, KEPT))
@pytest.mark.long
def test_a_binary_of_each_kind_does_what_a_run_does(name: str) -> None:
    assert CASES[name].wrong() == []


def mma() -> cx.TiledMma:
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))


REFUSED = {
    "work-groups that wait": (lambda: cx.kernel.scheduled(mma()), "wait for another one"),
    "named barriers": (lambda: specialised_gemm(mma()), "a wrong number of them"),
    "swizzled tiles": (
        lambda: cx.kernel.slm_gemm(mma(), swizzle_a=Swizzle(3, 3, 3)),
        "do not take like parts",
    ),
}


@every("name", REFUSED)
def test_what_the_compiler_cannot_be_told_is_refused_by_name(name: str) -> None:
    make, words = REFUSED[name]
    for to in ("opencl", "visa"):
        with pytest.raises(KernelError, match=words):
            cx.emit(make(), to)


def five_axes() -> Kernel:
    return attention(*tilings(), out=32, splits=3, lse=True)


def test_axes_beyond_the_third_share_it() -> None:
    text = cx.emit(five_axes())
    assert "get_group_id(3)" not in text
    assert "for (; q >= ((M + 15) >> 4); q -= ((M + 15) >> 4)) ++v;" in text
    assert "for (; v >= ((E + 31) >> 5); v -= ((E + 31) >> 5)) ++s;" in text
    host = cx.emit(five_axes(), "host")
    assert "(((M + 15) >> 4)) * (((E + 31) >> 5)) * (3)" in host


def test_a_launch_whose_size_an_operand_tells_has_no_host_program() -> None:
    packed = attention(*tilings(), out=32, packed=True)
    with pytest.raises(KernelError, match="longest is an element of an operand"):
        cx.emit(packed, "host")
