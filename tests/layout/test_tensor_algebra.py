"""The algebra on tensors: what C++ overloads for them, held against reading element by element."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from strategies import layout_and, layouts, tilers

import pycute_xe as cx
from pycute_xe.errors import DivisibilityError, DTypeError
from pycute_xe.layout import Layout, cosize, size
from pycute_xe.tensor import Tensor, make_tensor

DIVIDES = (cx.logical_divide, cx.zipped_divide, cx.tiled_divide, cx.flat_divide)


def values(tensor: Tensor) -> list[Any]:
    return [tensor(i) for i in range(size(tensor.beneath))]


@given(layout_and(tilers, layouts()))
def test_a_divided_tensor_reads_what_its_divided_layout_reads(case: tuple[Layout, Any]) -> None:
    layout, tiler = case
    data = np.random.default_rng(3).permutation(cosize(layout) + 5)
    whole = Tensor(data, 5, layout)
    for divide in (*DIVIDES, cx.composition):
        places = divide(layout, tiler)
        found = divide(whole, tiler)
        assert found.shape == places.shape
        assert values(found) == [data[5 + places(i)] for i in range(size(places))]


@given(layouts())
def test_a_simpler_tensor_holds_the_same(layout: Layout) -> None:
    whole = make_tensor(np.arange(cosize(layout)) * 3, layout)
    for simpler in (cx.coalesce, cx.flatten):
        assert values(simpler(whole)) == values(whole)


def test_tiles_of_a_swizzled_tensor_of_three_modes() -> None:
    swizzled = cx.composition(cx.Swizzle(2, 0, 3), Layout((8, 8, 3), (8, 1, 64)))
    data = np.random.default_rng(1).permutation(192)
    whole = make_tensor(data, swizzled)
    tiles = cx.zipped_divide(whole, (4, 2))
    for i in range(4):
        for j, rest in ((0, (1, 2, 0)), (1, (0, 3, 2))):
            assert tiles((i, j), rest) == whole(i + 4 * rest[0], j + 2 * rest[1], rest[2])
    assert cx.group(whole, 0, 2).shape == ((8, 8), 3)
    assert cx.take(whole, 0, 2).shape == (8, 8)


def test_recast_sees_the_same_bytes() -> None:
    data = np.arange(64, dtype=np.uint16)
    narrow = make_tensor(data, Layout((8, 8), (1, 8)))
    wide = cx.recast(narrow, "u32")
    assert wide.shape == (4, 8)
    for i in range(4):
        for j in range(8):
            low, high = (int(narrow(2 * i + part, j)) for part in (0, 1))
            assert int(wide(i, j)) == low + (high << 16)
    assert values(cx.recast(wide, "u16")) == values(narrow)
    halves = cx.recast(narrow, "bf16")
    assert halves.data.dtype == ml_dtypes.bfloat16
    assert halves.layout == narrow.layout
    column = narrow(None, 3)
    assert int(cx.recast(column, "u32")(1)) == 26 + (27 << 16)


def test_recast_refuses_what_is_not_whole() -> None:
    narrow = make_tensor(np.arange(64, dtype=np.uint16), Layout((8, 8), (1, 8)))
    with pytest.raises(DivisibilityError, match="base 3 of 16-bit"):
        cx.recast(Tensor(narrow.data, 3, Layout(4)), "u32")
    with pytest.raises(DTypeError, match="has no element type"):
        cx.recast(make_tensor(None, Layout(8)), "u32")
    with pytest.raises(DTypeError, match="not a flat array"):
        cx.recast(make_tensor(np.zeros((4, 4), np.uint16), Layout(8)), "u32")
    with pytest.raises(DivisibilityError):
        cx.recast(make_tensor(None, Layout(8, 3)), "u32", "u8")
