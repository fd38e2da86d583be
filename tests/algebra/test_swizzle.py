"""Swizzles, swizzled layouts and XOR strides as values, and the laws of the algebra on them."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from every import every
from hypothesis import assume, given, strategies as st
from strategies import contiguous_layouts, layouts, nest

from pycute_xe import algebra
from pycute_xe.algebra import coalesce, composition, downcast, max_common_layout, upcast
from pycute_xe.algebra.swizzled import cosize, slice_, slice_and_offset
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CuteError
from pycute_xe.f2 import F2, F2Layout, as_f2
from pycute_xe.int_tuple import coordinates
from pycute_xe.layout import Layout, size
from pycute_xe.swizzle import Swizzle, make_swizzle


@st.composite
def swizzles(draw: st.DrawFn, most: int = 3) -> Swizzle:
    bits = draw(st.integers(0, most))
    shift = draw(st.integers(bits, most + 1)) * draw(st.sampled_from((1, 1, -1)))
    return Swizzle(bits, draw(st.integers(0, most)), shift)


@st.composite
def bit_layouts(draw: st.DrawFn, bits: int = 7) -> Layout:
    """Leaves of powers of two whose strides are powers of two and do not overlap."""
    left = list(draw(st.permutations(range(bits))))
    modes: list[tuple[int, int]] = []
    taken: set[int] = set()
    for first in left:
        most = 0
        while first + most < bits and first + most not in taken and most < 3:
            most += 1
        if most:
            count = draw(st.integers(1, most))
            taken.update(range(first, first + count))
            modes.append((1 << count, 1 << first))
    return nest(draw, modes)


@given(swizzles(), st.integers(0, 5000))
def test_a_swizzle_undoes_itself_within_blocks(swizzle: Swizzle, offset: int) -> None:
    assert swizzle(swizzle(offset)) == offset
    assert swizzle(offset) // swizzle.block == offset // swizzle.block
    assert swizzle(offset) % (1 << swizzle.base) == offset % (1 << swizzle.base)


@given(swizzles())
def test_a_swizzle_of_an_array(swizzle: Swizzle) -> None:
    found = swizzle(np.arange(300))
    assert found.tolist() == [swizzle(i) for i in range(300)]


@given(swizzles())
def test_masks_make_the_swizzle(swizzle: Swizzle) -> None:
    found = make_swizzle(swizzle.yyy_mask, swizzle.zzz_mask)
    assert [found(i) for i in range(600)] == [swizzle(i) for i in range(600)]
    assert not swizzle.bits or found == swizzle


@given(swizzles(), swizzles())
def test_two_swizzles_are_one_or_refused(a: Swizzle, b: Swizzle) -> None:
    try:
        both = composition(a, b)
    except CuteError:
        assume(False)
    assert [both(i) for i in range(2048)] == [a(b(i)) for i in range(2048)]


def test_refusing_two_swizzles_is_rare_where_cute_merges_them() -> None:
    assert composition(Swizzle(1, 0, 3), Swizzle(1, 1, 3)) == Swizzle(2, 0, 3)
    assert composition(Swizzle(2, 1, 3), Swizzle(2, 1, 3)).bits == 0


@given(swizzles(), st.integers(0, 40), layouts())
def test_a_composed_layout_is_the_composed_function(
    swizzle: Swizzle, offset: int, layout: Layout
) -> None:
    composed = ComposedLayout(swizzle, offset, layout)
    assert composed.shape == layout.shape
    assert len(composed) == len(layout)
    found = [composed(c) for c in coordinates(layout.shape)]
    assert found == [swizzle(offset + layout(c)) for c in coordinates(layout.shape)]
    assert max(found) < cosize(composed) == composed.cosize
    flat = coalesce(composed)
    assert [flat(i) for i in range(size(flat))] == found


@given(swizzles(), st.integers(0, 40), layouts().filter(lambda a: len(a) > 1))
def test_a_slice_keeps_the_offset_inside(swizzle: Swizzle, offset: int, layout: Layout) -> None:
    composed = ComposedLayout(swizzle, offset, layout)
    last = size(layout[-1]) - 1
    coord = (*(None,) * (len(layout) - 1), last)
    sub, start = slice_and_offset(coord, composed)
    assert start == 0
    assert sub == slice_(coord, composed) == composed(*coord)
    for c in coordinates(sub.shape):
        assert sub(c) == composed((*c, last))


@given(swizzles(), st.sampled_from((1, 2, 4, 8, 16)), st.integers(1, 3), st.integers(0, 3))
def test_upcast_holds_every_element_of_a_unit(
    swizzle: Swizzle, n: int, rows: int, start: int
) -> None:
    narrow = ComposedLayout(swizzle, start * n, Layout((n * 4, rows * 4), (1, n * 4)))
    torn = swizzle.bits and swizzle.shift < 0 and n > 1 << swizzle.base and n <= swizzle.zzz_mask
    if torn:
        with pytest.raises(CuteError, match="tears units"):
            upcast(narrow, n)
        return
    wide = upcast(narrow, n)
    for x, y in coordinates(wide.shape):
        inside = {narrow(x * n + j, y) for j in range(n)}
        assert inside == set(range(wide(x, y) * n, wide(x, y) * n + n))
        # Up to the base of the swizzle their order is kept too.
        assert n > 1 << swizzle.base or narrow(x * n, y) == wide(x, y) * n


@given(swizzles(), st.sampled_from((1, 2, 4, 8)), contiguous_layouts(negative=False))
def test_upcast_undoes_downcast(swizzle: Swizzle, n: int, layout: Layout) -> None:
    composed = ComposedLayout(swizzle, 5, layout)
    assert upcast(downcast(composed, n), n) == composed
    assert algebra.recast_layout(composed, 8 * n, 8) == downcast(composed, n)
    assert algebra.recast_layout(downcast(composed, n), 8, 8 * n) == composed
    assert algebra.recast_layout(composed, 6, 6) == composed


@given(swizzles(), st.data())
def test_xor_strides_are_the_same_function(swizzle: Swizzle, data: st.DataObject) -> None:
    layout = data.draw(bit_layouts())
    composed = ComposedLayout(swizzle, 256 * data.draw(st.integers(0, 3)), layout)
    linear = as_f2(composed)
    assert [linear(i) for i in range(size(layout))] == [composed(i) for i in range(size(layout))]
    for c in coordinates(layout.shape):
        assert linear(c) == composed(c)
    assert eval(repr(linear)) == linear


@given(layouts())
def test_xor_strides_are_right_or_refused(layout: Layout) -> None:
    try:
        linear = as_f2(layout)
    except CuteError:
        assume(False)
    assert [linear(i) for i in range(size(layout))] == [layout(i) for i in range(size(layout))]


@given(bit_layouts(), swizzles(2))
def test_a_layout_of_a_swizzle_is_right_or_refused(layout: Layout, swizzle: Swizzle) -> None:
    try:
        found = composition(layout, swizzle)
    except CuteError:
        assume(False)
    for i in range(size(layout)):
        assert found(i) == layout(swizzle(i))


@given(bit_layouts(), swizzles(2), st.sampled_from((algebra.right_inverse, algebra.left_inverse)))
def test_inverses_are_right_or_refused(layout: Layout, swizzle: Swizzle, invert: Any) -> None:
    composed = ComposedLayout(swizzle, 0, layout)
    try:
        found = invert(composed)
    except CuteError:
        assume(False)
    if invert is algebra.right_inverse:
        assert [composed(found(i)) for i in range(size(found))] == list(range(size(found)))
    else:
        assert [found(composed(i)) for i in range(size(layout))] == list(range(size(layout)))


@given(swizzles(), st.integers(0, 3))
def test_common_elements_of_a_swizzled_layout(swizzle: Swizzle, start: int) -> None:
    plain = Layout((4, 4, 4))
    composed = ComposedLayout(swizzle, 4 * start, plain)
    common = max_common_layout(composed, plain)
    assert size(common) == algebra.max_common_vector(plain, composed)
    for i in range(size(common)):
        assert composed(common(i)) == composed(0) + i
        assert plain(common(i)) == i


X = ComposedLayout(Swizzle(2, 4, 3), 0, Layout((8, 64), (64, 1)))


def test_operations_act_beneath_the_swizzle() -> None:
    assert str(composition(X, (4, 8))) == "Sw<2,4,3> o 0 o (4,8):(64,1)"
    assert str(algebra.zipped_divide(X, (4, 8))) == (
        "Sw<2,4,3> o 0 o ((4,8),(2,8)):((64,1),(256,8))"
    )
    assert str(algebra.with_shape(X, 512)) == "Sw<2,4,3> o 0 o (8,64):(64,1)"
    assert str(composition(Swizzle(1, 1, 1), 4, Layout(8))) == "Sw<1,1,1> o 4 o 8:1"
    assert composition(Swizzle(0, 4, 3), Layout(8)) == Layout(8)
    assert [str(mode) for mode in X] == ["Sw<2,4,3> o 0 o 8:64", "Sw<2,4,3> o 0 o 64:1"]


VALUES = [Swizzle(2, 4, -3), X, F2(5), as_f2(X), F2Layout((2, (2, 2)), (F2(1), (F2(6), F2(0))), 8)]


@every("value", VALUES, ids=str)
def test_values(value: Any) -> None:
    assert eval(repr(value)) == value
    again = pickle.loads(pickle.dumps(value))
    assert again == value
    assert hash(again) == hash(value)
    for name in ("bits", "offset", "value"):
        if hasattr(type(value), name):
            with pytest.raises(FrozenInstanceError):
                setattr(value, name, 1)


def test_text() -> None:
    assert str(Swizzle(2, 4, -3)) == "Sw<2,4,-3>"
    assert str(X) == "Sw<2,4,3> o 0 o (8,64):(64,1)"
    assert str(as_f2(X)) == "((2,4),64):((F2(64),F2(144)),F2(1))"
    assert str(VALUES[-1]) == "8 xor (2,(2,2)):(F2(1),(F2(6),F2(0)))"


def test_f2_arithmetic_is_a_ring() -> None:
    a, b, c = F2(11), F2(6), F2(13)
    assert a * (b + c) == a * b + a * c
    assert a * b == b * a == 11 * b
    assert a + a == F2(0)
    assert 0 + a == a
    with pytest.raises(TypeError):
        a + 1


def test_a_layout_of_a_huge_size_costs_nothing() -> None:
    big = composition(Swizzle(3, 4, 3), Layout((1 << 20, 1 << 20), (1 << 20, 1)))
    assert size(coalesce(big)) == 1 << 40
    assert as_f2(big)((1 << 40) - 1) == big((1 << 40) - 1)


def test_equal_swizzles_change_places_alike() -> None:
    square = Layout((4, 4))
    x = ComposedLayout(Swizzle(2, 0, 2), 0, square)
    assert algebra.max_common_vector(x, x) == 16
    assert max_common_layout(x, x) == Layout(16)
    # Whole blocks further on they still do; within a block they do not.
    assert algebra.max_common_vector(x, ComposedLayout(Swizzle(2, 0, 2), 16, square)) == 16
    moved = ComposedLayout(Swizzle(2, 0, 2), 4, square)
    assert algebra.max_common_vector(x, moved) == 1
    assert moved(1) - moved(0) != x(1) - x(0)
    for other in (ComposedLayout(Swizzle(1, 0, 2), 0, square), square):
        assert algebra.max_common_vector(x, other) == 1
        assert algebra.max_common_vector(other, x) == 1
