"""The sums of the rows of a product that is never stored: a fused reduction, added by atomics."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel, KernelBuilder, Share, Tiles


def kernel() -> Kernel:
    """Multiply, add up each row, and add that to memory: several work-groups share a row."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    k = KernelBuilder("row_sums", mma)
    A, B = k.input("A", "bf16", ("M", "K")), k.input("B", "bf16", ("K", "N"))
    R = k.inout("R", "f32", ("M",))
    m, n = k.grid(m=Tiles("M", 32), n=Tiles("N", 64))
    k.fill("acc", Share(mma, "C"))
    with k.loop("k", 0, Tiles("K", 32)) as i:
        k.load("a", A, Share(mma, "A"), at=(m * 32, i * 32))
        k.load("b", B, Share(mma, "B"), at=(i * 32, n * 64))
        with k.when(i + 1 < Tiles("K", 32)):
            k.prefetch(A, Share(mma, "A"), at=(m * 32, (i + 1) * 32))
            k.prefetch(B, Share(mma, "B"), at=((i + 1) * 32, n * 64))
        k.mma("acc", "a", "b")
    k.reduce("r", "sum", "acc", axis=1)
    k.atomic_add(R, "r", at=m * 32)
    return k.build("R[m] = R[m] + sum(n, sum(k, A[m,k]*B[k,n]))")
