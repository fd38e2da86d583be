"""Emissions broken on purpose: the binary's result, its counts or the machine must tell."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from compiled_cases import filled, needs_compiler
from sampling import WHOLE, sampled

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.executing.problem import prepare
from pycute_xe.kernel import Kernel
from pycute_xe.machine import Trace
from pycute_xe.native import compile_text
from pycute_xe.native.comparison import execute

DEPTHS = {"plain": 135, "column": 135, "int8": 261}
SIZES = {name: (35, 71, k) if WHOLE else (19, 71, k // 2) for name, k in DEPTHS.items()}


@cache
def kernel(name: str) -> Kernel:
    grid = ((2, 2, 1), (2, 1, 0))
    if name == "plain":
        mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), grid)
        return cx.kernel.gemm(mma, epilogue="relu(alpha*acc + bias[n])", d_type="bf16")
    if name == "column":
        mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "f16"), (32, 64, 32), grid)
        return cx.kernel.gemm(mma, a="col", b="col", epilogue="acc*scale[m] + C")
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "u8", "s8"), (32, 64, 64), grid)
    return cx.kernel.gemm(mma, d_type="s8")


# (kernel, what is wrong, pattern in the text, what stands there instead, which occurrence).
WRONG: tuple[tuple[str, str, str, str, int], ...] = (
    ("plain", "no arrival at the barrier", r"  XE_BARRIER\(signal\);", "", 0),
    ("plain", "no wait at the barrier", r"  XE_BARRIER\(wait\);", "", 0),
    ("plain", "two arrivals", r"XE_BARRIER\(wait\)", "XE_BARRIER(signal)", 0),
    ("plain", "no clear of the accumulator", r"XE_ALU\(mov \(M1_NM, 32\) tCrC\(0,0\).*", "", 0),
    ("plain", "a clear to one", r"(tCrC\(0,0\)<1>) 0x0:ud", r"\1 0x3f800000:ud", 0),
    ("plain", "a clear too short", r"mov \(M1_NM, 32\) tCrC\(2", "mov (M1_NM, 16) tCrC(2", 0),
    ("plain", "another tile of K in A", r"(xe_payload0\(0,5\)<0.*)0x20", r"\g<1>0x10", 1),
    ("plain", "another tile of K in B", r"(xe_payload1\(0,6\)<0.*)0x20", r"\g<1>0x40", 1),
    ("plain", "rows of A of one tile", r"(XE_PAYLOAD\(\w+, 2.*sA.*)32 \* m", r"\g<1>0 * m", 0),
    ("plain", "columns of B shifted", r"(XE_PAYLOAD\(\w+, 2.*sB.*)64 \* n", r"\g<1>8 * n + 16", 0),
    ("plain", "x and y exchanged", r"(XE_PAYLOAD\(\w+, 2, .*sA, )(.*), (.*)\);", r"\1\3, \2);", 0),
    ("plain", "the subgroup left out", r"(XE_PAYLOAD\(\w+, 2, .*sB.*)32 \* subgroup", r"\g<1>0", 0),
    ("plain", "a block of half the height", r"(XE_PAYLOAD\(\w+, 2, 16, )16, sA", r"\g<1>8, sA", 0),
    ("plain", "a block of half the width", r"(XE_PAYLOAD\(\w+, )2(, 16, 16, sA)", r"\g<1>1\2", 0),
    ("plain", "B without VNNI", r"(XE_LOAD\(tBrB.*)283\)", r"\g<1>203)", 0),
    ("plain", "A with VNNI", r"(XE_LOAD\(tArA.*)203\)", r"\g<1>283)", 0),
    ("plain", "a surface one row too high", r"(XE_SURFACE\(B, B_width, K)", r"\1 + 1", 0),
    ("plain", "a surface one row too low", r"(XE_SURFACE\(A, A_width, M)", r"\1 - 1", 0),
    ("plain", "a surface too narrow", r"(XE_SURFACE\(B, B_width)", r"\1 - 4", 0),
    ("plain", "a surface too wide", r"XE_SURFACE\(D, D_width", "XE_SURFACE(D, 2 * D_width", 0),
    ("plain", "rows counted in columns", r"(XE_SURFACE\(D, D_width,) M", r"\1 N", 0),
    ("plain", "a prefetch dropped", r"XE_PREFETCH\(xe_payload4.*", "", 0),
    ("plain", "a prefetch of another tile", r"(XE_PAYLOAD\(\w+, 1, 32, 8, sA, )64", r"\g<1>0", 0),
    ("plain", "a payload of another loop", r"(XE_PREFETCH\()xe_payload3", r"\1xe_payload0", 0),
    ("plain", "a prefetch too many", r"int p = 0; p < 2", "int p = 0; p < 3", 0),
    ("plain", "a trip too few", r"k < \(\(K \+ 31\) >> 5\); \+\+k", "k < (K >> 5); ++k", 0),
    ("plain", "A and B exchanged", r"XE_DPAS\(bf.bf.8.8, (\S+), (\S+), (\w+)\.0, (\w+)\(0,0\)\)",
     r"XE_DPAS(bf.bf.8.8, \1, \2, \4.0, \3(0,0))", 0),
    ("plain", "another type of B", r"XE_DPAS\(bf\.bf", "XE_DPAS(hf.hf", 0),
    ("plain", "a DPAS left out", r"  XE_DPAS\(bf.*", "", 3),
    ("plain", "a DPAS of fewer rows", r"XE_DPAS\(bf\.bf\.8\.8", "XE_DPAS(bf.bf.8.7", 1),
    ("plain", "another accumulator", r"(XE_DPAS\(.*?, )tCrC_f\.512, tCrC_f\.512",
     r"\1tCrC_f.0, tCrC_f.0", 0),
    ("plain", "no relu", r"  XE_ALU\(sel|  XE_ALU\(max.*", "", 0),
    ("plain", "a bias of the next column", r"tEr?bias_f\(0,0\)", "tErbias_f(0,1)", 0),
    ("plain", "a store of half a block", r"(XE_STORE_2D.*x)8nn", r"\g<1>4nn", 0),
    ("plain", "a store lower", r"(XE_STORE_2D\(sD, .*, )(.*?)(, tErD)", r"\1\2 + 1\3", 0),
    ("column", "a reorder that moves one part", r"  XE_ALU\(mov .*tCrA.*", "", 0),
    ("column", "a reorder by another region", r"(XE_ALU\(mov .*tCrA.*)<2;1,0>", r"\1<1;1,0>", 0),
    ("column", "no transposition", r"(XE_LOAD\(tArA.*)8403\)", r"\g<1>0403)", 0),
    ("column", "C by another pitch", r"XE_SURFACE\(C, C_width, M, C_pitch",
     "XE_SURFACE(C, C_width, M, B_pitch", 0),
    ("column", "a scale of another row", r"tErscale_f\(0,1\)", "tErscale_f(0,2)", 0),
    ("column", "a sum for a product", r"XE_ALU\(mul", "XE_ALU(add", 0),
    ("int8", "A taken as signed", r"XE_DPAS\(s8\.u8", "XE_DPAS(s8.s8", 0),
    ("int8", "no saturation", r"mov\.sat", "mov", 0),
)  # fmt: skip


def broken(text: str, pattern: str, by: str, which: int) -> str:
    """Exchange one occurrence of a pattern behind the prelude."""
    head, mark, body = text.partition("// ---- The kernel.")
    found = list(re.finditer(pattern, body))
    assert len(found) > which, f"{pattern} does not occur"
    at = found[which]
    return head + mark + body[: at.start()] + at.expand(by) + body[at.end() :]


def outcome(name: str, text: str) -> Any:
    """What running a text comes to: result and counts, or the refusal."""
    subject = kernel(name)
    given = filled(subject, SIZES[name])
    problem, trace = prepare(subject, (), given, None), Trace()
    try:
        binary = compile_text(text, subject.name)
        out = execute(binary, problem, trace)["D"]
    except CuteError as error:
        return str(error)
    static = (binary.messages, binary.dpas, binary.barriers)
    return out.tobytes(), trace.messages, trace.nbytes, trace.dpas, trace.barriers, static


@cache
def right(name: str) -> Any:
    return outcome(name, cx.emit(kernel(name)))


@needs_compiler
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.long
def test_the_emissions_themselves_run_as_the_kernels_do(name: str) -> None:
    expected = cx.run(kernel(name), **filled(kernel(name), SIZES[name]), executor="reference")
    assert right(name)[0] == expected.tobytes()


@needs_compiler
@pytest.mark.parametrize("case", sampled(WRONG, 2), ids=lambda case: f"{case[0]}: {case[1]}")
@pytest.mark.long
def test_a_wrong_emission_is_noticed(case: tuple[str, str, str, str, int]) -> None:
    name, _, pattern, by, which = case
    found = outcome(name, broken(cx.emit(kernel(name)), pattern, by, which))
    # A text that the compiler refuses tells nothing about the machine.
    assert not (isinstance(found, str) and found.startswith("compile"))
    assert found != right(name)


def test_forty_ways_of_going_wrong_are_listed() -> None:
    assert len({(case[0], case[1]) for case in WRONG}) == len(WRONG) >= 40
