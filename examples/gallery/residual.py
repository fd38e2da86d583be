"""A residual added behind the product: alpha A B + beta C."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """C is loaded as the accumulators lie."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, epilogue="alpha*acc + beta*C[m,n]")
