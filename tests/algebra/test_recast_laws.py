"""Casts beyond their laws: what undoes what."""

from __future__ import annotations

from typing import Any

import pytest
from every import every
from hypothesis import given, strategies as st
from strategies import contiguous_layouts, packed_layouts

from pycute_xe.algebra import downcast, recast_layout, upcast
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import DivisibilityError
from pycute_xe.layout import Layout, size
from pycute_xe.swizzle import Swizzle


@given(contiguous_layouts(), st.sampled_from((1, 2, 3, 4, 8)))
def test_upcast_undoes_downcast(layout: Layout, n: int) -> None:
    assert upcast(downcast(layout, n), n) == layout


@given(contiguous_layouts(), st.sampled_from((4, 8, 16, 32, 64)), st.sampled_from((4, 8, 16, 32)))
def test_recast_is_both_casts(layout: Layout, bits: int, other: int) -> None:
    assert recast_layout(layout, bits, bits) == layout
    narrow, wide = sorted((bits, other))
    assert recast_layout(layout, wide, narrow) == downcast(layout, wide // narrow)
    assert recast_layout(recast_layout(layout, wide, narrow), narrow, wide) == layout


@given(packed_layouts())
def test_recast_to_wider_elements_is_upcast(case: tuple[Layout, int]) -> None:
    layout, n = case
    assert recast_layout(layout, 8, 8 * n) == upcast(layout, n)


def test_recast_between_widths_that_do_not_divide() -> None:
    # 8 elements of 6 bits are 6 of 8 bits.
    assert str(recast_layout(Layout((8, 2)), 6, 8)) == "(6,2):(1,6)"


PARTS = [
    # A leaf of extent 1 does not count the parts; C++ lets both leaves grow.
    ((8, 1), (1, 1), 2, "(16,1):(1,2)"),
    ((1, 8), (1, 1), 2, "(1,16):(2,1)"),
    ((1, 1), (1, 1), 4, "(4,1):(1,4)"),
    ((2, 4), (1, 1), 2, "(4,4):(1,2)"),
    ((4, 3), (1, -4), 2, "(8,3):(1,-8)"),
]


@every(("shape", "stride", "n", "expected"), PARTS)
def test_each_part_of_an_element_once(shape: Any, stride: Any, n: int, expected: str) -> None:
    layout = Layout(shape, stride)
    narrow = downcast(layout, n)
    assert str(narrow) == expected
    assert recast_layout(layout, 8 * n, 8) == narrow
    places = sorted(narrow(i) for i in range(size(narrow)))
    assert places == sorted(n * layout(i) + k for i in range(size(layout)) for k in range(n))


@pytest.mark.parametrize(
    "layout", [Layout((4, 4), (2, 8)), Layout(4, -1), Layout((4, 3), (-1, 4)), Layout(1)]
)
def test_parts_need_a_contiguous_leaf(layout: Layout) -> None:
    for cast in (
        lambda: downcast(layout, 2),
        lambda: recast_layout(layout, 16, 8),
        lambda: downcast(ComposedLayout(Swizzle(1, 1, 1), 12, layout), 2),
    ):
        with pytest.raises(DivisibilityError, match="no mode has stride 1"):
            cast()


# What C++ gives.
FILLED_IN_PART = [
    ((2, 4), (1, 8), 4, "(1,4):(1,2)"),
    ((3, 4), (1, 4), 2, "(2,4):(1,2)"),
    ((1, 4), (1, 4), 2, "(1,4):(1,2)"),
]


@pytest.mark.parametrize(("shape", "stride", "n", "expected"), FILLED_IN_PART)
def test_a_unit_may_be_filled_in_part(shape: Any, stride: Any, n: int, expected: str) -> None:
    assert str(upcast(Layout(shape, stride), n)) == expected


@pytest.mark.parametrize(
    "layout", [Layout(4, -1), Layout((8, 3), (-1, 8)), Layout((4, 2), (1, 2)), Layout(8, -2)]
)
def test_units_are_not_torn(layout: Layout) -> None:
    for cast in (
        lambda: upcast(layout, 4),
        lambda: recast_layout(layout, 8, 32),
        lambda: upcast(ComposedLayout(Swizzle(1, 2, 1), 16, layout), 4),
    ):
        with pytest.raises(DivisibilityError, match=r"units of 4|within a unit"):
            cast()


@pytest.mark.parametrize("stride", [-1, -2])
def test_a_step_down_from_one_element_leads_below_the_first_unit(stride: int) -> None:
    """The last mode goes on beyond its extent; CuTe C++ keeps the sign of the stride too."""
    units = upcast(Layout(1, stride), 4)
    assert units == Layout(1, -1)
    assert units(1) == stride // 4
