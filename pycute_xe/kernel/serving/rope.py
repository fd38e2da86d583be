"""Rotary positions: each half of a head turned by the angles of its token's position."""

from __future__ import annotations

from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.signatures import typed

__all__ = ["rope"]


@typed
def rope(half: int = 64, *, kind: str = "bf16", heads: int = 16) -> Kernel:
    """Return the kernel that turns each head of X by the angles of its token's position.

    X and D (T, H, 2·half) are of ``kind``; ``cos`` and ``sin`` (P, half), of f32, are those of each
    position, and ``positions`` (T) says where a token stands. The first half of a head becomes
    ``a·cos - b·sin``, the second ``b·cos + a·sin``. A work-group has ``heads`` heads of a token.
    C++: vLLM's ``rotary_embedding`` of GPT-NeoX's style.

    >>> print(*rope(64).inputs, sep="; ")
    X[T,H,128] bf16 row-major; cos[P,64] f32 row-major; sin[P,64] f32 row-major; positions[T] s32
    """
    k = KernelBuilder("rope", 1)
    X = k.input("X", kind, ("T", "H", 2 * half))
    tables = [k.input(name, "f32", ("P", half)) for name in ("cos", "sin")]
    k.input("positions", "s32", ("T",))
    D = k.output("D", kind, ("T", "H", 2 * half))
    t, h = k.grid(t="T", h=Tiles("H", heads))
    tile, position = (heads, half), Index.element("positions", t)
    for name, first in (("a", 0), ("b", half)):
        k.load(name, X, tile, at=(t, h * heads, first))
    for name, of in zip(("c", "s"), tables, strict=True):
        k.load(name, of, k.columns("a"), at=(position, 0))
    for name, value, first in (("x", "a*c - b*s", 0), ("y", "b*c + a*s", half)):
        k.map(name, value, "f32")
        k.convert(f"{name}_out", name, kind)
        k.store(D, f"{name}_out", at=(t, h * heads, first))
    c, s = (f"{name}[positions[t],d%{half}]" for name in ("cos", "sin"))
    first = rounded(kind, f"X[t,h,d]*{c} - X[t,h,d+{half}]*{s}")
    second = rounded(kind, f"X[t,h,d]*{c} + X[t,h,d-{half}]*{s}")
    return k.build(f"D[t,h,d] = where(d < {half}, {first}, {second})")
