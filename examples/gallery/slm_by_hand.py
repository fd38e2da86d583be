"""A product whose tiles meet in shared local memory, written line by line."""

from __future__ import annotations

import pycute_xe as cx
from pycute_xe.kernel import Kernel, KernelBuilder, Share, Tiles


def kernel() -> Kernel:
    """All subgroups load a tile once, pass it through shared memory, and take their shares."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 64, 32), ((2, 2, 1), (2, 1, 0)))
    k = KernelBuilder("slm_by_hand", mma)
    A, B = k.input("A", "bf16", ("M", "K")), k.input("B", "bf16", ("K", "N"))
    D = k.output("D", "f32", ("M", "N"))
    k.shared("sA", "bf16", (64, 32), stages=2)
    k.shared("sB", "bf16", (32, 64), stages=2)
    m, n = k.grid(m=Tiles("M", 64), n=Tiles("N", 64))
    k.fill("acc", Share(mma, "C"))
    with k.loop("k", 0, Tiles("K", 32)) as i:
        k.load("a", A, (64, 32), at=(m * 64, i * 32))
        k.load("b", B, (32, 64), at=(i * 32, n * 64))
        k.share("sA", "a", stage=i % 2)
        k.share("sB", "b", stage=i % 2)
        k.fence()
        k.barrier()
        k.take("ta", "sA", Share(mma, "A"), stage=i % 2)
        k.take("tb", "sB", Share(mma, "B"), stage=i % 2)
        k.mma("acc", "ta", "tb")
    k.store(D, "acc", at=(m * 64, n * 64))
    return k.build("D[m,n] = sum(k, A[m,k]*B[k,n], f32)")
