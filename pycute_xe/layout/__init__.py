"""The layout, a function from coordinates to offsets given by a shape and its strides.

``Layout(shape, stride)`` maps a coordinate to the inner product of its natural coordinate with the
strides. It is a value: immutable, hashable, compared by shape and stride. Operations that combine
layouts live one floor up, in `pycute_xe.algebra`.
"""

from __future__ import annotations

from pycute_xe.layout.core import Layout, as_layout, slice_, unchecked
from pycute_xe.layout.modes import (
    append,
    coshape,
    cosize,
    depth,
    dice,
    flatten,
    get,
    group,
    has_symbols,
    make_identity_layout,
    make_layout,
    make_ordered_layout,
    pair,
    prepend,
    rank,
    replace,
    select,
    shape,
    size,
    slice_and_offset,
    stride,
    take,
    unflatten,
)
from pycute_xe.layout.strides import is_major, leading_dim

__all__ = [
    "Layout",
    "append",
    "as_layout",
    "coshape",
    "cosize",
    "depth",
    "dice",
    "flatten",
    "get",
    "group",
    "has_symbols",
    "is_major",
    "leading_dim",
    "make_identity_layout",
    "make_layout",
    "make_ordered_layout",
    "pair",
    "prepend",
    "rank",
    "replace",
    "select",
    "shape",
    "size",
    "slice_",
    "slice_and_offset",
    "stride",
    "take",
    "unchecked",
    "unflatten",
]
