"""Floor 3: what is contiguous in two layouts, swizzled ones among them."""

from __future__ import annotations

from math import gcd
from typing import Any

from pycute_xe import layout as plain
from pycute_xe.algebra import common, compose
from pycute_xe.composed import ComposedLayout
from pycute_xe.layout import Layout
from pycute_xe.unknown import at_most

__all__ = [
    "max_common_layout",
    "max_common_vector",
]


def max_common_layout(a: Layout | ComposedLayout, b: Layout | ComposedLayout) -> Layout:
    """Return a layout of coordinates that hold the same elements, contiguous, in both layouts.

    Law: with ``R`` the result, ``a(R(i)) - a(0) == b(R(i)) - b(0)`` for ``0 <= i < size(R)``, and
    this is ``i`` but where both have one swizzle and start at one offset of its block: then both
    change places alike. Any other swizzle cuts it down to what it and the offset leave in order
    (C++ does not look at the offsets). Raises as `pycute_xe.algebra.common.max_common_layout`.
    C++: ``max_common_layout``.

    >>> from pycute_xe.swizzle import Swizzle
    >>> X = ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, 16)))
    >>> print(max_common_layout(X, Layout((8, 16))))
    8:1
    """
    found = common.max_common_layout(_beneath(a), _beneath(b))
    count = plain.size(found)
    most = _kept(count, a, b)
    return found if most == count else compose.composition(found, Layout(most))


def max_common_vector(a: Layout | ComposedLayout, b: Layout | ComposedLayout) -> Any:
    """Return how many elements at the start lie alike, contiguous, in both layouts.

    Law: the size of `max_common_layout`. Raises as that does. C++: ``max_common_vector``.

    >>> from pycute_xe.swizzle import Swizzle
    >>> max_common_vector(ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, 16))), Layout((8, 16)))
    8
    >>> X = ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4)))
    >>> max_common_vector(X, X)
    16
    """
    return _kept(common.max_common_vector(_beneath(a), _beneath(b)), a, b)


def _beneath(layout: Layout | ComposedLayout) -> Layout:
    return layout.layout if isinstance(layout, ComposedLayout) else layout


def _kept(count: Any, *layouts: Layout | ComposedLayout) -> Any:
    """Return how many of the first offsets both swizzles, or none, put out of order."""
    if _alike(*layouts):
        return count
    for layout in layouts:
        if isinstance(layout, ComposedLayout) and layout.swizzle.bits:
            unbroken = gcd(1 << layout.swizzle.base, layout.offset)
            count = count if at_most(count, unbroken) else unbroken
    return count


def _alike(a: Layout | ComposedLayout, b: Layout | ComposedLayout) -> bool:
    """Tell whether one swizzle acts on both, at one place of its block."""
    if not isinstance(a, ComposedLayout) or not isinstance(b, ComposedLayout):
        return False
    bits = (a.swizzle.yyy_mask | a.swizzle.zzz_mask).bit_length()
    return a.swizzle == b.swizzle and (a.offset - b.offset) % (1 << bits) == 0
