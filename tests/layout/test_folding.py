"""Tuples folded, filled and ordered, by laws that listing decides."""

from __future__ import annotations

from itertools import product as pairs

import pytest
from every import every
from hypothesis import given
from strategies import shapes

import pycute_xe as cx
from pycute_xe.errors import CongruenceError, DivisibilityError
from pycute_xe.int_tuple import coordinates


@given(shapes(max_size=12))
def test_the_order_of_coordinates_is_that_of_their_index(shape: object) -> None:
    every_one = list(coordinates(shape))
    for a, b in pairs(every_one, every_one):
        assert cx.colex_less(a, b) == (cx.crd2idx(a, shape) < cx.crd2idx(b, shape))
        assert cx.lex_less(a, b) == (a < b)


@given(shapes(max_size=64))
def test_suffix_products_are_row_major_strides(shape: object) -> None:
    strides = cx.flatten(cx.suffix_product((shape,)))
    extents = cx.flatten((shape,))
    for i, stride in enumerate(strides):
        assert stride == cx.product(extents[i + 1 :])


@given(shapes(max_size=64))
def test_products_and_fills_nest_like_their_target(shape: object) -> None:
    assert cx.product_like(shape, shape) == shape
    assert cx.product_like(shape, 0) == cx.product(shape)
    assert cx.congruent(cx.repeat_like(7, shape), shape)
    assert cx.fold(shape, 1, lambda total, leaf: total * leaf) == cx.product(shape)


@every("divisor", [1, 2, 3, 4, 6, 8, 12, 24, 48])
def test_what_is_taken_and_what_is_left_multiply_to_the_size(divisor: int) -> None:
    for shape in (24, (4, 6), (2, (3, 4)), ((2, 2), 6), (12, 1, 2)):
        try:
            left = cx.shape_div(shape, divisor)
        except DivisibilityError:
            with pytest.raises(DivisibilityError):
                cx.shape_mod(shape, divisor)
            continue
        taken = cx.shape_mod(shape, divisor)
        assert cx.congruent(taken, shape)
        assert cx.product(left) * cx.product(taken) == cx.product(shape)


@every(
    "call",
    [
        lambda: cx.product_like(4, (1, 1)),
        lambda: cx.suffix_product((2, 3), (1, 1, 1)),
        lambda: cx.colex_less((1, 2), (1, 2, 3)),
        lambda: cx.lex_less(1, (1,)),
    ],
)
def test_other_nestings_are_rejected(call: object) -> None:
    with pytest.raises(CongruenceError):
        call()


def test_the_order_of_deep_coordinates_takes_one_look_at_each_leaf() -> None:
    looks = 0

    class Leaf(int):
        def __lt__(self, other: int) -> bool:
            nonlocal looks
            looks += 1
            return int(self) < int(other)

    deep: object = Leaf(0)
    for _ in range(24):
        deep = (deep, Leaf(0))
    assert not cx.lex_less(deep, deep)
    assert not cx.colex_less(deep, deep)
    assert looks <= 2 * 25
