"""Floor 3: other widths of an element: they move the bits of a swizzle."""

from __future__ import annotations

from math import gcd
from typing import Any, overload

from pycute_xe.algebra import recast
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import DivisibilityError
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle

__all__ = [
    "downcast",
    "recast_layout",
    "upcast",
]


@overload
def upcast(layout: ComposedLayout, n: int) -> ComposedLayout: ...
@overload
def upcast(layout: Layout, n: int) -> Layout: ...
def upcast(layout: Any, n: int) -> Any:
    """Return the layout in units ``n`` times as wide, plain or swizzled.

    Law: with ``U = upcast(X, n)``: ``U`` of a wide coordinate is ``X // n`` of each element of that
    unit. A swizzle loses the bits that only exchange elements inside a unit, as in C++: where
    ``n`` exceeds its base those elements change places, and the unit holds them in another order.
    Raises `DivisibilityError` where a unit would be torn, as by an ``n`` that is not a power of
    two, an offset that is not a multiple of ``n``, or a negative shift that reads bits of the
    unit; as `pycute_xe.algebra.recast` otherwise. C++: ``upcast<N>``.

    >>> print(upcast(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1))), 4))
    Sw<3,1,3> o 0 o (8,16):(16,1)
    """
    if type(layout) is not ComposedLayout:
        return recast.upcast(layout, n)
    inner = recast.upcast(layout.layout, n)
    if layout.offset % n:
        raise _torn("upcast", layout, n, f"the offset {layout.offset} is not a multiple of {n}")
    return ComposedLayout(_wider(layout, n), layout.offset // n, inner)


def _wider(layout: ComposedLayout, n: int) -> Swizzle:
    swizzle = layout.swizzle
    if swizzle.bits == 0:
        return swizzle
    base = swizzle.base - _log2("upcast", layout, n)
    if base >= 0:
        return Swizzle(swizzle.bits, base, swizzle.shift)
    # A bit below the unit may be read only to change bits that are below it too.
    if swizzle.shift < 0 and n <= swizzle.zzz_mask:
        raise _torn("upcast", layout, n, f"the swizzle tears units of {n} apart")
    return Swizzle(max(swizzle.bits + base, 0), 0, swizzle.shift)


@overload
def downcast(layout: ComposedLayout, n: int) -> ComposedLayout: ...
@overload
def downcast(layout: Layout, n: int) -> Layout: ...
def downcast(layout: Any, n: int) -> Any:
    """Return the layout in units ``n`` times as narrow, plain or swizzled.

    Law: ``upcast(downcast(X, n), n) == X``. Raises `DivisibilityError` for a swizzle where ``n``
        is not a power of two; as `pycute_xe.algebra.recast` otherwise. C++: ``downcast<N>``.

    >>> print(downcast(ComposedLayout(Swizzle(1, 2, 1), 0, Layout((8, 32))), 4))
    Sw<1,4,1> o 0 o (32,32):(1,32)
    """
    if type(layout) is not ComposedLayout:
        return recast.downcast(layout, n)
    inner = recast.downcast(layout.layout, n)
    swizzle = layout.swizzle
    if swizzle.bits:
        base = swizzle.base + _log2("downcast", layout, n)
        swizzle = Swizzle(swizzle.bits, base, swizzle.shift)
    return ComposedLayout(swizzle, layout.offset * n, inner)


def _log2(operation: str, layout: ComposedLayout, n: int) -> int:
    if n & (n - 1):
        raise _torn(operation, layout, n, f"{n} is not a power of two, as a swizzle needs")
    return n.bit_length() - 1


def _torn(operation: str, layout: ComposedLayout, n: int, condition: str) -> DivisibilityError:
    return DivisibilityError(
        operation,
        {"layout": layout, "n": n},
        condition,
        "use a power of two that divides the offset, at most 2**base for a negative shift",
    )


@overload
def recast_layout(layout: ComposedLayout, old_bits: int, new_bits: int) -> ComposedLayout: ...
@overload
def recast_layout(layout: Layout, old_bits: int, new_bits: int) -> Layout: ...
@typed
def recast_layout(layout: Any, old_bits: int, new_bits: int) -> Any:
    """Return a layout of ``old_bits`` elements in units of ``new_bits``, plain or swizzled.

    Law: `downcast` to the common width, then `upcast`. Raises as those do, and `ShapeError` for
    widths below 1. C++: ``recast_layout``.

    >>> X = ComposedLayout(Swizzle(2, 4, 3), 0, Layout((8, 64), (64, 1)))
    >>> print(recast_layout(X, 8, 32))
    Sw<2,2,3> o 0 o (8,16):(16,1)
    """
    if type(layout) is not ComposedLayout:
        return recast.recast_layout(layout, old_bits, new_bits)
    if old_bits < 1 or new_bits < 1:
        recast.recast_layout(layout.layout, old_bits, new_bits)  # refuses
    shared = gcd(old_bits, new_bits)
    narrow = downcast(layout, old_bits // shared) if old_bits != shared else layout
    return upcast(narrow, new_bits // shared) if new_bits != shared else narrow
