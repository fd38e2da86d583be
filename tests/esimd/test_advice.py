"""Pitfalls that look right: the bad twin is told, the good one is silent and equal to NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from esimd_twins import clean, found, matrix

from pycute_xe import esimd
from pycute_xe.errors import InputError
from pycute_xe.esimd import (
    LINTS,
    EsimdError,
    Item,
    Pointer,
    alignment,
    barrier,
    block_load,
    block_store,
    cache_hint,
    cache_hint_L1,
    cache_hint_L2,
    cache_hint_L3,
    config_2d_mem_access,
    half,
    lsc_load_2d,
    overaligned_tag,
    properties,
    simd,
    slm_block_load,
    slm_block_store,
    slm_init,
    uint32_t,
)

# ------------------------------------------------------------------ alignment, properties


def test_px115_a_block_of_halves_from_an_odd_one() -> None:
    def kernel(item: Item, x: Pointer, y: Pointer, first: int, aligned: int | None) -> None:
        block_store(half, 128, y, block_load(half, 128, x + first, alignment=aligned))

    x, y = matrix().reshape(-1), np.zeros(128, dtype=np.float16)
    code, text = found(kernel, x, y, 1, None)
    assert code == "PX115"
    assert "the address is not a multiple of 4 bytes" in text
    assert "sizeof(T) it" not in text
    assert "even element" in text
    clean(kernel, x, y, 2, None)
    assert np.array_equal(y, x[2:130])
    # The way out that the text names: element by element.
    run = clean(kernel, x, y, 1, 2)
    assert np.array_equal(y, x[1:129])
    assert [message.nbytes for message in run.messages[:-1]] == [32] * 8


@pytest.mark.parametrize("nbytes", [16, 64])
def test_px115_an_alignment_that_does_not_hold(nbytes: int) -> None:
    def kernel(item: Item, x: Pointer, y: Pointer, first: int) -> None:
        row = block_load(half, 128, x + first, overaligned_tag(nbytes))
        block_store(half, 128, y, row, alignment=nbytes)

    x, y = matrix().reshape(-1), np.zeros(128, dtype=np.float16)
    code, text = found(kernel, x, y, nbytes // 4)
    assert code == "PX115"
    assert f"not a multiple of {nbytes} bytes, which alignment promises" in text
    clean(kernel, x, y, nbytes // 2)
    assert np.array_equal(y, x[nbytes // 2 : nbytes // 2 + 128])


def test_stores_of_narrow_alignment_and_px115_with_hints() -> None:
    def kernel(item: Item, x: Pointer, y: Pointer) -> None:
        block_store(half, 16, y + 1, block_load(half, 16, x), alignment(2))

    x, y = matrix().reshape(-1), np.zeros(32, dtype=np.float16)
    clean(kernel, x, y)
    assert np.array_equal(y[1:17], x[:16])
    assert y[0] == 0
    assert not y[17:].any()

    def hinted(item: Item, x: Pointer) -> None:
        block_load(half, 16, x, alignment=2, l1=cache_hint.cached, l3=cache_hint.cached)

    code, text = found(hinted, x)
    assert code == "PX115"
    assert "with cache hints" in text


def test_properties_and_keywords_ask_for_the_same_message() -> None:
    def kernel(item: Item, x: Pointer, y: Pointer, how: int) -> None:
        hint = properties(cache_hint_L1(cache_hint.streaming), cache_hint_L3(cache_hint.cached))
        newer = properties(
            cache_hint_L1(cache_hint.streaming), cache_hint_L2(cache_hint.cached), alignment(16)
        )
        words = {"l1": cache_hint.streaming, "l3": cache_hint.cached}
        row = (
            block_load(half, 128, x, overaligned_tag(16), hint),
            block_load(half, 128, x, newer),
            block_load(half, 128, x, **words),
        )[how]
        block_store(half, 128, y, row)

    x, y = matrix().reshape(-1), np.zeros(128, dtype=np.float16)
    texts = {esimd.launch(kernel, x, y, how).messages[how].text for how in range(3)}
    assert texts == {"lsc_load.ugm.st.ca (M1,1) V2:d64x32t flat[V1]:a64"}
    assert np.array_equal(y, x[:128])


@pytest.mark.parametrize(
    ("given", "words", "text"),
    [
        ((alignment(4), overaligned_tag(8)), {}, "alignment is given twice"),
        ((properties(cache_hint_L1(cache_hint.cached)),), {"l1": cache_hint.cached}, "l1 is given"),
        ((16,), {}, "a property is an alignment or a cache hint"),
    ],
)
def test_properties_that_are_refused(given: Any, words: Any, text: str) -> None:
    def kernel(item: Item, x: Pointer) -> None:
        block_load(half, 128, x, *given, **words)

    with pytest.raises(InputError, match=text):
        esimd.launch(kernel, matrix())


def test_property_values_that_are_refused() -> None:
    for bad in (lambda: alignment(3), lambda: overaligned_tag(0)):
        with pytest.raises(InputError, match="power of two"):
            bad()
    with pytest.raises(InputError, match="must be a cache hint"):
        cache_hint_L1("cached")
    with pytest.raises(InputError, match="a property is"):
        properties("cached")


@pytest.mark.parametrize(
    ("l3", "measured"),
    [("write_back", "33 % slower"), ("uncached", "7 times slower"), ("cached", None)],
)
def test_px112_says_what_was_measured(l3: str, measured: str | None) -> None:
    def kernel(item: Item, y: Pointer) -> None:
        hints = properties(cache_hint_L1(cache_hint.streaming), cache_hint_L3(cache_hint[l3]))
        block_store(half, 128, y, simd(half, 128, 1), hints)

    y = np.zeros(128, dtype=np.float16)
    if measured is None:
        with pytest.raises(EsimdError, match="PX100"):
            esimd.launch(kernel, y)
        return
    assert measured in esimd.launch(kernel, y).findings[0].condition


# ------------------------------------------------------------------ tiles


def columns(item: Item, x: Pointer, y: Pointer, unit: int) -> None:
    """Copy the first 4 tiles of 16 columns."""
    for i in range(4):
        payload = config_2d_mem_access(half, 16, 8, x, 511, 63, 511, i * 16 * unit, 0)
        block_store(half, 128, y + i * 128, lsc_load_2d(half, 16, 8, payload))


def test_px103_x_in_bytes_inside_the_surface() -> None:
    x, y = matrix(), np.zeros((4, 8, 16), dtype=np.float16)
    code, text = found(columns, x, y, 2)
    assert code == "PX103"
    assert "x is 0, 32, 64, 96: of tiles of 16 elements one in 2 is loaded" in text
    with pytest.raises(EsimdError, match="PX103"):
        esimd.launch(columns, x, y, 2, strict=True)
    clean(columns, x, y, 1)
    assert np.array_equal(y, x[:8, :64].reshape(8, 4, 16).transpose(1, 0, 2))


def test_px103_of_one_tile_escapes_and_says_so() -> None:
    def kernel(item: Item, x: Pointer, y: Pointer) -> None:
        payload = config_2d_mem_access(half, 16, 8, x, 511, 63, 511, 32 * 2, 0)
        block_store(half, 128, y, lsc_load_2d(half, 16, 8, payload))

    clean(kernel, matrix(), np.zeros(128, dtype=np.float16))
    assert "One x in bytes that stays inside cannot be told" in LINTS["PX103"].seen


@pytest.mark.parametrize("tall", [8, 4])
def test_px116_raw_height_of_a_part(tall: int) -> None:
    def kernel(item: Item, x: Pointer, y: Pointer, height: int) -> None:
        # The rows 0 to 15 are one matrix, the rows behind them another.
        payload = config_2d_mem_access(half, 16, tall, x, 511, height, 511, 0, 16 - tall // 2)
        block_store(half, 16 * tall, y, lsc_load_2d(half, 16, tall, payload))

    x, y = matrix() + np.float16(1), np.zeros((tall, 16), dtype=np.float16)
    code, text = found(kernel, x, y, 16)
    assert code == "PX116"
    assert "the surface has 17 rows of an array that has more" in text
    assert y[tall // 2].any()  # a row of the other matrix
    clean(kernel, x, y, 15)
    assert np.array_equal(y[: tall // 2], x[16 - tall // 2 : 16, :16])
    assert not y[tall // 2 :].any()


@pytest.mark.parametrize(("wide", "high", "cols"), [(32, 1, 256), (32, 8, 32)])
def test_px117_tiles_of_adjacent_bytes(wide: int, high: int, cols: int) -> None:
    x = matrix().reshape(-1, cols)
    pitch, last = 2 * cols - 1, len(x) - 1

    def bad(item: Item, x: Pointer, y: Pointer) -> None:
        payload = config_2d_mem_access(half, wide, high, x, pitch, last, pitch, 0, 8)
        block_store(half, wide * high, y, lsc_load_2d(half, wide, high, payload))

    def good(item: Item, x: Pointer, y: Pointer) -> None:
        block_store(half, wide * high, y, block_load(half, wide * high, x + 8 * cols))

    expected = x[8 : 8 + high, :wide].reshape(-1)
    for kernel in (bad, good):
        y = np.zeros(wide * high, dtype=np.float16)
        if kernel is bad:
            assert found(kernel, x, y)[0] == "PX117"
        else:
            clean(kernel, x, y)
        assert np.array_equal(y, expected)


# ------------------------------------------------------------------ shared local memory


def test_px202_a_branch_that_all_threads_take() -> None:
    def branch(item: Item, always: bool) -> None:
        if always:
            slm_init(64)

    def loop(item: Item, always: bool) -> None:
        for _ in range(1):
            slm_init(64)

    def helper(item: Item, always: bool) -> None:
        if always:
            good(item, always)

    def good(item: Item, always: bool) -> None:
        slm_init(128 if always else 64)
        if always:
            slm_block_store(half, 8, 16 * item.get_local_id(0), 1)

    for bad in (branch, loop, helper):
        code, text = found(bad, True, threads=4)
        assert code == "PX202"
        assert "branch or a loop" in text
    clean(good, True, threads=4)


def padded(item: Item, x: Pointer, y: Pointer, padding: int, aligned: int | None) -> Iterator[Any]:
    """Stage 16 rows of 128 halves, so many more apart, and load them again."""
    slm_init(16 * (128 + padding) * 2)
    row, pitch = item.get_local_id(0), (128 + padding) * 2
    slm_block_store(half, 128, row * pitch, block_load(half, 128, x + row * 128), alignment=aligned)
    yield barrier()
    taken = slm_block_load(half, 128, row * pitch, alignment=aligned)
    block_store(half, 128, y + row * 128, taken)


def test_px214_padding_of_one_half() -> None:
    x, y = matrix().reshape(-1)[:2048], np.zeros(2048, dtype=np.float16)
    code, text = found(padded, x, y, 1, None, threads=16)
    assert code == "PX214"
    assert "Multiply" not in text
    assert "two halves, not one" in text
    for padding, aligned in ((2, None), (2, 4), (1, 2), (8, 16)):
        y[:] = 0
        clean(padded, x, y, padding, aligned, threads=16)
        assert np.array_equal(y, x)
    assert found(padded, x, y, 2, 16, threads=16)[0] == "PX214"


def rows_of_one_thread(item: Item, x: Pointer, y: Pointer, unit: int) -> None:
    slm_init(4 * 128 * 2)
    for row in range(4):
        slm_block_store(half, 128, row * 128 * unit, block_load(half, 128, x + row * 128))
    for row in range(4):
        block_store(half, 128, y + row * 128, slm_block_load(half, 128, row * 128 * unit))


def test_px215_offsets_in_elements_of_one_thread() -> None:
    x, y = matrix().reshape(-1)[:512], np.zeros(512, dtype=np.float16)
    code, text = found(rows_of_one_thread, x, y, 1)
    assert code == "PX215"
    assert "bytes 128 to 383 overlap the block from 0 on" in text
    assert not np.array_equal(y, x)
    clean(rows_of_one_thread, x, y, 2)
    assert np.array_equal(y, x)


def test_px215_leaves_other_stores_alone() -> None:
    def kernel(item: Item) -> Iterator[Any]:
        slm_init(1024)
        slm_block_store(half, 512, 0, 0)  # zeros first
        for row in range(4):
            slm_block_store(half, 128, row * 256, 1)
        for at in (0, 128):
            slm_block_store(half, 128, at, 2)
            slm_block_load(half, 128, at)  # used before it is overwritten
        for at in (0, 128):
            slm_block_store(half, 128, at, 2)
            yield barrier()

    clean(kernel)
    assert "on purpose is recorded too" in LINTS["PX215"].seen


@pytest.mark.parametrize("count", [2, 4, 24, 1024, 2048])
def test_px212_unusual_sizes(count: int) -> None:
    def kernel(item: Item, x: Pointer, y: Pointer, size: int) -> None:
        slm_init(4096)
        for at in range(0, count, size):
            slm_block_store(half, size, 2 * at, block_load(half, size, x + at))
            block_store(half, size, y + at, slm_block_load(half, size, 2 * at))

    x, y = matrix().reshape(-1)[:2048], np.zeros(2048, dtype=np.float16)
    code, text = found(kernel, x, y, count)
    assert code == "PX212"
    assert ("not a power of two" if count == 24 else "not 8 to 512") in text
    assert np.array_equal(y[:count], x[:count])
    if count >= 24:
        clean(kernel, x, y, 8)
    assert np.array_equal(y[:count], x[:count])


def one_by_one(item: Item, y: Pointer, order: str) -> None:
    data = simd(uint32_t, 32)
    if order == "address-major":
        for e in range(2):
            for n in range(16):
                data[n * 2 + e] = 100 * n + e
    else:
        for n in range(16):
            for e in range(2):
                data[n + 16 * e] = 100 * n + e
    esimd.lsc_scatter(uint32_t, y, simd(uint32_t, 16, 0, 8), data, nelts=2)


def test_px207_elements_written_one_by_one() -> None:
    y = np.zeros((16, 2), dtype=np.uint32)
    assert found(one_by_one, y, "address-major")[0] == "PX207"
    clean(one_by_one, y, "element-major")
    assert np.array_equal(y, [[100 * n, 100 * n + 1] for n in range(16)])


def test_px207_from_first_to_last_escapes_and_says_so() -> None:
    def kernel(item: Item, y: Pointer) -> None:
        data = simd(uint32_t, 32)
        for n in range(16):
            for e in range(2):
                data[2 * n + e] = 100 * n + e
        esimd.lsc_scatter(uint32_t, y, simd(uint32_t, 16, 0, 8), data, nelts=2)

    y = np.zeros((16, 2), dtype=np.uint32)
    clean(kernel, y)
    assert not np.array_equal(y, [[100 * n, 100 * n + 1] for n in range(16)])
    assert "from first to last may be either order" in LINTS["PX207"].seen


# ------------------------------------------------------------------ DPAS


def accumulated(item: Item, a: Pointer, b: Pointer, c: Pointer, kind: str, swapped: bool) -> None:
    b_tile = lsc_load_2d(half, 16, 16, b, 63, 15, 63, 0, 0, transformed=True)
    acc = simd(half, 128) if kind == "constant" else None
    for _ in range(2):
        a_tile = lsc_load_2d(half, 16, 8, a, 63, 7, 63, 0, 0)
        t = half if acc is None else None
        first, last = (a_tile, acc) if swapped and acc is not None else (acc, a_tile)
        acc = esimd.xmx.dpas(8, 8, first, b_tile, last, t=t)
    block_store(half, 128, c, acc)


@pytest.mark.parametrize("kind", ["constant", "product"])
def test_px303_accumulator_and_a_exchanged(kind: str) -> None:
    a = (np.arange(8 * 32) % 3).astype(np.float16).reshape(8, 32)
    b = (np.arange(16 * 32) % 2).astype(np.float16).reshape(16, 32)
    c = np.zeros((8, 16), dtype=np.float16)
    code, text = found(accumulated, a, b, c, kind, True)
    assert code == "PX303"
    assert ("filled with one number" if kind == "constant" else "result of a dpas") in text
    expected = 2 * (a[:, :16].astype(np.float32) @ b[:, :16].astype(np.float32))
    assert not np.array_equal(c, expected)
    clean(accumulated, a, b, c, kind, False)
    assert np.array_equal(c, expected)


def test_px303_where_a_is_computed_escapes_and_the_type_of_acc_helps() -> None:
    def kernel(item: Item, a: Pointer, b: Pointer, kind: str) -> None:
        b_tile = lsc_load_2d(half, 16, 16, b, 63, 15, 63, 0, 0, transformed=True)
        a_tile = lsc_load_2d(half, 16, 8, a, 63, 7, 63, 0, 0)
        acc = simd(kind, 128, range(128)) * 2
        esimd.xmx.dpas(8, 8, a_tile, b_tile, acc)

    a, b = np.ones((8, 32), dtype=np.float16), np.ones((16, 32), dtype=np.float16)
    clean(kernel, a, b, "f16")
    assert "types do not tell" in LINTS["PX303"].seen
    assert found(kernel, a, b, "f32")[0] == "PX301"
