"""Latent keys of new tokens, and what is turned by positions, written to slots of a cache."""

from __future__ import annotations

from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import demand_multiples, in_register, sized
from pycute_xe.kernel.spec.tables import Distinct, InRange
from pycute_xe.signatures import typed

__all__ = ["mla_cache_write"]


@typed
@sized()
def mla_cache_write(
    page: int = 16,
    latent: int = 512,
    rotary: int = 64,
    *,
    kind: str = "bf16",
    cache_type: str | None = None,
) -> Kernel:
    """Return the kernel that writes C (T, latent) and R (T, rotary) to the slots of their tokens.

    Slot ``slots[t]`` is row ``slots[t] % page`` of page ``slots[t] / page`` of ``KC`` (P, page,
    latent + rotary), as MLA reads it: what values are of comes first, then what is turned by the
    position. A token of a negative slot is left out, two tokens have no slot in common. With
    ``cache_type`` the cache is of another type, what is written is divided by the scalar ``scale``.
    Raises `KernelError` as `KernelBuilder` does. C++: vLLM's ``concat_and_cache_mla``.

    >>> print(*mla_cache_write().outputs)
    KC[P,16,576] bf16 row-major
    """
    each = in_register(cache_type or kind)
    demand_multiples("mla_cache_write", each, latent=latent, rotary=rotary)
    k = KernelBuilder("mla_cache_write", 1)
    parts = [(k.input("C", kind, ("T", latent)), 0), (k.input("R", kind, ("T", rotary)), latent)]
    k.input("slots", "s32", ("T",))
    if cache_type:
        k.input("scale", "f32")
    cache = k.inout("KC", cache_type or kind, ("P", page, latent + rotary))
    used = ((Index(None, -1), Index.element("slots", Index("t"))),)
    k.assume(Distinct("slots"), InRange("slots", Index("P") * page, ("t",), used))
    (t,) = k.grid(t="T")
    slot = Index.element("slots", t)
    with k.when(slot > -1):
        for operand, first in parts:
            name = operand.name.lower()
            k.load(name, operand, (1, latent if first == 0 else rotary), at=(t, 0))
            if cache_type:
                k.map(f"{name}_of", f"{name} / scale", "f32")
                k.convert(f"{name}_in", f"{name}_of", cache_type)
            k.store(
                cache, f"{name}_in" if cache_type else name, at=(slot // page, slot % page, first)
            )
    written = [_written(x, cache_type) for x in ("C[t,d]", f"R[t,d-{latent}]")]
    value = f"where(d < {latent}, {written[0]}, {written[1]})"
    places = f"for t < T, d < {latent + rotary}"
    return k.build(f"KC[slots[t]/{page},slots[t]%{page},d] = {value} {places}")


def _written(value: str, kind: str | None) -> str:
    return rounded(kind, f"{value} / scale") if kind else value
