"""A GEMM whose A is stored by columns: a transposed load puts it in order."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """A transposed load has 32 bits, so pairs of rows are parted by a reorder."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, a="col")
