"""Adapters of many requests: runs of rows, each by the narrow matrices of its adapter."""

from __future__ import annotations

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.ragged import store_rows
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.spec.tables import AtMost, Rising
from pycute_xe.kernel.tiles.spread import Share
from pycute_xe.signatures import typed

__all__ = ["sgmv"]


@typed
def sgmv(
    mma: TiledMma, *, expands: bool = False, kind: str = "bf16", d_type: str | None = None
) -> Kernel:
    """Return the kernel ``D[t,n] = sum(k, X[t,k] * W[adapters[s],k,n])`` where s is row t's run.

    Rows ``starts[s]`` to ``starts[s+1]`` of X (T, K) are run s, at most ``longest`` of them, and W
    (L, K, N) are the matrices of adapters; a run of a negative adapter has none, and adds 0. One
    call shrinks to the rank of adapters, D being of f32, the next one ``expands`` it: D is then
    what Y (T, N) of ``kind`` has and the product, of ``kind`` as well. X and W are of ``kind``.
    Raises `KernelError` as `KernelBuilder` does. C++: Punica's ``sgmv``; vLLM's ``lora_shrink`` and
    ``lora_expand``, SGLang's ``sgemm_lora_a``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (32, 16, 32), ((2, 1, 1), (1, 1, 0)))
    >>> print(*sgmv(mma, expands=True).inputs[:3], sep="; ")
    X[T,K] bf16 row-major; W[L,K,N] bf16 row-major; Y[T,N] bf16 row-major
    """
    k, (rows, columns, depth) = KernelBuilder("sgmv", mma), mma.tile_mnk
    to = d_type or (kind if expands else "f32")
    X, W = k.input("X", kind, ("T", "K")), k.input("W", kind, ("L", "K", "N"))
    Y = k.input("Y", kind, ("T", "N")) if expands else None
    k.input("starts", "s32", (Index("E", 1),))
    k.input("adapters", "s32", ("E",))
    longest = Index.element(k.input("longest", "s32").name)
    D = k.output("D", to, ("T", "N"))
    i, every = Index("i"), (("i", Index("E")),)
    run = Index.element("starts", i + 1) - Index.element("starts", i)
    k.assume(AtMost(run, longest, every), Rising("starts", Index("T")))
    k.assume(AtMost(Index.element("adapters", i), Index("L") - 1, every))
    s, m, n = k.grid(s="E", m=(longest + (rows - 1)) // rows, n=Tiles("N", columns))
    begun, adapter = Index.element("starts", s), Index.element("adapters", s)
    left = Index.element("starts", s + 1) - begun - m * rows
    first, column = begun + m * rows, n * columns
    with k.when(Index() < left):
        k.fill("acc", Share(mma, "C"))
        with k.when(adapter > -1), k.loop("k", 0, Tiles("K", depth)) as j:
            k.load("x", X, Share(mma, "A"), at=(first, j * depth))
            k.load("w", W, Share(mma, "B"), at=(adapter, j * depth, column))
            k.mma("acc", "x", "w")
        if Y is not None:
            k.load("y", Y, k.spread_of("acc"), at=(first, column))
            k.map("acc", "acc + y", "f32")
        k.convert("out", "acc", to)
        store_rows(k, D, "out", (first, column), left)
    product = "where(adapters[s] >= 0, sum(k, X[t,k]*W[adapters[s],k,n], f32), 0)"
    mine = f"sum(s < E, where(starts[s] <= t, where(t < starts[s+1], {product}, 0), 0))"
    return k.build(f"D[t,n] = {rounded(to, f'{mine} + Y[t,n]' if expands else mine)}")
