"""The guide's four uses of shared local memory, named barriers, DPAS patterns, against NumPy."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import sampled

from pycute_xe import esimd
from pycute_xe.arch.lsc import parse
from pycute_xe.esimd import EsimdError, Item, Pointer, half, nbarrier_role, simd, uint32_t

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "esimd" / "slm_patterns.py"
EXAMPLES = runpy.run_path(str(EXAMPLE))
# Runs are asked for again: by threads, as texts, and by what the example prints.
EXAMPLES["RUNS"].update({name: cache(run) for name, run in EXAMPLES["RUNS"].items()})


@pytest.mark.parametrize(
    ("name", "threads"), sampled(product(sorted(EXAMPLES["RUNS"]), [8, 16, 32]), 3)
)
@pytest.mark.long
def test_examples_are_numpy_bit_for_bit(name: str, threads: int) -> None:
    run, found, expected = EXAMPLES["RUNS"][name](threads)
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()
    assert run.trace.barriers == (4 if name == "cooperative load" else 1)
    assert {sent.thread for sent in run.messages} == set(range(threads))


@pytest.mark.long
def test_every_message_of_a_run_is_text_that_reads_back() -> None:
    runs = [EXAMPLES["RUNS"][name](8)[0] for name in EXAMPLES["RUNS"]]
    texts = {sent.text for run in runs for sent in run.messages}
    assert len(texts) > 5
    assert [text for text in texts if str(parse(text)) != text] == []


def test_padding_frees_the_transpose_of_bank_conflicts() -> None:
    run, found, expected = EXAMPLES["run_transpose"](16, 64, 2)
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()
    assert run.conflicts == 0
    assert EXAMPLES["run_transpose"](16, 64)[0].conflicts > 0


def test_the_scatter_moves_four_values_per_address() -> None:
    run, _, _ = EXAMPLES["run_scatter_transpose"](8, 32)
    mine = [s for s in run.messages if s.thread == 3 and "lsc_slm_scatter" in s.statement]
    # 2 halves of the queries × 4 groups of keys, 16 lanes × 2 dwords each.
    assert [s.text for s in mine] == ["lsc_store.slm (M1,16) flat[V1]:a32 V2:d32x2"] * 8
    assert {s.nbytes for s in mine} == {128}


@pytest.mark.long
def test_the_example_prints_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    counts = sampled((8, 16, 32), 0, [8])
    EXAMPLES["main"](counts)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 * len(counts)
    assert all(line.endswith("equal to NumPy") for line in lines)


def split(item: Item, x: Pointer, y: Pointer, wait_late: bool) -> Iterator[Any]:
    """Arrive, work on something else, wait: with a named barrier of all threads."""
    lid, threads = item.get_local_id(0), item.get_local_range(0)
    esimd.slm_init(64 * threads)
    done = esimd.nbarrier()
    done.init_nbarrier(1, nbarrier_role.producer_consumer, threads)
    esimd.slm_block_store(uint32_t, 16, 64 * lid, esimd.block_load(uint32_t, 16, x + 16 * lid))
    yield done.arrive()
    scale = esimd.block_load(uint32_t, 16, x)
    if not wait_late:
        yield done.wait()
    other = esimd.slm_block_load(uint32_t, 16, 64 * ((lid + 1) % threads))
    if wait_late:
        yield done.wait()
    esimd.block_store(uint32_t, 16, y + 16 * lid, other * scale)


@pytest.mark.parametrize("threads", [2, 8, 16])
def test_split_barriers_order_what_lies_outside_their_window(threads: int) -> None:
    x = np.arange(1, 16 * threads + 1, dtype=np.uint32).reshape(threads, 16)
    y = np.zeros_like(x)
    run = esimd.launch(split, x, y, False, threads=threads)
    assert np.array_equal(y, np.roll(x, -1, axis=0) * x[0])
    assert run.trace.barriers == 1
    with pytest.raises(EsimdError, match=r"PX206.*thread 1 wrote.*thread 0 reads"):
        esimd.launch(split, x, y, True, threads=threads)


def pipeline(item: Item, x: Pointer, y: Pointer, tiles: int, freed: bool) -> Iterator[Any]:
    """Half of the threads fill a tile, the others use it; two named barriers hand it over."""
    lid, half_ = item.get_local_id(0), item.get_local_range(0) // 2
    esimd.slm_init(64 * half_)
    produces = lid < half_
    full, empty = esimd.nbarrier(), esimd.nbarrier()
    role, other = (
        (nbarrier_role.producer, nbarrier_role.consumer)
        if produces
        else (nbarrier_role.consumer, nbarrier_role.producer)
    )
    full.init_nbarrier(1, role, half_, half_)
    empty.init_nbarrier(2, other, half_, half_)
    for tile in range(tiles):
        at = (tile * half_ + lid % half_) * 16
        if produces:
            esimd.slm_block_store(uint32_t, 16, 64 * lid, esimd.block_load(uint32_t, 16, x + at))
            yield full.arrive()
        else:
            yield full.arrive()
            yield full.wait()
            data = esimd.slm_block_load(uint32_t, 16, 64 * ((lid + 1) % half_))
            esimd.block_store(uint32_t, 16, y + at, data + 1)
        if freed:
            yield empty.arrive()
            if produces:
                yield empty.wait()


def test_producers_and_consumers() -> None:
    x = np.arange(6 * 4 * 16, dtype=np.uint32).reshape(6, 4, 16)
    y = np.zeros_like(x)
    run = esimd.launch(pipeline, x, y, 6, True, threads=8)
    assert np.array_equal(y, np.roll(x, -1, axis=1) + 1)
    assert run.trace.barriers == 12
    with pytest.raises(Exception, match="arrives again before the barrier has fired"):
        esimd.launch(pipeline, x, y, 6, False, threads=8)


def test_named_barriers_of_the_wrong_size_are_reported() -> None:
    def kernel(item: Item, count: int) -> Iterator[Any]:
        nb = esimd.nbarrier()
        nb.init_nbarrier(5, nbarrier_role.producer_consumer, count)
        yield nb.arrive()
        yield nb.wait()

    assert esimd.launch(kernel, 4, threads=4).trace.barriers == 1
    with pytest.raises(EsimdError, match="PX203") as info:
        esimd.launch(kernel, 5, threads=4)
    text = str(info.value)
    assert "4 of 5 producers and 4 of 5 consumers have arrived" in text
    assert "threads 0 to 3 wait at named barrier 5 (nbarrier(5).wait() (kernel:" in text


def test_named_barriers_must_be_initialised() -> None:
    def kernel(item: Item) -> Iterator[Any]:
        yield esimd.nbarrier().arrive()

    with pytest.raises(Exception, match="not initialised"):
        esimd.launch(kernel)


def gemm_tile(item: Item, a: Pointer, b: Pointer, c: Pointer, how: str) -> None:
    """One 8 × 16 tile of C, K = 16, by the load pattern that is asked for."""
    if how in ("usage 1", "gathered b"):
        a_tile = esimd.lsc_load_2d(half, 16, 8, a, 63, 15, 63, 0, 0)
        if how == "usage 1":
            b_tile = esimd.lsc_load_2d(half, 16, 16, b, 63, 15, 63, 0, 0, transformed=True)
        else:
            rows = simd(uint32_t, 16, [n * 64 for n in range(16)])
            b_tile = simd(half, 256)
            b_tile.bit_cast_view(uint32_t)[:] = esimd.lsc_gather(
                uint32_t, esimd.reinterpret_cast(uint32_t, b), rows, nelts=8
            )
    else:
        rows = simd(uint32_t, 16, [k * 64 for k in range(16)])
        a_tile = esimd.lsc_gather(half, a, rows, nelts=8)
        b_tile = esimd.lsc_load_2d(half, 16, 16, b, 63, 15, 63, 0, 0, transformed=True)
    acc = esimd.xmx.dpas(8, 8, simd("f32", 128), b_tile, a_tile)
    esimd.lsc_store_2d("f32", 16, 8, c, 63, 7, 63, 0, 0, acc)


@pytest.mark.parametrize("how", ["usage 1", "gathered b", "gathered a"])
def test_loads_that_need_no_shuffle(how: str) -> None:
    a = (np.arange(16 * 32) % 13).astype(np.float16).reshape(16, 32)
    b = (np.arange(16 * 32) % 11).astype(np.float16).reshape(16, 32)
    c = np.zeros((8, 16), dtype=np.float32)
    esimd.launch(gemm_tile, a, b, c, how)
    left = a[:16, :8].T if how == "gathered a" else a[:8, :16]
    right = b[:16, :16].T if how == "gathered b" else b[:16, :16]
    # Sums of products of small integers are exact.
    assert np.array_equal(c, left.astype(np.float32) @ right.astype(np.float32))


def test_usage_2_writes_back_by_scatter() -> None:
    def kernel(item: Item, a: Pointer, b: Pointer, c: Pointer) -> None:
        rows = simd(uint32_t, 16, [m * 64 for m in range(16)])
        b_tile = simd(half, 256)
        b_tile.bit_cast_view(uint32_t)[:] = esimd.lsc_gather(
            uint32_t, esimd.reinterpret_cast(uint32_t, a), rows, nelts=8
        )
        a_tile = esimd.lsc_load_2d(half, 16, 8, b, 63, 7, 63, 0, 0)
        acc = esimd.xmx.dpas(8, 8, simd(half, 128), b_tile, a_tile)
        where = simd(uint32_t, 16, [m * 8 * 2 for m in range(16)])
        esimd.lsc_scatter(half, c, where, acc, nelts=8)

    a = (np.arange(16 * 32) % 5).astype(np.float16).reshape(16, 32)
    b = (np.arange(8 * 32) % 7).astype(np.float16).reshape(8, 32)
    c = np.zeros((16, 8), dtype=np.float16)
    esimd.launch(kernel, a, b, c)
    assert np.array_equal(c, (a[:, :16].astype(np.float32) @ b[:, :16].T.astype(np.float32)))


def test_dpas_of_other_types_and_sizes() -> None:
    def kernel(item: Item, a: Pointer, b: Pointer, c: Pointer) -> None:
        a_tile = esimd.block_load("s8", 4 * 32, a)
        b_tile = esimd.lsc_load_2d("s8", 16, 32, b, 63, 31, 63, 0, 0, transformed=True)
        esimd.block_store("s32", 64, c, esimd.xmx.dpas(8, 4, None, b_tile, a_tile, t="s32"))
        with pytest.raises(Exception, match="the depth must be 8"):
            esimd.xmx.dpas(4, 4, None, b_tile, a_tile, t="s32")
        with pytest.raises(Exception, match="fit no instruction"):
            esimd.xmx.dpas(8, 3, None, b_tile, a_tile, t="s32")

    rng = np.random.default_rng(1)
    a = rng.integers(-128, 128, (4, 32), dtype=np.int8)
    b = rng.integers(-128, 128, (32, 64), dtype=np.int8)
    c = np.zeros((4, 16), dtype=np.int32)
    esimd.launch(kernel, a, b, c)
    assert np.array_equal(c, a.astype(np.int32) @ b[:, :16].astype(np.int32))
