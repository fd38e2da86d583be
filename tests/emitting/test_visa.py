"""vISA text: every message and DPAS parses back, and the machine runs what was parsed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from compiled_cases import distance
from sampling import sampled
from small_kernels import fragment, small_kernel
from visa_reader import computed, not_parsed_back

import pycute_xe as cx
from pycute_xe.kernel import Kernel, Map, Slot

GRID = ((2, 2, 1), (2, 1, 0))


def gemm(d: str, a: str, b: str, orders: str, tile: tuple[int, int, int], **more: Any) -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, d, a, b), tile, GRID)
    order = {"r": "row", "c": "col"}
    return cx.kernel.gemm(mma, order[orders[0]], order[orders[1]], **more)


CASES: dict[str, Callable[[], Kernel]] = {
    "bf16 by rows": partial(gemm, "f32", "bf16", "bf16", "rr", (32, 64, 32)),
    "f16 by columns": partial(gemm, "f32", "f16", "f16", "cc", (32, 64, 32)),
    "tf32": partial(gemm, "f32", "tf32", "tf32", "rc", (32, 64, 16)),
    "u8 by s8": partial(gemm, "s32", "u8", "s8", "rr", (32, 64, 64)),
    "bias and relu into bf16": partial(
        gemm,
        "f32",
        "bf16",
        "bf16",
        "cr",
        (32, 64, 32),
        epilogue="relu(acc + bias[n])",
        d_type="bf16",
    ),
    "scaled by rows, with C": partial(
        gemm, "f32", "f16", "f16", "rr", (32, 64, 32), epilogue="alpha*acc*scale[m] + C"
    ),
    "s32 into s8": partial(gemm, "s32", "s8", "s8", "rc", (32, 64, 64), d_type="s8"),
    "C of bf16, rounded to s8": partial(
        gemm,
        "f32",
        "bf16",
        "bf16",
        "rr",
        (32, 64, 32),
        epilogue="acc + C",
        types={"C": "bf16"},
        d_type="s8",
    ),
    "saturated at 32 bits": partial(
        gemm, "f32", "bf16", "bf16", "rr", (32, 64, 32), epilogue="acc*1e9", d_type="s32"
    ),
    "e4m3 by e2m1": partial(
        gemm, "f32", "bf16", "bf16", "rr", (32, 64, 32), types={"A": "f8e4m3", "B": "f4e2m1"}
    ),
    "s2 by u2": partial(gemm, "s32", "s8", "s8", "rr", (32, 64, 64), types={"A": "s2", "B": "u2"}),
    "clamp and abs": partial(
        gemm, "f32", "bf16", "bf16", "rr", (32, 64, 32), epilogue="clamp(acc, -1, 2) - abs(acc)"
    ),
}


ALWAYS = [
    "u8 by s8",
    "C of bf16, rounded to s8",
    "saturated at 32 bits",
    "bias and relu into bf16",
    "e4m3 by e2m1",
    "s2 by u2",
]


@pytest.mark.parametrize("name", CASES)
def test_messages_and_dpas_parse_back_to_what_they_came_from(name: str) -> None:
    assert not_parsed_back(CASES[name]()) == []


@pytest.mark.parametrize("name", sampled(CASES, 4, ALWAYS))
@pytest.mark.long
def test_the_parsed_program_computes_what_the_kernel_does(name: str) -> None:
    kernel = CASES[name]()
    found, expected = computed(kernel, (29, 61, 2 * kernel.mma.tile_mnk[2] + 5))
    assert distance(found, expected) == 0


def test_a_barrier_is_signalled_first_and_waited_for_then() -> None:
    lines = cx.emit(CASES["bf16 by rows"](), "visa").splitlines()
    halves = [line.strip() for line in lines if line.strip().startswith("sbarrier.")]
    assert halves == ["sbarrier.signal", "sbarrier.wait"]


def test_a_view_of_a_fragment_has_another_name_than_a_fragment() -> None:
    """x, read as f32, would be called x_f."""
    twice = Map("x_f", Slot("x") * 2)
    kernel = small_kernel((twice,), (fragment("x_f", "f32", 8),), "x_f")
    declared = re.findall(r"^\.decl (\w+)", cx.emit(kernel, "visa"), re.MULTILINE)
    assert len(declared) == len(set(declared)) > 3
