"""Register bytes as numbers: both ways, for every type."""

from __future__ import annotations

import numpy as np
import pytest
from dpas_pseudo_code import BITS, element
from hypothesis import given, strategies as st

from pycute_xe.errors import DTypeError, ShapeError
from pycute_xe.machine.memory import packed, round_tf32, unpacked

KINDS = sorted(BITS)


@given(st.sampled_from(KINDS), st.integers(0, 2**32 - 1))
def test_elements_are_where_the_transcription_finds_them(kind: str, seed: int) -> None:
    data = np.frombuffer(np.random.default_rng(seed).bytes(32), np.uint8)
    want = [element(data.tobytes(), kind, i) for i in range(256 // BITS[kind])]
    assert np.array_equal(unpacked(data, kind), np.array(want), equal_nan=kind[0] not in "su")


@given(st.sampled_from([k for k in KINDS if k[0] in "su"]), st.integers(0, 2**32 - 1))
def test_packing_undoes_unpacking(kind: str, seed: int) -> None:
    data = np.frombuffer(np.random.default_rng(seed).bytes(32), np.uint8)
    assert packed(unpacked(data, kind), kind).tobytes() == data.tobytes()


@pytest.mark.parametrize(("kind", "value"), [("s4", 8), ("s4", -9), ("u2", 4), ("u8", -1)])
def test_numbers_out_of_range_are_refused(kind: str, value: int) -> None:
    with pytest.raises(DTypeError, match=f"{kind} holds"):
        packed(np.array([0, value, 0, 0]), kind)


def test_fractions_are_no_integers() -> None:
    with pytest.raises(DTypeError, match="s8 holds integers"):
        packed(np.array([1.5]), "s8")


def test_bytes_that_end_inside_an_element_are_refused() -> None:
    with pytest.raises(ShapeError, match="the last one is cut off"):
        unpacked(np.zeros(6, dtype=np.uint8), "tf32")


def test_elements_that_fill_no_byte_are_refused() -> None:
    with pytest.raises(ShapeError, match="2 elements share a byte"):
        packed(np.array([1, 2, 3]), "u4")


@given(st.floats(width=32, allow_subnormal=False))
def test_tf32_is_the_nearest_even_number_of_11_bits(value: float) -> None:
    """Against exact arithmetic: Python's round() is to nearest even too."""
    got = float(round_tf32(np.array([value]))[0])
    if not np.isfinite(value):
        assert got == value or np.isnan(value)
        return
    if value == 0:
        assert got == 0
        return
    step = 2.0 ** (int(np.floor(np.log2(abs(np.float64(value))))) - 10)
    want = round(value / step) * step
    assert got == (want if want < 2.0**128 else np.inf) or (want <= -(2.0**128) and got == -np.inf)
