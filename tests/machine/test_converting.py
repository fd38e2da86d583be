"""Conversions of element types, against exact arithmetic; the rows that say how."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
from every import every
from hypothesis import given, strategies as st

from pycute_xe import facts
from pycute_xe.converting import bounds, convert, host_dtype, rule, wrap
from pycute_xe.numeric import as_numeric, numerics

INTEGERS = ("s8", "u8", "s4", "u4", "s2", "u2", "s16", "u16", "s32", "u32")


@given(st.floats(allow_nan=False), st.sampled_from(INTEGERS))
def test_floats_become_the_nearest_integer_in_range(value: float, kind: str) -> None:
    low, high = bounds(kind)
    if value == float("inf") or value == -float("inf"):
        wanted = high if value > 0 else low
    else:
        # Python rounds fractions half to even, exactly.
        wanted = min(max(round(Fraction(value)), low), high)
    assert int(convert(np.array([value]), kind)[0]) == wanted


@given(st.integers(-(2**62), 2**62), st.sampled_from(INTEGERS))
def test_integers_saturate_and_wrap(value: int, kind: str) -> None:
    low, high = bounds(kind)
    array = np.array([value])
    assert int(convert(array, kind)[0]) == min(max(value, low), high)
    kept = int(wrap(array, kind)[0])
    assert low <= kept <= high
    assert (kept - value) % (high - low + 1) == 0


def test_integers_of_a_few_bits_are_exact_everywhere() -> None:
    for dtype, low, high in ((ml_dtypes.int4, -8, 7), (ml_dtypes.uint2, 0, 3)):
        values = np.arange(low, high + 1).astype(dtype)
        for to in ("f32", "bf16", "s8", "s32", "f16"):
            assert convert(values, to).astype(int).tolist() == list(range(low, high + 1))


@given(st.floats(-3e38, 3e38), st.sampled_from(["bf16", "f16", "f32", "f8e5m2", "tf32"]))
def test_floats_round_to_the_nearest_even(value: float, kind: str) -> None:
    digits = {"bf16": 8, "f16": 11, "f32": 24, "f8e5m2": 3, "tf32": 11}[kind]
    least = {"bf16": -126, "f16": -14, "f32": -126, "f8e5m2": -14, "tf32": -126}[kind]
    most = {"bf16": 127, "f16": 15, "f32": 127, "f8e5m2": 15, "tf32": 127}[kind]
    found = float(convert(np.array([value]), kind)[0])
    exact = Fraction(value)
    scale = least
    while scale < 1100 and abs(exact) >= Fraction(2) ** (scale + 1):
        scale += 1
    unit = Fraction(2) ** (scale - digits + 1)
    wanted = round(exact / unit) * unit
    if abs(wanted) >= Fraction(2) ** (most + 1):
        assert abs(found) == float("inf")
    elif kind == "tf32" and abs(wanted) < Fraction(2) ** least:
        assert found == 0
    else:
        assert Fraction(found) == wanted


def test_what_is_beyond_floats_and_what_is_no_number() -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 1e300])
    assert np.isnan(convert(odd, "f8e4m3").astype(float)).all()
    for kind in ("bf16", "f16", "f32", "tf32", "f8e5m2"):
        out = convert(odd, kind).astype(float)
        assert np.isnan(out[0])
        assert out[1:].tolist() == [np.inf, -np.inf, np.inf]
    assert convert(odd[:1], "u8").tolist() == [0]


@every("name", numerics())
def test_every_type_has_a_rule_with_a_source_that_holds(name: str) -> None:
    numeric = as_numeric(name)
    for kind in ("float", "signed", "unsigned"):
        row = rule(numeric, kind)
        assert str(row["source"]).strip()
        beyond = convert(np.array([1e39]), numeric) if kind == "float" else None
        if beyond is not None and numeric.bits <= 16 and name != "bf16":
            told = {"infinity": np.inf, "nan": np.nan, "nearest": None}[str(row["beyond"])]
            most = 6.0 if name == "f4e2m1" else bounds(numeric)[1]
            wanted = most if told is None else told
            np.testing.assert_equal(float(beyond[0]), float(wanted))
    assert host_dtype(numeric).itemsize * 8 >= numeric.bits


def test_every_row_is_used() -> None:
    kinds = ("float", "signed", "unsigned")
    used = {str(rule(as_numeric(name), kind)) for name in numerics() for kind in kinds}
    assert used == {str(row) for row in facts.rows("convert", "rule")}
