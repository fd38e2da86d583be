"""A layout's modes in another order, shape or packing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.algebra.compose import composition, filter_zeros, flat_modes, from_modes
from pycute_xe.basis import Basis
from pycute_xe.errors import ShapeError
from pycute_xe.int_tuple import leaves
from pycute_xe.layout import Layout, as_layout, make_layout, make_ordered_layout, unchecked
from pycute_xe.signatures import typed
from pycute_xe.typing import Shape, naming

__all__ = ["make_layout_like", "sort", "transform_layout", "with_shape"]


def _check_integers(operation: str, layout: Layout) -> None:
    for d in leaves(as_layout(layout).stride):
        if isinstance(d, Basis):
            raise ShapeError(
                operation,
                {"layout": layout},
                f"stride {d} has no place in an order of integers",
                "use integer strides",
            )


@naming
def make_layout_like(layout: Layout) -> Layout:
    """Return a compact layout of the same shape whose modes run in the same order.

    Law: strides have the order they had, leaves of stride 0 keep it, and every offset below
    ``cosize`` is hit. Raises `ShapeError` for basis strides. C++: ``make_layout_like``.

    >>> print(make_layout_like(Layout((2, 3, 4, 5), (0, 42, 1, 0))))
    (2,3,4,5):(0,4,1,0)
    """
    _check_integers("make_layout_like", layout)
    packed = make_ordered_layout(filter_zeros(layout).shape, layout.stride)
    return unchecked(layout.shape, packed.stride)


@naming
def sort(layout: Layout) -> Layout:
    """Return the leaves in order of their strides, the smallest in magnitude first.

    Law: the same multiset of offsets; flat. Equal strides run by extent. Raises `ShapeError` for
    basis strides. C++ sorts so inside ``complement``.

    >>> print(sort(Layout((4, (2, 8)), (16, (8, 1)))))
    (8,2,4):(1,8,16)
    """
    _check_integers("sort", layout)
    return from_modes(sorted(flat_modes(layout), key=lambda mode: (abs(mode[1]), mode[0])))


def with_shape(layout: Layout, *shape: Shape) -> Layout:
    """Return the layout seen through another shape: one tuple, or one argument for each mode.

    Law: ``with_shape(L, s)(c) == L(crd2idx(c, s))``. Raises `DivisibilityError` where the shape
    cuts through the modes unevenly. C++: ``Layout::with_shape``.

    >>> print(with_shape(Layout((4, 8), (8, 1)), 2, 16))
    (2,(2,8)):(8,(16,1))
    """
    return composition(layout, Layout(shape[0] if len(shape) == 1 else shape))


@typed
def transform_layout(layout: Layout, function: Callable[..., Layout], *others: Any) -> Layout:
    """Apply a function to each mode of a layout, or to the modes of several at one place.

    Law: mode ``i`` of the result is ``function(layout[i], other[i], …)``; modes beyond the
    shortest stay as they are. Raises what the function raises. C++: ``transform_layout``.

    >>> print(transform_layout(Layout(((2, 3), 4)), lambda mode: composition(mode, Layout(2))))
    (2,2):(1,6)
    """
    count = min([len(layout), *map(len, others)])
    parts = [function(layout[i], *(other[i] for other in others)) for i in range(count)]
    longest = max([layout, *others], key=len)
    return make_layout(*parts, *(longest[i] for i in range(count, len(longest))))
