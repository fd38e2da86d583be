"""Tiles dealt out by a counter: a work-group takes a ticket for each, until all are taken."""

from __future__ import annotations

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.schedules.dealt_tiles import dealt_tiles
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.kernel.tiles.spread import Share
from pycute_xe.signatures import typed

__all__ = ["dealt_gemm", "dealt_tiles"]


@typed
@sized()
def dealt_gemm(
    mma: TiledMma, across: int = 1, *, kind: str = "bf16", d_type: str = "f32"
) -> Kernel:
    """Return the GEMM whose U work-groups take tiles from a counter until all are taken.

    D (M, N) = A B with N of ``across`` tiles; ticket i is tile (i / across, i % across). Which
    work-group computes a tile is decided in a run. ``counter`` begins with 0, as scratch does, and
    ``tickets`` (U) keeps the one that a work-group holds. Raises `KernelError` as `KernelBuilder`
    does. C++: a dynamic persistent tile scheduler; vLLM's and SGLang's persistent kernels.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 1, 1), (1, 1, 0)))
    >>> print(*(f"{name} < {count}" for name, count in dealt_tiles(dealt_gemm(mma)).grid))
    tickets < ceil_div(M, 32)
    """
    rows, columns, depth = mma.tile_mnk
    k = KernelBuilder("dealt_gemm", mma)
    A, B = k.input("A", kind, ("M", "K")), k.input("B", kind, ("K", columns * across))
    D = k.output("D", d_type, ("M", columns * across))
    counter = k.operand("counter", "s32", (1,), "scratch")
    tickets = k.operand("tickets", "s32", ("U",), "scratch")
    count = Tiles("M", rows) * across
    (u,) = k.grid(u="U")
    with k.loop("i", 0, count):
        ticket = k.ticket(counter, 0, tickets, u)
        with k.when(ticket < count):
            m, n = ticket // across * rows, ticket % across * columns
            k.fill("acc", Share(mma, "C"))
            with k.loop("k", 0, Tiles("K", depth)) as j:
                k.load("a", A, Share(mma, "A"), at=(m, j * depth))
                k.load("b", B, Share(mma, "B"), at=(j * depth, n))
                k.mma("acc", "a", "b")
            k.convert("out", "acc", d_type)
            k.store(D, "out", at=(m, n))
    return k.build(f"D[m,n] = {rounded(d_type, 'sum(k, A[m,k]*B[k,n], f32)')}")
