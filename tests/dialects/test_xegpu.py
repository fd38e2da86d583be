"""Layouts of XeGPU against what MLIR's passes make of them."""

from __future__ import annotations

from itertools import product
from typing import Any

import mlir_layouts
import pytest
from golden import rows
from mlir_cases import needs_mlir
from sampling import sampled

from pycute_xe.dialects import XeGpuLayout, XeGpuSlice, parse

RECORD = rows("mlir_xegpu_offsets")


def layout_of(row: dict[str, Any]) -> XeGpuLayout | XeGpuSlice:
    layout = parse(mlir_layouts.attribute(row["fields"]))
    assert isinstance(layout, (XeGpuLayout, XeGpuSlice))
    return layout


def starts(row: dict[str, Any]) -> list[list[list[int]]]:
    """Of each owner the first element of each of its parts, as `ownership` has them."""
    ownership = layout_of(row).ownership(tuple(row["shape"]))
    mode = {"lane": 0, "subgroup": 2, "instruction": 2, "slice": 2}[row["level"]]
    size = len(row["offsets"][0]) * _volume(row["part"])
    parts = range(0, size, _volume(row["part"]))
    places = []
    for owner in range(row["owners"]):
        coordinate = [0, 0, 0]
        coordinate[mode] = owner
        one = []
        for value in parts:
            coordinate[1] = value
            point = ownership(*coordinate)
            one.append(_entries(point, len(row["shape"])))
        places.append(one)
    return places


def _entries(point: Any, rank: int) -> list[int]:
    entries = list(point) if isinstance(point, tuple) else [point]
    return ([*entries, 0, 0])[:rank]


def _volume(part: list[int]) -> int:
    total = 1
    for extent in part:
        total *= extent
    return total


@pytest.mark.whole
@pytest.mark.parametrize("row", RECORD["rows"], ids=lambda row: row["level"])
def test_parts_lie_where_the_compiler_puts_them(row: dict[str, Any]) -> None:
    assert starts(row) == row["offsets"]


@needs_mlir
@pytest.mark.long
def test_the_compiler_still_answers_so() -> None:
    assert mlir_layouts.cases() + mlir_layouts.slices() == [
        {key: row[key] for key in ("level", "shape", "fields", "owners")} for row in RECORD["rows"]
    ]
    for row in RECORD["rows"]:
        args = (row["fields"], row["shape"], row["level"], row["owners"])
        assert mlir_layouts.answer(*args) == {"part": row["part"], "offsets": row["offsets"]}


def test_every_element_has_an_owner_and_copies_own_the_same() -> None:
    for row in sampled(RECORD["rows"], 3):
        ownership = layout_of(row).ownership(tuple(row["shape"]))
        points = {
            tuple(_entries(ownership(i), len(row["shape"]))) for i in range(_size(ownership.shape))
        }
        assert points == set(product(*map(range, row["shape"])))


def _size(shape: Any) -> int:
    return _volume([_size(one) for one in shape]) if isinstance(shape, tuple) else shape
