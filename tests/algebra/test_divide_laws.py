"""Divides beyond their laws: how the result nests."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from strategies import layout_and, layouts, ranked, tilers

from pycute_xe.algebra import (
    complement,
    composition,
    logical_divide,
    tiled_divide,
    zipped_divide,
)
from pycute_xe.layout import Layout, make_layout, rank, size

Pair = tuple[Layout, Any]


@given(layout_and(tilers, layouts(negative=True)))
def test_the_tile_is_the_composition(pair: Pair) -> None:
    layout, tiler = pair
    tile, rest = logical_divide(layout, tiler)
    assert tile == composition(layout, tiler)
    assert size(rest) == size(complement(tiler, size(layout)))


@given(ranked(layouts()))
def test_none_keeps_the_whole(layout: Layout) -> None:
    assert logical_divide(layout, None) == layout
    assert zipped_divide(layout, None) == make_layout(layout, Layout(1, 0))
    assert tiled_divide(layout, (None,) * rank(layout))[0] == layout


def test_the_last_tile_may_be_partial() -> None:
    # As in C++: the last mode is unbounded, so the rest covers the extent rounded up.
    assert str(logical_divide(Layout(10), 4)) == "(4,3):(1,4)"
