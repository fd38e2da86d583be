"""Nested integer tuples and the coordinates that index them.

Coordinates run colexicographically: the first mode moves fastest. Every function here is a plain
function of tuples and knows no layout.
"""

from __future__ import annotations

from pycute_xe.int_tuple.indexing import (
    as_coordinate,
    ceil_div,
    compact_col_major,
    compatible,
    coordinates,
    crd2crd,
    crd2idx,
    elem_less,
    elem_scale,
    idx2crd,
    increment_coord,
    inner_product,
    offset_of,
    prefix_product,
    product,
    product_each,
    round_up,
    shape_div,
)
from pycute_xe.int_tuple.nesting import (
    congruent,
    depth,
    flatten_tuple,
    leaves,
    merge,
    merged,
    rank_of,
    transform_leaf,
    unbounded,
    unflatten_tuple,
    weakly_congruent,
)

__all__ = [
    "as_coordinate",
    "ceil_div",
    "compact_col_major",
    "compatible",
    "congruent",
    "coordinates",
    "crd2crd",
    "crd2idx",
    "depth",
    "elem_less",
    "elem_scale",
    "flatten_tuple",
    "idx2crd",
    "increment_coord",
    "inner_product",
    "leaves",
    "merge",
    "merged",
    "offset_of",
    "prefix_product",
    "product",
    "product_each",
    "rank_of",
    "round_up",
    "shape_div",
    "transform_leaf",
    "unbounded",
    "unflatten_tuple",
    "weakly_congruent",
]
