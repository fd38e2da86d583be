"""A convolution as a product: what a filter meets is loaded where it lies, nothing is unrolled."""

from __future__ import annotations

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.kernel.tiles.spread import Share
from pycute_xe.signatures import typed

__all__ = ["convolution"]


@typed
@sized()
def convolution(
    mma: TiledMma, filter: tuple[int, int] = (3, 3), *, kind: str = "bf16", d_type: str = "f32"
) -> Kernel:
    """Return ``D[b,p,q,n] = sum(r, sum(s, sum(c, X[b,p+r,q+s,c] * W[r,s,c,n])))``.

    X (B, P+R-1, Q+S-1, C) with channels innermost, W (R, S, C, N), D (B, P, Q, N); ``filter`` is
    (R, S), the stride 1, and what surrounds an image is part of X. M of the tile runs along Q, one
    row of an image to a work-group: a product of P·Q rows, implicitly. Raises `KernelError` as
    `KernelBuilder` does. C++: CUTLASS's implicit GEMM ``conv2d_fprop``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    >>> print(*convolution(mma).inputs, sep="; ")
    X[B,P+2,Q+2,C] bf16 row-major; W[3,3,C,N] bf16 row-major
    """
    (rows, columns, depth), (down, across) = mma.tile_mnk, filter
    k = KernelBuilder("convolution", mma)
    X = k.input("X", kind, ("B", Index("P", down - 1), Index("Q", across - 1), "C"))
    W = k.input("W", kind, (down, across, "C", "N"))
    D = k.output("D", d_type, ("B", "P", "Q", "N"))
    b, p, q, n = k.grid(b="B", p="P", q=Tiles("Q", rows), n=Tiles("N", columns))
    k.fill("acc", Share(mma, "C"))
    with (
        k.loop("r", 0, down) as r,
        k.loop("s", 0, across) as s,
        k.loop("c", 0, Tiles("C", depth)) as c,
    ):
        k.load("x", X, Share(mma, "A"), at=(b, p + r, q * rows + s, c * depth))
        k.load("w", W, Share(mma, "B"), at=(r, s, c * depth, n * columns))
        k.mma("acc", "x", "w")
    k.convert("out", "acc", d_type)
    k.store(D, "out", at=(b, p, q * rows, n * columns))
    value = f"sum(r < {down}, sum(s < {across}, sum(c, X[b,p+r,q+s,c]*W[r,s,c,n], f32), f32), f32)"
    return k.build(f"D[b,p,q,n] = {rounded(d_type, value)}")
