"""The products of a mixture of experts: runs of rows, each by the weights of its expert."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.ragged import store_rows
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.spec.tables import AtMost, Rising, Runs
from pycute_xe.kernel.tiles.spread import Share
from pycute_xe.signatures import typed

__all__ = ["moe_gemm"]

RunsBy = Literal["starts", "counts", "blocks"]
"""How runs of rows are said: where each begins, how long each is, or the expert of each tile."""


@typed
def moe_gemm(
    mma: TiledMma,
    *,
    runs: RunsBy = "starts",
    gated: bool = False,
    kind: str = "bf16",
    d_type: str = "bf16",
) -> Kernel:
    """Return the kernel ``D[t,n] = sum(k, A[t,k] * B[e,k,n])`` where e is the expert of row t.

    Rows of A (T, K) are sorted by expert, B is (E, K, N). ``runs="starts"``: rows ``starts[e]`` to
    ``starts[e+1]`` are expert e's, and ``longest`` is the most that one has. ``"counts"``: each has
    ``counts[e]`` rows at ``offsets[e]``; other rows of D are left alone. Neither pads: only rows of
    a run are stored. ``"blocks"``:
    runs are padded to tiles, and ``experts[i]`` is the expert of tile i, or negative for a tile of
    which this device has no expert, and which becomes 0. ``gated``: B is (E, K, 2·N), gate beside
    up, and D is ``silu(gate) * up``. A and B are of ``kind``. Raises `KernelError` as
    `KernelBuilder` does. C++: vLLM's ``fused_moe``, SGLang's ``ep_moe``, sycl-tla's example 12.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 1, 1), (1, 1, 0)))
    >>> print(*moe_gemm(mma, gated=True).inputs, sep="; ")
    A[T,K] bf16 row-major; B[E,K,2*N] bf16 row-major; starts[E+1] s32; longest s32 (one number)
    """
    m = _Experts(mma, runs, gated, kind)
    k, (rows, columns, _) = m.k, mma.tile_mnk
    D = k.output("D", d_type, ("T", "N"))
    with m.tile() as (expert, first, count):
        for i in range(1 + gated):
            k.fill(f"acc{i}", Share(mma, "C"))
        if runs == "blocks":
            with k.when(expert > -1):
                m.multiply(expert, first)
        else:
            m.multiply(expert, first)
        if gated:
            k.map("acc0", "silu(acc0) * acc1")
        k.convert("out", "acc0", d_type)
        if count is None:
            k.store(D, "out", at=(first, m.n * columns))
        else:
            left = count - m.m * rows
            store_rows(k, D, "out", (first, m.n * columns), left)
    return k.build(m.claim(d_type))


class _Experts:
    """The operands, the grid, and the products of a tile."""

    def __init__(self, mma: TiledMma, runs: RunsBy, gated: bool, kind: str) -> None:
        """Declare the operands and the grid."""
        self.mma, self.runs, self.gated = mma, runs, gated
        self.k = k = KernelBuilder("moe_gemm", mma)
        self.A = k.input("A", kind, ("T", "K"))
        self.B = k.input("B", kind, ("E", "K", Index("N") * (1 + gated)))
        rows, columns, _ = mma.tile_mnk
        count = Tiles("T", rows)
        if runs == "blocks":
            k.input("experts", "s32", (count,))
            k.assume(AtMost(Index.element("experts", Index("i")), Index("E") - 1, (("i", count),)))
            self.m, self.n = k.grid(m=count, n=Tiles("N", columns))
            return
        for name in ("counts", "offsets") if runs == "counts" else ("starts",):
            k.input(name, "s32", ("E" if runs == "counts" else Index("E", 1),))
        k.input("longest", "s32")
        _, run = self._run(Index("i"))
        k.assume(AtMost(run, Index.element("longest"), (("i", Index("E")),)))
        k.assume(
            Rising("starts", Index("T"))
            if runs == "starts"
            else Runs("offsets", "counts", Index("T"))
        )
        tiles = (Index.element("longest") + (rows - 1)) // rows
        self.e, self.m, self.n = k.grid(e="E", m=tiles, n=Tiles("N", columns))

    @contextmanager
    def tile(self) -> Generator[tuple[Index, Index, Index | None]]:
        """Give the expert of the tile at hand, its first row, and how many rows its run has."""
        here = self.m * self.mma.tile_mnk[0]
        if self.runs == "blocks":
            yield Index.element("experts", self.m), here, None
            return
        first, count = self._run(self.e)
        with self.k.when(here < count):
            yield self.e, first + here, count

    def _run(self, e: Index) -> tuple[Index, Index]:
        if self.runs == "counts":
            return Index.element("offsets", e), Index.element("counts", e)
        first = Index.element("starts", e)
        return first, Index.element("starts", e + 1) - first

    def multiply(self, expert: Index, first: Index) -> None:
        """Write the loop over K."""
        k, mma, (_, columns, depth) = self.k, self.mma, self.mma.tile_mnk
        with k.loop("k", 0, Tiles("K", depth)) as j:
            k.load("a", self.A, Share(mma, "A"), at=(first, j * depth))
            for i in range(1 + self.gated):
                at = (expert, j * depth, Index("N") * i + self.n * columns)
                k.load(f"b{i}", self.B, Share(mma, "B"), at=at)
                k.mma(f"acc{i}", "a", f"b{i}")

    def claim(self, d_type: str) -> str:
        """Return what is claimed of D."""
        rows = self.mma.tile_mnk[0]
        expert = f"experts[t/{rows}]" if self.runs == "blocks" else "e"
        row = "offsets[e]+i" if self.runs == "counts" else "t"
        product = f"sum(k, A[{row},k]*B[{expert},k,n], f32)"
        if self.gated:
            product = f"silu({product})*{product.replace(',n]', ',n+N]')}"
        if self.runs == "blocks":
            return f"D[t,n] = where({expert} >= 0, {rounded(d_type, product)}, 0)"
        if self.runs == "counts":
            return f"D[{row},n] = {rounded(d_type, product)} for e < E, i < counts[e]"
        mine = f"where(starts[e] <= t, where(t < starts[e+1], {product}, 0), 0)"
        return f"D[t,n] = {rounded(d_type, f'sum(e < E, {mine})')}"
