"""Integers of 8 bits, summed in 32: exact."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """K of an instruction is 32, twice that of bf16."""
    op = cx.XE_DPAS_TT(8, "s32", "s8")
    mma = cx.workgroup_mma(op, (32, 64, 64), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma)
