"""A layout's modes in another order, shape or packing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.algebra.compose import composition, filter_zeros, flat_modes, from_modes
from pycute_xe.errors import ShapeError
from pycute_xe.int_tuple import as_coordinate, flatten_tuple, unflatten_tuple
from pycute_xe.layout import (
    Layout,
    append,
    as_layout,
    make_layout,
    make_ordered_layout,
    prepend,
    unchecked,
)
from pycute_xe.layout.core import moves
from pycute_xe.signatures import typed
from pycute_xe.typing import Shape, naming

__all__ = [
    "append_ones",
    "make_layout_like",
    "prepend_ones",
    "sort",
    "transform_layout",
    "with_shape",
]


@naming
@typed
def make_layout_like(layout: Layout, *, share_ties: bool = False) -> Layout:
    """Return a compact layout of the same shape whose modes run in the same order.

    Law: strides have the order they had, leaves of stride 0 keep it, and every offset below
    ``cosize`` is hit. Equal strides run left to right; with ``share_ties``, the rule of C++ and of
    the CuTe DSL, they stay equal. Basis strides run by axis, first fastest, then by their scale.
    Symbols that may be in either order run left to right behind numbers, as in C++. Raises
    `ShapeError` for a stride that is an offset among coordinates. C++: same name.

    >>> print(make_layout_like(Layout((2, 3, 4, 5), (0, 42, 1, 0))))
    (2,3,4,5):(0,4,1,0)
    >>> tied = Layout((4, 12, 5), (3, 24, 3))
    >>> print(make_layout_like(tied), make_layout_like(tied, share_ties=True))
    (4,12,5):(1,20,4) (4,12,5):(1,20,1)
    >>> from pycute_xe.basis import E
    >>> print(make_layout_like(Layout((2, 3, 4), (E(1), 0, E(0)))))
    (2,3,4):(4,0,1)
    """
    counted = filter_zeros(as_layout(layout)).shape
    ranks = unflatten_tuple(_ranks("make_layout_like", layout), layout.shape)
    packed = make_ordered_layout(counted, ranks, share_ties=share_ties)
    return unchecked(layout.shape, packed.stride)


def _ranks(operation: str, layout: Layout) -> tuple[Any, ...]:
    """Return the strides, or how many are smaller where they move among coordinates."""
    strides = flatten_tuple(layout.stride)
    if not moves(layout.stride):
        return strides
    for d in strides:
        if d != 0 and not moves(d):
            raise ShapeError(
                operation,
                {"layout": layout},
                f"the stride {d} is an offset among coordinates, and has no place in their order",
                "give each stride an axis, or all of them none",
            )
    coords = [as_coordinate(d) for d in strides]
    return tuple(sum(1 for other in coords if other < coord) for coord in coords)


@naming
def sort(layout: Layout) -> Layout:
    """Return the leaves in order of their strides, the smallest in magnitude first.

    Law: the same multiset of offsets; flat. Equal strides run by extent; basis strides by axis, the
    first first, then by their scale. C++ sorts so inside ``complement``.

    >>> print(sort(Layout((4, (2, 8)), (16, (8, 1)))))
    (8,2,4):(1,8,16)
    """
    if moves(as_layout(layout).stride):
        ranked = zip(_ranks("sort", layout), flat_modes(layout), strict=True)
        return from_modes(mode for _, mode in sorted(ranked, key=lambda pair: pair[0]))
    return from_modes(sorted(flat_modes(layout), key=lambda mode: (abs(mode[1]), mode[0])))


@typed
def append_ones(layout: Layout, up_to_rank: int | None = None) -> Layout:
    """Add modes of one element at the end up to a rank, or one mode where no rank is given.

    Law: the same function of an index. Tensors and swizzled layouts keep what they are. CuTe DSL:
    ``append_ones``; C++: ``append<R>(layout)``.

    >>> print(append_ones(Layout((2, 3)), 4), append_ones(Layout(8)))
    (2,3,1,1):(1,2,0,0) (8,1):(1,0)
    """
    return append(layout, Layout(1, 0), up_to_rank)


@typed
def prepend_ones(layout: Layout, up_to_rank: int | None = None) -> Layout:
    """Add modes of one element at the front up to a rank, or one mode where no rank is given.

    Law: the same function of an index. CuTe DSL: ``prepend_ones``; C++: ``prepend<R>(layout)``.

    >>> print(prepend_ones(Layout((2, 3)), 3))
    (1,2,3):(0,1,2)
    """
    return prepend(layout, Layout(1, 0), up_to_rank)


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
