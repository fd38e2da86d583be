"""Rows that tokens name: an embedding, of which a device may have a part."""

from __future__ import annotations

from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.sizes import demand_multiples, in_register, sized
from pycute_xe.signatures import typed

__all__ = ["embedding"]


@typed
@sized()
def embedding(*, kind: str = "bf16", width: int = 64) -> Kernel:
    """Return the kernel ``D[t,c] = W[ids[t] - first, c]``, or 0 where that is outside W.

    W (V, C) and D (T, C) are of ``kind``; the scalar ``first`` is the number of W's first row, so
    that a token of another device becomes 0. A work-group has ``width`` columns of a token. Raises
    `KernelError` for a width that does not fill a register. C++: vLLM's ``VocabParallelEmbedding``.

    >>> print(*embedding().inputs, sep="; ")
    W[V,C] bf16 row-major; ids[T] s32; first s32 (one number)
    """
    demand_multiples("embedding", in_register(kind), width=width)
    k = KernelBuilder("embedding", 1)
    W = k.input("W", kind, ("V", "C"))
    k.input("ids", "s32", ("T",))
    k.input("first", "s32")
    D = k.output("D", kind, ("T", "C"))
    t, c = k.grid(t="T", c=Tiles("C", width))
    row = Index.element("ids", t) - Index.element("first")
    k.fill("x", k.parts((1, width), (1, 1)), numeric=kind)
    with k.when(row > -1), k.when(row < Index("V")):
        k.load("x", W, k.spread_of("x"), at=(row, c * width))
    k.store(D, "x", at=(t, c * width))
    mine = "where(ids[t] < first + V, W[ids[t]-first,c], 0)"
    return k.build(f"D[t,c] = where(first <= ids[t], {mine}, 0)")
