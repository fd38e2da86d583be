"""The reorders of C++ between types, done by the machine: conversion, then permutation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from golden import rows, to_layout
from sampling import sampled

import pycute_xe as cx
from pycute_xe.atom import TiledCopy
from pycute_xe.bulk import numpy_dtype, table
from pycute_xe.converting import host_dtype
from pycute_xe.kernel import (
    Claim,
    Element,
    Fragment,
    Index,
    Kernel,
    Load,
    Operand,
    Reorder,
    Specification,
    Store,
)
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric, as_numeric

NAMES = {"e4m3": "f8e4m3", "e5m2": "f8e5m2", "e2m1": "f4e2m1"}
ROWS = rows("cute_reorder")
PAIRS = sorted({(row["src_type"], row["dst_type"]) for row in ROWS})


def numeric_of(name: str) -> Numeric:
    return as_numeric(NAMES.get(name, name))


@cache
def row_copy(make: Any, numeric: Numeric, count: int) -> TiledCopy:
    """One subgroup's copy of so many elements, a register a message."""
    moved = max(8, numeric.bits)
    width = min(64, count * numeric.bits // 8) * 8 // moved
    atom = cx.make_copy_atom(make(moved, 1, width), numeric)
    elements = width * moved // numeric.bits
    lanes, own = atom.layout_ref_tv
    values = make_layout(own, Layout(count // elements, elements))
    return TiledCopy(atom, make_layout(make_layout(lanes, Layout(1)), values), (1, count), 1, 0)


def moving(row: dict[str, Any]) -> Kernel:
    """Load elements as the registers' bytes lie, reorder them into another type, store."""
    source, target = numeric_of(row["src_type"]), numeric_of(row["dst_type"])
    slots = to_layout(row["reorder_layout"])
    count = size(slots)
    x, y = Operand("X", source, ("N",)), Operand("Y", target, ("N",), role="out")
    fragments = tuple(
        Fragment(name, kind, count // 16) for name, kind in (("source", source), ("target", target))
    )
    body = (
        Load(row_copy(cx.XE_LOAD_2D, source, count), "X", (Index(),), "source", (None, 0)),
        Reorder("source", "target", slots),
        Store(row_copy(cx.XE_STORE_2D, target, count), "Y", (Index(),), "target", (None, 0)),
    )
    claim = Specification((Claim("Y", ("n",), Element("X", (Index("n"),))),))
    return Kernel("reorder", 1, (x, y), fragments, (), body, claim)


def at_elements(tv: Layout, bits: int) -> np.ndarray:
    """The place in the tile of each element of the registers' bytes, in their order."""
    places = table(tv)
    element = np.arange(places.size)
    inside = max(1, 8 // bits)  # elements of a byte belong to one work-item
    byte, part = element // inside, element % inside
    return places[byte % 16 + 16 * (part + inside * (byte // 16))]


def plainly(values: np.ndarray, to: Numeric) -> np.ndarray:
    """NumPy's and ml_dtypes' own conversion: to nearest even, integers saturated."""
    if to.name == "tf32":
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        bits = (bits + 0xFFF + (bits >> 13 & 1)) >> 13 << 13
        return bits.astype(np.uint32).view(np.float32)
    if to.kind == "float":
        return values.astype(np.float32).astype(numpy_dtype(to)).astype(np.float32)
    low = -(2 ** (to.bits - 1)) if to.kind == "signed" else 0
    return np.clip(np.rint(values), low, low + 2**to.bits - 1)


def some(numeric: Numeric, count: int) -> np.ndarray:
    """Numbers that a type holds, every one of a narrow type."""
    if numeric.bits <= 8:
        codes = np.arange(count) * 5 % 2**numeric.bits
        if numeric.name == "f8e4m3":
            codes[codes % 128 == 127] = 1  # not a number
        if numeric.name == "f8e5m2":
            codes[codes % 128 >= 124] = 1
        if numeric.kind == "signed":
            codes = np.where(codes >= 2 ** (numeric.bits - 1), codes - 2**numeric.bits, codes)
        if numeric.kind != "float":
            return codes.astype(np.float64)
        return codes.astype(np.uint8).view(numpy_dtype(numeric)).astype(np.float64)
    found = np.random.default_rng(0).integers(-3000, 3000, count) / 8
    found = np.rint(found) if numeric.kind != "float" else found
    return plainly(found, numeric).astype(np.float64)


def check_row(row: dict[str, Any], executor: Any) -> None:
    source, target = numeric_of(row["src_type"]), numeric_of(row["dst_type"])
    kernel = moving(row)
    tile = some(source, kernel.fragments[0].elements)
    held = tile[at_elements(to_layout(row["src_tv"]), source.bits)]
    x = held.astype(host_dtype(source))
    assert np.array_equal(x.astype(np.float64), held)
    found = cx.run(kernel, x, executor=executor)
    wanted = plainly(tile, target)[at_elements(to_layout(row["dst_tv"]), target.bits)]
    np.testing.assert_array_equal(np.asarray(found, np.float64), wanted.astype(np.float64))


def test_all_pairs_of_types_are_there() -> None:
    assert (len(ROWS), len(PAIRS)) == (207, 44)


@pytest.mark.parametrize("pair", sampled(PAIRS, 8), ids="-".join)
def test_a_reorder_converts_and_moves_as_the_two_layouts_say(pair: tuple[str, str]) -> None:
    mine = [row for row in ROWS if (row["src_type"], row["dst_type"]) == pair]
    for number, row in enumerate(sampled(mine, 1)):
        check_row(row, "fast" if number % 2 else "reference")


@pytest.mark.parametrize("pair", sampled(PAIRS, 2), ids="-".join)
def test_a_reorder_the_other_way_is_noticed(pair: tuple[str, str]) -> None:
    """The comparison is no formality: of layouts exchanged it finds the difference."""
    mine = [row for row in ROWS if (row["src_type"], row["dst_type"]) == pair]
    for row in mine:
        slots = to_layout(row["reorder_layout"])
        if (table(slots)[table(slots)] != np.arange(size(slots))).any():
            turned = cx.right_inverse(slots)
            with pytest.raises((AssertionError, cx.CuteError)):
                check_row({**row, "reorder_layout": as_json(turned)}, "reference")


def as_json(layout: Layout) -> dict[str, Any]:
    return {"shape": list(layout.shape), "stride": list(layout.stride)}
