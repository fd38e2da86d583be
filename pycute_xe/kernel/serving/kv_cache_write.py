"""Keys and values of new tokens written to their slots of a paged cache."""

from __future__ import annotations

from pycute_xe.errors import KernelError
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.kinds.attention_form import CacheOrder
from pycute_xe.kernel.serving.sizes import demand_multiples, in_dword, in_register, sized
from pycute_xe.kernel.spec.tables import Distinct, InRange
from pycute_xe.signatures import typed

__all__ = ["kv_cache_write"]


@typed
@sized()
def kv_cache_write(
    page: int = 16,
    depth: int = 64,
    *,
    cache: CacheOrder = "tokens",
    kind: str = "bf16",
    cache_type: str | None = None,
    by_head: bool = False,
    heads: int = 8,
) -> Kernel:
    """Return the kernel that writes K and V (T, G, depth) to the slots of their tokens.

    Slot ``slots[t]`` is row ``slots[t] % page`` of page ``slots[t] / page`` of ``KC`` and ``VC``,
    (P, page, G, depth), or (P, G, page, depth) with ``cache="heads"``; a token of a negative slot
    is left out, two tokens have no slot in common, and all other slots keep what they hold. With
    ``cache_type`` the cache is of another type, what is written is divided by the scalars
    ``k_scale`` and ``v_scale``, or ``by_head`` by one (G) for each head. A work-group has ``heads``
    heads of a token. Raises `KernelError` for scales by head without ``cache_type``. C++: vLLM's
    ``reshape_and_cache_flash``.

    >>> print(*kv_cache_write(16, 64, cache="heads").outputs, sep="; ")
    KC[P,G,16,64] bf16 row-major; VC[P,G,16,64] bf16 row-major
    """
    if by_head and not cache_type:
        wrong, fix = f"a cache of {kind}, as K and V are, is not scaled", 'use cache_type="s8"'
        raise KernelError("kv_cache_write", {"by_head": by_head}, wrong, fix)
    each = in_dword if cache == "tokens" and heads > 1 else in_register
    demand_multiples("kv_cache_write", each(cache_type or kind), depth=depth)
    k = KernelBuilder("kv_cache_write", 1)
    modes = ("P", page, "G", depth) if cache == "tokens" else ("P", "G", page, depth)
    pairs = [(k.input(x, kind, ("T", "G", depth)), x.lower()) for x in ("K", "V")]
    k.input("slots", "s32", ("T",))
    used = ((Index(None, -1), Index.element("slots", Index("t"))),)
    k.assume(Distinct("slots"), InRange("slots", Index("P") * page, ("t",), used))
    if cache_type:
        for _, name in pairs:
            k.input(f"{name}_scale", "f32", ("G",) if by_head else ())
    caches = [k.inout(f"{x}C", cache_type or kind, modes) for x in ("K", "V")]
    t, g = k.grid(t="T", g=Tiles("G", heads) if cache == "tokens" else "G")
    slot, rows = Index.element("slots", t), heads if cache == "tokens" else 1
    head = g * rows
    at = (slot % page, head) if cache == "tokens" else (head, slot % page)
    with k.when(slot > -1):
        for (source, name), into in zip(pairs, caches, strict=True):
            k.load(name, source, (rows, depth), at=(t, head, 0))
            if cache_type:
                scale = f"{name}_by" if by_head else f"{name}_scale"
                if by_head:
                    k.load(scale, f"{name}_scale", k.rows(name), at=head)
                k.map(f"{name}_of", f"{name} / {scale}", "f32")
                k.convert(f"{name}_in", f"{name}_of", cache_type)
            k.store(into, f"{name}_in" if cache_type else name, at=(slot // page, *at, 0))
    for source, name in pairs:
        value = f"{source.name}[t,g,d]"
        scale = f"{name}_scale" + "[g]" * by_head
        value = f"{cache_type}({value} / {scale})" if cache_type else value
        row = f"slots[t]%{page}"
        place = f"{row},g" if cache == "tokens" else f"g,{row}"
        k.computes(f"{source.name}C[slots[t]/{page},{place},d] = {value}")
    return k.build()
