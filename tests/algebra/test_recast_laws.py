"""Wider and narrower units of the same memory."""

from __future__ import annotations

from math import gcd

from hypothesis import given
from hypothesis import strategies as st
from strategies import layouts, nest

from pycute_xe.algebra import downcast, recast_layout, upcast
from pycute_xe.algebra.simplify import flat_modes
from pycute_xe.int_tuple import congruent, coordinates
from pycute_xe.layout import Layout, flatten


@st.composite
def packed_layouts(draw: st.DrawFn) -> tuple[Layout, int]:
    """A layout and a count, such that each leaf fills whole units or starts one."""
    n = draw(st.sampled_from((1, 2, 3, 4, 6, 8)))
    modes = []
    for _ in range(draw(st.integers(1, 3))):
        sign = draw(st.sampled_from((1, 1, -1)))
        inside = [d for d in range(1, n + 1) if n % d == 0]
        stride = draw(st.sampled_from([0, *inside, *(n * k for k in (1, 3, 5))]))
        step = n // gcd(n, stride) if stride else 1
        parts = [k for k in range(1, step + 1) if step % k == 0]
        extent = draw(st.sampled_from([*(step * k for k in (1, 2, 3)), *parts]))
        modes.append((extent, sign * stride))
    return nest(draw, modes), n


@given(packed_layouts())
def test_upcast_divides_the_offset_of_the_first_element(case: tuple[Layout, int]) -> None:
    layout, n = case
    wide = upcast(layout, n)
    assert congruent(wide.shape, layout.shape)
    # How many elements of a leaf one step of the wide leaf passes.
    steps = [
        -(-s // u) for (s, _), (u, _) in zip(flat_modes(layout), flat_modes(wide), strict=True)
    ]
    narrow, wide = flat(layout), flat(wide)
    for c in coordinates(wide.shape):
        first = narrow(tuple(i * step for i, step in zip(c, steps, strict=True)))
        assert first % n == 0
        assert wide(c) == first // n


def flat(layout: Layout) -> Layout:
    found = flatten(layout)
    return found if isinstance(found.shape, tuple) else Layout((found.shape,), (found.stride,))


@given(layouts(negative=True), st.sampled_from((1, 2, 3, 4, 8)))
def test_downcast_multiplies_offsets(layout: Layout, n: int) -> None:
    narrow, wide = flat(downcast(layout, n)), flat(layout)
    units = [n if d in (1, -1) else 1 for _, d in flat_modes(layout)]
    for c in coordinates(wide.shape):
        assert narrow(tuple(i * unit for i, unit in zip(c, units, strict=True))) == n * wide(c)


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
