"""tf32: what memory holds in 32 bits is multiplied with 10 bits of fraction."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """K of an instruction is 8."""
    op = cx.XE_DPAS_TT(8, "f32", "tf32")
    mma = cx.workgroup_mma(op, (32, 64, 16), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma)
