"""The two largest of each row of a product: which experts a token goes to."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """A subgroup has whole rows."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (64, 64, 32), ((4, 1, 1), (1, 1, 0)))
    return cx.kernel.top_k_gemm(mma, 2)
