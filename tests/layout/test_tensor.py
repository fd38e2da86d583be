"""Tensors: reading through a layout, and the tiles and partitions that cover one exactly once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, strategies as st
from strategies import (
    bijections,
    cut_coordinates,
    identities,
    layout_and,
    layouts,
    ranked,
    tilers,
    tilings,
    walks,
)

from pycute_xe.algebra import composition, zipped_divide
from pycute_xe.int_tuple import coordinates, flatten_tuple
from pycute_xe.layout import Layout, cosize, make_identity_layout, rank, size
from pycute_xe.tensor import (
    Tensor,
    local_partition,
    local_tile,
    make_identity_tensor,
    make_tensor,
)

ANY = layouts() | identities()


def values(tensor: Tensor) -> list[Any]:
    return [tensor(i) for i in range(size(tensor))]


@given(ANY)
def test_a_counting_tensor_gives_what_its_layout_gives(layout: Layout) -> None:
    tensor = make_tensor(None, layout)
    assert values(tensor) == [layout(i) for i in range(size(layout))]
    assert (tensor.shape, tensor.stride, len(tensor)) == (layout.shape, layout.stride, len(layout))
    assert tensor(None) == tensor


@given(layouts())
def test_data_is_read_through_the_layout(layout: Layout) -> None:
    data = np.arange(cosize(layout)) * 3
    tensor = make_tensor(data, layout)
    for coord in coordinates(layout.shape):
        assert tensor(coord) == 3 * layout(coord)
    assert make_tensor("abcdef", (2, 3), (3, 1))(1, 2) == "f"


@given(layout_and(lambda layout: cut_coordinates(layout.shape), ANY))
def test_a_cut_tensor_keeps_its_place(case: tuple[Layout, Any]) -> None:
    layout, cut = case
    tensor = make_tensor(None, layout)
    part = tensor(cut)
    if None not in flatten_tuple(cut):
        assert part == layout(cut)
        return
    assert isinstance(part, Tensor)
    for coord in coordinates(part.shape):
        free = [coord] if cut is None else list(coord)
        assert part(coord) == layout(_filled(cut, free))


def _filled(cut: Any, free: list[Any]) -> Any:
    if isinstance(cut, tuple):
        return tuple(_filled(c, free) for c in cut)
    return free.pop(0) if cut is None else cut


@given(layout_and(walks, layouts()))
def test_compose_reads_through_another_layout(pair: tuple[Layout, Layout]) -> None:
    layout, walk = pair
    found = make_tensor(None, layout).compose(walk)
    assert found.layout == composition(layout, walk)
    assert values(found) == [layout(walk(i)) for i in range(size(walk))]


def test_compose_by_mode() -> None:
    tensor = make_tensor(None, (4, 8))
    assert tensor.compose(2, Layout(4, 2)).layout == composition(Layout((4, 8)), (2, Layout(4, 2)))


# ------------------------------------------------------------------ tiles


@given(tilings())
def test_tiles_cover_once(case: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    shape, tile = case
    tensor = make_identity_tensor(shape)
    counts = tuple(s // t for s, t in zip(shape, tile, strict=True))
    seen: Counter[Any] = Counter()
    for where in coordinates(counts):
        part = local_tile(tensor, tile, where)
        assert part.shape == tile
        first = tuple(i * t for i, t in zip(where, tile, strict=True))
        assert part(0) == first
        for coord in coordinates(tile):
            assert part(coord) == tuple(f + c for f, c in zip(first, coord, strict=True))
        seen.update(values(part))
    assert seen == Counter(coordinates(shape))


@given(tilings(), st.data())
def test_none_keeps_the_tiles_of_a_mode(
    case: tuple[tuple[int, ...], tuple[int, ...]], data: st.DataObject
) -> None:
    shape, tile = case
    tensor = make_identity_tensor(shape)
    counts = tuple(s // t for s, t in zip(shape, tile, strict=True))
    where = tuple(data.draw(st.none() | st.integers(0, n - 1)) for n in counts)
    part = local_tile(tensor, tile, where)
    kept = tuple(n for n, w in zip(counts, where, strict=True) if w is None)
    assert part.shape == tile + kept
    for rest in coordinates(kept):
        full = _filled(where, list(rest))
        assert values(part(*((None,) * len(tile)), *rest)) == values(local_tile(tensor, tile, full))


@given(tilings(), st.data())
def test_entries_marked_x_are_left_out(
    case: tuple[tuple[int, ...], tuple[int, ...]], data: st.DataObject
) -> None:
    shape, tile = case
    at = data.draw(st.integers(0, len(tile)))
    more = (*tile[:at], 7, *tile[at:])
    where = (*(0 for _ in tile[:at]), 9, *(0 for _ in tile[at:]))
    proj = (*(1 for _ in tile[:at]), "X", *(1 for _ in tile[at:]))
    tensor = make_identity_tensor(shape)
    assert local_tile(tensor, more, where, proj) == local_tile(tensor, tile, (0,) * len(tile))


@given(layout_and(tilers, layouts(negative=True)))
def test_a_layout_tiles_the_whole_tensor(pair: tuple[Layout, Layout]) -> None:
    layout, tiler = pair
    tensor = make_tensor(None, layout)
    count = size(layout) // size(tiler)
    seen: Counter[int] = Counter()
    for where in range(count):
        part = local_tile(tensor, tiler, where)
        assert size(part) == size(tiler)
        seen.update(values(part))
    assert seen == Counter(values(tensor))


def test_fewer_tile_modes_than_tensor_modes() -> None:
    part = local_tile(make_identity_tensor((4, 6, 8)), (2, 3), (1, 1))
    assert part.shape == (2, 3, 8)
    assert part(1, 2, 5) == (3, 5, 5)
    # One integer counts the tiles through all modes.
    assert local_tile(make_identity_tensor((4, 6)), (2, 3), 3)(0) == (2, 3)


# ------------------------------------------------------------------ partitions


@st.composite
def partitions(draw: st.DrawFn) -> tuple[tuple[int, ...], Layout]:
    """The extents of a tensor, and threads in any order that divide it mode by mode."""
    threads = draw(ranked(bijections(24)))
    counts = draw(st.tuples(*[st.integers(1, 3)] * rank(threads)))
    more = draw(st.lists(st.integers(1, 3), max_size=1))
    return (*(size(t) * n for t, n in zip(threads, counts, strict=True)), *more), threads


@given(partitions())
def test_partitions_cover_once(case: tuple[tuple[int, ...], Layout]) -> None:
    shape, threads = case
    tensor = make_identity_tensor(shape)
    seen: Counter[Any] = Counter()
    for index in range(size(threads)):
        part = local_partition(tensor, threads, index)
        assert size(part) * size(threads) == size(tensor)
        seen.update(values(part))
    assert seen == Counter(coordinates(shape))


@given(partitions())
def test_a_thread_starts_at_its_coordinate(case: tuple[tuple[int, ...], Layout]) -> None:
    shape, threads = case
    tensor = make_identity_tensor(shape)
    for coord in coordinates(tuple(size(mode) for mode in threads)):
        part = local_partition(tensor, threads, threads(coord))
        assert part(0) == (*coord, *(0 for _ in shape[len(coord) :]))


def test_partitions_of_one_mode() -> None:
    part = local_partition(make_identity_tensor((8,)), Layout(4), 1)
    assert values(part) == [(1,), (5,)]
    data = make_tensor(list("abcdefgh"), 8)
    assert [local_partition(data, Layout(4), 1)(i) for i in range(2)] == ["b", "f"]


def test_partition_with_a_projection() -> None:
    threads = Layout((2, 4, 3))
    tensor = make_identity_tensor((4, 9))
    for index in range(size(threads)):
        i, _, k = threads_coord(index)
        part = local_partition(tensor, threads, index, (1, "X", 1))
        assert part(0) == (i, k)
        assert part.shape == (2, 3)


def threads_coord(index: int) -> tuple[int, int, int]:
    return index % 2, index // 2 % 4, index // 8


def test_a_divided_identity_is_a_tensor_of_coordinates() -> None:
    tensor = make_identity_tensor((8, 16))
    divided = Tensor(None, tensor.base, zipped_divide(tensor.layout, (4, 8)))
    assert divided((1, 2), (1, 1)) == (5, 10)
    assert tensor.layout == make_identity_layout((8, 16))


def test_tensors_over_arrays_compare() -> None:
    """NumPy's == answers element by element, which is no answer here."""
    data = np.arange(8)
    tensor = make_tensor(data, Layout((2, 4)))
    assert tensor == make_tensor(data, Layout((2, 4)))
    assert tensor != make_tensor(data.copy(), Layout((2, 4)))
    assert tensor != make_tensor(data, Layout((4, 2)))
    assert make_tensor("abcd", Layout(4)) == make_tensor("abcd", Layout(4))
    assert tensor != 3


def test_brackets_call_iterate_and_write() -> None:
    layout = Layout((4, (2, 3)), (6, (3, 1)))
    data = list(range(100, 124))
    t = make_tensor(data, layout)
    for i in range(4):
        for j in range(6):
            assert t[i, j] == t[i, :][(j,)] == t[i, None]((j,)) == 100 + layout(i, j)
    assert list(t) == [100 + layout(i) for i in range(24)]
    assert list(t[2, :]) == [t(2, j) for j in range(6)]
    t[3, (1, 2)] = -1
    assert data[layout(3, (1, 2))] == -1
    assert data.count(-1) == 1
