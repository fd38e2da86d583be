"""Casts beyond their laws: what undoes what."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import layouts, packed_layouts

from pycute_xe.algebra import downcast, recast_layout, upcast
from pycute_xe.layout import Layout


@given(layouts(negative=True), st.sampled_from((1, 2, 3, 4, 8)))
def test_upcast_undoes_downcast(layout: Layout, n: int) -> None:
    assert upcast(downcast(layout, n), n) == layout


@given(layouts(), st.sampled_from((4, 8, 16, 32, 64)), st.sampled_from((4, 8, 16, 32)))
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


def test_a_run_may_go_backwards() -> None:
    assert str(downcast(Layout((4, 3), (-1, 4)), 2)) == "(8,3):(-1,8)"
    assert str(upcast(Layout((8, 3), (-1, 8)), 4)) == "(2,3):(-1,2)"
