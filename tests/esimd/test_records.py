"""What vectors remember of how they were filled, and the temporaries whose bytes are viewed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every import every
from hypothesis import given, strategies as st

from pycute_xe import esimd
from pycute_xe.esimd import LINTS, EsimdError, Item, Pointer, barrier, half, simd, uint32_t

LANES = 16
Fill = Callable[[simd], Any]


def scattered(fill: Fill) -> str:
    """The code with which a scatter of what a function fills or returns is stopped, or none."""

    def kernel(item: Item, y: Pointer) -> None:
        data = simd(uint32_t, 2 * LANES)
        made = fill(data)
        where = simd(uint32_t, LANES, 0, 8)
        esimd.lsc_scatter(uint32_t, y, where, data if made is None else made, nelts=2)

    try:
        esimd.launch(kernel, np.zeros(2 * LANES, dtype=np.uint32))
    except EsimdError as error:
        return error.code
    return ""


def lane_by_lane(data: simd) -> None:
    for e in range(2):
        data.select(LANES, 2, e)[:] = e + 1


def by_slices(data: simd) -> None:
    data[0::2] = 1
    data[1::2] = 2


def in_place(data: simd) -> None:
    for e in range(2):
        part = data.select(LANES, 2, e)
        part += e + 1


def through_a_view(data: simd) -> None:
    every = data.select(2 * LANES, 1, 0)
    lane_by_lane(every)


def under_another_type(data: simd) -> None:
    lane_by_lane(data.bit_cast_view("f32"))


def then(*acts: Fill) -> Fill:
    def both(data: simd) -> Any:
        made: Any = None
        for act in acts:
            made = act(data if made is None else made)
        return made

    return both


def added(data: simd) -> None:
    data += 1


COPIES: list[Fill] = [
    lambda data: data.read(),
    lambda data: simd(uint32_t, 2 * LANES, data),
    lambda data: simd("f32", 2 * LANES, data),
    lambda data: data.select(2 * LANES, 1, 0),
    lambda data: data.select(2 * LANES, 1, 0).read(),
    added,
]


@every("fill", [lane_by_lane, by_slices, in_place, through_a_view, under_another_type])
def test_px207_sees_writes_lane_by_lane(fill: Fill) -> None:
    assert scattered(fill) == "PX207"


@every("copy", COPIES, ids=range(len(COPIES)))
def test_px207_goes_along_with_copies(copy: Fill) -> None:
    assert scattered(then(lane_by_lane, copy)) == "PX207"
    assert scattered(copy) == ""


def read_only(data: simd) -> None:
    data[:] = range(2 * LANES)
    for e in range(2):
        data.select(LANES, 2, e).read()


def overwritten(data: simd) -> None:
    lane_by_lane(data)
    data[:] = range(2 * LANES)


def overwritten_in_order(data: simd) -> None:
    lane_by_lane(data)
    for e in range(2):
        data.select(LANES, 1, LANES * e)[:] = e


def half_of_it(data: simd) -> None:
    data.select(LANES, 2, 0)[:] = 1


@pytest.mark.parametrize("fill", [read_only, overwritten, overwritten_in_order, half_of_it])
def test_px207_leaves_other_programs_alone(fill: Fill) -> None:
    assert scattered(fill) == ""


@given(st.integers(2, 6), st.integers(2, 6), st.data())
def test_only_the_last_writes_count(lanes: int, elements: int, data: st.DataObject) -> None:
    x = simd("u32", lanes * elements)
    for e in data.draw(st.permutations(range(elements))):
        x.select(lanes, elements, e)[:] = e
    assert x.history().interleaved(lanes, elements)
    at = data.draw(st.integers(0, len(x) - 1))
    x[at] = 1
    assert not x.history().interleaved(lanes, elements)


# ------------------------------------------------------------------ PX302


def multiplied(change: Callable[[simd], Any], transformed: bool = False) -> tuple[str, ...]:
    def kernel(item: Item, b: Pointer) -> None:
        tile = esimd.lsc_load_2d(half, 16, 16, b, 31, 15, 63, 0, 0, transformed=transformed)
        made = change(tile)
        esimd.xmx.dpas(8, 8, None, tile if made is None else made, simd(half, 128), bt="f16")

    return esimd.launch(kernel, np.zeros((16, 32), dtype=np.float16)).codes


def packed(tile: simd) -> simd:
    made = simd(half, 256)
    for r in range(2):
        rows = [tile.select(16, 1, 16 * k).read() for k in range(r, 16, 2)]
        for k, row in enumerate(rows):
            made.select(16, 2, 32 * k + r)[:] = row
    return made


def packed_in_place(tile: simd) -> None:
    tile.select(256, 1, 0)[:] = packed(tile)


def assigned(tile: simd) -> None:
    tile[:] = range(256)


@pytest.mark.parametrize("change", [packed, packed_in_place, assigned])
def test_px302_ends_with_a_write(change: Callable[[simd], Any]) -> None:
    assert multiplied(change) == ()


@every(
    "change",
    [
        lambda tile: None,
        lambda tile: tile.read(),
        lambda tile: simd(half, 256, tile),
        lambda tile: tile.select(256, 1, 0),
        lambda tile: tile.bit_cast_view(uint32_t),
        lambda tile: tile.bit_cast_view(uint32_t).read(),
    ],
    ids=range(6),
)
def test_px302_goes_along_with_copies(change: Callable[[simd], Any]) -> None:
    assert multiplied(change) == ("PX302",)
    assert multiplied(change, transformed=True) == ()


def test_px302_says_what_it_holds_against_a_packed_matrix() -> None:
    assert "packed in memory already is recorded too" in LINTS["PX302"].seen


# ------------------------------------------------------------------ PX102, PX211


def test_px102_sees_results_of_operators() -> None:
    a, b = simd(uint32_t, 2, 1), simd(uint32_t, 2, 2)
    for bad in (
        lambda: (a + b).bit_cast_view(half),
        lambda: (a | (b << 16)).bit_cast_view(half),
        lambda: (~a).bit_cast_view(half),
        lambda: (-a).bit_cast_view(half).read(),
        lambda: (a < b).bit_cast_view("u8"),
    ):
        with pytest.raises(EsimdError, match="PX102"):
            bad()
    c = a + b
    c += 1
    assert len(c.bit_cast_view(half)) == 4
    assert len({"c": c}["c"].bit_cast_view(half)) == 4


def test_px102_and_px211_say_what_escapes() -> None:
    a, b = simd(uint32_t, 2, 1), simd(uint32_t, 2, 2)
    assert len((a + b).select(1, 1, 0).bit_cast_view(half)) == 2
    assert "A select() of a temporary" in LINTS["PX102"].seen

    def helper() -> Any:
        yield barrier()

    def kernel(item: Item) -> None:
        helper()

    assert esimd.launch(kernel, threads=2).trace.barriers == 0
    assert "called without yield from, never runs" in LINTS["PX211"].seen
