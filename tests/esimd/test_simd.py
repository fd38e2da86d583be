from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from every import every
from hypothesis import given, strategies as st

from pycute_xe.errors import DTypeError, ShapeError
from pycute_xe.esimd import half, simd, simd_mask, uint8_t, uint16_t, uint32_t
from pycute_xe.esimd.types import cache_hint, dtype_of, lsc_data_size

WORDS = st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=16)


@given(WORDS, st.data())
def test_packing_pairs_keeps_the_upper_half(low: list[int], data: st.DataObject) -> None:
    high = data.draw(st.lists(st.sampled_from(range(2**16)), min_size=len(low), max_size=len(low)))
    a, b = (simd(uint16_t, len(low), values) for values in (low, high))
    packed = simd(uint32_t, len(low), a | (b << 16))
    pairs = packed.bit_cast_view(uint16_t)
    assert pairs.select(len(low), 2, 0).read()[:].tolist() == low
    assert [int(x) for x in pairs][1::2] == high


@given(st.integers(1, 64), st.data())
def test_selecting_is_indexing_and_writes_through(size: int, data: st.DataObject) -> None:
    x = simd("s32", size, range(size))
    offset = data.draw(st.integers(0, size - 1))
    stride = data.draw(st.integers(1, size))
    count = data.draw(st.integers(1, (size - 1 - offset) // stride + 1))
    wanted = [offset + i * stride for i in range(count)]
    assert [int(v) for v in x.select(count, stride, offset)] == wanted
    x.select(count, stride, offset)[:] = -1
    assert [int(v) for v in x] == [-1 if i in wanted else i for i in range(size)]


@given(st.lists(st.integers(-128, 127), min_size=2, max_size=8), st.integers(-128, 127))
def test_integers_are_promoted_as_in_c(values: list[int], other: int) -> None:
    x = simd("s8", len(values), values)
    for found, expected in (
        (x + other, [v + other for v in values]),
        (other - x, [other - v for v in values]),
        (x * x, [v * v for v in values]),
        (-x, [-v for v in values]),
        (~x, [~v for v in values]),
    ):
        assert found.dtype == np.int32
        assert [int(v) for v in found] == expected
    if other:
        # C++ divides towards zero.
        assert [int(v) for v in x / other] == [int(v / other) for v in values]


@every(
    ("left", "right", "common"),
    [
        ("u32", "s32", "uint32"),
        ("u16", "u16", "int32"),
        ("u8", "s64", "int64"),
        ("u64", "s32", "uint64"),
        ("f16", "f16", "float16"),
        ("f16", "f32", "float32"),
        ("bf16", "f16", "float32"),
        ("f32", "f64", "float64"),
        ("u32", "f16", "float16"),
        ("bf16", "bf16", "bfloat16"),
    ],
)
def test_types_meet_as_in_c(left: str, right: str, common: str) -> None:
    for a, b in ((left, right), (right, left)):
        assert (simd(a, 4, 1) + simd(b, 4, 2)).dtype.name == common
        assert [float(v) for v in simd(a, 4, 1) + simd(b, 4, 2)] == [3.0] * 4


def test_python_numbers_take_the_type_of_the_vector() -> None:
    assert (simd(half, 2, 1) * 2).dtype == np.float16
    assert (simd(half, 2, 1) * 0.5).dtype == np.float16
    assert (simd("u32", 2, 1) * 0.5).dtype == np.float32
    assert (simd("u8", 2, 255) + 1)[0] == 256


def test_assignment_converts_as_in_c() -> None:
    x = simd(uint8_t, 4, [1, 256, 257, -1])
    assert [int(v) for v in x] == [1, 0, 1, 255]
    x[1] = 300
    assert x[1] == 44
    x[:] = simd(uint32_t, 4, 513)
    assert [int(v) for v in x] == [1] * 4
    assert [int(v) for v in simd("s32", 2, simd("f32", 2, [1.9, -1.9]))] == [1, -1]


def test_masks() -> None:
    x = simd("s32", 4, [1, 2, 3, 4])
    for mask, expected in (
        (x > 2, [0, 0, 1, 1]),
        (x >= 2, [0, 1, 1, 1]),
        (x < 2, [1, 0, 0, 0]),
        (x <= 2, [1, 1, 0, 0]),
        (x == 2, [0, 1, 0, 0]),
        (x != 2, [1, 0, 1, 1]),
    ):
        assert mask.dtype == np.bool_
        assert [int(v) for v in mask] == expected
        assert mask.any()
        assert not mask.all()
    assert simd_mask(4).all()
    assert [bool(v) for v in ~simd_mask(2, [1, 0])] == [False, True]
    with pytest.raises(ShapeError, match="neither true nor false"):
        bool(x == 2)


def test_a_vector_is_not_its_copy() -> None:
    x = simd("u8", 4, 1)
    y = x.read()
    x[0] = 9
    assert [int(v) for v in y] == [1] * 4
    array = np.asarray(x)
    array[1] = 7
    assert x[1] == 1
    assert x[1:3].tolist() == [1, 1]


def test_views_under_another_type_are_the_same_bytes() -> None:
    x = simd(uint32_t, 2, [0x3C003C00, 0])
    view = x.bit_cast_view(half)
    assert [float(v) for v in view] == [1, 1, 0, 0]
    view[3] = 2.0
    assert x[1] == 0x40000000
    part = x.select(1, 1, 1)
    assert [float(v) for v in part.bit_cast_view(half)] == [0, 2]


def test_refusals() -> None:
    x = simd("u32", 4)
    bad: list[tuple[Any, str]] = [
        (lambda: simd("u32", 0), "at least one element"),
        (lambda: simd("u32", 4, [1, 2]), "elements meet"),
        (lambda: x + simd("u32", 3), "elements meet"),
        (lambda: x[4], "the vector has 4 elements"),
        (lambda: x.select(2, 3, 1), "element 4 is outside the vector of 4"),
        (lambda: x.select(2, 2, 0).bit_cast_view(half), "not adjacent"),
        (lambda: x.select(1, 1, 0).bit_cast_view("u64"), "do not fill whole elements"),
        (lambda: x / 0, "divided by zero"),
    ]
    for act, text in bad:
        with pytest.raises(ShapeError, match=text):
            act()
    with pytest.raises(DTypeError, match="at least 8 bits"):
        simd("u4", 2)
    with pytest.raises(DTypeError):
        simd("f12", 2)


def test_text() -> None:
    assert repr(simd(half, 2, 1)) == "simd<f16, 2>(1.0, 1.0)"
    assert repr(simd("u8", 9, 1)) == "simd<u8, 9>(1, 1, 1, 1, 1, 1, 1, 1, …)"
    assert cache_hint.streaming.value == "st"
    assert lsc_data_size.u32.value == 32
    assert dtype_of("bool" if False else bool) == np.bool_
