"""Nested tuples and the coordinates that index them."""

from __future__ import annotations

from itertools import product as pairs
from typing import Any

from every import every
from hypothesis import given, strategies as st
from strategies import bijections, extents, layouts, nested, profiles, shapes

from pycute_xe.int_tuple import (
    as_coordinate,
    ceil_div,
    compact_col_major,
    compatible,
    congruent,
    coordinates,
    crd2crd,
    crd2idx,
    depth,
    elem_scale,
    flatten_tuple,
    idx2crd,
    inner_product,
    leaves,
    product,
    product_each,
    rank_of,
    round_up,
    shape_div,
    unflatten_tuple,
    weakly_congruent,
)
from pycute_xe.layout import Layout, size


@given(shapes())
def test_index_and_coordinate_are_inverse(shape: Any) -> None:
    seen = []
    for index in range(product(shape)):
        coord = idx2crd(index, shape)
        assert congruent(coord, shape)
        assert crd2idx(coord, shape) == index
        seen.append(coord)
    assert seen == list(coordinates(shape))
    assert len(set(seen)) == len(seen)


@given(shapes())
def test_coordinates_run_first_mode_fastest(shape: Any) -> None:
    flat = [range(extent) for extent in reversed(flatten_tuple(shape))]
    expected = [tuple(reversed(c)) for c in pairs(*flat)]
    assert [flatten_tuple(c) for c in coordinates(shape)] == expected


@given(bijections())
def test_index_and_coordinate_are_inverse_in_any_order(layout: Layout) -> None:
    for offset in range(size(layout)):
        assert layout(idx2crd(offset, layout.shape, layout.stride)) == offset


@given(shapes(), st.data())
def test_a_coordinate_moves_between_shapes(shape: Any, data: st.DataObject) -> None:
    other = data.draw(nested(list(flatten_tuple(shape))))
    for index, coord in enumerate(coordinates(shape)):
        assert crd2crd(coord, shape, product(shape)) == index
        assert crd2crd(index, product(shape), shape) == coord
        moved = crd2crd(coord, shape, other)
        assert crd2idx(moved, other) == index


@given(layouts(negative=True), st.data())
def test_coordinates_may_stop_short(layout: Layout, data: st.DataObject) -> None:
    """An integer anywhere stands for the coordinate of all that nests there."""

    def folded(coord: Any, shape: Any) -> Any:
        if isinstance(shape, tuple) and not data.draw(st.booleans()):
            return tuple(folded(c, s) for c, s in zip(coord, shape, strict=True))
        return crd2idx(coord, shape)

    shape, stride = layout.shape, layout.stride
    for index in data.draw(st.lists(st.integers(0, size(layout) - 1), max_size=5)):
        coord = idx2crd(index, shape)
        expected = inner_product(coord, stride)
        assert crd2idx(coord, shape, stride) == expected
        assert crd2idx(index, shape, stride) == expected
        assert crd2idx(folded(coord, shape), shape, stride) == expected


@given(shapes(), st.integers(0, 3))
def test_the_last_mode_is_unbounded(shape: Any, times: int) -> None:
    index = times * product(shape) + 1
    last = flatten_tuple(shape)[-1]
    stride = product(shape) // last
    if last > 1:
        assert crd2idx(index, shape) == index % stride + index // stride * stride == index


@given(shapes())
def test_flat_and_back(shape: Any) -> None:
    flat = flatten_tuple(shape)
    assert list(leaves(shape)) == list(flat)
    assert unflatten_tuple(flat, shape) == shape
    assert depth(flat) == 1
    assert rank_of(flat) == len(flat)
    assert product(shape) == product(flat)
    assert len(product_each(shape)) == rank_of(shape)
    assert product(product_each(shape)) == product(shape)


@given(extents(), st.data())
def test_nesting_relations(flat: list[int], data: st.DataObject) -> None:
    one, other = data.draw(nested(flat)), data.draw(nested(flat))
    assert congruent(one, other) == (one == other)
    assert weakly_congruent(one, one)
    assert compatible(one, one)
    assert compatible(product(tuple(flat)), one)
    assert weakly_congruent(0, one)
    if compatible(one, other) and compatible(other, one):
        assert congruent(one, other)
    if compatible(one, other):
        assert weakly_congruent(one, other)


def test_nesting_relations_of_ranks() -> None:
    assert not congruent((1, 2), (1, 2, 3))
    assert not congruent((1,), 1)
    assert not weakly_congruent((1, 2), (1, 2, 3))
    assert not weakly_congruent((1, 2), 3)
    assert not compatible((4, 6), (6, 4))
    assert not compatible((4, 6), (4, 6, 1))
    assert compatible((4, 6), (4, (2, 3)))
    assert not compatible((4, 6), 24)


@given(shapes())
def test_compact_strides(shape: Any) -> None:
    stride = compact_col_major(shape)
    assert congruent(shape, stride)
    reach = 1
    for s, d in zip(flatten_tuple(shape), flatten_tuple(stride), strict=True):
        assert d == (0 if s == 1 else reach)
        reach *= s


@given(st.integers(0, 200), st.integers(1, 30))
def test_rounding_of_integers(a: int, b: int) -> None:
    assert (ceil_div(a, b) - 1) * b < a <= ceil_div(a, b) * b
    assert round_up(a, b) == ceil_div(a, b) * b


def test_rounding_of_tuples() -> None:
    assert ceil_div((10, 8), (4, 2)) == (3, 4)
    assert ceil_div((10, 8), (4,)) == (3, 8)
    # An integer divides the leftmost modes first; a tuple divides an integer by its size.
    assert ceil_div((2, 4), 4) == (1, 2)
    assert ceil_div((3, (4, 5)), 6) == (1, (2, 5))
    assert ceil_div(25, (2, 3)) == 5
    assert ceil_div((), 4) == ()
    assert round_up((10, 7, 1), (4, 2)) == (12, 8, 1)
    assert round_up(((5, 6), 7), ((4, 4), 7)) == ((8, 8), 7)


@given(shapes(max_size=64), st.data())
def test_shape_div_by_a_leading_part(shape: Any, data: st.DataObject) -> None:
    flat = flatten_tuple(shape)
    count = data.draw(st.integers(0, len(flat)))
    divisor = product(flat[:count])
    found = shape_div(shape, divisor)
    assert congruent(found, shape)
    assert flatten_tuple(found) == (1,) * count + flat[count:]
    assert shape_div(shape, shape) == unflatten_tuple((1,) * len(flat), shape)
    assert shape_div(product(shape), shape) == 1


def test_shape_div_of_a_leaf_either_way() -> None:
    assert shape_div(12, 4) == 3
    assert shape_div(4, 12) == 1
    assert shape_div((12, 3), (4, 3)) == (3, 1)
    assert shape_div(12, (2, 2)) == 3


@given(shapes(max_size=48))
def test_elem_scale(shape: Any) -> None:
    assert elem_scale(shape, shape) == unflatten_tuple(
        tuple(s * s for s in flatten_tuple(shape)), shape
    )
    assert elem_scale(3, shape) == 3 * product(shape)


@given(profiles(4))
def test_inner_product(profile: Any) -> None:
    left, right = unflatten_tuple((1, 2, 3, 4), profile), unflatten_tuple((5, 6, 7, 8), profile)
    assert inner_product(left, right) == 70


@every(
    ("value", "expected"),
    [(0, 0), (4, 0), ((4,), 1), ((), 1), (((4,), 2), 2), ((1, (2, (3,))), 3)],
)
def test_depth(value: Any, expected: int) -> None:
    assert depth(value) == expected


def test_empty_tuples() -> None:
    assert product(()) == 1
    assert list(coordinates(())) == [()]
    assert crd2idx((), ()) == crd2idx(0, ()) == 0
    assert idx2crd(0, ()) == ()
    assert unflatten_tuple((), ()) == ()


def test_values_as_coordinates() -> None:
    assert as_coordinate(0) == ()
    assert as_coordinate(3) == (3,)
    assert as_coordinate((1, 2)) == (1, 2)


# What C++ gives, compiled for the host.
INDICES = [
    ((1, 5), (3, (2, 3)), (1, (1, 2))),
    ((1, (1, 2)), (3, (2, 3)), (1, (1, 2))),
    ((5, 3), ((2, 2), 2), ((1, 2), 3)),
    (42, (3, 7, 2), (0, 0, 2)),
    (25, ((2, 2), 3), ((1, 0), 6)),
    (7, 5, 7),
    (7, (3, 1), (1, 2)),
    (5, 1, 5),
    (5, (1,), (5,)),
]


@every(("index", "of", "expected"), INDICES)
def test_indices_of_modes_and_past_the_end(index: Any, of: Any, expected: Any) -> None:
    assert idx2crd(index, of) == expected


def test_offsets_stay_within_their_extents() -> None:
    assert idx2crd((1, 5), (3, (2, 3)), (1, (3, 6))) == (1, (1, 0))
    assert idx2crd(9, (4, 8), 2) == (0, 1)
