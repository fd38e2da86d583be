"""Accesses of kernels against NumPy: blocks, tiles, gathers and scatters, and the messages sent."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from every import every
from hypothesis import given, strategies as st

from pycute_xe import esimd
from pycute_xe.errors import DTypeError, InputError, ShapeError
from pycute_xe.esimd import Item, Pointer, cache_hint, config_2d_mem_access, half, simd, uint32_t

TYPES = {"u8": np.uint8, "u16": np.uint16, "f16": np.float16, "u32": np.uint32, "u64": np.uint64}
types = st.sampled_from(sorted(TYPES))


def numbers(kind: str, count: int) -> Any:
    return (np.arange(count) * 37 % 251 + 1).astype(TYPES[kind])


@given(types, st.integers(1, 64), st.integers(0, 8))
def test_blocks_of_any_size(kind: str, dwords: int, start: int) -> None:
    per = 4 // min(4, np.dtype(TYPES[kind]).itemsize)
    count, first = dwords * per, start * per

    def kernel(item: Item, x: Pointer, y: Pointer) -> None:
        esimd.slm_init(2048)
        data = esimd.block_load(kind, count, x + first)
        esimd.slm_block_store(kind, count, 64, data)
        esimd.block_store(kind, count, y + first, esimd.slm_block_load(kind, count, 64))

    x, y = numbers(kind, count + 40), np.zeros(count + 40, dtype=TYPES[kind])
    run = esimd.launch(kernel, x, y)
    expected = np.zeros_like(y)
    expected[first : first + count] = x[first : first + count]
    assert np.array_equal(y, expected)
    size = x.itemsize * count
    assert run.nbytes == {"load": 2 * size, "store": 2 * size}
    # Each message is one of the instruction's vector sizes, and they follow each other.
    assert all(re.search(r"V2:d(32|64)x\d+t\b", sent.text) for sent in run.messages)


@given(types, st.integers(1, 20), st.sampled_from((1, 2, 3, 4, 8, 16)), st.data())
def test_gathers_and_scatters_are_element_major(
    kind: str, lanes: int, nelts: int, data: st.DataObject
) -> None:
    size = np.dtype(TYPES[kind]).itemsize
    starts = data.draw(st.permutations(range(lanes)))
    mask = data.draw(st.none() | st.lists(st.booleans(), min_size=lanes, max_size=lanes))

    def kernel(item: Item, x: Pointer, y: Pointer, z: Pointer) -> None:
        esimd.slm_init(4096)
        offsets = simd(uint32_t, lanes, [s * nelts * size for s in starts])
        pred = None if mask is None else esimd.simd_mask(lanes, mask)
        found = esimd.lsc_gather(kind, x, offsets, pred, nelts=nelts)
        esimd.lsc_scatter(kind, y, offsets, found, pred, nelts=nelts)
        esimd.lsc_slm_scatter(kind, offsets, found, pred, nelts=nelts)
        again = esimd.lsc_slm_gather(kind, offsets, pred, nelts=nelts)
        esimd.lsc_scatter(kind, z, offsets, again, pred, nelts=nelts)
        # element e of lane n is at e * N + n
        for n in range(lanes):
            if mask is None or mask[n]:
                wanted = x_array[starts[n] * nelts : (starts[n] + 1) * nelts]
                assert [found[e * lanes + n] for e in range(nelts)] == wanted.tolist()

    x_array = numbers(kind, lanes * nelts)
    y, z = np.zeros_like(x_array), np.zeros_like(x_array)
    esimd.launch(kernel, x_array, y, z)
    kept = np.repeat(np.ones(lanes, bool) if mask is None else mask, nelts)
    moved = np.zeros((lanes, nelts), dtype=bool)
    moved[list(starts)] = kept.reshape(lanes, nelts)
    expected = np.where(moved.reshape(-1), x_array, 0)
    assert np.array_equal(y, expected)
    assert np.array_equal(z, expected)


def test_lanes_that_are_off_come_back_undefined() -> None:
    def kernel(item: Item, x: Pointer) -> None:
        found = esimd.gather("u16", 4, x, simd(uint32_t, 4, [6, 2, 4, 0]), [1, 0, 0, 1])
        assert [int(v) for v in found] == [4, 65535, 65535, 1]

    esimd.launch(kernel, np.arange(1, 5, dtype=np.uint16))


def test_of_equal_addresses_the_last_lane_stays() -> None:
    def kernel(item: Item, y: Pointer) -> None:
        esimd.scatter("u32", 4, y, simd(uint32_t, 4, [0, 4, 0, 4]), simd("u32", 4, [1, 2, 3, 4]))

    y = np.zeros(2, dtype=np.uint32)
    esimd.launch(kernel, y)
    assert y.tolist() == [3, 4]


SHAPES = [(8, 8, 1), (16, 32, 2), (4, 5, 2), (12, 7, 1), (6, 3, 4)]


@every(("wide", "high", "count"), SHAPES)
@every("kind", ["u8", "u16", "u32"])
@every(("x", "y"), [(0, 0), (8, 5), (60, 38), (-4, -2), (200, 0)])
@pytest.mark.long
def test_tiles_are_slices_with_zeros_around(
    wide: int, high: int, count: int, kind: str, x: int, y: int
) -> None:
    size = np.dtype(TYPES[kind]).itemsize
    if wide * count * size > 64 or (wide * size) % 4 or (size == 4 and count > 2):
        wide, count = 16 // size, 1

    def kernel(item: Item, source: Pointer, out: Pointer) -> None:
        where = config_2d_mem_access(
            kind, wide, high, source, 64 * size - 1, 39, 64 * size - 1, x, y, nblk=count
        )
        esimd.lsc_prefetch_2d(
            kind, wide, high, where, nblk=count, l1=cache_hint.cached, l3=cache_hint.cached
        )
        tile = esimd.lsc_load_2d(kind, wide, high, where, nblk=count)
        assert len(tile) == wide * high * count
        for i in range(count):
            offsets = simd(uint32_t, wide * high, [size * j for j in range(wide * high)])
            part = tile.select(wide * high, 1, i * wide * high)
            esimd.scatter(kind, wide * high, out + i * wide * high, offsets, part)

    source = numbers(kind, 64 * 40).reshape(40, 64)
    out = np.zeros((count, high, wide), dtype=TYPES[kind])
    esimd.launch(kernel, source, out)
    padded = np.zeros((40 + 200, 64 + 600), dtype=TYPES[kind])
    padded[100:140, 300:364] = source
    for i in range(count):
        left, top = 300 + x + i * wide, 100 + y
        assert np.array_equal(out[i], padded[top : top + high, left : left + wide])


@pytest.mark.parametrize(("wide", "high"), [(8, 16), (4, 5), (3, 7), (8, 32)])
def test_transposed_tiles(wide: int, high: int) -> None:
    def kernel(item: Item, source: Pointer, out: Pointer) -> None:
        tile = esimd.lsc_load_2d("u32", wide, high, source, 255, 39, 255, 4, 3, transposed=True)
        esimd.block_store("u32", wide * high, out, tile)

    source = numbers("u32", 64 * 40).reshape(40, 64)
    out = np.zeros((wide, high), dtype=np.uint32)
    esimd.launch(kernel, source, out)
    assert np.array_equal(out, source[3 : 3 + high, 4 : 4 + wide].T)


@pytest.mark.parametrize(("kind", "pack"), [("u16", 2), ("u8", 4)])
def test_transformed_tiles_pack_rows_into_dwords(kind: str, pack: int) -> None:
    def kernel(item: Item, source: Pointer, out: Pointer) -> None:
        tile = esimd.lsc_load_2d(
            kind,
            16,
            16,
            source,
            64 * pack // pack * out.dtype.itemsize - 1,
            39,
            64 * out.dtype.itemsize - 1,
            8,
            4,
            transformed=True,
        )
        esimd.block_store(kind, 256, out, tile)

    source = numbers(kind, 64 * 40).reshape(40, 64)
    out = np.zeros((16 // pack, 16, pack), dtype=TYPES[kind])
    esimd.launch(kernel, source, out)
    block = source[4:20, 8:24].reshape(16 // pack, pack, 16)
    assert np.array_equal(out, block.transpose(0, 2, 1))


@every(("wide", "high"), [(16, 8), (12, 3), (32, 1), (6, 5)])
@every(("x", "y"), [(0, 0), (56, 30), (-2, -1)])
def test_stores_of_tiles_drop_what_is_outside(wide: int, high: int, x: int, y: int) -> None:
    def kernel(item: Item, source: Pointer, out: Pointer) -> None:
        tile = simd("u16", wide * high, data)
        esimd.lsc_store_2d("u16", wide, high, out, 127, 31, 127, x, y, tile)

    data = numbers("u16", wide * high)
    out = np.zeros((32, 64), dtype=np.uint16)
    esimd.launch(kernel, data, out)
    padded = np.zeros((100, 200), dtype=np.uint16)
    padded[30 + y : 30 + y + high, 50 + x : 50 + x + wide] = data.reshape(high, wide)
    assert np.array_equal(out, padded[30:62, 50:114])


def test_the_payload_can_be_moved_and_is_the_only_one_for_its_tile() -> None:
    def kernel(item: Item, source: Pointer, out: Pointer) -> None:
        where = config_2d_mem_access("u32", 8, 8, source, 255, 39, 255)
        where.set_x(16)
        where.set_y(where.get_y() + 8)
        esimd.block_store("u32", 64, out, esimd.lsc_load_2d("u32", 8, 8, where))
        where.set_data_pointer(source + 64 * 8)
        where.set_surface_height(where.surface.height - 9)
        where.set_surface_width(127)
        where.set_surface_pitch(255)
        where.set_y(0)
        esimd.block_store("u32", 64, out + 64, esimd.lsc_load_2d("u32", 8, 8, where))
        with pytest.raises(InputError, match="differ from those of the payload"):
            esimd.lsc_load_2d("u32", 8, 4, where)
        with pytest.raises(InputError, match="the call needs a payload"):
            esimd.lsc_load_2d("u32", 8, 4, source, 255)

    source = numbers("u32", 64 * 40).reshape(40, 64)
    out = np.zeros((2, 8, 8), dtype=np.uint32)
    esimd.launch(kernel, source, out)
    assert np.array_equal(out[0], source[8:16, 16:24])
    assert np.array_equal(out[1], source[8:16, 16:24])


def test_cache_hints_and_messages_are_those_that_were_asked_for() -> None:
    hints = {"l1": cache_hint.cached, "l3": cache_hint.uncached}

    def kernel(item: Item, x: Pointer) -> None:
        esimd.block_load("u32", 16, x, **hints)
        esimd.gather("u32", 16, x, simd(uint32_t, 16, 0), **hints)
        esimd.lsc_load_2d("u32", 8, 2, x, 63, 1, 63, 0, 0, **hints)

    run = esimd.launch(kernel, np.zeros((2, 16), dtype=np.uint32))
    assert [sent.text for sent in run.messages] == [
        "lsc_load.ugm.ca.uc (M1,1) V2:d64x8t flat[V1]:a64",
        "lsc_load.ugm.ca.uc (M1,16) V2:d32 flat[V1]:a64",
        "lsc_load_block2d.ugm.ca.uc (M1_NM,1) V2:d32.1x8x2nn flat[0x10000,0x3f,0x1,0x3f,0x0,0x0]",
    ]
    assert run.messages[0].statement.startswith("block_load (kernel:")
    illegal = {"l1": cache_hint.write_back, "l3": cache_hint.write_back}
    with pytest.raises(esimd.EsimdError, match=r"PX100.*caching-load"):
        esimd.launch(
            lambda item, x: esimd.block_load("u32", 16, x, **illegal), np.zeros(16, np.uint32)
        )


def test_pointers_count_elements() -> None:
    def kernel(item: Item, x: Pointer, y: Pointer) -> None:
        assert (x + 4) - x == 4
        assert ((x + 4) - 1).address == x.address + 6
        pairs = esimd.reinterpret_cast(uint32_t, x)
        esimd.block_store(uint32_t, 2, y, esimd.block_load(uint32_t, 2, pairs + 1))

    x, y = numbers("u16", 8), np.zeros(2, dtype=np.uint32)
    esimd.launch(kernel, x, y)
    assert np.array_equal(y.view(np.uint16), x[2:6])


def test_work_groups_share_nothing_but_memory() -> None:
    def kernel(item: Item, y: Pointer) -> Any:
        esimd.slm_init(64)
        lid, group = item.get_local_linear_id(), item.get_group()
        if group == 0:
            esimd.slm_block_store(uint32_t, 1, 4 * lid, 10 * lid)
        yield esimd.barrier()
        if group == 0:
            value = esimd.slm_block_load(uint32_t, 1, 4 * (1 - lid))
            esimd.block_store(uint32_t, 1, y + item.get_global_id(), value)
        else:
            with pytest.raises(esimd.EsimdError, match="PX209"):
                esimd.slm_block_load(uint32_t, 1, 4 * lid)

    y = np.zeros(4, dtype=np.uint32)
    esimd.launch(kernel, y, threads=2, groups=2)
    assert y.tolist() == [10, 0, 0, 0]
    item = Item((1,), (4,), (2,), (3,))
    assert (item.get_local_range(), item.get_group_range(), item.get_global_id()) == (4, 3, 9)
    with pytest.raises(InputError, match="one dimension"):
        item.get_local_id(1)
    with pytest.raises(InputError, match="four tuples"):
        Item(1, 4, 2, 3)


def test_refusals() -> None:
    x = np.zeros(64, dtype=np.float16)
    bad: list[tuple[Any, type[Exception], str]] = [
        (lambda i, p: esimd.block_load(half, 3, p), ShapeError, "must fill whole dwords"),
        (lambda i, p: esimd.block_load(half, 0, p), ShapeError, "must fill whole dwords"),
        (lambda i, p: esimd.block_store(half, 4, p, [1, 2]), ShapeError, "elements, not"),
        (lambda i, p: esimd.gather(half, 4, p, [0, 2]), ShapeError, "lanes need 4 offsets"),
        (lambda i, p: esimd.gather(half, 2, p, [0.0, 2.0]), DTypeError, "offsets must be integers"),
        (
            lambda i, p: esimd.gather(half, 2, p, [0, 4], [1, 0, 1]),
            ShapeError,
            "lanes need 2 conditions",
        ),
        (
            lambda i, p: esimd.lsc_gather(half, p, [0], nelts=65),
            ShapeError,
            "one of 1, 2, 3, 4, 8, 16",
        ),
        (
            lambda i, p: esimd.lsc_gather(half, p, [0], ds=esimd.lsc_data_size.u32),
            DTypeError,
            "T has 16 bits",
        ),
        (lambda i, p: esimd.scatter(half, 2, p, [0, 4], [1]), ShapeError, "elements, not"),
    ]
    for kernel, error, text in bad:
        with pytest.raises(error, match=text):
            esimd.launch(kernel, x)
    x.flags.writeable = False
    with pytest.raises(InputError, match="read-only"):
        esimd.launch(lambda i, p: esimd.block_store(half, 2, p, [1, 2]), x)


def test_a_store_takes_the_number_of_tiles_that_the_template_has() -> None:
    """One tile is stored; two are refused by the rule of the message."""

    def kernel(item: Item, y: Pointer, tiles: int) -> None:
        payload = esimd.config_2d_mem_access("u32", 2, 2, y, 63, 1, 63, 4, 0, nblk=tiles)
        data = esimd.simd("u32", 4 * tiles, range(4 * tiles))
        esimd.lsc_store_2d("u32", 2, 2, payload, data, nblk=tiles)

    y = np.zeros((2, 16), dtype=np.uint32)
    esimd.launch(kernel, y, 1)
    assert y[:, 4:6].tolist() == [[0, 1], [2, 3]]
    with pytest.raises(esimd.EsimdError, match="store-count: count is 2, must be 1"):
        esimd.launch(kernel, y, 2)


def test_l2_is_the_newer_name_of_l3() -> None:
    cached = esimd.cache_hint.cached

    def kernel(item: Item, x: Pointer, name: str) -> None:
        hints: Any = {"l1": cached, name: cached}
        offsets = esimd.simd("u32", 16, [8 * i for i in range(16)])
        esimd.lsc_load_2d("f16", 16, 8, x, 63, 7, 63, 0, 0, **hints)
        esimd.lsc_prefetch_2d("f16", 16, 8, x, 63, 7, 63, 0, 0, **hints)
        esimd.block_load("f16", 32, x, **hints)
        esimd.gather("f16", 16, x, offsets, **hints)
        esimd.lsc_gather("f16", x, offsets, nelts=2, **hints)

    x = np.zeros((8, 32), dtype=np.float16)
    l2, l3 = (esimd.launch(kernel, x, name).messages for name in ("l2", "l3"))
    assert [sent.text for sent in l2] == [sent.text for sent in l3]
    assert all(".ca.ca" in sent.text for sent in l2)

    def both(item: Item, x: Pointer) -> None:
        esimd.block_load("f16", 32, x, l2=cached, l3=cached)

    with pytest.raises(InputError, match="two names of one cache"):
        esimd.launch(both, x)
