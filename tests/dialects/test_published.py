"""Reports in Triton-XPU's tracker about layouts, each judged by one call."""

from __future__ import annotations

import pytest

import pycute_xe as cx
from pycute_xe.arch import Surface
from pycute_xe.dialects import Distributed, convert, layout_of
from pycute_xe.errors import ShapeError

INT8 = (
    "#triton_intel_gpu.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, "
    "opsPerChan = 4, threadsPerWarp = 16, warpsPerCTA = [1, 4], repCluster = [1, 2], "
    "A = [8, 32], B = [32, 32], C = [8, 32]}>"
)
HALF = (
    "#triton_intel_gpu.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, "
    "opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2], "
    "A = [32, 16], B = [16, 32], C = [32, 32]}>"
)
BLOCK = (
    "#triton_intel_gpu.subgroup_2d_block<{warpsPerCTA = [8, 4], instrShape = [%s], "
    "numBlocks=%d, order=[%s], kWidth=2, threadsPerWarp=16}>"
)


def operand(text: str, index: int, width: int, shape: tuple[int, int]) -> Distributed:
    dot = f"#ttg.dot_op<{{opIdx = {index}, parent = #mma, kWidth = {width}}}>"
    return layout_of(dot, shape, {"mma": text})


def test_3841_values_are_copies() -> None:
    """The stores of B wrote copies: one bit of a value's number leads nowhere."""
    b = operand(INT8, 1, 4, (16, 128))
    assert b.linear.spare("register") == (4,)
    assert "copies: bit 4 of the value" in str(cx.explain(b))


def test_3935_the_surface_is_too_narrow() -> None:
    """Fixed as a restriction of the message: a pitch of 8 bytes."""
    broken = Surface(base=0, width=8, height=128, pitch=8).broken_rules("bmg")
    assert {"pitch-min-32", "pitch-min-64"} <= {one.rule for one in broken}


@pytest.mark.parametrize("k", [16, 8])
@pytest.mark.parametrize("index", [0, 1])
def test_3841_and_3935_k_is_less_than_an_instruction_takes(k: int, index: int) -> None:
    """An int8 block of 128x16, and of 128x8, as A, and turned as B: loads gave wrong results."""
    shape = (128, k) if index == 0 else (k, 128)
    tensor = operand(INT8, index, 4 if index else 2, shape)
    verdict = cx.verify(tensor)
    assert verdict.answer == "disproved"
    assert f"extent {k}, and one instruction takes 32" in str(verdict.counterexample)
    with pytest.raises(ShapeError, match=rf"convert.*dimension {1 - index} has extent {k}.*32"):
        convert(tensor, tensor)
    feed = cx.feeds(tensor, "XE_DPAS_TT<8,s32,s8>", "AB"[index])  # type: ignore[call-overload]
    assert feed.kind == "impossible"


def test_larger_blocks_of_that_layout_are_whole() -> None:
    assert cx.verify(operand(INT8, 0, 2, (128, 32)))
    assert cx.verify(operand(INT8, 1, 4, (32, 128)), feeds=("XE_DPAS_TT<8,s32,s8>", "B"))


@pytest.mark.parametrize(
    ("block", "index", "way"),
    [
        (("32, 16", 2, "1, 0"), 0, "nothing"),
        (("32, 32", 1, "1, 0"), 0, "shuffles"),
        (("32, 16", 2, "0, 1"), 1, "registers"),
    ],
)
@pytest.mark.long
def test_4192_what_a_block_load_leaves_is_not_the_operand(
    block: tuple[str, int, str], index: int, way: str
) -> None:
    """A load seems to have the operand's layout; what it leaves and what moves is one call each."""
    shape = (32, 256) if index else (256, 32)
    load = layout_of(BLOCK % block, shape)
    conversion = convert(load, operand(HALF, index, 2 if index else 1, shape), "f16")
    assert conversion.way == way
    assert cx.diff(load, conversion.dst).equal == (way == "nothing")
