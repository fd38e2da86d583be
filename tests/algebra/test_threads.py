"""Thread-value layouts and masks, against their laws, and what both reject."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from strategies import bijections

import pycute_xe as cx
from pycute_xe import Layout
from pycute_xe.algebra import laws
from pycute_xe.errors import CoordError, CuteError, DivisibilityError, RankError, ShapeError

COMPACT = bijections(24)


@given(COMPACT, COMPACT)
def test_each_value_is_where_its_thread_has_it(threads: Layout, values: Layout) -> None:
    tiler, tv = cx.make_layout_tv(threads, values)
    assert cx.product(tiler) == cx.size(threads) * cx.size(values) == cx.size(tv)
    assert laws.make_layout_tv(threads, values, (tiler, tv)) is None


@given(st.data())
def test_a_mask_has_the_offsets_of_a_line(data: st.DataObject) -> None:
    extents = data.draw(st.lists(st.sampled_from((1, 2, 4)), min_size=1, max_size=3))
    strides = data.draw(
        st.lists(st.sampled_from((0, 1, 2, 4)), min_size=len(extents), max_size=len(extents))
    )
    layout = Layout(tuple(extents), tuple(strides))
    coord = tuple(data.draw(st.integers(0, extent - 1)) for extent in extents)
    mode = data.draw(st.integers(0, len(extents) - 1))
    try:
        mask = cx.make_layout_image_mask(layout, coord, mode)
    except ShapeError:
        assert cx.cosize(layout) > 16
        return
    assert laws.make_layout_image_mask(layout, coord, mode, mask) is None


def test_a_mode_that_repeats_an_offset_may_be_long() -> None:
    assert cx.make_layout_image_mask(Layout((20, 4), (0, 1)), (3, 2), 0) == 0b100
    assert cx.make_layout_image_mask(Layout((20, 4), (0, -1)), (3, 0), 0) == 1


def test_a_tiled_copy_of_offsets_has_each_where_memory_has_it() -> None:
    for memory in (Layout((8, 64), (64, 1)), Layout((64, 8)), Layout((8, 64), (72, 1))):
        fast = 1 if memory.stride[1] == 1 else 0
        pitch = memory.stride[1 - fast]
        wanted = Layout(((16, 4), 2), ((2, pitch), 1))
        copy = cx.make_cotiled_copy("UniversalCopy<u16>", wanted, memory)
        for t in range(64):
            for v in range(2):
                place = cx.idx2crd(copy.layout_tv_tiled(t, v), copy.tiler_mn)
                assert memory(place) == wanted(t, v)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (DivisibilityError, lambda: cx.make_layout_tv(Layout(4, 2), Layout(2))),
        (DivisibilityError, lambda: cx.make_layout_tv(Layout(4), Layout((2, 2), (1, 1)))),
        (RankError, lambda: cx.make_layout_image_mask(Layout((2, 2)), (0, 0), 2)),
        (CoordError, lambda: cx.make_layout_image_mask(Layout((2, 2)), (0,), 0)),
        (ShapeError, lambda: cx.make_layout_image_mask(Layout((2, 32)), (0, 0), 1)),
        (ShapeError, lambda: cx.make_layout_image_mask(Layout((2, 4), (1, -2)), (0, 0), 1)),
        (ShapeError, lambda: cx.make_layout_image_mask(cx.make_identity_layout((2, 4)), (0, 0), 1)),
        (
            DivisibilityError,
            lambda: cx.make_cotiled_copy(
                "UniversalCopy<u16>", Layout((16, 2), (4, 1)), Layout((8, 64), (64, 1))
            ),
        ),
        (
            DivisibilityError,
            lambda: cx.make_cotiled_copy(
                "UniversalCopy<u16>", Layout((16, 2), (2, 1)), Layout((8, 64), (128, 2))
            ),
        ),
    ],
)
def test_what_is_rejected(error: type[CuteError], call: Any) -> None:
    with pytest.raises(error):
        call()
