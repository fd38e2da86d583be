"""The same product through shared local memory, two stages, as a recipe."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """Each tile is loaded once for a work-group."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.slm_gemm(mma)
