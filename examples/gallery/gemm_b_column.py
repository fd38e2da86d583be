"""A GEMM whose B is stored by columns, as weights often are."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """The transposed load packs what DPAS wants of B: the reorder moves nothing."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, b="col")
