"""Compiled kernels on the machine: results, messages, bytes, DPAS and barriers equal a run's."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_cases import held_against_run, needs_compiler
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype


def given(m: int, n: int, k: int, kind: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(m + n + k)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    return {"A": a.astype(numpy_dtype(kind)), "B": b.astype(numpy_dtype(kind))}


@needs_compiler
@pytest.mark.long
def test_the_binary_of_the_large_bf16_kernel_is_the_kernel() -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, tile=(256, 256, 32), subgroups=((8, 4, 1), (4, 1, 0)))
    gemm = cx.kernel.gemm(mma)
    binary = cx.native.compile(gemm)
    assert (binary.registers, binary.scratch) == (256, 0)
    size = (257, 255, 101) if WHOLE else (250, 255, 30)
    assert held_against_run(gemm, given(*size, "bf16")) == []


@needs_compiler
@pytest.mark.long
def test_a_kernel_that_check_finds_too_large_for_a_register_mode_spills_there() -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, tile=(256, 256, 32), subgroups=((8, 4, 1), (4, 1, 0)))
    gemm = cx.kernel.gemm(mma)
    assert cx.check(gemm, "pvc").registers == 224
    assert cx.native.compile(gemm, registers=128).scratch > 0
