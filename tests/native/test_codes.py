"""Every code of the narrow types as a binary converts it, against a run and the formats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from compiled_cases import needs_compiler
from sampling import sampled
from small_kernels import fragment

import pycute_xe as cx
from pycute_xe.atom import XE_LOAD_2D, XE_STORE_2D, make_block_2d_copy
from pycute_xe.bulk import numpy_dtype
from pycute_xe.converting import host_dtype
from pycute_xe.kernel import Convert, Index, Kernel, Load, Map, Operand, Slot, Store

COLUMNS = 16
# Bits of the exponent and of the significand of floats: OCP 8-bit and MX specifications.
FLOATS = {"f8e4m3": (4, 3), "f8e5m2": (5, 2), "f4e2m1": (2, 1), "ue8m0": (8, 0)}
NARROW = (*FLOATS, "s4", "u4", "s2", "u2")
WIDE = ("f32", "f16", "bf16", "tf32", "s8", "s32")
CASES = [(narrow, wide) for narrow in NARROW for wide in WIDE if (narrow, wide) != ("ue8m0", "f16")]
ROUNDED = [(given, mapped) for given in ("f32", "bf16") for mapped in (False, True)]
ALWAYS = [("f8e4m3", "f16"), ("f4e2m1", "bf16"), ("s2", "bf16"), ("u2", "s8"), ("ue8m0", "f32")]


def converting(narrow: str, wide: str, mapped: bool = False) -> Kernel:
    """Eight rows of 16 elements at a time, converted; ``mapped`` as an elementwise statement."""
    source, target = (cx.as_numeric(name) for name in (narrow, wide))
    unit = max(source.bits, 8)
    load = XE_LOAD_2D(unit, 8, COLUMNS * source.bits // unit)
    store = XE_STORE_2D(target.bits, 8, COLUMNS)
    at, modes = (Index("g") * 8, Index()), (0, 1)
    middle = Map("y", Slot("x")) if mapped else Convert("x", "y")
    body = (
        Load(make_block_2d_copy(load, ("ld", 1), narrow), "X", at, "x", modes),
        middle,
        Store(make_block_2d_copy(store, ("ld", 1), wide), "Y", at, "y", modes),
    )
    operands = (Operand("X", narrow, ("M", "N")), Operand("Y", wide, ("M", "N"), role="out"))
    fragments = (fragment("x", narrow, 8), fragment("y", wide, 8))
    return Kernel("codes", 1, operands, fragments, (("g", Index("M") // 8),), body)


def all_bytes(narrow: str) -> np.ndarray:
    """Every byte, as the elements that it holds: the lowest bits first."""
    bits = cx.as_numeric(narrow).bits
    parts = np.arange(256)[:, None] >> np.arange(0, 8, bits) & ((1 << bits) - 1)
    return parts.reshape(-1, COLUMNS).astype(np.uint8)


def numbers(narrow: str, codes: np.ndarray) -> np.ndarray:
    """What codes mean, by the formats' own definitions."""
    return np.array([meaning(narrow, int(code)) for code in codes.reshape(-1)]).reshape(codes.shape)


def meaning(narrow: str, code: int) -> float:
    if narrow not in FLOATS:
        bits = int(narrow[1:])
        return code - (1 << bits) * (narrow[0] == "s" and code >> (bits - 1))
    if narrow == "ue8m0":
        return math.nan if code == 255 else math.ldexp(1, code - 127)
    exponent, significand = FLOATS[narrow]
    bias, below = (1 << (exponent - 1)) - 1, 1 << significand
    power, rest = code // below % (1 << exponent), code % below
    sign = -1 if code >> (exponent + significand) else 1
    if narrow == "f8e5m2" and power == 31:
        return math.nan if rest else sign * math.inf
    if narrow == "f8e4m3" and power == 15 and rest == 7:
        return math.nan
    if power == 0:
        return sign * math.ldexp(rest / below, 1 - bias)
    return sign * math.ldexp(1 + rest / below, power - bias)


def elements(narrow: str, codes: np.ndarray) -> np.ndarray:
    """Codes as an array of the type."""
    dtype = numpy_dtype(narrow)
    if narrow in FLOATS:
        return codes.view(dtype)
    return numbers(narrow, codes).astype(np.int8).astype(dtype)


def bits_of(array: np.ndarray) -> np.ndarray:
    """The bits of an array, those of every NaN the same."""
    whole = np.ascontiguousarray(array)
    found = whole.view(f"u{whole.dtype.itemsize}").astype(np.int64)
    if whole.dtype.kind in "iu":
        return found
    return np.where(np.isnan(whole), -1, found)


def rounded(values: np.ndarray, wide: str) -> np.ndarray:
    """Numbers as a wide type, which holds them or rounds them to nearest even."""
    if wide == "tf32":  # has no denormals
        small = np.abs(values) < 2.0**-126
        return np.where(small, np.copysign(0, values), values).astype(np.float32)
    if wide[0] != "s":
        return values.astype(host_dtype(wide))
    limit = 1 << int(wide[1:]) - 1
    whole = np.clip(
        np.rint(np.nan_to_num(values, posinf=2.0**40, neginf=-(2.0**40))), -limit, limit - 1
    )
    return whole.astype(host_dtype(wide))


@needs_compiler
@pytest.mark.parametrize("case", sampled(CASES, 0, ALWAYS), ids="-".join)
@pytest.mark.long
def test_a_binary_converts_every_code(case: tuple[str, str]) -> None:
    narrow, wide = case
    codes = all_bytes(narrow)
    given = elements(narrow, codes)
    assert {int(c) for c in codes.reshape(-1)} == set(range(1 << cx.as_numeric(narrow).bits))
    for mapped in (False, True)[: 1 + (wide in ("f32", "bf16", "tf32"))]:
        kernel = converting(narrow, wide, mapped)
        found = bits_of(cx.native.run(kernel, X=given))
        said = bits_of(cx.run(kernel, X=given, executor="reference", target="pvc"))
        assert np.array_equal(found, said)
        assert np.array_equal(found, bits_of(rounded(numbers(narrow, codes), wide)))


@needs_compiler
@pytest.mark.parametrize(("given", "mapped"), sampled(ROUNDED, 0, ROUNDED[1:3]))
@pytest.mark.long
def test_a_binary_rounds_to_tf32(given: str, mapped: bool) -> None:
    """Half units of tf32 and their neighbours, denormals, the largest numbers, NaNs."""
    low = [0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF, 0x2000, 0x2FFF, 0x3000, 0x3001, 0x7FFFFF]
    high = [0, 1, 2, 0x7F, 0x80, 0xFD, 0xFE, 0xFF]
    bits = np.array([s | e << 23 | m for s in (0, 1 << 31) for e in high for m in low])
    values = np.resize(bits, (24, COLUMNS)).astype(np.uint32).view(np.float32)
    if given == "bf16":
        values = (values.view(np.uint32) >> 16).astype(np.uint16).view(numpy_dtype("bf16"))
    kernel = converting(given, "tf32", mapped)
    found = cx.native.run(kernel, X=values)
    said = cx.run(kernel, X=values, executor="reference", target="pvc")
    assert np.array_equal(bits_of(found), bits_of(said))
    assert {*(bits_of(found).reshape(-1) & 0x1FFF)} == {0, 0x1FFF}, "a NaN alone has other bits"
