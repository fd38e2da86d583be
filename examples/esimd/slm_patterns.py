"""Four uses of shared local memory, as ESIMD kernels in Python, each compared with NumPy.

    python examples/esimd/slm_patterns.py

The patterns are those of Intel's ESIMD LSC SLM guide: cooperative load, K-split reduction,
transpose by gather, and transpose by scatter of packed pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe import esimd
from pycute_xe.esimd import (
    Item,
    Pointer,
    barrier,
    block_load,
    block_store,
    float_,
    half,
    lsc_data_size,
    lsc_slm_gather,
    lsc_slm_scatter,
    reinterpret_cast,
    simd,
    slm_block_load,
    slm_block_store,
    slm_init,
    uint16_t,
    uint32_t,
)

Kernel = Iterator[Any]
Half = NDArray[np.float16]
Float = NDArray[np.float32]


def cooperative_load(item: Item, source: Pointer, sums: Pointer, rows: int, cols: int) -> Kernel:
    """Stage tiles of 128 rows; every thread then adds up a row of each tile that others loaded."""
    tile, lid, threads = 128, item.get_local_id(0), item.get_local_range(0)
    slm_init(tile * cols * 2)
    mine = tile // threads
    total = simd(half, cols)
    for first in range(0, rows, tile):
        for r in range(lid * mine, (lid + 1) * mine):
            row = block_load(half, cols, source + (first + r) * cols)
            slm_block_store(half, cols, r * cols * 2, row)
        yield barrier()  # the tile is there
        wanted = (lid * 7 + 3) % tile
        total = total + slm_block_load(half, cols, wanted * cols * 2)
        yield barrier()  # no thread reads the tile any more
    block_store(half, cols, sums + lid * cols, total)


def k_split(item: Item, a: Pointer, b: Pointer, out: Pointer, k: int, n: int) -> Kernel:
    """Each thread adds up its part of k; one adds the parts."""
    lid, threads = item.get_local_id(0), item.get_local_range(0)
    slm_init(threads * n * 4)
    partial = simd(float_, n)
    for i in range(lid * k // threads, (lid + 1) * k // threads):
        scale = block_load(float_, 1, a + i)[0]
        partial = partial + block_load(float_, n, b + i * n) * float(scale)
    slm_block_store(float_, n, lid * n * 4, partial)
    yield barrier()
    if lid == 0:
        total = simd(float_, n)
        for i in range(threads):
            total = total + slm_block_load(float_, n, i * n * 4)
        block_store(float_, n, out, total)


def transpose_by_gather(
    item: Item, source: Pointer, target: Pointer, size: int, padding: int = 0
) -> Kernel:
    """Store rows, gather columns. ``padding`` elements between rows spread them over the banks."""
    lid, mine = item.get_local_id(0), size // item.get_local_range(0)
    pitch = (size + padding) * 2
    slm_init(size * pitch)
    for r in range(lid * mine, (lid + 1) * mine):
        slm_block_store(half, size, r * pitch, block_load(half, size, source + r * size))
    yield barrier()
    rows = simd(uint32_t, size, [r * pitch for r in range(size)])
    for c in range(lid * mine, (lid + 1) * mine):
        column = lsc_slm_gather(half, rows + c * 2, ds=lsc_data_size.u16)
        block_store(half, size, target + c * size, column)


def transpose_by_scatter(item: Item, scores: Pointer, out: Pointer, queries: int) -> Kernel:
    """Turn 16 KV rows of each thread into columns: pack pairs of rows, scatter them, read rows.

    ``scores`` is (16 * threads, queries), ``out`` its transpose; queries are taken 16 at a time.
    """
    lid, threads = item.get_local_id(0), item.get_local_range(0)
    keys = 16 * threads
    slm_init(queries * keys * 2)
    bits = reinterpret_cast(uint16_t, scores)
    for first in range(0, queries, 16):
        row = [block_load(uint16_t, 16, bits + (16 * lid + r) * queries + first) for r in range(16)]
        packed = [row[r] | (row[r + 1] << 16) for r in range(0, 16, 2)]
        for group in range(4):
            where = [(first + q) * keys * 2 + (16 * lid + 4 * group) * 2 for q in range(16)]
            data = simd(uint32_t, 32)
            data.select(16, 1, 0)[:] = packed[2 * group]
            data.select(16, 1, 16)[:] = packed[2 * group + 1]
            lsc_slm_scatter(uint32_t, simd(uint32_t, 16, where), data, nelts=2)
    yield barrier()
    for q in range(lid * queries // threads, (lid + 1) * queries // threads):
        block_store(half, keys, out + q * keys, slm_block_load(half, keys, q * keys * 2))


def run_cooperative_load(threads: int) -> tuple[esimd.Run, Half, Half]:
    """Return the run, its result and NumPy's."""
    source = np.arange(256 * 64).reshape(256, 64).astype(np.float16) % 97
    sums = np.zeros((threads, 64), dtype=np.float16)
    run = esimd.launch(cooperative_load, source, sums, 256, 64, threads=threads)
    wanted = (np.arange(threads) * 7 + 3) % 128
    return run, sums, source[wanted] + source[wanted + 128]


def run_k_split(threads: int) -> tuple[esimd.Run, Float, Float]:
    """Return the run, its result and NumPy's."""
    k, n = 8 * threads, 32
    a = (np.arange(k) % 5).astype(np.float32)
    b = (np.arange(k * n).reshape(k, n) % 11).astype(np.float32)
    out = np.zeros(n, dtype=np.float32)
    return esimd.launch(k_split, a, b, out, k, n, threads=threads), out, a @ b


def run_transpose(threads: int, size: int = 128, padding: int = 0) -> tuple[esimd.Run, Half, Half]:
    """Return the run, its result and NumPy's."""
    source = np.arange(size * size, dtype=np.uint16).reshape(size, size).view(np.float16)
    target = np.zeros_like(source)
    kernel = transpose_by_gather
    run = esimd.launch(kernel, source, target, size, padding, threads=threads)
    return run, target, source.T


def run_scatter_transpose(threads: int, queries: int = 32) -> tuple[esimd.Run, Half, Half]:
    """Return the run, its result and NumPy's."""
    scores = np.arange(16 * threads * queries, dtype=np.uint16).view(np.float16)
    scores = scores.reshape(16 * threads, queries)
    out = np.zeros((queries, 16 * threads), dtype=np.float16)
    run = esimd.launch(transpose_by_scatter, scores, out, queries, threads=threads)
    return run, out, scores.T


RUNS = {
    "cooperative load": run_cooperative_load,
    "K-split reduction": run_k_split,
    "transpose by gather": run_transpose,
    "transpose by scatter": run_scatter_transpose,
}


def main(counts: Sequence[int] = (8, 16, 32)) -> None:
    """Run each with 8, 16 and 32 threads, or as told, and say whether NumPy agrees, bit for bit."""
    for name, pattern in RUNS.items():
        for threads in counts:
            run, found, expected = pattern(threads)
            same = found.tobytes() == np.ascontiguousarray(expected).tobytes()
            print(
                f"{name:20} {threads:2} threads: {len(run.messages):5} messages, "
                f"{run.trace.barriers} barriers, {run.conflicts:5} turns lost at banks, "
                f"{'equal to' if same else 'DIFFERS FROM'} NumPy"
            )


if __name__ == "__main__":
    main()
