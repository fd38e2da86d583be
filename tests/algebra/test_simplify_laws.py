"""Coalescing, filtering and scaling beyond their laws."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from every import every
from hypothesis import given, strategies as st
from strategies import identities, layouts, ranked

from pycute_xe.algebra import coalesce, filter as filter_layout, filter_zeros
from pycute_xe.algebra.compose import flat_modes, from_modes, scaled
from pycute_xe.layout import Layout, flatten, rank, size

ANY = layouts(negative=True) | identities()


def values(layout: Layout) -> list[Any]:
    return [layout(i) for i in range(size(layout))]


@given(ANY)
def test_coalesce_leaves_nothing_to_merge(layout: Layout) -> None:
    found = coalesce(layout)
    modes = flat_modes(found)
    assert found == Layout(1, 0) or all(s > 1 for s, _ in modes)
    assert all(s * d != e for (s, d), (_, e) in pairwise(modes))
    assert coalesce(found) == found
    assert coalesce(flatten(layout)) == found


@given(ranked(ANY), st.data())
def test_coalesce_by_mode_keeps_the_modes(layout: Layout, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, rank(layout)))
    found = coalesce(layout, (1,) * count)
    assert list(found) == [coalesce(mode) if i < count else mode for i, mode in enumerate(layout)]


def test_a_profile_may_nest() -> None:
    layout = Layout(((2, 3), (4, 5)))
    assert coalesce(layout, (1, 1)) == Layout((6, 20), (1, 6))
    assert coalesce(layout, ((1, 1), 1)) == Layout(((2, 3), 20), ((1, 2), 6))
    assert coalesce(layout, ((1,), (1, 1))) == layout


# C++ prints the same for Underscore in a Step, the CuTe DSL and pycute for None.
@every(
    ("profile", "printed"),
    [
        (None, "120:1"),
        ((None, 1), "(6,20):(1,6)"),
        ((None, None), "(6,20):(1,6)"),
        (((1, 1), None), "((2,3),20):((1,2),6)"),
        (((None, None), None), "((2,3),20):((1,2),6)"),
        ((None,), "(6,(4,5)):(1,(6,24))"),
    ],
)
def test_none_in_a_profile_coalesces_its_mode(profile: Any, printed: str) -> None:
    assert str(coalesce(Layout(((2, 3), (4, 5))), profile)) == printed


@given(layouts(negative=True))
def test_filter_zeros_keeps_image_and_strides(layout: Layout) -> None:
    found = filter_zeros(layout)
    assert found.stride == layout.stride
    assert set(values(found)) == set(values(layout))


@given(layouts(negative=True))
def test_filter_keeps_the_image_and_merges_what_it_can(layout: Layout) -> None:
    found = filter_layout(layout)
    assert set(values(found)) == set(values(layout))
    assert found == coalesce(found)


@given(layouts(negative=True), st.integers(-3, 5))
def test_scaled_multiplies(layout: Layout, n: int) -> None:
    assert values(scaled(layout, n)) == [n * v for v in values(layout)]


@given(layouts())
def test_modes_go_there_and_back(layout: Layout) -> None:
    assert values(from_modes(flat_modes(layout))) == values(layout)
