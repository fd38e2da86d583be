"""The layout algebra, functions over layouts as CuTe names them.

The inner order is `compose`, then `inverse` with the divides, then `product`, then swizzled
layouts, which most operations take as well; nothing here knows a GPU or imports anything but
the standard library.
"""

from __future__ import annotations

from pycute_xe.algebra.axes import tiler_to_layout
from pycute_xe.algebra.bits import BitMatrix, bit_matrix, from_bit_matrix
from pycute_xe.algebra.common import greatest_common_domain
from pycute_xe.algebra.compose import filter, filter_zeros
from pycute_xe.algebra.inverse import nullspace
from pycute_xe.algebra.rearrange import sort, transform_layout
from pycute_xe.algebra.refining import (
    common_coarsening,
    common_refinement,
    hier_unzip,
)
from pycute_xe.algebra.relations import is_contiguous
from pycute_xe.algebra.swizzled import (
    append_ones,
    blocked_product,
    coalesce,
    coalesce_z,
    complement,
    composition,
    downcast,
    flat_divide,
    flat_product,
    functionally_equal,
    get_nonswizzle_portion,
    get_swizzle_portion,
    image,
    is_bijective,
    is_injective,
    is_surjective,
    layout_add,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout_like,
    max_common_layout,
    max_common_vector,
    prepend_ones,
    raked_product,
    recast_layout,
    right_inverse,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    upcast,
    with_shape,
    zipped_divide,
    zipped_product,
)
from pycute_xe.algebra.threads import make_layout_image_mask, make_layout_tv

__all__ = [
    "BitMatrix",
    "append_ones",
    "bit_matrix",
    "from_bit_matrix",
    "blocked_product",
    "coalesce",
    "coalesce_z",
    "common_coarsening",
    "common_refinement",
    "complement",
    "composition",
    "downcast",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "functionally_equal",
    "get_nonswizzle_portion",
    "get_swizzle_portion",
    "greatest_common_domain",
    "hier_unzip",
    "image",
    "is_bijective",
    "is_contiguous",
    "is_injective",
    "is_surjective",
    "layout_add",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_layout_image_mask",
    "make_layout_like",
    "make_layout_tv",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "prepend_ones",
    "raked_product",
    "recast_layout",
    "right_inverse",
    "sort",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "tiler_to_layout",
    "transform_layout",
    "upcast",
    "with_shape",
    "zipped_divide",
    "zipped_product",
]
