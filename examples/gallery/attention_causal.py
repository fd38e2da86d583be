"""Causal attention: a query sees no later key, and tiles beyond the diagonal are left out."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel


def kernel() -> Kernel:
    """The mask is a condition on indices, in the claim as in the loop."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    qk = cx.workgroup_mma(op, (32, 32, 32), ((4, 1, 1), (1, 1, 1)))
    pv = cx.workgroup_mma(op, (32, 32, 32), ((4, 1, 1), (1, 1, 1)))
    return cx.kernel.attention(qk, pv, causal=True)
