"""Tensors over swizzled layouts and XOR strides: read, sliced, tiled and partitioned."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import cut_coordinates, layouts, tilings, walks

import pycute_xe as cx
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import ShapeError
from pycute_xe.f2 import F2, F2Layout, as_f2
from pycute_xe.int_tuple import coordinates, flatten_tuple
from pycute_xe.layout import Layout, size
from pycute_xe.swizzle import Swizzle
from pycute_xe.tensor import Tensor, local_partition, local_tile, make_tensor

SWIZZLES = st.sampled_from(
    [Swizzle(0, 0, 0), Swizzle(1, 0, 1), Swizzle(2, 0, 3), Swizzle(1, 2, -2), Swizzle(2, 1, 2)]
)
XOR = F2Layout((4, (2, 2)), (F2(1), (F2(6), F2(24))), 32)


@st.composite
def composed(draw: st.DrawFn) -> ComposedLayout:
    return ComposedLayout(draw(SWIZZLES), draw(st.integers(0, 20)), draw(layouts()))


@st.composite
def cut(draw: st.DrawFn) -> tuple[Any, Any]:
    layout = draw(st.one_of(composed(), st.just(XOR)))
    return layout, draw(cut_coordinates(layout.shape))


def values(tensor: Tensor) -> list[Any]:
    return [tensor(i) for i in range(size(tensor))]


def filled(cut: Any, free: list[Any]) -> Any:
    if isinstance(cut, tuple):
        return tuple(filled(c, free) for c in cut)
    return free.pop(0) if cut is None else cut


@given(st.one_of(composed(), st.just(XOR)))
def test_data_is_read_through_the_swizzle(layout: Any) -> None:
    data = np.arange(1 + max(layout(i) for i in range(size(layout)))) * 3
    tensor = make_tensor(data, layout)
    assert values(tensor) == [3 * layout(i) for i in range(size(layout))]
    assert values(make_tensor(None, layout)) == cx.table(layout).tolist()
    assert (tensor.shape, len(tensor)) == (layout.shape, len(layout))
    assert tensor(None) is tensor


@given(cut(), st.integers(0, 50))
def test_a_slice_keeps_its_place_beneath_the_swizzle(case: tuple[Any, Any], base: int) -> None:
    layout, coord = case
    part = Tensor(None, base, layout)(coord)
    if None not in flatten_tuple(coord):
        assert part == base + layout(coord)
        return
    assert isinstance(part, Tensor)
    assert part.base == base
    for inside in coordinates(part.shape):
        whole = filled(coord, [inside] if coord is None else list(inside))
        assert part(inside) == base + layout(whole)
        assert layout(coord)(inside) == layout(whole)


@given(st.data())
def test_compose_reads_through_another_layout(data: st.DataObject) -> None:
    layout = data.draw(composed())
    walk = data.draw(walks(layout.layout))
    found = make_tensor(None, layout).compose(walk)
    assert values(found) == [layout(walk(i)) for i in range(size(walk))]


@given(tilings(), SWIZZLES, st.integers(0, 9))
def test_tiles_cover_once(
    case: tuple[tuple[int, ...], tuple[int, ...]], swizzle: Swizzle, offset: int
) -> None:
    shape, tile = case
    layout = ComposedLayout(swizzle, offset, Layout(shape))
    tensor = make_tensor(None, layout)
    counts = tuple(s // t for s, t in zip(shape, tile, strict=True))
    for where in coordinates(counts):
        part = local_tile(tensor, tile, where)
        for coord in coordinates(tile):
            at = tuple(w * t + c for w, t, c in zip(where, tile, coord, strict=True))
            assert part(coord) == layout(at)


def test_partitions_cover_once() -> None:
    layout = ComposedLayout(Swizzle(2, 0, 3), 0, Layout((8, 8), (8, 1)))
    tensor = make_tensor(list(range(64)), layout)
    threads = Layout((4, 2), (2, 1))
    seen: Counter[int] = Counter()
    for index in range(8):
        part = local_partition(tensor, threads, index)
        assert part(0) == layout(index // 2, index % 2)
        seen.update(values(part))
    assert seen == Counter(range(64))


def test_atoms_partition_a_swizzled_tile() -> None:
    layout = ComposedLayout(Swizzle(2, 3, 3), 0, Layout((32, 32), (32, 1)))
    mma = cx.make_tiled_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), Layout((2, 1, 1)))
    plain = make_tensor(None, layout.layout)
    for work_item in (0, 5, mma.size - 1):
        part = mma.get_slice(work_item).partition_C(make_tensor(None, layout))
        beneath = mma.get_slice(work_item).partition_C(plain)
        assert values(part) == [layout.swizzle(i) for i in values(beneath)]


def test_both_forms_of_a_swizzle_are_one_tensor() -> None:
    layout = ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4)))
    other = make_tensor("abcdefghijklmnop", as_f2(layout))
    assert values(other) == values(make_tensor("abcdefghijklmnop", layout))
    assert values(other(None, 2)) == values(other)[8:12]


def test_xor_strides_are_not_rearranged() -> None:
    tensor = make_tensor(None, XOR)
    for call in (lambda: tensor.compose(2), lambda: local_partition(tensor, Layout(2), 0)):
        with pytest.raises(ShapeError, match="take as_f2 of the result"):
            call()


def test_a_swizzled_tensor_has_no_strides() -> None:
    with pytest.raises(ShapeError, match="no integer strides"):
        _ = make_tensor(None, ComposedLayout(Swizzle(1, 1, 1), 0, Layout(8))).stride
