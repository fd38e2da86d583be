"""Bias and relu fused behind the product, and bf16 stored."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """The epilogue is an expression; the library finds its loads."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, epilogue="relu(acc + bias[n])", d_type="bf16")
