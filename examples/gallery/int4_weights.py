"""Weights of 4 bits with a scale for each group of 64: half a byte of memory an element."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """B is widened and scaled in registers before the product."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, types={"B": "s4"}, transform_b="B * s[k/64,n]")
