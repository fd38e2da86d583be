"""Where advice ends: kernels one step from a pitfall are silent, and copies do not hide one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from esimd_twins import clean, found, matrix
from every import every

from pycute_xe import esimd
from pycute_xe.esimd import (
    LINTS,
    Item,
    Pointer,
    barrier,
    block_load,
    half,
    lsc_load_2d,
    reinterpret_cast,
    simd,
    slm_allocator,
    slm_block_load,
    slm_block_store,
    slm_init,
    uint8_t,
    uint32_t,
)

# ------------------------------------------------------------------ tiles


def loads(where: list[tuple[int, int]], kind: Any = half, **shape: Any) -> Callable[..., None]:
    """A kernel that loads tiles at places of a matrix whose rows have 512 bytes."""
    wide, high = shape.pop("wide", 16), shape.pop("high", 8)
    pitch, height = shape.pop("pitch", 511), shape.pop("height", 63)

    def kernel(item: Item, x: Pointer) -> None:
        for at in where:
            ptr = reinterpret_cast(kind, x)
            lsc_load_2d(kind, wide, high, ptr, pitch, height, pitch, *at, **shape)

    return kernel


@every(
    "kernel",
    [
        loads([(0, 0), (64, 0), (128, 0)]),  # a factor of 4, of halves
        loads([(0, 0), (16, 0), (32, 0)]),
        loads([(0, 0), (0, 8), (0, 16)]),
        loads([(0, 0), (16, 0), (32, 0), (48, 0)], kind=uint8_t),  # elements are bytes
        loads([(0, 0), (32, 0)], wide=16, nblk=2),
    ],
    ids=["fourth", "all", "rows", "bytes", "two blocks"],
)
def test_px103_is_silent(kernel: Callable[..., None]) -> None:
    clean(kernel, matrix())


def test_px103_knows_the_size_of_the_element_and_of_all_blocks() -> None:
    assert found(loads([(0, 0), (64, 0)], kind=uint32_t), matrix())[0] == "PX103"
    assert found(loads([(0, 0), (64, 0)], wide=16, nblk=2), matrix())[0] == "PX103"


@pytest.mark.parametrize(("high", "height"), [(12, 16), (32, 40), (1, 8), (5, 10)])
def test_px116_by_the_height_of_the_tile(high: int, height: int) -> None:
    codes = esimd.launch(loads([(0, 0)], high=high, height=height), matrix()).codes
    assert "PX116" in codes
    codes = esimd.launch(loads([(0, 0)], high=high, height=height - 1), matrix()).codes
    assert "PX116" not in codes
    assert "recorded too, though it is right" in LINTS["PX116"].seen


def test_px116_is_silent_where_the_array_ends() -> None:
    kernel = loads([(0, 0)], height=64)
    clean(kernel, np.zeros((65, 256), dtype=np.float16))
    assert "PX116" in esimd.launch(kernel, np.zeros((66, 256), dtype=np.float16)).codes


@every(
    "kernel",
    [
        loads([(0, 0)], wide=16, high=4, nblk=2, pitch=63),  # block after block, not row after row
        loads([(0, 0)], wide=32, high=2, pitch=63, transformed=True),
        loads([(0, -1)], high=1),
        loads([(0, 64)], high=1),
        loads([(-2, 0)], high=1),
        loads([(250, 0)], high=1),
    ],
    ids=["two blocks", "transformed", "above", "below", "left", "right"],
)
def test_px117_is_silent(kernel: Callable[..., None]) -> None:
    clean(kernel, matrix())


def test_px115_of_elements_that_are_not_at_their_size() -> None:
    def kernel(item: Item, x: Pointer) -> None:
        block_load(half, 8, reinterpret_cast(half, reinterpret_cast(uint8_t, x) + 1), alignment=1)

    code, text = found(kernel, matrix())
    assert code == "PX115"
    assert "not a multiple of 2 bytes" in text


# ------------------------------------------------------------------ shared local memory


def stores(*steps: int | str) -> Callable[..., Iterator[Any]]:
    """A kernel that stores 128 halves at bytes, all by one statement; "load" loads the first."""

    def kernel(item: Item) -> Iterator[Any]:
        slm_init(2048)
        for step in steps:
            if step == "barrier":
                yield barrier()
            elif step == "load":
                slm_block_load(half, 128, 0)
            elif step == "load behind":
                slm_block_load(half, 128, 256)
            else:
                slm_block_store(half, 128, int(step), 1)

    return kernel


@every("steps", [(0, 0), (0, 256), (256, 0), (0, "load", 128), (0, "barrier", 128)], ids=str)
def test_px215_is_silent(steps: tuple[Any, ...]) -> None:
    clean(stores(*steps))


@pytest.mark.parametrize("steps", [(0, 128), (128, 0), (256, 0, "load behind", 128)], ids=str)
def test_px215_of_blocks_that_overlap(steps: tuple[Any, ...]) -> None:
    assert found(stores(*steps))[0] == "PX215"


def test_px215_knows_gathers() -> None:
    def kernel(item: Item, used: bool) -> None:
        slm_init(1024)
        for at in (0, 128):
            slm_block_store(half, 128, at, 1)
            if used:
                esimd.lsc_slm_gather(uint32_t, simd(uint32_t, 16, 128, 4))

    clean(kernel, True)
    assert found(kernel, False)[0] == "PX215"


def test_what_was_read_before_bytes_are_lent_is_remembered() -> None:
    def kernel(item: Item, ordered: bool) -> Iterator[Any]:
        slm_init(64)
        lid = item.get_local_id(0)
        if lid == 0:
            slm_block_store(uint32_t, 16, 0, 1)
        yield barrier()
        slm_block_load(uint32_t, 16, 0)
        with slm_allocator(64) as lent:
            if lid == 0:
                slm_block_store(uint32_t, 16, lent.get_offset(), 2)
            yield barrier()
            slm_block_load(uint32_t, 16, lent.get_offset())
            if ordered:
                yield barrier()
            if lid == 1:
                slm_block_store(uint32_t, 16, lent.get_offset(), 3)

    clean(kernel, True, threads=2)
    code, text = found(kernel, False, threads=2)
    assert code == "PX206"
    assert "thread 0 read these bytes (64 to 127)" in text


# ------------------------------------------------------------------ what vectors remember


def address_major(data: simd) -> None:
    for e in range(2):
        for n in range(16):
            data[n * 2 + e] = n


def twice(data: simd) -> None:
    address_major(data)
    address_major(data)


def assigned(data: simd) -> simd:
    address_major(data)
    other = simd(uint32_t, 32)
    other[:] = data
    return other


FILLS: list[Callable[[simd], Any]] = [
    address_major,
    twice,
    lambda data: (address_major(data), data.read())[1],
    assigned,
]


@pytest.mark.parametrize("fill", FILLS, ids=range(4))
def test_px207_of_elements_goes_along_with_copies(fill: Callable[[simd], Any]) -> None:
    def kernel(item: Item, y: Pointer) -> None:
        data = simd(uint32_t, 32)
        made = fill(data)
        where = simd(uint32_t, 16, 0, 8)
        esimd.lsc_scatter(uint32_t, y, where, data if made is None else made, nelts=2)

    assert found(kernel, np.zeros(32, dtype=np.uint32))[0] == "PX207"


def multiplied(acc: Callable[[simd], Any], a: Callable[[simd], Any]) -> tuple[str, ...]:
    """The codes of a product whose accumulator and A are made of a loaded tile."""

    def kernel(item: Item, x: Pointer) -> None:
        tile = lsc_load_2d(half, 16, 8, x, 511, 63, 511, 0, 0)
        esimd.xmx.dpas(8, 8, acc(tile), simd(half, 256, range(256)), a(tile))

    return esimd.launch(kernel, matrix()).codes


def zeros(_: simd) -> simd:
    return simd(half, 128)


def copied(tile: simd) -> simd:
    made = simd(half, 128)
    made[:] = tile
    return made


def listed(_: simd) -> simd:
    return simd(half, 128, list(range(128)))


def same(tile: simd) -> simd:
    return tile


def product(tile: simd) -> simd:
    return esimd.xmx.dpas(8, 8, None, simd(half, 256, range(256)), tile, t=half)


@every("acc", [same, copied, simd.read])
@every("a", [zeros, product, lambda tile: copied(product(tile))])
def test_px303_goes_along_with_copies(acc: Any, a: Any) -> None:
    assert multiplied(acc, a) == ("PX303",)


@every(("acc", "a"), [(zeros, zeros), (zeros, same), (same, listed), (same, same), (listed, zeros)])
def test_px303_is_silent(acc: Any, a: Any) -> None:
    assert multiplied(acc, a) == ()


def test_px303_asks_for_one_type() -> None:
    def kernel(item: Item, x: Pointer) -> None:
        acc = block_load("f32", 128, reinterpret_cast("f32", x))
        esimd.xmx.dpas(8, 8, acc, simd(half, 256, range(256)), simd(half, 128))

    clean(kernel, matrix())


def test_px303_ends_with_a_write() -> None:
    def touched(tile: simd) -> simd:
        made = product(tile)
        made[0] = 1
        return made

    assert multiplied(same, touched) == ()


# ------------------------------------------------------------------ functions of vectors


def test_a_nan_gives_way_to_a_number() -> None:
    x = simd("f32", 2, [float("nan"), 1])
    for act in (esimd.max, esimd.min):
        assert list(act(x, 3)) == [3, act(simd("f32", 1, 1), 3)[0]]
    assert (float(esimd.hmax(x)), float(esimd.hmin(x))) == (1, 1)


def test_sums_of_odd_numbers_of_elements() -> None:
    for count in (1, 3, 5, 7, 11):
        assert float(esimd.sum(simd("f32", count, range(count)))) == count * (count - 1) / 2
