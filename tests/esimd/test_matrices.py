"""Pitfalls of whole matrices: rows in shared memory, and products whose operands are exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from esimd_twins import clean, found
from every import every

from pycute_xe import esimd
from pycute_xe.esimd import (
    Item,
    Pointer,
    barrier,
    block_load,
    block_store,
    float_,
    half,
    lsc_gather,
    lsc_load_2d,
    lsc_scatter,
    lsc_store_2d,
    reinterpret_cast,
    simd,
    slm_block_load,
    slm_block_store,
    slm_init,
    uint32_t,
)

ROW = 128


def test_px202_arithmetic_on_vectors_before() -> None:
    def filled(_: Item) -> Any:
        return simd(half, 8, 1)

    def changed(item: Item, vector: Any) -> None:
        vector[0] = 2
        slm_init(64)

    def added(item: Item, vector: Any) -> None:
        del vector
        filled(item)
        slm_init(64)

    def summed(item: Item, vector: Any) -> None:
        vector = vector + 1
        slm_init(64)
        del vector

    def good(item: Item, vector: Any) -> None:
        size = 64 * item.get_local_range(0)
        slm_init(size)
        slm_block_store(half, 8, 0, vector + 1)

    for bad in (changed, added, summed):
        code, text = found(bad, simd(half, 8))
        assert code == "PX202"
        assert "filled or changed a vector before it" in text
    clean(good, simd(half, 8), threads=1)


def staged(
    item: Item, x: Pointer, y: Pointer, stored: int, loaded: int, length: int
) -> Iterator[Any]:
    """Stage rows of 128 halves; load ``length`` elements, rows ``loaded`` bytes apart."""
    slm_init(2 * ROW * 16)
    row = item.get_local_id(0)
    slm_block_store(half, ROW, row * stored, block_load(half, ROW, x + row * ROW))
    yield barrier()
    block_store(half, length, y + row * length, slm_block_load(half, length, row * loaded))


@every("loaded", [ROW, ROW + 32, ROW + 64])
def test_px216_a_load_of_parts_of_two_rows(loaded: int) -> None:
    """Offsets in elements, or of rows of another length."""
    x, y = np.arange(16 * ROW, dtype=np.float16), np.zeros(16 * ROW, dtype=np.float16)
    code, text = found(staged, x, y, 2 * ROW, loaded, ROW, threads=8)
    assert code == "PX216"
    assert "begin inside the block stored from 0 on and end in that from 256 on" in text


@every(("loaded", "length"), [(2 * ROW, ROW), (2 * ROW, 64), (64, 32), (4 * ROW, 2 * ROW)])
def test_px216_says_nothing_of_rows_and_of_their_parts(loaded: int, length: int) -> None:
    x, y = np.arange(16 * ROW, dtype=np.float16), np.zeros(16 * ROW, dtype=np.float16)
    threads = 8
    if loaded == 4 * ROW:
        threads = 1  # two rows at once: thread 0 alone would read what it did not store

        def whole(item: Item, x: Pointer, y: Pointer) -> None:
            slm_init(2 * ROW * 16)
            for row in range(4):
                slm_block_store(half, ROW, 2 * ROW * row, block_load(half, ROW, x + row * ROW))
            for pair in range(2):
                at = 4 * ROW * pair
                block_store(half, 2 * ROW, y + 2 * ROW * pair, slm_block_load(half, 2 * ROW, at))

        clean(whole, x, y, threads=threads)
        assert np.array_equal(y[: 4 * ROW], x[: 4 * ROW])
        return
    clean(staged, x, y, 2 * ROW, loaded, length, threads=threads)
    parts = x.reshape(-1)[np.arange(threads)[:, None] * (loaded // 2) + np.arange(length)]
    assert np.array_equal(y[: threads * length].reshape(threads, length), parts)


def test_px216_forgets_what_a_scatter_overwrote() -> None:
    def kernel(item: Item, y: Pointer) -> None:
        slm_init(64)
        slm_block_store(uint32_t, 8, 0, 1)
        slm_block_store(uint32_t, 8, 32, 2)
        offsets = simd(uint32_t, 16, 0, 4)
        esimd.lsc_slm_scatter(uint32_t, offsets, simd(uint32_t, 16, 5))
        block_store(uint32_t, 8, y, slm_block_load(uint32_t, 8, 16))

    y = np.zeros(8, dtype=np.uint32)
    clean(kernel, y)
    assert y.tolist() == [5] * 8


# ------------------------------------------------------------------ exchanged operands
# Xe2 DPAS patterns: A[M×K] and B[N×K], both read along K. Usage 1 gathers B as b_tile and loads A
# as a_tile; Usage 2 gathers A, so that M has 16 lanes, and loads B.

K = 32


def product(lanes: Pointer, rows: Pointer, count: int, n: int, m: int, kind: Any) -> simd:
    """Rows m … m + 7 of one matrix by 16 rows, from n on, of the other one: acc[m*16 + n]."""
    acc = simd(kind, 128)
    dwords = reinterpret_cast(uint32_t, lanes)
    offsets = simd(uint32_t, 16, n * K * 2, K * 2)
    for k in range(0, K, 16):
        b_tile = simd(half, 256)
        b_tile.bit_cast_view(uint32_t)[:] = lsc_gather(uint32_t, dwords + k // 2, offsets, nelts=8)
        size = (K * 2 - 1, count - 1, K * 2 - 1)
        a_tile = lsc_load_2d(half, 16, 8, rows, *size, k, m)
        acc = esimd.xmx.dpas(8, 8, acc, b_tile, a_tile)
    return acc


def usage_1(item: Item, a: Pointer, b: Pointer, c: Pointer, rows: int, columns: int) -> None:
    m, n = 8 * item.get_group(0), 16 * item.get_group(1)
    tile = product(b, a, rows, n, m, float_)
    surface = (columns * 4 - 1, rows - 1, columns * 4 - 1)
    lsc_store_2d(float_, 16, 8, c, *surface, n, m, tile)


def usage_2(
    item: Item, a: Pointer, b: Pointer, c: Pointer, rows: int, columns: int, scattered: bool
) -> None:
    m, n = 16 * item.get_group(0), 8 * item.get_group(1)
    tile = product(a, b, columns, m, n, float_)
    if scattered:
        offsets = simd(uint32_t, 16, m * columns * 4 + n * 4, columns * 4)
        lsc_scatter(float_, c, offsets, tile, nelts=8)
    else:
        surface = (columns * 4 - 1, rows - 1, columns * 4 - 1)
        lsc_store_2d(float_, 16, 8, c, *surface, n, m, tile)


SIZES = [(16, 32), (32, 16), (64, 32), (48, 80)]


def matrices(rows: int, columns: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(rows)
    a, b = (rng.integers(-3, 4, (n, K)).astype(np.float16) for n in (rows, columns))
    return a, b, np.zeros((rows, columns), dtype=np.float32)


@every(("rows", "columns"), SIZES)
def test_px304_a_transposed_tile_is_stored(rows: int, columns: int) -> None:
    a, b, c = matrices(rows, columns)
    groups = (rows // 16, columns // 8)
    code, text = found(usage_2, a, b, c, rows, columns, False, groups=groups, threads=(1, 1))
    assert code == "PX304"
    assert f"C has {rows} by {columns}" in text
    assert not np.array_equal(c, a.astype(np.float32) @ b.T.astype(np.float32))
    # The way out, as the lint says it.
    c[:] = 0
    clean(usage_2, a, b, c, rows, columns, True, groups=groups, threads=(1, 1))
    assert np.array_equal(c, a.astype(np.float32) @ b.T.astype(np.float32))


@every(("rows", "columns"), [*SIZES, (16, 16), (64, 64)])
def test_px304_says_nothing_of_usage_1(rows: int, columns: int) -> None:
    a, b, c = matrices(rows, columns)
    groups = (rows // 8, columns // 16)
    given = (a, b, c, rows, columns)
    clean(usage_1, *given, allow=("PX117",), groups=groups, threads=(1, 1))
    assert np.array_equal(c, a.astype(np.float32) @ b.T.astype(np.float32))


@pytest.mark.parametrize("converted", [False, True])
def test_px304_is_seen_behind_a_conversion_alone(converted: bool) -> None:
    """What is computed with a result escapes, as the lint says."""

    def kernel(item: Item, a: Pointer, b: Pointer, c: Pointer) -> None:
        tile = product(a, b, 64, 0, 0, float_)
        data = simd(half, 128, tile if converted else tile + 1)
        lsc_store_2d(half, 16, 8, c, 127, 31, 127, 0, 0, data)

    a, b, _ = matrices(32, 64)
    c = np.zeros((32, 64), dtype=np.float16)
    if converted:
        assert found(kernel, a, b, c, threads=1)[0] == "PX304"
    else:
        clean(kernel, a, b, c, threads=1)
