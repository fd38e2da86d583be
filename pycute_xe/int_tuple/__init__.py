"""Nested integer tuples and the coordinates that index them.

Coordinates run colexicographically: the first mode moves fastest. Every function here is a plain
function of tuples and knows no layout.
"""

from __future__ import annotations

from pycute_xe.int_tuple.folding import (
    colex_less,
    fold,
    lex_less,
    product_like,
    repeat_like,
    shape_mod,
    suffix_product,
)
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
    "colex_less",
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
    "fold",
    "idx2crd",
    "increment_coord",
    "inner_product",
    "leaves",
    "lex_less",
    "merge",
    "merged",
    "offset_of",
    "prefix_product",
    "product",
    "product_each",
    "product_like",
    "rank_of",
    "repeat_like",
    "round_up",
    "shape_div",
    "shape_mod",
    "suffix_product",
    "transform_leaf",
    "unbounded",
    "unflatten_tuple",
    "weakly_congruent",
]
