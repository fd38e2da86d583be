"""Coalescing, filtering and scaling: the same function, or the same image, with fewer modes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from strategies import identities, layouts, ranked

from pycute_xe.algebra import coalesce, filter_zeros
from pycute_xe.algebra import filter as filter_layout
from pycute_xe.algebra.simplify import flat_modes, from_modes, scaled
from pycute_xe.int_tuple import congruent
from pycute_xe.layout import Layout, depth, flatten, rank, size

ANY = layouts(negative=True) | identities()


def values(layout: Layout) -> list[Any]:
    return [layout(i) for i in range(size(layout))]


@given(ANY)
def test_coalesce_keeps_the_function(layout: Layout) -> None:
    found = coalesce(layout)
    assert size(found) == size(layout)
    assert depth(found) <= 1
    # Coordinates regain the modes that only extents of 1 named.
    assert [layout(0) + v for v in values(found)] == values(layout)


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
    assert rank(found) == rank(layout)
    for i, mode in enumerate(found):
        assert mode == (coalesce(layout[i]) if i < count else layout[i])


@given(layouts(negative=True))
def test_filter_zeros_keeps_image_and_nesting(layout: Layout) -> None:
    found = filter_zeros(layout)
    assert congruent(found.shape, layout.shape)
    assert found.stride == layout.stride
    assert set(values(found)) == set(values(layout))
    assert all(s == 1 for s, d in flat_modes(found) if d == 0)
    assert size(layout) % size(found) == 0


@given(layouts(negative=True))
def test_filter_keeps_the_image_only(layout: Layout) -> None:
    found = filter_layout(layout)
    assert values(found) == values(coalesce(filter_zeros(layout)))
    assert found == Layout(1, 0) or all(s > 1 and d != 0 for s, d in flat_modes(found))


@given(layouts(negative=True), st.integers(-3, 5))
def test_scaled_multiplies(layout: Layout, n: int) -> None:
    assert values(scaled(layout, n)) == [n * v for v in values(layout)]


@given(layouts())
def test_modes_go_there_and_back(layout: Layout) -> None:
    assert values(from_modes(flat_modes(layout))) == values(layout)
