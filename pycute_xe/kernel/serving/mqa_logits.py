"""Logits of an indexer: how much each key matters to each query, over heads that share keys."""

from __future__ import annotations

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.kernel.tiles.spread import Share
from pycute_xe.signatures import typed

__all__ = ["mqa_logits"]


@typed
@sized()
def mqa_logits(mma: TiledMma, heads: int = 64, *, kind: str = "f8e4m3") -> Kernel:
    """Return ``L[m,n] = ks[n] * sum(h, w[h,m] * relu(sum(d, Q[h,m,d] * K[d,n])))``.

    Q (heads, M, D) and K (D, N), which all heads share and which lies key by key, are of ``kind``
    in memory; ``w`` (heads, M) weighs a head of a query, ``ks`` (N) is the scale of a key. Raises
    `KernelError` as `KernelBuilder` does. C++: DeepGEMM's ``fp8_mqa_logits``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "f16"), (64, 64, 32), ((4, 1, 1), (1, 1, 0)))
    >>> print(*mqa_logits(mma, 4).inputs, sep="; ")
    Q[4,M,D] f8e4m3 row-major; K[D,N] f8e4m3 column-major; w[4,M] f32 row-major; ks[N] f32
    """
    rows, columns, depth = mma.tile_mnk
    k = KernelBuilder("mqa_logits", mma)
    Q = k.input("Q", kind, (heads, "M", "D"))
    K = k.input("K", kind, ("D", "N"), "col")
    w, ks = k.input("w", "f32", (heads, "M")), k.input("ks", "f32", ("N",))
    L = k.output("L", "f32", ("M", "N"))
    m, n = k.grid(m=Tiles("M", rows), n=Tiles("N", columns))
    k.fill("acc", Share(mma, "C"))
    with k.loop("h", 0, heads) as h:
        k.fill("score", Share(mma, "C"))
        with k.loop("d", 0, Tiles("D", depth)) as d:
            k.load("q", Q, Share(mma, "A"), at=(h, m * rows, d * depth))
            k.load("k", K, Share(mma, "B"), at=(d * depth, n * columns))
            k.mma("score", "q", "k")
        k.load("weight", w, k.rows("acc"), at=(h, m * rows))
        k.map("acc", "acc + weight*relu(score)")
    k.load("scale", ks, k.columns("acc"), at=n * columns)
    k.map("out", "acc*scale")
    k.store(L, "out", at=(m * rows, n * columns))
    return k.build("L[m,n] = ks[n]*sum(h, w[h,m]*relu(sum(d, Q[h,m,d]*K[d,n], f32)))")
