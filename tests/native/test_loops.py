"""The innermost loops of machine code: where they are, what they are made of, what they spill."""

from __future__ import annotations

import pytest
from compiled_cases import RECORDED, needs_compiler

import pycute_xe as cx
from pycute_xe.native import compile_text

GRID = ((8, 4, 1), (4, 1, 0))


@needs_compiler
@pytest.mark.long
def test_the_main_loop_of_the_large_gemm_has_as_few_instructions_as_one_by_hand() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (256, 256, 32), GRID)
    prologue, main = cx.native.compile(cx.kernel.gemm(mma), compiler=RECORDED).loops
    assert (main.counts["dpas"], main.counts["load"], main.counts["prefetch"]) == (32, 5, 2)
    assert main.beside <= 40
    assert prologue.counts["prefetch"] == 2
    assert "dpas" not in prologue.counts
    assert str(main).startswith(f"{main.beside} beside dpas: 32 dpas, ")


NESTED = """
__attribute__((intel_reqd_sub_group_size(16)))
__kernel void nested(__global int *a, int n) {
  for (int i = 0; i < n; ++i) {
    __attribute__((opencl_unroll_hint(1)))
    for (int j = 0; j < n; ++j) a[i * n + j] += j;
  }
}
"""


@needs_compiler
@pytest.mark.long
def test_a_loop_around_a_loop_is_left_out() -> None:
    binary = compile_text(NESTED, "nested")
    labels = binary.assembly.labels
    code = binary.assembly.instructions
    back = [at for at, one in enumerate(code) if labels.get(one.target, at + 1) <= at]
    assert len(back) > len(binary.loops) >= 1
    assert binary.loop_scratch == 0


@needs_compiler
@pytest.mark.parametrize("registers", [128, 256])
@pytest.mark.long
def test_scratch_in_a_loop_is_said_before_all_else(registers: int) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (256, 256, 32), GRID)
    kernel = cx.kernel.gemm(mma)
    binary = cx.native.compile(kernel, registers=registers, compiler=RECORDED)
    count = binary.loop_scratch
    warned = f"warning: each trip of a loop sends {count} messages to or from scratch\n"
    assert (count > 0) == (registers == 128)
    assert str(binary).startswith(warned) == bool(count)
    if count:
        said = cx.native.compare(kernel, registers=registers, compiler=RECORDED)
        assert str(said).startswith(warned)
