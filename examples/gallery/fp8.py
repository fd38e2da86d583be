"""fp8 in memory, bf16 in DPAS: both operands are widened."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """e4m3 has no instruction here; its values are exact in bf16."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, types={"A": "e4m3", "B": "e4m3"})
