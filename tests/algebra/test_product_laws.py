"""Products beyond their laws: how the result nests, and compact layouts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from strategies import bijections, blocks_and_copies, filled_shapes

from pycute_xe.algebra import logical_product, tile_to_shape, zipped_product
from pycute_xe.layout import Layout, make_layout, rank, size

Pair = tuple[Layout, Layout]


def values(layout: Layout) -> list[int]:
    return [layout(i) for i in range(size(layout))]


@given(bijections(24), bijections(24))
def test_compact_by_compact_is_compact(block: Layout, places: Layout) -> None:
    found = logical_product(block, places)
    assert sorted(values(found)) == list(range(size(block) * size(places)))
    for j in range(size(places)):
        assert found(0, j) == size(block) * places(j)


@given(blocks_and_copies())
def test_none_multiplies_by_one(pair: Pair) -> None:
    block, _ = pair
    assert logical_product(block, None) == block
    assert zipped_product(block, None) == make_layout(block, Layout(1, 0))


@given(blocks_and_copies(repeats=True))
def test_copies_lie_apart_and_in_order(pair: Pair) -> None:
    block, places = pair
    first, copies = logical_product(block, places)
    assert first == block
    held: dict[int, set[int]] = {}
    for place, start in sorted(zip(values(places), values(copies), strict=True)):
        held.setdefault(place, set()).update(start + offset for offset in values(block))
        assert len(held[place]) == len(set(values(block)))  # a place that recurs is one copy
    assert sum(map(len, held.values())) == len(set().union(*held.values()))
    assert sorted(held) == sorted(held, key=lambda place: min(held[place]))


@given(filled_shapes())
def test_copies_go_first_mode_fastest_unless_told_otherwise(
    case: tuple[Layout, tuple[Any, ...], tuple[int, ...]],
) -> None:
    block, target, _ = case
    found = tile_to_shape(block, target)
    assert found == tile_to_shape(block, target, tuple(range(len(target))))
    assert [mode[0] for mode in found][: rank(block)] == list(block)
    # Nothing is left out.
    assert sorted(values(found)) == list(range(size(target)))
