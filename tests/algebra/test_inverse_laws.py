"""Complements and inverses beyond their laws."""

from __future__ import annotations

from itertools import product as pairs
from math import prod

import pytest
from hypothesis import given, strategies as st
from strategies import bijections, injective_layouts

from pycute_xe.algebra import (
    coalesce,
    complement,
    composition,
    filter_zeros,
    laws,
    left_inverse,
    logical_divide,
    logical_product,
    right_inverse,
)
from pycute_xe.algebra.compose import flat_modes
from pycute_xe.errors import DivisibilityError
from pycute_xe.layout import Layout, cosize, size


def values(layout: Layout) -> list[int]:
    return [layout(i) for i in range(size(layout))]


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


def test_right_inverse_takes_the_longest_of_modes_that_start_together() -> None:
    assert right_inverse(Layout((2, 4), (1, 1))) == Layout(4, 2)
    assert right_inverse(Layout((4, 2), (1, 1))) == Layout(4, 1)
    assert right_inverse(Layout((2, 3, 5), (2, 2, 1))) == Layout(5, 6)
    assert right_inverse(Layout((3, 5, 2), (2, 2, 1))) == Layout((2, 5), (15, 3))


@given(bijections())
def test_inverses_of_a_bijection(layout: Layout) -> None:
    inverse = right_inverse(layout)
    assert size(inverse) == size(layout)
    assert left_inverse(layout) == inverse
    assert values(right_inverse(inverse)) == values(layout)
    assert coalesce(composition(layout, inverse)) == coalesce(Layout(size(layout)))


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
        assert laws.left_inverse(layout, inverse) is None
    assert accepted > len(SMALL) / 2


def test_what_complement_accepts_it_completes() -> None:
    accepted = 0
    for layout in SMALL:
        try:
            rest = complement(layout, 60)
        except DivisibilityError:
            continue
        accepted += 1
        if not is_uneven(layout):
            assert laws.complement(layout, 60, rest) is None
            continue
        # Where copies of the layout cannot hold each offset, CuTe's answer leaves holes.
        sums = [a + b for b in values(rest) for a in values(layout)]
        assert len(set(sums)) == len(sums)
        assert max(sums) + 1 >= 60
        assert values(rest) == sorted(values(rest))
    assert accepted > len(SMALL) * 3 / 5


def is_uneven(layout: Layout) -> bool:
    """Tell whether a stride is not a multiple of what the smaller ones span."""
    modes = sorted((d, s) for s, d in flat_modes(layout) if s > 1)
    spans = [1, *(d * s for d, s in modes)]
    return any(d % span for (d, _), span in zip(modes, spans, strict=False))


def test_divides_and_products_of_uneven_tiles() -> None:
    # As CUTLASS 4.2.0 prints them, where no hole matters; it makes copies meet in the last one.
    tile = Layout((2, 5), (1, 7))
    assert logical_divide(Layout(2, 3), tile) == Layout(((2, 5), 3), ((3, 21), 6))
    block = Layout((6, 2), (1, 8))
    assert logical_product(block, Layout(2)) == Layout(((6, 2), 2), ((1, 8), 16))
    for call in (
        lambda: logical_divide(Layout(12), tile),
        lambda: logical_product(Layout((2, 2), (3, 10)), Layout(5)),
    ):
        with pytest.raises(DivisibilityError, match="stays out of reach"):
            call()


@pytest.mark.parametrize(
    ("layout", "cotarget", "expected"),
    [
        # What ``complement`` of CUTLASS 4.2.0 prints.
        (Layout((2, 2), (1, 3)), 11, Layout(2, 6)),
        (Layout((2, 2), (2, 5)), 64, Layout((2, 7), (1, 10))),
        (Layout((2, 2), (1, 5)), 18, Layout((2, 2), (2, 10))),
        (Layout((2, 3), (9, 2)), 40, Layout((2, 3), (1, 18))),
    ],
)
def test_uneven_gaps(layout: Layout, cotarget: int, expected: Layout) -> None:
    assert complement(layout, cotarget) == expected
