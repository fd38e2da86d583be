"""Floor 3: the layout algebra, functions over layouts as CuTe names them.

The inner order is simplify, then compose and inverse, then divide, then product; nothing here
knows a GPU or imports anything but the standard library.
"""

from __future__ import annotations

from pycute_xe.algebra.compose import composition
from pycute_xe.algebra.divide import flat_divide, logical_divide, tiled_divide, zipped_divide
from pycute_xe.algebra.inverse import complement, left_inverse, nullspace, right_inverse
from pycute_xe.algebra.product import (
    blocked_product,
    flat_product,
    logical_product,
    raked_product,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from pycute_xe.algebra.recast import downcast, recast_layout, upcast
from pycute_xe.algebra.simplify import coalesce, filter, filter_zeros

__all__ = [
    "blocked_product",
    "coalesce",
    "complement",
    "composition",
    "downcast",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "nullspace",
    "raked_product",
    "recast_layout",
    "right_inverse",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "upcast",
    "zipped_divide",
    "zipped_product",
]
