"""Offsets of arrays of coordinates, and tables: equal to the calls, one by one, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from strategies import coordinate_layouts, injective_layouts, layouts, shapes

import pycute_xe as cx
from pycute_xe.basis import E
from pycute_xe.bulk import offsets, table
from pycute_xe.composed import ComposedLayout
from pycute_xe.f2 import F2, F2Layout, as_f2
from pycute_xe.int_tuple import flatten_tuple, unflatten_tuple
from pycute_xe.layout import Layout, cosize, size
from pycute_xe.swizzle import Swizzle

INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.uint64)
ENDS = (-(1 << 63), -(1 << 63) - 1, (1 << 63) - 1, 1 << 63)


@st.composite
def swizzled(draw: st.DrawFn) -> ComposedLayout:
    """A swizzle and an offset over any layout without negative offsets."""
    shift = draw(st.integers(-3, 3))
    swizzle = Swizzle(draw(st.integers(0, abs(shift))), draw(st.integers(0, 3)), shift)
    return ComposedLayout(swizzle, draw(st.integers(0, 40)), draw(layouts()))


@st.composite
def xored(draw: st.DrawFn) -> F2Layout:
    """XOR strides of any value over any shape."""
    shape = draw(shapes())
    strides = [F2(draw(st.integers(0, 200))) for _ in flatten_tuple(shape)]
    return F2Layout(shape, unflatten_tuple(tuple(strides), shape), draw(st.integers(0, 99)))


@st.composite
def index_arrays(draw: st.DrawFn, low: int, high: int) -> NDArray[Any]:
    """An array of up to three axes, perhaps empty, of some type of integer."""
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
    dtype = draw(st.sampled_from(INTEGERS))
    info = np.iinfo(dtype)
    values = st.integers(max(low, int(info.min)), min(high, int(info.max)))
    count = int(np.prod(shape))
    drawn = draw(st.lists(values, min_size=count, max_size=count))
    return np.array(drawn, dtype=dtype).reshape(shape)


@st.composite
def places(draw: st.DrawFn, shape: Any, axes: tuple[int, ...], low: int) -> Any:
    """A coordinate of arrays, nested to any depth of the shape, that broadcast to some axes."""
    if isinstance(shape, tuple) and draw(st.booleans()):
        return tuple(draw(places(mode, axes, low)) for mode in shape)
    if draw(st.integers(0, 4)) == 0:
        return draw(st.integers(low, 90))
    cut = draw(st.integers(0, len(axes)))
    own = tuple(draw(st.sampled_from((1, n))) for n in axes[cut:])
    count = int(np.prod(own))
    drawn = draw(st.lists(st.integers(low, 90), min_size=count, max_size=count))
    return np.array(drawn).reshape(own)


def one(coords: Any, axes: tuple[int, ...], where: tuple[int, ...]) -> Any:
    """The coordinate at one place of the broadcast arrays."""
    if isinstance(coords, tuple):
        return tuple(one(part, axes, where) for part in coords)
    return int(np.broadcast_to(coords, axes)[where])


def plain(value: Any) -> Any:
    """A coordinate as a list, an offset as itself."""
    return list(value) if isinstance(value, tuple) else value


ANY = st.one_of(layouts(negative=True), coordinate_layouts((5, 3)), xored())


@given(ANY.flatmap(lambda a: st.tuples(st.just(a), index_arrays(0, 300))))
def test_offsets_of_indices_are_the_calls(case: tuple[Any, NDArray[Any]]) -> None:
    layout, index = case
    found = offsets(layout, index)
    assert found.dtype == np.int64
    assert found.shape[: index.ndim] == index.shape
    for where in np.ndindex(index.shape):
        assert found[where].tolist() == plain(layout(int(index[where])))


@given(layouts(negative=True), index_arrays(-200, 300))
def test_indices_outside_of_the_shape_are_the_calls(layout: Layout, index: NDArray[Any]) -> None:
    expected = [layout(i) for i in index.ravel().tolist()]
    assert offsets(layout, index).ravel().tolist() == expected


@st.composite
def placed(draw: st.DrawFn) -> tuple[Any, Any]:
    """A layout and arrays of coordinates of it, inside or outside of its shape."""
    layout = draw(ANY)
    axes = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    low = 0 if isinstance(layout, F2Layout) else -50
    return layout, draw(places(layout.shape, axes, low))


@given(placed())
def test_offsets_of_coordinates_are_the_calls(case: tuple[Any, Any]) -> None:
    layout, coords = case
    found = offsets(layout, coords)
    full = np.broadcast_shapes(*(np.shape(part) for part in flatten_tuple(coords)))
    for where in np.ndindex(full):
        assert plain(layout(one(coords, full, where))) == found[where].tolist()


@given(swizzled(), st.lists(st.integers(0, 300), max_size=9))
def test_offsets_under_a_swizzle_are_the_calls(layout: ComposedLayout, index: list[int]) -> None:
    assert offsets(layout, np.array(index, dtype=int)).tolist() == [layout(i) for i in index]


@given(st.one_of(swizzled(), xored()))
def test_tables_of_swizzled_layouts_are_the_calls(layout: Any) -> None:
    found = table(layout)
    assert found.dtype == np.int64
    assert found.tolist() == [layout(i) for i in range(size(layout))]


@given(injective_layouts(gaps=False))
def test_both_forms_of_a_swizzle_have_one_table(layout: Layout) -> None:
    composed = ComposedLayout(Swizzle(1, 0, 2), 0, layout)
    try:
        other = as_f2(composed)
    except cx.CuteError:
        return
    assert np.array_equal(table(other), table(composed))


def test_rows_of_points_are_given_column_by_column() -> None:
    points = np.array([[0, 0], [3, 7], [1, 2]])
    layout = Layout((4, 8), (8, 1))
    assert offsets(layout, tuple(points.T)).tolist() == [0, 31, 10]
    assert offsets(layout, points).tolist() == [[0, 0], [24, 25], [8, 16]]


def test_the_result_owns_its_values() -> None:
    index = np.arange(4)
    for layout in (Layout(4), Layout(4, 0), make_empty()):
        coords: Any = index if layout.shape == 4 else ()
        found = offsets(layout, coords)
        found[...] = 9
    assert index.tolist() == [0, 1, 2, 3]


def make_empty() -> Layout:
    return Layout((), ())


def test_a_layout_without_modes() -> None:
    assert offsets(make_empty(), ()).tolist() == 0
    assert offsets(make_empty(), np.arange(3)).tolist() == [0, 0, 0]
    # An empty last mode has no end to run over, so that the mode before it wraps.
    layout = Layout((4, ()), (1, ()))
    assert offsets(layout, np.arange(6)).tolist() == [layout(i) for i in range(6)]


# ------------------------------------------------------------------ 64 bits


@pytest.mark.parametrize("end", ENDS)
def test_tables_end_at_64_bits(end: int) -> None:
    layout = Layout(2, end)
    if -(1 << 63) <= end < 1 << 63:
        assert table(layout).tolist() == [0, end]
        assert offsets(layout, np.array([1])).tolist() == [end]
    else:
        with pytest.raises(cx.CuteError, match="64 bits"):
            table(layout)
        with pytest.raises(cx.CuteError, match="64 bits"):
            offsets(layout, np.array([1]))


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-(1 << 64), 1 << 64)), max_size=3),
    st.lists(st.integers(-(1 << 63), (1 << 64) - 1), min_size=1, max_size=4),
)
def test_offsets_of_any_size_are_the_calls_or_refused(
    modes: list[tuple[int, int]], index: list[int]
) -> None:
    layout = Layout(tuple(s for s, _ in modes), tuple(d for _, d in modes))
    whole = list(range(size(layout)))
    _check_size(lambda: table(layout), [layout(i) for i in whole])
    _check_size(lambda: offsets(layout, np.array(whole)), [layout(i) for i in whole])
    dtype = np.int64 if min(index) < 0 else np.uint64
    index = [i for i in index if i <= np.iinfo(dtype).max]
    _check_size(lambda: offsets(layout, np.array(index, dtype)), [layout(i) for i in index])


def _check_size(call: Callable[[], NDArray[Any]], expected: list[int]) -> None:
    """Right where 64 bits hold all offsets, refused elsewhere."""
    if all(-(1 << 63) <= value < 1 << 63 for value in expected):
        assert call().tolist() == expected
        return
    with pytest.raises(cx.CuteError, match="64 bits"):
        call()


def test_sums_that_come_back_into_range() -> None:
    big = 1 << 62
    layout = Layout((4, 4), (big, -big))
    # The parts leave 64 bits, the sum does not.
    assert offsets(layout, (np.array([3, 2]), np.array([3, 1]))).tolist() == [0, big]
    assert offsets(layout, (1 << 80, 1 << 80)).tolist() == 0
    assert offsets(Layout((1 << 70, 2), (0, 5)), np.array([7])).tolist() == [0]
    assert offsets(Layout((1 << 70, 2), (0, 5)), (1 << 75) + 1).tolist() == 32 * 5


def test_a_swizzle_beyond_64_bits() -> None:
    high = ComposedLayout(Swizzle(1, 60, 5), 0, Layout(4, 1 << 58))
    assert table(high).tolist() == [high(i) for i in range(4)]
    assert offsets(high, (1 << 80) * 0 + 3).tolist() == high(3)
    assert table(F2Layout(4, F2(1 << 61))).tolist() == [i << 61 for i in range(4)]
    lifted = ComposedLayout(Swizzle(1, 0, -63), 0, Layout(2))
    assert offsets(lifted, np.array([0])).tolist() == [0]
    for call in (
        lambda: table(lifted),
        lambda: table(ComposedLayout(Swizzle(1, 0, 1), 1 << 63, Layout(2))),
        lambda: table(F2Layout(4, F2(1 << 62))),
        lambda: offsets(F2Layout(2, F2(1), 1 << 63), np.array([1])),
    ):
        with pytest.raises(cx.CuteError, match="64 bits"):
            call()


def test_large_layouts_are_read_here_and_there() -> None:
    layout = Layout((1 << 20, 1 << 20), (1 << 20, 1))
    index = np.array([0, 1, (1 << 40) - 1])
    assert offsets(layout, index).tolist() == [layout(int(i)) for i in index]
    assert cosize(layout) == 1 << 40
    assert cx.offsets is offsets
    assert offsets(Layout((2, 2), (E(0), E(1))), np.array([3])).tolist() == [[1, 1]]
