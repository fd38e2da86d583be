"""The algebra on swizzled layouts.

What rearranges the domain of a layout acts beneath the swizzle, as in C++. Changing the width of an
element moves the bits of the swizzle, and needs a law of its own.
"""

from __future__ import annotations

from pycute_xe.algebra.swizzled.composing import (
    composition,
    downcast,
    left_inverse,
    recast_layout,
    right_inverse,
    upcast,
)
from pycute_xe.algebra.swizzled.domain import (
    append,
    blocked_product,
    coalesce,
    cosize,
    flat_divide,
    flat_product,
    flatten,
    get,
    group,
    logical_divide,
    logical_product,
    max_common_layout,
    max_common_vector,
    prepend,
    raked_product,
    select,
    slice_,
    slice_and_offset,
    take,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    with_shape,
    zipped_divide,
    zipped_product,
)

__all__ = [
    "append",
    "blocked_product",
    "coalesce",
    "composition",
    "cosize",
    "downcast",
    "flat_divide",
    "flat_product",
    "flatten",
    "get",
    "group",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "max_common_layout",
    "max_common_vector",
    "prepend",
    "raked_product",
    "recast_layout",
    "right_inverse",
    "select",
    "slice_",
    "slice_and_offset",
    "take",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "upcast",
    "with_shape",
    "zipped_divide",
    "zipped_product",
]
