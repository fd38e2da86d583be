"""Floor 2: layouts from shapes, orders and other layouts."""

from __future__ import annotations

from typing import Any

from pycute_xe.basis import E
from pycute_xe.errors import CongruenceError, ShapeError
from pycute_xe.int_tuple import congruent, flatten_tuple, leaves, unflatten_tuple
from pycute_xe.layout.core import Layout, unchecked
from pycute_xe.signatures import typed
from pycute_xe.typing import IntTuple, Shape, Stride, is_tuple
from pycute_xe.unknown import Symbolic, naming

__all__ = ["make_identity_layout", "make_layout", "make_ordered_layout", "pair"]


def make_layout(*parts: Any) -> Layout:
    """Build a layout from a shape, a shape and strides, or several layouts as its modes.

    Law: ``make_layout(A, B)[0] == A``. Raises as `Layout` does. C++: ``make_layout``.

    >>> print(make_layout((4, 8)), make_layout(Layout(4, 2), Layout(8, 16)))
    (4,8):(1,4) (4,8):(2,16)
    """
    if parts and all(isinstance(part, Layout) for part in parts):
        return unchecked(tuple(p.shape for p in parts), tuple(p.stride for p in parts))
    if len(parts) in (1, 2) and not any(isinstance(part, Layout) for part in parts):
        return Layout(*parts)
    raise ShapeError(
        "make_layout",
        {"parts": parts},
        "neither a shape (and strides) nor a list of layouts",
        "make_layout(shape), make_layout(shape, stride) or make_layout(layout, layout, …)",
    )


def pair(first: Layout, second: Layout) -> Layout:
    """Return ``make_layout(first, second)``, without asking what the two are.

    >>> print(pair(Layout(4, 2), Layout(8, 16)))
    (4,8):(2,16)
    """
    return unchecked((first.shape, second.shape), (first.stride, second.stride))


def make_identity_layout(shape: Shape) -> Layout:
    """Return the layout that maps each coordinate to itself, with basis strides.

    Law: ``make_identity_layout(s)(c) == c``. C++: ``make_identity_layout``.

    >>> print(make_identity_layout((4, 8)))
    (4,8):(1@0,1@1)
    """
    checked = Layout(shape)

    def strides(part: Shape, path: tuple[int, ...]) -> Stride:
        if is_tuple(part):
            return tuple(strides(p, (*path, i)) for i, p in enumerate(part))
        return E(*path) if path else E(0)

    return unchecked(checked.shape, strides(checked.shape, ()))


@naming
@typed
def make_ordered_layout(shape: Shape, order: IntTuple) -> Layout:
    """Return a compact layout whose leaves run in the given order: the least order is fastest.

    Ties run left to right; size-1 leaves get stride 0. Raises `CongruenceError` when shape and
    order nest differently. C++: ``make_ordered_layout``.

    >>> print(make_ordered_layout((4, 8, 2), (2, 0, 1)))
    (4,8,2):(16,1,8)
    """
    checked = Layout(shape)
    if not all(isinstance(r, (int, Symbolic)) for r in leaves(order)):
        raise ShapeError(
            "make_ordered_layout",
            {"shape": shape, "order": order},
            "an order must be an integer for each leaf",
            "use 0 for the fastest leaf, 1 for the next",
        )
    extents, ranks = flatten_tuple(checked.shape), flatten_tuple(order)
    if not congruent(checked.shape, order):
        raise CongruenceError(
            "make_ordered_layout",
            {"shape": shape, "order": order},
            "shape and order nest differently",
            "give one order for each leaf, nested alike",
        )
    strides: list[Any] = [0] * len(extents)
    current = 1
    for i in sorted(range(len(extents)), key=lambda i: ranks[i]):
        if extents[i] != 1:
            strides[i] = current
            current *= extents[i]
    return unchecked(checked.shape, unflatten_tuple(tuple(strides), checked.shape))
