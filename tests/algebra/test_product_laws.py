"""Products: copies of a block that do not overlap."""

from __future__ import annotations

from itertools import product as pairs_of
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from strategies import bijections, injective_layouts, nested, ranked, walks

from pycute_xe.algebra import (
    blocked_product,
    complement,
    composition,
    flat_product,
    logical_product,
    raked_product,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from pycute_xe.algebra.divide import unpacked
from pycute_xe.algebra.simplify import flat_modes
from pycute_xe.int_tuple import product_each
from pycute_xe.layout import Layout, cosize, make_layout, rank, size

Pair = tuple[Layout, Layout]


def values(layout: Layout) -> list[int]:
    return [layout(i) for i in range(size(layout))]


@st.composite
def block_and_copies(draw: st.DrawFn, repeats: bool = False) -> Pair:
    """A block, and places for copies of it that its gaps and what follows it can hold."""
    block = draw(injective_layouts(max_size=24, fill=repeats))
    free = complement(block, cosize(block) * 6)
    return block, draw(walks(free))


@given(block_and_copies(repeats=True))
def test_logical_product_puts_copies_into_the_complement(pair: Pair) -> None:
    block, places = pair
    first, copies = logical_product(block, places)
    assert first == block
    assert copies == composition(complement(block, size(block) * cosize(places)), places)
    assert size(copies) == size(places)


@given(block_and_copies())
def test_copies_do_not_overlap(pair: Pair) -> None:
    block, places = pair
    first, copies = logical_product(block, places)
    # Copies at different places share nothing; at the same place they are the same copy.
    at = {places(j): copies(j) for j in range(size(places))}
    assert len(set(at.values())) == len(at)
    hit = [first(i) + start for i, start in pairs_of(range(size(first)), at.values())]
    assert len(set(hit)) == len(hit)


@given(bijections(24), bijections(24))
def test_compact_by_compact_is_compact(block: Layout, places: Layout) -> None:
    found = logical_product(block, places)
    assert sorted(values(found)) == list(range(size(block) * size(places)))
    for j in range(size(places)):
        assert found(0, j) == size(block) * places(j)


@st.composite
def by_mode(draw: st.DrawFn) -> tuple[Layout, tuple[Any, ...]]:
    block = draw(ranked(injective_layouts(max_size=24, gaps=False)))
    tilers: list[Any] = []
    for mode in list(block)[: draw(st.integers(1, rank(block)))]:
        places = walks(complement(mode, cosize(mode) * 4))
        tilers.append(draw(st.none() | places))
    return block, tuple(tilers)


@given(by_mode())
def test_a_tuple_multiplies_mode_by_mode(pair: tuple[Layout, tuple[Any, ...]]) -> None:
    block, tiler = pair
    found = logical_product(block, tiler)
    assert rank(found) == rank(block)
    zipped = zipped_product(block, tiler)
    assert rank(zipped) == 2
    for i, mode in enumerate(found):
        part = tiler[i] if i < len(tiler) else None
        assert mode == logical_product(block[i], part)
        if i < len(tiler):
            one = mode if part is not None else make_layout(block[i], Layout(1, 0))
            assert make_layout(zipped[0][i], zipped[1][i]) == one
    assert list(zipped[1])[len(tiler) :] == list(block)[len(tiler) :]
    assert list(tiled_product(block, tiler)) == [zipped[0], *unpacked(zipped[1])]
    assert list(flat_product(block, tiler)) == [*unpacked(zipped[0]), *unpacked(zipped[1])]


@given(block_and_copies())
def test_tiled_and_flat_product_unpack(pair: Pair) -> None:
    first, second = zipped_product(*pair)
    assert make_layout(first, second) == logical_product(*pair)
    assert list(tiled_product(*pair)) == [first, *unpacked(second)]
    assert list(flat_product(*pair)) == [*unpacked(first), *unpacked(second)]


@given(block_and_copies())
def test_blocked_and_raked_product_pair_the_modes(pair: Pair) -> None:
    block, places = pair
    blocked, raked = blocked_product(block, places), raked_product(block, places)
    assert rank(blocked) == rank(raked) == max(rank(block), rank(places))
    # Both are the logical product with its modes paired off, the block first or last.
    for i, (b, r) in enumerate(zip(blocked, raked, strict=True)):
        inner, outer = b
        assert r == make_layout(outer, inner)
        assert inner == (block[i] if i < rank(block) else Layout(1, 0))
        assert size(outer) == (size(places[i]) if i < rank(places) else 1)
    assert sorted(values(blocked)) == sorted(values(logical_product(block, places)))
    assert sorted(values(raked)) == sorted(values(blocked))


@given(block_and_copies())
def test_none_multiplies_by_one(pair: Pair) -> None:
    block, _ = pair
    assert logical_product(block, None) == block
    assert zipped_product(block, None) == make_layout(block, Layout(1, 0))


@st.composite
def filled_shapes(draw: st.DrawFn) -> tuple[Layout, tuple[Any, ...], tuple[int, ...]]:
    block = draw(bijections(24))
    extents = [*product_each(block.shape), *([1] * draw(st.integers(0, 1)))]
    target = []
    for extent in extents:
        factors = draw(st.lists(st.integers(1, 3), max_size=1))
        target.append(draw(nested([extent, *factors])))
    return block, tuple(target), draw(st.permutations(range(len(target))).map(tuple))


@given(filled_shapes())
def test_tile_to_shape_fills_the_shape(
    case: tuple[Layout, tuple[Any, ...], tuple[int, ...]],
) -> None:
    block, target, order = case
    found = tile_to_shape(block, target, order)
    assert product_each(found.shape) == product_each(target)
    assert sorted(values(found)) == list(range(size(target)))
    copies = [mode[1] for mode in found]
    for i, mode in enumerate(found):
        assert mode[0] == (block[i] if i < rank(block) else Layout(1, 0))
    # The copies go in the order asked for: its first mode starts right behind the block.
    reach = size(block)
    for i in sorted(range(len(copies)), key=lambda i: order[i]):
        for s, d in flat_modes(copies[i]):
            assert s == 1 or d == reach
            reach *= s
    assert tile_to_shape(block, target) == tile_to_shape(block, target, tuple(range(len(target))))
