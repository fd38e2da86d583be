"""Rotary positions: pairs of a head's numbers turned by the angles of its token's position."""

from __future__ import annotations

import numpy as np

from pycute_xe.algebra.compose import index_at
from pycute_xe.bulk import layout_of
from pycute_xe.errors import KernelError
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import ELEMENT_INDEX, Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.statements import Map, Part
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import demand_multiples, in_dword, sized
from pycute_xe.kernel.spec.expression import Slot, Where
from pycute_xe.kernel.spec.tables import InRange
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed

__all__ = ["rope"]

TURNED = (("x", "a*c - b*s"), ("y", "b*c + a*s"))


@typed
@sized(rest=0)
def rope(
    half: int = 64,
    *,
    kind: str = "bf16",
    heads: int = 16,
    interleaved: bool = False,
    rest: int = 0,
) -> Kernel:
    """Return the kernel that turns each head of X by the angles of its token's position.

    X and D (T, H, 2·half + rest) are of ``kind``; ``cos`` and ``sin`` (P, half), of f32, are those
    of each position, and ``positions`` (T) says where a token stands. The first half of a head
    becomes ``a·cos - b·sin``, the second ``b·cos + a·sin``; with ``interleaved`` a and b are the
    even and the odd numbers of a head. The last ``rest`` stay. A work-group has ``heads`` heads of
    a token. Raises `KernelError` where pairs do not fill lanes, or no layout parts their numbers.
    C++: vLLM's ``rotary_embedding`` of GPT-NeoX's style, and of GPT-J's.

    >>> print(*rope(64).inputs, sep="; ")
    X[T,H,128] bf16 row-major; cos[P,64] f32 row-major; sin[P,64] f32 row-major; positions[T] s32
    """
    demand_multiples("rope", in_dword(kind), half=half, rest=rest)
    depth = 2 * half + rest
    k = KernelBuilder("rope", 1)
    X = k.input("X", kind, ("T", "H", depth))
    tables = [k.input(name, "f32", ("P", half)) for name in ("cos", "sin")]
    k.input("positions", "s32", ("T",))
    D = k.output("D", kind, ("T", "H", depth))
    t, h = k.grid(t="T", h=Tiles("H", heads))
    tile, position = (heads, half), Index.element("positions", t)
    if interleaved:
        if heads * half % 16:
            wrong = f"heads * half is {heads * half}, not a multiple of 16"
            raise KernelError("rope", {"half": half, "heads": heads}, wrong, "use heads=16")
        k.load("pairs", X, (heads, 2 * half), at=(t, h * heads, 0))
        for number, name in enumerate("ab"):
            k.fragment(name, kind, heads * half // 16, k.parts(tile, (1, 1)))
            places = k.spread_of(name).places * np.array([1, 2])
            k.add(Part("pairs", name, _elements(k, k.spread_of("pairs").places, places), number))
    else:
        for name, first in (("a", 0), ("b", half)):
            k.load(name, X, tile, at=(t, h * heads, first))
    for name, of in zip(("c", "s"), tables, strict=True):
        k.load(name, of, k.columns("a"), at=(position, 0))
    for number, (name, value) in enumerate(TURNED):
        k.map(name, value, "f32")
        k.convert(f"{name}_out", name, kind)
        if not interleaved:
            k.store(D, f"{name}_out", at=(t, h * heads, half * number))
    if interleaved:
        _together(k, kind)
        k.store(D, "turned", at=(t, h * heads, 0))
    if rest:
        k.load("kept", X, (heads, rest), at=(t, h * heads, 2 * half))
        k.store(D, "kept", at=(t, h * heads, 2 * half))
    k.assume(InRange("positions", Index("P")))
    return k.build(f"D[t,h,d] = {_claimed(half, kind, interleaved, rest)}")


def _claimed(half: int, kind: str, interleaved: bool, rest: int) -> str:
    pair, apart = ("d/2", 1) if interleaved else (f"d%{half}", half)
    c, s = (f"{name}[positions[t],{pair}]" for name in ("cos", "sin"))
    first = rounded(kind, f"X[t,h,d]*{c} - X[t,h,d+{apart}]*{s}")
    second = rounded(kind, f"X[t,h,d]*{c} + X[t,h,d-{apart}]*{s}")
    turned = f"where({'d%2 < 1' if interleaved else f'd < {half}'}, {first}, {second})"
    return f"where(d < {2 * half}, {turned}, X[t,h,d])" if rest else turned


def _elements(k: KernelBuilder, spread: Ints, wanted: Ints) -> Layout:
    """Return the elements of a spread at places of its tile."""
    number = {tuple(place): i for i, place in enumerate(spread.tolist())}
    slots = layout_of([number[tuple(place)] for place in wanted.tolist()])
    if slots is None:
        wrong = "no layout parts even numbers of a head from odd ones"
        raise KernelError(k.name, {"heads": len(spread)}, wrong, "use half=32, or heads=16")
    return Layout(slots.shape, slots.stride)


def _together(k: KernelBuilder, kind: str) -> None:
    """Put what even and odd numbers have become beside one another."""
    spread, slots = k.spread_of("pairs"), k.fragment_of("pairs").slots
    k.fragment("turned", kind, slots, spread)
    gather = _elements(k, k.spread_of("a").places, spread.places // np.array([1, 2]))
    column = index_at(layout_of(spread.places[:, 1].tolist()) or Layout(), Index(ELEMENT_INDEX))
    value = Where(column % 2, Index(None, 1), Slot("x_out"), Slot("y_out"))
    k.add(Map("turned", value, (("x_out", gather), ("y_out", gather))))
