"""Keys of requests gathered from pages of a cache, one request behind the other."""

from __future__ import annotations

from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import demand_multiples, in_dword, sized
from pycute_xe.kernel.spec.tables import AtMost, InRange, Rising
from pycute_xe.signatures import typed

__all__ = ["kv_cache_gather"]


@typed
@sized()
def kv_cache_gather(
    page: int = 16,
    depth: int = 64,
    *,
    kind: str = "bf16",
    cache_type: str | None = None,
    heads: int = 8,
) -> Kernel:
    """Return the kernel that copies the keys of requests out of their pages.

    Request b has ``starts[b+1] - starts[b]`` keys; its i-th is row ``i % page`` of page ``pages[b,
    i/page]`` of KC (P, page, G, depth), and becomes row ``starts[b] + i`` of D (T, G, depth), of
    ``kind``. With ``cache_type`` the cache is of another type, and what is read is multiplied by
    the scalar ``scale``. A work-group has ``heads`` heads of the keys of a page. Raises
    `KernelError` as `KernelBuilder` does. C++: vLLM's ``gather_and_maybe_dequant_cache``.

    >>> print(*kv_cache_gather().outputs)
    D[T,G,64] bf16 row-major
    """
    demand_multiples("kv_cache_gather", in_dword(cache_type or kind), depth=depth)
    k = KernelBuilder("kv_cache_gather", 1)
    cache = k.input("KC", cache_type or kind, ("P", page, "G", depth))
    k.input("starts", "s32", (Index("U", 1),))
    k.input("pages", "s32", ("U", "S"))
    if cache_type:
        k.input("scale", "f32")
    D = k.output("D", kind, ("T", "G", depth))
    b, s, g = k.grid(b="U", s="S", g=Tiles("G", heads))
    first = Index.element("starts", b)
    count = Index.element("starts", b + 1) - first
    used = ((Index("s") * page, count),)
    k.assume(Rising("starts", Index("T")), InRange("pages", Index("P"), ("b", "s"), used))
    k.assume(AtMost(count, Index("S") * page, (("b", Index("U")),)))
    with k.loop("i", 0, page) as i, k.when(s * page + i < count):
        k.load("x", cache, (heads, depth), at=(Index.element("pages", b, s), i, g * heads, 0))
        if cache_type:
            k.map("y", "x*scale", "f32")
            k.convert("out", "y", kind)
        k.store(D, "out" if cache_type else "x", at=(first + s * page + i, g * heads, 0))
    value = f"KC[pages[b,i/{page}],i%{page},g,d]"
    value = rounded(kind, f"{value}*scale") if cache_type else value
    return k.build(f"D[starts[b]+i,g,d] = {value} for b < U, i < starts[b+1]-starts[b]")
