"""Arithmetic of vectors with what it meets: in place, with NumPy's scalars, masks and literals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every import every
from hypothesis import given, strategies as st

from pycute_xe.errors import CuteError, DTypeError
from pycute_xe.esimd import half, simd, simd_mask


def elements(x: Any) -> list[float]:
    return [v.item() for v in x]


def test_in_place_operators_write_through_views() -> None:
    x = simd("u8", 4, [1, 2, 250, 4])
    whole, view = x, x.select(2, 2, 0)
    kept = view
    view += 10
    assert view is kept
    assert elements(x) == [11, 2, 4, 4]
    x += 255
    assert x is whole
    assert elements(x) == [10, 1, 3, 3]
    assert x.dtype == np.uint8
    bits = simd("u32", 1, 0x3C003C00)
    high = bits.bit_cast_view(half).select(1, 1, 1)
    high *= 2
    assert elements(bits) == [0x40003C00]


def test_in_place_operators_keep_the_type() -> None:
    word = simd("u16", 2, 65535)
    word += 1
    assert word.dtype == np.uint16
    assert elements(word) == [0, 0]
    x = simd(half, 2, [1, 2048])
    x *= simd("f32", 2, 1 / 3)
    assert x.dtype == np.float16
    assert elements(x) == [float(np.float16(1 / 3)), 682.5]


def test_every_in_place_operator() -> None:
    found: list[list[float]] = []
    x = simd("s32", 2, [-7, 12])
    x += 1
    found.append(elements(x))
    x -= 2
    found.append(elements(x))
    x *= 3
    found.append(elements(x))
    x /= 5
    found.append(elements(x))
    x %= 4
    found.append(elements(x))
    x <<= 4
    found.append(elements(x))
    x >>= 1
    found.append(elements(x))
    x |= 5
    found.append(elements(x))
    x &= 13
    found.append(elements(x))
    x ^= 1
    found.append(elements(x))
    assert found == [
        [-6, 13],
        [-8, 11],
        [-24, 33],
        [-4, 6],
        [0, 2],
        [0, 32],
        [0, 16],
        [5, 21],
        [5, 5],
        [4, 4],
    ]


@every(
    ("scalar", "kind"),
    [
        (np.float32(1.5), "float32"),
        (np.float64(1.5), "float64"),
        (np.float16(1.5), "float16"),
        (np.int64(3), "int64"),
        (np.uint32(3), "uint32"),
        (np.int8(3), "int32"),
    ],
)
def test_numpy_scalars_have_their_own_type(scalar: Any, kind: str) -> None:
    x = simd("s32", 4, 2)
    for found in (x * scalar, scalar * x):
        assert isinstance(found, simd)
        assert found.dtype.name == kind
        assert elements(found) == [2 * scalar.item()] * 4


def test_masks_stay_masks() -> None:
    mask = simd_mask(2, [1, 0])
    for found, expected in (
        (mask & True, [True, False]),
        (True & mask, [True, False]),
        (mask | True, [True, True]),
        (False | mask, [True, False]),
        (mask ^ np.True_, [False, True]),
        (mask == False, [False, True]),  # noqa: E712
    ):
        assert found.dtype == np.bool_
        assert elements(found) == expected
    assert (mask + 1).dtype == np.int32


@given(st.integers(-(2**31), 2**32 - 1), st.integers(0, 2**32 - 1))
def test_literals_wrap_in_unsigned_vectors(literal: int, value: int) -> None:
    x = simd("u32", 1, value)
    assert elements(x + literal) == [(value + literal) % 2**32]
    assert elements(literal & x) == [literal % 2**32 & value]
    assert (x + literal).dtype == np.uint32


@given(st.integers(-(2**31), 2**31 - 1))
def test_hexadecimal_literals_of_signed_vectors(value: int) -> None:
    found = simd("s32", 1, value) & 0xFFFFFFFF
    assert found.dtype == np.uint32
    assert elements(found) == [value % 2**32]


def test_literals_beyond_an_int() -> None:
    assert elements(simd("u16", 1, 1) * 2**31) == [2**31]
    assert elements(simd("u16", 1, 3) * 2**40) == [3 * 2**40]
    assert elements(simd("u64", 1, 1) + (2**64 - 1)) == [0]
    assert elements(simd("s32", 1, 1) < 0xFFFFFFFF) == [True]


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-100, 100).filter(bool))
def test_quotient_and_remainder_are_those_of_c(a: int, b: int) -> None:
    x = simd("s32", 1, a)
    quotient, rest = elements(x / b)[0], elements(x % b)[0]
    if (a, b) != (-(2**31), -1):
        assert quotient * b + rest == a
    assert abs(rest) < abs(b)
    assert rest == 0 or (rest < 0) == (a < 0)


def test_reflected_operators() -> None:
    x = simd("s32", 3, [1, 2, 4])
    for found, expected in (
        (1 << x, [2, 4, 16]),
        (1 & x, [1, 0, 0]),
        (1 | x, [1, 3, 5]),
        (7 ^ x, [6, 5, 3]),
        (64 >> x, [32, 16, 4]),
        (9 % x, [0, 1, 1]),
        (9 / x, [9, 4, 2]),
        (2.0 / x, [2.0, 1.0, 0.5]),
        (abs(x - 3), [2, 1, 1]),
    ):
        assert elements(found) == expected


def test_base_and_step() -> None:
    assert elements(simd("u32", 5, 3, 4)) == [3, 7, 11, 15, 19]
    assert elements(simd("u8", 3, 250, 4)) == [250, 254, 2]
    assert elements(simd("f32", 3, 1, 0.5)) == [1.0, 1.5, 2.0]
    assert elements(simd("s32", 3, 1, -2)) == [1, -1, -3]


X, F = simd("u32", 4), simd("f32", 4)


@every(
    ("act", "text"),
    [
        (lambda: F << 1, "does not define this operator"),
        (lambda: ~F, "does not define this operator"),
        (lambda: F % 2, "% takes integers only"),
        (lambda: X % 0, "divided by zero"),
        (lambda: X + "a", "must be numbers"),
        (lambda: X + 1j, "must be numbers"),
        (lambda: X + 2**70, "must be numbers"),
        (lambda: X == None, "must be numbers"),  # noqa: E711
        (lambda: simd("f32", 4, "abc"), "must be numbers"),
        (lambda: simd("f32", 2, [[1], [2, 3]]), "must be numbers"),
        (lambda: simd("u32", 4, 0, "a"), "must be numbers"),
        (lambda: simd("u32", 4, [1, 2, 3, 4], 1), "one number each"),
        (lambda: X["a"], "index must be an integer"),
        (lambda: X[2.5], "index must be an integer"),
        (lambda: X["a":], "start must be an integer"),
        (lambda: X[::0], "step of a slice must not be 0"),
        (lambda: X.select(2, 1, "a"), "offset must be an integer"),
    ],
)
def test_slips_are_refused(act: Callable[[], Any], text: str) -> None:
    with pytest.raises(CuteError, match=text):
        act()


def test_the_division_that_c_has_not_is_refused() -> None:
    x = simd("s32", 4, [-7, 7, 8, 9])
    for attempt in (lambda: x // 2, lambda: 2 // x, lambda: x.__ifloordiv__(2)):
        with pytest.raises(DTypeError, match="rounds towards zero"):
            attempt()
    assert elements(x / 2) == [-3, 3, 4, 4]
