"""What each operation promises, one function per operation, named as the operation.

A law takes the operands as the operation takes them, then the result (options of the operation come
last). It returns ``None`` where the law holds, else a sentence that names the first coordinate at
which it does not and the two values there. A law is stated from the meaning, by evaluating layouts
as functions at every coordinate; no law calls the operation that it judges. Layouts judged are
plain; `coalesce`, `composition`, `with_shape` and the inverses take swizzled ones too.

>>> from pycute_xe.algebra import composition, laws
>>> from pycute_xe.layout import Layout
>>> a, b = Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))
>>> laws.composition(a, b, composition(a, b))
>>> laws.composition(a, b, Layout((4, 3), (24, 8)))
'result(2,0) is 48, a(b(2,0)) is 2'
"""

from __future__ import annotations

from pycute_xe.algebra.laws.divides import (
    flat_divide,
    logical_divide,
    tiled_divide,
    zipped_divide,
)
from pycute_xe.algebra.laws.functions import (
    coalesce,
    composition,
    downcast,
    filter,
    filter_zeros,
    image,
    layout_add,
    make_identity_layout,
    make_layout_image_mask,
    make_layout_like,
    make_layout_tv,
    make_ordered_layout,
    recast_layout,
    sort,
    upcast,
    with_shape,
)
from pycute_xe.algebra.laws.inverses import (
    complement,
    greatest_common_domain,
    left_inverse,
    max_common_layout,
    max_common_vector,
    nullspace,
    right_inverse,
)
from pycute_xe.algebra.laws.products import (
    blocked_product,
    flat_product,
    logical_product,
    raked_product,
    tile_to_shape,
    tiled_product,
    zipped_product,
)

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
    "greatest_common_domain",
    "image",
    "layout_add",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_identity_layout",
    "make_layout_image_mask",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "raked_product",
    "recast_layout",
    "right_inverse",
    "sort",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "upcast",
    "with_shape",
    "zipped_divide",
    "zipped_product",
]
