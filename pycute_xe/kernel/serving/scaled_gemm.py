"""Products of narrow types with a scale for each block of K: FP8 as DeepSeek stores it."""

from __future__ import annotations

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.kernel.tiles.spread import Share
from pycute_xe.signatures import typed

__all__ = ["block_scaled_gemm"]


@typed
@sized()
def block_scaled_gemm(
    mma: TiledMma, block: int = 128, *, kind: str = "f8e4m3", d_type: str = "bf16"
) -> Kernel:
    """Return ``D[m,n] = sum(k, sa[k/block,m] * sb[k/block,n/block] * A[m,k] * B[k,n])``.

    A block of K is ``block`` numbers, the last one the rest. A (M, K) has a scale for each row and
    block, in ``sa`` (K/block, M), stored with rows side by side; B (K, N) one for ``block`` rows
    and columns, in ``sb`` (K/block, N/block). Both are of ``kind`` in memory and converted for the
    product; what a block adds up to is scaled in f32. Raises `KernelError` for tiles that a block
    does not hold whole. C++: DeepGEMM's ``gemm_fp8_fp8_bf16_nt``. sycl-tla's
    ``MainloopIntelXeXMX16FP8Scaling`` scales A and B before the product, by (M, K/group) and
    (N, K/group): `from_cutlass` describes it as a `gemm` with two transforms.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "f16"), (64, 64, 32), ((4, 1, 1), (1, 1, 0)))
    >>> print(*block_scaled_gemm(mma).inputs[2:], sep="; ")
    sa[ceil_div(K, 128),M] f32 row-major; sb[ceil_div(K, 128),ceil_div(N, 128)] f32 row-major
    """
    rows, columns, depth = mma.tile_mnk
    if block % depth or block % columns:
        wrong = f"a block of {block} is not a multiple of the tile's {columns} columns and {depth}"
        raise KernelError("block_scaled_gemm", {"mma": mma}, wrong, f"use a tile of {block} x 32")
    k = KernelBuilder("block_scaled_gemm", mma)
    blocks, trips = Tiles("K", block), block // depth
    A, B = k.input("A", kind, ("M", "K")), k.input("B", kind, ("K", "N"))
    sa = k.input("sa", "f32", (blocks, "M"))
    sb = k.input("sb", "f32", (blocks, Tiles("N", block)))
    D = k.output("D", d_type, ("M", "N"))
    m, n = k.grid(m=Tiles("M", rows), n=Tiles("N", columns))
    k.fill("acc", Share(mma, "C"))
    with k.loop("g", 0, blocks) as g:
        k.fill("part", Share(mma, "C"))
        with k.loop("k", 0, trips) as i:
            at = g * block + i * depth
            k.load("a", A, Share(mma, "A"), at=(m * rows, at))
            k.load("b", B, Share(mma, "B"), at=(at, n * columns))
            k.mma("part", "a", "b")
        k.load("by_row", sa, k.rows("acc"), at=(g, m * rows))
        k.load("by_block", sb, k.one("acc"), at=(g, n * columns // block))
        k.map("acc", "acc + part*by_row*by_block")
    k.convert("out", "acc", d_type)
    k.store(D, "out", at=(m * rows, n * columns))
    scales = f"sa[k/{block},m]*sb[k/{block},n/{block}]"
    return k.build(f"D[m,n] = {rounded(d_type, f'sum(k, {scales}*A[m,k]*B[k,n], f32)')}")
