"""Floor 3: the same memory seen through wider or narrower elements."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from pycute_xe.algebra.simplify import flat_modes
from pycute_xe.basis import Basis
from pycute_xe.errors import DivisibilityError, ShapeError, UndecidableError
from pycute_xe.int_tuple import leaves, unflatten_tuple
from pycute_xe.layout import Layout, as_layout
from pycute_xe.signatures import typed
from pycute_xe.typing import Mode
from pycute_xe.unknown import same

__all__ = ["downcast", "recast_layout", "upcast"]


@typed
def upcast(layout: Layout, n: int) -> Layout:
    """Return the layout in units ``n`` times as wide: contiguous leaves shrink, strides divide.

    Law: with ``U = upcast(L, n)``: ``U`` of a wide coordinate is ``L // n`` of its first element.
    Raises `DivisibilityError` when ``n`` elements do not fill one unit, `ShapeError` for basis
    strides and for ``n < 1``. C++: ``upcast<N>``.

    >>> print(upcast(Layout((8, 8), (8, 1)), 2))
    (8,4):(4,1)
    """

    def leaf(s: Any, d: Any) -> Mode:
        if same(d, 0):
            return s, d
        if not d % n:
            return s, d // n
        step = n // gcd(n, d)
        if n % d or (s % step and step % s):
            multiple = f"an extent that is a multiple of {step}"
            way_out = multiple if not n % d else f"a stride that is a multiple of {n}"
            raise DivisibilityError(
                "upcast",
                {"layout": layout, "n": n},
                f"the mode {s}:{d} does not fill whole units of {n}",
                f"use {way_out}",
            )
        return -(-s // step), 1 if d > 0 else -1

    return _mapped("upcast", layout, n, leaf)


@typed
def downcast(layout: Layout, n: int) -> Layout:
    """Return the layout in units ``n`` times as narrow: the stride-1 leaf grows, others scale.

    Law: ``upcast(downcast(L, n), n) == L``. Raises `ShapeError` for basis strides and for
    ``n < 1``. C++: ``downcast<N>``, which wants a stride-1 leaf.

    >>> print(downcast(Layout((4, 4), (4, 1)), 8))
    (4,32):(32,1)
    """

    def leaf(s: Any, d: Any) -> Mode:
        return (s * n, d) if same(d, 1) or same(d, -1) else (s, d * n)

    return _mapped("downcast", layout, n, leaf)


def _mapped(operation: str, layout: Layout, n: int, leaf: Callable[[Any, Any], Mode]) -> Layout:
    if n < 1 or any(isinstance(d, Basis) for d in leaves(as_layout(layout).stride)):
        raise ShapeError(
            operation,
            {"layout": layout, "n": n},
            "units are integer offsets, n of them to one",
            "use integer strides and n of 1 or more",
        )
    try:
        modes = [leaf(s, d) for s, d in flat_modes(layout)]
    except UndecidableError as error:
        raise error.within(operation, {"layout": layout, "n": n}) from None
    return Layout(
        unflatten_tuple(tuple(s for s, _ in modes), layout.shape),
        unflatten_tuple(tuple(d for _, d in modes), layout.shape),
    )


@typed
def recast_layout(layout: Layout, old_bits: int, new_bits: int) -> Layout:
    """Return a layout of ``old_bits`` elements in units of ``new_bits``.

    Raises `DivisibilityError` when whole elements do not fill whole units, `ShapeError` for widths
    below 1 and for basis strides. C++: ``recast_layout``.

    >>> print(recast_layout(Layout((8, 8), (8, 1)), 16, 32))
    (8,4):(4,1)
    """
    if type(old_bits) is not int or type(new_bits) is not int or min(old_bits, new_bits) < 1:
        raise ShapeError(
            "recast_layout",
            {"layout": layout, "old_bits": old_bits, "new_bits": new_bits},
            "an element has no bits",
            "use widths of 1 or more",
        )
    common = gcd(old_bits, new_bits)
    narrow = downcast(layout, old_bits // common) if old_bits != common else layout
    return upcast(narrow, new_bits // common) if new_bits != common else narrow
