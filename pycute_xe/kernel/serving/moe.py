"""The products of a mixture of experts: runs of rows, each by the weights of its expert."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.ragged import store_rows
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.kernel.spec.tables import AtMost, Rising, Runs
from pycute_xe.kernel.tiles.spread import Share
from pycute_xe.numeric import as_numeric
from pycute_xe.signatures import typed

__all__ = ["RunsBy", "Scaled", "moe_gemm"]

RunsBy = Literal["starts", "counts", "blocks"]
"""How runs of rows are said: where each begins, how long each is, or the expert of each tile."""
Scaled = Literal["weights", "tokens", "blocks"]
"""What has scales: weights by groups of K, tokens beside them, or both by blocks."""


@typed
@sized(group=None)
def moe_gemm(
    mma: TiledMma,
    *,
    runs: RunsBy = "starts",
    gated: bool = False,
    kind: str = "bf16",
    weights: str | None = None,
    scaled: Scaled | None = None,
    group: int = 128,
    d_type: str = "bf16",
) -> Kernel:
    """Return the kernel ``D[t,n] = sum(k, A[t,k] * B[e,k,n])`` where e is the expert of row t.

    Rows of A (T, K) are sorted by expert, B is (E, K, N). ``runs="starts"``: rows ``starts[e]`` to
    ``starts[e+1]`` are expert e's, and ``longest`` is the most that one has. ``"counts"``: each has
    ``counts[e]`` rows at ``offsets[e]``; other rows of D are left alone. Neither pads: only rows of
    a run are stored. ``"blocks"``: runs are padded to tiles, and ``experts[i]`` is the expert of
    tile i, or negative for a tile of which this device has no expert, and which becomes 0.
    ``gated``: B is (E, K, 2·N), gate beside up, and D is ``silu(gate) * up``; of 4 bits B is (E, 2,
    K, N). A is of ``kind`` and B of ``weights`` in memory, by default of the same, converted for
    the product.

    ``scaled``: what ``group`` numbers of K add up to is scaled in f32. "weights": by ``sb`` (E,
    K/group, N), as 4-bit weights are. "tokens": by ``sa`` (T), too. "blocks": by ``sa`` (K/group,
    T) and by ``sb`` (E, K/group, N/group), a number for a block of weights; of gate and up, blocks
    are counted apart. Raises `KernelError` for groups that a tile does not divide, and as
    `KernelBuilder` does. C++: vLLM's ``fused_moe``, SGLang's ``ep_moe``, sycl-tla's example 12.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 1, 1), (1, 1, 0)))
    >>> print(*moe_gemm(mma, gated=True).inputs, sep="; ")
    A[T,K] bf16 row-major; B[E,K,2*N] bf16 row-major; starts[E+1] s32; longest s32 (one number)
    """
    m = _Experts(mma, runs, gated, kind, weights or kind, _Scales(scaled, group))
    k, (rows, columns, _) = m.k, mma.tile_mnk
    D = k.output("D", d_type, ("T", "N"))
    with m.tile() as (expert, first, count):
        for i in range(1 + gated):
            k.fill(f"acc{i}", Share(mma, "C"), numeric="f32" if scaled else None)
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


@dataclass(frozen=True)
class _Scales:
    """What is scaled, and how many numbers of K a scale is of."""

    of: Scaled | None
    group: int

    def declare(self, k: KernelBuilder, mma: TiledMma, gated: bool) -> None:
        """Declare the operands. Raises `KernelError` for groups that a tile does not divide."""
        if self.of is None:
            return
        _, columns, depth = mma.tile_mnk
        if self.group < 1 or self.group % depth or (self.of == "blocks" and self.group % columns):
            wrong = f"a group of {self.group} is not a multiple of the tile's {depth} deep"
            wrong += f" and {columns} wide" if self.of == "blocks" else ""
            fix = f"use group={max(depth, columns if self.of == 'blocks' else 0)}"
            raise KernelError("moe_gemm", {"mma": mma, "group": self.group}, wrong, fix)
        groups, wide = Tiles("K", self.group), Index("N")
        match self.of:
            case "weights":
                pass
            case "tokens":
                k.input("sa", "f32", ("T",))
            case "blocks":
                k.input("sa", "f32", (groups, "T"))
                wide = Tiles("N", self.group)
        k.input("sb", "f32", ("E", groups, wide * (1 + gated)))

    def load(self, k: KernelBuilder, at: tuple[Index, Index, Index, Index], acc: str) -> str:
        """Load the scales of a part, and return what it is multiplied by."""
        expert, first, g, column = at
        match self.of:
            case None:
                return "1"
            case "weights" | "tokens":
                k.load(f"{acc}_sb", "sb", k.columns(acc), at=(expert, g, column))
            case "blocks":
                k.load(f"{acc}_sb", "sb", k.one(acc), at=(expert, g, column))
                k.load(f"{acc}_sa", "sa", k.rows(acc), at=(g, first))
                return f"{acc}_sa*{acc}_sb"
        if self.of == "weights":
            return f"{acc}_sb"
        k.load(f"{acc}_sa", "sa", k.rows(acc), at=first)
        return f"{acc}_sa*{acc}_sb"

    def column(self, i: int, n: Index, columns: int) -> Index:
        """Return where the scales of a tile of columns begin."""
        if self.of == "blocks":
            return Tiles("N", self.group) * i + n * columns // self.group
        return Index("N") * i + n * columns

    def claim(self, row: str, expert: str, second: bool) -> str:
        """Return what an element of the product is claimed to be multiplied by."""
        k = f"k/{self.group}"
        match self.of:
            case None:
                return ""
            case "weights":
                return f"sb[{expert},{k},n{'+N' * second}]*"
            case "tokens":
                return f"sa[{row}]*sb[{expert},{k},n{'+N' * second}]*"
            case "blocks":
                up = f"+ceil_div(N, {self.group})" * second
                return f"sa[{k},{row}]*sb[{expert},{k},n/{self.group}{up}]*"


class _Experts:
    """The operands, the grid, and the products of a tile."""

    def __init__(
        self, mma: TiledMma, runs: RunsBy, gated: bool, kind: str, weights: str, scales: _Scales
    ) -> None:
        """Declare the operands and the grid."""
        self.mma, self.runs, self.gated, self.scales = mma, runs, gated, scales
        self.k = k = KernelBuilder("moe_gemm", mma)
        self.A = k.input("A", kind, ("T", "K"))
        # Where elements share bytes, those of up begin at a byte of their own.
        self.apart = gated and as_numeric(weights).bits < 8
        matrix = (2, "K", "N") if self.apart else ("K", Index("N") * (1 + gated))
        self.B = k.input("B", weights, ("E", *matrix))
        scales.declare(k, mma, gated)
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
        """Write the loop over K, or one over groups of it whose products are scaled."""
        k, depth, scales = self.k, self.mma.tile_mnk[2], self.scales
        if scales.of is None:
            with k.loop("k", 0, Tiles("K", depth)) as j:
                self._product("acc", expert, first, j * depth)
            return
        with k.loop("g", 0, Tiles("K", scales.group)) as g:
            for i in range(1 + self.gated):
                k.fill(f"part{i}", Share(self.mma, "C"))
            with k.loop("k", 0, scales.group // depth) as j:
                self._product("part", expert, first, g * scales.group + j * depth)
            for i in range(1 + self.gated):
                column = scales.column(i, self.n, self.mma.tile_mnk[1])
                by = scales.load(k, (expert, first, g, column), f"acc{i}")
                k.map(f"acc{i}", f"acc{i} + part{i}*{by}", "f32")

    def _product(self, into: str, expert: Index, first: Index, k0: Index) -> None:
        """Multiply a tile of rows by those of gate and up."""
        k, mma, columns = self.k, self.mma, self.mma.tile_mnk[1]
        k.load("a", self.A, Share(mma, "A"), at=(first, k0))
        for i in range(1 + self.gated):
            column = self.n * columns
            at = (i, k0, column) if self.apart else (k0, Index("N") * i + column)
            k.load(f"b{i}", self.B, Share(mma, "B"), at=(expert, *at))
            k.mma(f"{into}{i}", "a", f"b{i}")

    def claim(self, d_type: str) -> str:
        """Return what is claimed of D."""
        rows = self.mma.tile_mnk[0]
        expert = f"experts[t/{rows}]" if self.runs == "blocks" else "e"
        row = "offsets[e]+i" if self.runs == "counts" else "t"
        products: list[str] = []
        for up in (False, True):
            at = f"{int(up)},k,n" if self.apart else f"k,n{'+N' * up}"
            pair = f"A[{row},k]*B[{expert},{at}]"
            products.append(f"sum(k, {self.scales.claim(row, expert, up)}{pair}, f32)")
        product = f"silu({products[0]})*{products[1]}" if self.gated else products[0]
        if self.runs == "blocks":
            return f"D[t,n] = where({expert} >= 0, {rounded(d_type, product)}, 0)"
        if self.runs == "counts":
            return f"D[{row},n] = {rounded(d_type, product)} for e < E, i < counts[e]"
        mine = f"where(starts[e] <= t, where(t < starts[e+1], {product}, 0), 0)"
        return f"D[t,n] = {rounded(d_type, f'sum(e < E, {mine})')}"
