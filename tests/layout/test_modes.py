"""Choosing, cutting and arranging the modes of a layout."""

from __future__ import annotations

from typing import Any

import pytest
from every import every
from hypothesis import given, strategies as st
from strategies import cut_coordinates, identities, layout_and, layouts, ranked

from pycute_xe.algebra import make_layout_like
from pycute_xe.algebra.compose import flat_modes
from pycute_xe.errors import CuteError, ShapeError
from pycute_xe.int_tuple import coordinates, flatten_tuple
from pycute_xe.layout import (
    Layout,
    append,
    cosize,
    depth,
    dice,
    flatten,
    get,
    group,
    make_layout,
    make_ordered_layout,
    prepend,
    rank,
    replace,
    select,
    shape,
    size,
    slice_,
    slice_and_offset,
    stride,
    take,
    unflatten,
)

ANY = layouts(negative=True) | identities()
RANKED = ranked(ANY)
CUT = layout_and(lambda layout: cut_coordinates(layout.shape), ANY)


def filled(cut: Any, free: list[Any]) -> Any:
    """A cut coordinate with the next free coordinates in place of each ``None``."""
    if isinstance(cut, tuple):
        return tuple(filled(c, free) for c in cut)
    return free.pop(0) if cut is None else cut


@given(CUT)
def test_a_slice_is_the_layout_with_some_coordinates_fixed(case: tuple[Layout, Any]) -> None:
    layout, cut = case
    part, offset = slice_and_offset(cut, layout)
    assert part == slice_(cut, layout)
    zero = layout(0)
    for coord in coordinates(part.shape):
        free = [coord] if cut is None else list(coord)
        # Plus zeros for the modes of a coordinate that neither part names.
        assert zero + offset + part(coord) == layout(filled(cut, free))


@given(CUT)
def test_a_call_with_none_is_a_slice(case: tuple[Layout, Any]) -> None:
    layout, cut = case
    if None in flatten_tuple(cut):
        assert layout(cut) == slice_(cut, layout)
        if isinstance(cut, tuple) and len(cut) > 1:
            assert layout(*cut) == slice_(cut, layout)


@given(CUT)
def test_slice_and_dice_share_the_modes(case: tuple[Layout, Any]) -> None:
    layout, cut = case
    kept, fixed = slice_(cut, layout), dice(cut, layout)
    if isinstance(cut, tuple):
        assert sorted(map(str, flat_modes(kept) + flat_modes(fixed))) == sorted(
            map(str, flat_modes(layout))
        )
    else:
        # A whole coordinate keeps everything or nothing.
        assert {kept, fixed} == {layout, Layout((), ())}
    assert size(kept) * size(fixed) == size(layout)


@given(layouts())
def test_cosize_is_one_more_than_the_largest_offset(layout: Layout) -> None:
    assert cosize(layout) == max(layout(i) for i in range(size(layout))) + 1


@given(layouts(negative=True))
def test_cosize_counts_strides_by_magnitude(layout: Layout) -> None:
    assert cosize(layout) == 1 + sum((s - 1) * abs(d) for s, d in flat_modes(layout))


@given(ANY)
def test_flatten_and_unflatten(layout: Layout) -> None:
    flat = flatten(layout)
    assert depth(flat) <= 1
    assert unflatten(flat, layout.shape) == layout
    assert [flat(i) for i in range(size(flat))] == [layout(i) for i in range(size(layout))]


@given(RANKED, st.data())
def test_group_keeps_the_function(layout: Layout, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, rank(layout) - 1))
    end = data.draw(st.integers(begin + 1, rank(layout)))
    found = group(layout, begin, end)
    assert rank(found) == rank(layout) - (end - begin) + 1
    assert found[begin] == take(layout, begin, end)
    assert [found(i) for i in range(size(found))] == [layout(i) for i in range(size(layout))]


@given(RANKED, st.data())
def test_modes_are_chosen(layout: Layout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(rank(layout))))
    chosen = select(layout, *order)
    assert list(chosen) == [layout[i] for i in order]
    assert size(chosen) == size(layout)
    i = order[0]
    assert get(layout, i) == layout[i]
    assert get(layout) == layout
    assert (shape(layout, i), stride(layout, i)) == (layout[i].shape, layout[i].stride)
    assert (shape(layout), stride(layout)) == (layout.shape, layout.stride)
    assert (size(layout, i), rank(layout, i)) == (size(layout[i]), rank(layout[i]))
    assert take(layout, i, i + 1) == layout[i : i + 1]
    assert take(layout, 0, rank(layout)) == layout
    other = Layout(3, 7)
    assert list(replace(layout, i, other)) == [
        other if k == i else mode for k, mode in enumerate(layout)
    ]
    assert replace(layout, i - rank(layout), other) == replace(layout, i, other)


def test_text_is_not_a_shape() -> None:
    with pytest.raises(ShapeError, match=r"Way out: use Layout.from_str\(.\(4,8\):\(8,1\).\)"):
        Layout("(4,8):(8,1)")


@given(RANKED, st.integers(0, 6))
def test_append_and_prepend(layout: Layout, up_to: int) -> None:
    one, missing = Layout(1, 0), max(0, up_to - rank(layout))
    assert list(append(layout, one)) == [*layout, one]
    assert list(prepend(layout, one)) == [one, *layout]
    assert list(append(layout, one, up_to)) == [*layout, *[one] * missing]
    assert list(prepend(layout, one, up_to)) == [*[one] * missing, *layout]


def test_an_integer_shape_is_one_mode() -> None:
    four, one = Layout(4, 2), Layout(1, 0)
    assert str(append(four, one)) == "(4,1):(2,0)"
    assert str(prepend(four, one)) == "(1,4):(0,2)"
    assert replace(four, 0, one) == make_layout(one)
    assert str(group(four, 0, 1)) == "((4)):((2))"
    assert (rank(four), depth(four), size(four), rank(8), size((4, 2))) == (1, 0, 4, 1, 8)


def test_ties_run_left_to_right() -> None:
    assert make_ordered_layout((2, 3, 4), (1, 0, 1)) == Layout((2, 3, 4), (3, 1, 6))
    assert make_ordered_layout((2, 3, 4), (0, 0, 0)) == Layout((2, 3, 4))


@every(
    ("shape", "order", "stride"),
    [
        # as the CuTe DSL 4.8.1 answers
        ((4, 3, 2), (0, 1, 1), (1, 4, 4)),
        ((2, 2, 2), (1, 1, 1), (1, 1, 1)),
        ((2, (3, 4)), (1, 1), (1, (1, 3))),
        ((4, (3, 2), 5), (1, (0, 1), 0), (15, (1, 15), 1)),
        ((1, 3, 2), (0, 0, 0), (0, 1, 1)),
    ],
)
def test_ties_that_share_a_stride(shape: Any, order: Any, stride: Any) -> None:
    assert make_ordered_layout(shape, order, share_ties=True) == Layout(shape, stride)


def test_layouts_like_others_share_ties_where_asked() -> None:
    tied = Layout(((1, 6), 12, (1, 2)), ((24, 1), 16, (1, 1)))
    assert str(make_layout_like(tied, share_ties=True)) == "((1,6),12,(1,2)):((0,1),12,(0,1))"
    assert str(make_layout_like(tied)) == "((1,6),12,(1,2)):((0,1),12,(0,6))"


def test_the_spellings_of_the_cute_dsl_make_layouts() -> None:
    assert make_layout((4, 8), stride=(8, 1)) == Layout((4, 8), (8, 1))
    assert make_layout([Layout(4, 2), Layout(8, 16)]) == Layout((4, 8), (2, 16))
    for call in (
        lambda: make_layout(Layout(4), stride=1),
        lambda: make_layout([Layout(4), 8]),
        lambda: make_layout((4, 8), (8, 1), stride=(8, 1)),
        lambda: make_layout((4, 8), strides=(8, 1)),
    ):
        with pytest.raises(CuteError):
            call()
