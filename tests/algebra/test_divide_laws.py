"""Divides: every value of the layout once, the tile first."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from strategies import identities, layout_and, layouts, mode_tilers, ranked, tilers

from pycute_xe.algebra import (
    complement,
    composition,
    flat_divide,
    logical_divide,
    tiled_divide,
    zipped_divide,
)
from pycute_xe.algebra.divide import unpacked
from pycute_xe.layout import Layout, make_layout, rank, size

Pair = tuple[Layout, Any]


def values(layout: Layout) -> list[Any]:
    return [layout(i) for i in range(size(layout))]


@given(layout_and(tilers, layouts(negative=True)))
def test_logical_divide_is_tile_and_rest(pair: Pair) -> None:
    layout, tiler = pair
    tile, rest = logical_divide(layout, tiler)
    assert tile == composition(layout, tiler)
    assert size(tile) * size(rest) == size(layout)
    # Each value once, the values of a tile together.
    assert sorted(values(make_layout(tile, rest))) == sorted(values(layout))
    starts = complement(tiler, size(layout))
    for j in range(size(rest)):
        for i in range(size(tile)):
            assert tile(i) + rest(j) == layout(tiler(i) + starts(j))


@given(layout_and(lambda a: tilers(a, repeats=True), layouts()))
def test_a_tiler_may_repeat_elements(pair: Pair) -> None:
    layout, tiler = pair
    tile, rest = logical_divide(layout, tiler)
    assert tile == composition(layout, tiler)
    assert set(values(make_layout(tile, rest))) == set(values(layout))


@given(layout_and(mode_tilers, ranked(layouts())))
def test_a_tuple_divides_mode_by_mode(pair: Pair) -> None:
    layout, tiler = pair
    found = logical_divide(layout, tiler)
    assert rank(found) == rank(layout)
    for i, mode in enumerate(found):
        assert mode == (logical_divide(layout[i], tiler[i]) if i < len(tiler) else layout[i])
    assert sorted(values(found)) == sorted(values(layout))


@given(layout_and(mode_tilers, ranked(layouts())))
def test_zipped_divide_gathers_the_tile(pair: Pair) -> None:
    layout, tiler = pair
    found = zipped_divide(layout, tiler)
    assert rank(found) == 2
    tile, rest = found
    assert sorted(values(found)) == sorted(values(layout))
    assert rank(tile) == len(tiler)
    assert rank(rest) == rank(layout)
    for i, part in enumerate(tiler):
        if part is None:
            assert (tile[i], rest[i]) == (layout[i], Layout(1, 0))
        elif not isinstance(part, tuple):
            assert make_layout(tile[i], rest[i]) == logical_divide(layout[i], part)
        else:
            assert make_layout(tile[i], rest[i]) == zipped_divide(layout[i], part)
    assert list(rest)[len(tiler) :] == list(layout)[len(tiler) :]


@given(layout_and(mode_tilers, ranked(layouts())) | layout_and(tilers, layouts()))
def test_tiled_and_flat_divide_unpack(pair: Pair) -> None:
    layout, tiler = pair
    tile, rest = zipped_divide(layout, tiler)
    assert list(tiled_divide(layout, tiler)) == [tile, *unpacked(rest)]
    assert list(flat_divide(layout, tiler)) == [*unpacked(tile), *unpacked(rest)]


@given(layout_and(tilers, identities()))
def test_dividing_an_identity_deals_out_coordinates(pair: Pair) -> None:
    layout, tiler = pair
    tile, rest = logical_divide(layout, tiler)
    starts = complement(tiler, size(layout))
    for j in range(size(rest)):
        for i in range(size(tile)):
            # Plus the zeros of modes that no stride of the parts names any more.
            assert layout(0) + tile(i) + rest(j) == layout(tiler(i) + starts(j))


@given(ranked(layouts()))
def test_none_keeps_the_whole(layout: Layout) -> None:
    assert logical_divide(layout, None) == layout
    assert zipped_divide(layout, None) == make_layout(layout, Layout(1, 0))
    assert tiled_divide(layout, (None,) * rank(layout))[0] == layout


def test_the_last_tile_may_be_partial() -> None:
    # As in C++: the last mode is unbounded, so the rest covers the extent rounded up.
    assert str(logical_divide(Layout(10), 4)) == "(4,3):(1,4)"
