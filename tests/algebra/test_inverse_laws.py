"""Complements, inverses and null spaces, by counting offsets."""

from __future__ import annotations

from itertools import pairwise
from itertools import product as pairs
from math import prod

from hypothesis import given
from hypothesis import strategies as st
from strategies import bijections, injective_layouts, layouts

from pycute_xe.algebra import (
    coalesce,
    complement,
    composition,
    filter_zeros,
    left_inverse,
    nullspace,
    right_inverse,
)
from pycute_xe.algebra.simplify import flat_modes
from pycute_xe.errors import DivisibilityError
from pycute_xe.layout import Layout, cosize, depth, make_layout, size


def values(layout: Layout) -> list[int]:
    return [layout(i) for i in range(size(layout))]


@given(injective_layouts(fill=True), st.integers(1, 700))
def test_complement_tiles_the_offsets(layout: Layout, target: int) -> None:
    rest = complement(layout, target)
    mine, others = values(filter_zeros(layout)), values(rest)
    # Ordered, from zero.
    assert others[0] == 0
    assert all(a < b for a, b in pairwise(others))
    assert depth(rest) <= 1
    # Disjoint and without holes: each offset below the end is one of each, in one way.
    sums = sorted(a + b for a in mine for b in others)
    assert sums == list(range(len(sums)))
    # The least multiple of what the layout spans that holds the target.
    span = len(mine) * size(complement(layout))
    assert cosize(make_layout(layout, rest)) == len(sums) == -(-target // span) * span


@given(injective_layouts(fill=True))
def test_complement_up_to_the_layout_itself(layout: Layout) -> None:
    rest = complement(layout)
    assert size(rest) == 1 or cosize(rest) <= cosize(layout)
    assert complement(layout, cosize(filter_zeros(layout))) == rest


@given(bijections(), st.integers(1, 5))
def test_complement_of_a_compact_layout_repeats_it(layout: Layout, count: int) -> None:
    rest = complement(layout, count * size(layout))
    assert rest == (Layout(count, size(layout)) if count > 1 else Layout(1, 0))


@given(injective_layouts(), st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple))
def test_the_extents_of_a_cotarget_multiply(layout: Layout, target: tuple[int, ...]) -> None:
    assert complement(layout, target) == complement(layout, prod(target))


@given(layouts())
def test_right_inverse(layout: Layout) -> None:
    inverse = right_inverse(layout)
    assert [layout(inverse(i)) for i in range(size(inverse))] == list(range(size(inverse)))


@given(injective_layouts())
def test_right_inverse_of_an_injective_layout_is_the_longest(layout: Layout) -> None:
    hit, reached = set(values(layout)), 0
    while reached in hit:
        reached += 1
    assert size(right_inverse(layout)) == reached


def test_right_inverse_takes_the_longest_of_modes_that_start_together() -> None:
    assert right_inverse(Layout((2, 4), (1, 1))) == Layout(4, 2)
    assert right_inverse(Layout((4, 2), (1, 1))) == Layout(4, 1)
    assert right_inverse(Layout((2, 3, 5), (2, 2, 1))) == Layout(5, 6)
    assert right_inverse(Layout((3, 5, 2), (2, 2, 1))) == Layout((2, 5), (15, 3))


@given(bijections())
def test_inverses_of_a_bijection(layout: Layout) -> None:
    inverse = right_inverse(layout)
    assert size(inverse) == size(layout)
    assert [inverse(layout(i)) for i in range(size(layout))] == list(range(size(layout)))
    assert left_inverse(layout) == inverse
    assert values(right_inverse(inverse)) == values(layout)
    assert coalesce(composition(layout, inverse)) == coalesce(Layout(size(layout)))


@given(injective_layouts())
def test_left_inverse(layout: Layout) -> None:
    inverse = left_inverse(layout)
    assert [inverse(layout(i)) for i in range(size(layout))] == list(range(size(layout)))


SMALL = [
    Layout((s, t), (d, e))
    for s, t in pairs((1, 2, 3, 4), repeat=2)
    for d, e in pairs((1, 2, 3, 4, 5, 6, 9, 12), repeat=2)
]


def test_what_left_inverse_accepts_it_inverts() -> None:
    accepted = 0
    for layout in SMALL:
        try:
            inverse = left_inverse(layout)
        except DivisibilityError:
            continue
        accepted += 1
        assert [inverse(layout(i)) for i in range(size(layout))] == list(range(size(layout)))
    assert accepted > len(SMALL) / 2


def test_what_complement_accepts_it_completes() -> None:
    accepted = 0
    for layout in SMALL:
        try:
            rest = complement(layout, 60)
        except DivisibilityError:
            continue
        accepted += 1
        sums = sorted(a + b for a in values(layout) for b in values(rest))
        assert sums == list(range(len(sums)))
        assert len(sums) >= 60
    assert accepted > len(SMALL) / 2


@given(layouts(negative=True) | injective_layouts(fill=True))
def test_nullspace(layout: Layout) -> None:
    found = nullspace(layout)
    places = values(found)
    assert all(layout(place) == 0 for place in places)
    assert len(set(places)) == len(places)
    # It holds all that repeats: what is left over is as large as the layout without stride 0.
    assert len(places) == prod(s for s, d in flat_modes(layout) if d == 0)
    assert len(places) * size(filter_zeros(layout)) == size(layout)


@given(injective_layouts(fill=True))
def test_nullspace_is_all_that_maps_to_zero(layout: Layout) -> None:
    zeros = [i for i in range(size(layout)) if layout(i) == 0]
    assert sorted(values(nullspace(layout))) == zeros
