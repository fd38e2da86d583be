"""What a layout is as a function, what two share, and modes rearranged: against enumeration."""

from __future__ import annotations

from math import gcd

import pytest
from hypothesis import assume, given, strategies as st
from strategies import bijections, identities, injective_layouts, layouts, ranked, shapes

from pycute_xe import algebra
from pycute_xe.algebra import (
    coalesce,
    functionally_equal,
    greatest_common_domain,
    is_bijective,
    is_contiguous,
    is_injective,
    is_surjective,
    layout_add,
    make_layout_like,
    max_common_layout,
    max_common_vector,
    right_inverse,
    transform_layout,
    with_shape,
)
from pycute_xe.basis import E
from pycute_xe.errors import CuteError
from pycute_xe.int_tuple import (
    elem_less,
    leaves,
    prefix_product,
    product,
    transform_leaf,
)
from pycute_xe.layout import Layout, cosize, depth, make_identity_layout, size


def offsets(layout: Layout) -> list[int]:
    return [layout(i) for i in range(size(layout))]


ANY = layouts(negative=True) | injective_layouts() | bijections()


@given(ANY)
def test_kinds_of_functions(layout: Layout) -> None:
    found = offsets(layout)
    assert is_injective(layout) == (len(set(found)) == len(found))
    assert is_surjective(layout) == (set(found) == set(range(cosize(layout))))
    assert is_bijective(layout) == (sorted(found) == list(range(cosize(layout))))
    assert is_contiguous(layout) == (found == list(range(len(found))))


@given(identities())
def test_identities_are_bijections(layout: Layout) -> None:
    assert is_injective(layout)
    assert is_surjective(layout)
    assert is_bijective(layout)


def test_kinds_of_functions_into_coordinates() -> None:
    overlap = Layout((2, 3), (E(0), 2 * E(0)))
    assert is_bijective(overlap)
    assert not is_injective(Layout((4, 3), (E(1), 2 * E(1))))
    assert not is_surjective(Layout((2, 3), (E(0), 2 * E(1))))
    # E(0, 0) adds to what E(0) adds to.
    assert not is_injective(Layout((2, 2), (E(0), E(0, 0))))
    assert not is_injective(Layout((2, 2), (E(0), 0)))


def test_cost_grows_with_modes_not_with_size() -> None:
    big = Layout((1 << 20, 1 << 20), (1 << 20, 1))
    for question in (is_injective, is_surjective, is_bijective):
        assert question(big)
    assert not is_contiguous(big)
    assert functionally_equal(big, with_shape(big, ((1 << 20, 4), 1 << 18)))
    assert str(algebra.image(big)) == f"{1 << 40}:1"
    assert not is_injective(Layout((1 << 20, 1 << 20), (1 << 19, 1)))
    assert is_injective(Layout((1 << 10, 1 << 20), (1 << 21, 2)))


SMALL = layouts(max_size=12)


@given(SMALL, SMALL)
def test_functionally_equal(a: Layout, b: Layout) -> None:
    assert functionally_equal(a, b) == (offsets(a) == offsets(b))
    assert functionally_equal(a, coalesce(a))


def compact(value: object) -> Layout:
    return Layout(value)


@given(shapes(), shapes())
def test_greatest_common_domain(a: object, b: object) -> None:
    found = greatest_common_domain(a, b)
    assert found == greatest_common_domain(b, a)
    assert depth(found) == 1
    assert gcd(product(a), product(b)) % size(found) == 0
    assert size(greatest_common_domain(a, a)) == product(a)


@given(injective_layouts(), st.data())
def test_a_common_vector_is_as_long_as_the_common_layout(b: Layout, data: st.DataObject) -> None:
    a = data.draw(st.just(b) | st.just(coalesce(b)) | st.just(Layout(b.shape)))
    try:
        found = max_common_layout(a, b)
    except CuteError:
        assume(False)
    assert size(found) == max_common_vector(a, b)
    # What is common with itself is all that is contiguous.
    assert max_common_vector(b, b) == size(right_inverse(b))


@given(layouts(), st.data())
def test_sum(a: Layout, data: st.DataObject) -> None:
    shape = a.shape
    strides = transform_leaf(shape, lambda _: data.draw(st.integers(-9, 20)))
    b = Layout(shape, strides)
    found = layout_add(a, b)
    assert found == layout_add(b, a) == coalesce(found)


def test_sum_of_coordinates() -> None:
    rows = make_identity_layout((4, 8))
    assert layout_add(rows, rows) == Layout((4, 8), (2 * E(0), 2 * E(1)))
    assert layout_add(rows, Layout(32, 0)) == rows


@given(layouts())
def test_a_layout_like_another_is_compact_in_its_order(layout: Layout) -> None:
    found = make_layout_like(layout)
    assert is_surjective(found)
    assert make_layout_like(found) == found


@given(bijections(), st.integers(1, 6))
def test_with_shape(layout: Layout, rows: int) -> None:
    shape = (rows, -(-size(layout) // rows))
    try:
        found = with_shape(layout, *shape)
    except CuteError:
        assume(False)
    assert found == with_shape(layout, shape)
    assert size(found) == rows * shape[1]


@given(ranked(layouts()))
def test_transform_layout(layout: Layout) -> None:
    assert transform_layout(layout, lambda mode: mode) == layout
    assert transform_layout(layout, coalesce) == coalesce(layout, (1,) * len(layout))


def test_transform_layout_keeps_what_only_one_has() -> None:
    a, b = Layout((2, 3)), Layout((4, 5, 6))
    assert str(transform_layout(a, lambda x, y: y, b)) == "(4,5,6):(1,4,20)"
    assert str(transform_layout(b, lambda x, y: y, a)) == "(2,3,6):(1,2,20)"


@given(shapes())
def test_prefix_products(shape: object) -> None:
    flat = list(leaves(shape))
    found = list(leaves(prefix_product(shape)))
    assert found == [product(tuple(flat[:i])) for i in range(len(flat))]
    assert elem_less(transform_leaf(shape, lambda s: s - 1), shape)
    assert not elem_less(shape, shape)


def test_elem_less_of_tuples_of_different_length() -> None:
    assert elem_less((1,), (2, 2))
    assert not elem_less((1, 1), (2,))


ALL = pytest.mark.parametrize("a", range(1, 7))


@ALL
def test_injectivity_of_all_small_pairs(a: int) -> None:
    for b in range(1, 7):
        for c in range(13):
            for d in range(13):
                layout = Layout((a, b, 2), (c, d, 5))
                assert is_injective(layout) == (len(set(offsets(layout))) == size(layout))


def test_an_image_grows_by_modes_that_overlap_it_on_its_grid() -> None:
    assert algebra.image(Layout((2, 2, 2), (1, 2, 3))) == Layout(7, 1)
    assert algebra.image(Layout((2, 2, 2), (10, 20, 30))) == Layout(7, 10)
