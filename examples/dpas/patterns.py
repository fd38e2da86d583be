"""Loading and storing what DPAS multiplies, without moving a single element between registers.

C = A·B in half precision, four ways to load and two to store (Intel Xe2 DPAS patterns). B lies in
memory as B_T, K rows of N, or as B, N rows of K. Run it: ``python examples/dpas/patterns.py``.

Usage 1: A is the a_tile, B the b_tile; the accumulator is C row by row, a block-2D store.
Usage 2: A is the b_tile, B the a_tile; the accumulator is C column by column, a scatter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pycute_xe.esimd import (
    Item,
    Pointer,
    cache_hint,
    config_2d_mem_access,
    half,
    launch,
    lsc_data_size,
    lsc_gather,
    lsc_load_2d,
    lsc_scatter,
    lsc_store_2d,
    reinterpret_cast,
    simd,
    uint32_t,
    xmx,
)

Half = NDArray[np.float16]
Load = Callable[[Pointer, tuple[int, int], int, int], simd]
CACHED, BACK = cache_hint.cached, cache_hint.write_back
BYTES = 2  # of a half


def a_tile_2d(ptr: Pointer, shape: tuple[int, int], row: int, k: int) -> simd:
    """Pattern 1: 8 rows of 16 k from a matrix with k contiguous, a plain block-2D load."""
    height, width = shape
    payload = config_2d_mem_access(
        half, 16, 8, ptr, width * BYTES - 1, height - 1, width * BYTES - 1, k, row
    )
    return lsc_load_2d(half, 16, 8, payload, l1=CACHED, l3=CACHED)


def b_tile_2d(ptr: Pointer, shape: tuple[int, int], column: int, k: int) -> simd:
    """Pattern 2: 16 k of 16 columns from a matrix with k as rows: transformed, VNNI on the way."""
    height, width = shape
    payload = config_2d_mem_access(
        half, 16, 16, ptr, width * BYTES - 1, height - 1, width * BYTES - 1, column, k
    )
    return lsc_load_2d(half, 16, 16, payload, transformed=True, l1=CACHED, l3=CACHED)


def b_tile_gather(ptr: Pointer, shape: tuple[int, int], column: int, k: int) -> simd:
    """Pattern 3: the same tile from a matrix with k contiguous: a lane a column, 8 dwords each."""
    rows = [((column + lane) * shape[1] + k) * BYTES for lane in range(16)]
    found = lsc_gather(
        uint32_t,
        reinterpret_cast(uint32_t, ptr),
        simd(uint32_t, 16, rows),
        nelts=8,
        ds=lsc_data_size.u32,
        l1=CACHED,
        l3=CACHED,
    )
    return found.bit_cast_view(half).read()


def a_tile_gather(ptr: Pointer, shape: tuple[int, int], row: int, k: int) -> simd:
    """Pattern 4: 8 rows of 16 k from a matrix with k as rows: a lane a k, 8 halves each."""
    starts = [((k + lane) * shape[1] + row) * BYTES for lane in range(16)]
    return lsc_gather(
        half,
        ptr,
        simd(uint32_t, 16, starts),
        nelts=8,
        ds=lsc_data_size.u16,
        l1=CACHED,
        l3=CACHED,
    )


def usage_1(load_b: Load) -> Callable[..., None]:
    """A thread computes 8 × 16 of C: A is the a_tile, B the b_tile."""

    def kernel(item: Item, A: Pointer, B: Pointer, C: Pointer, sizes: tuple[int, int, int]) -> None:
        M, N, K = sizes
        m, n = (8 * i for i in divmod(item.get_global_id(0), N // 16))
        n *= 2
        acc = simd(half, 8 * 16)
        for k in range(0, K, 16):
            a = a_tile_2d(A, (M, K), m, k)
            b = load_b(B, (K, N) if load_b is b_tile_2d else (N, K), n, k)
            acc = xmx.dpas(8, 8, acc, b, a)
        row = N * BYTES - 1
        lsc_store_2d(half, 16, 8, C, row, M - 1, row, n, m, acc, l1=BACK, l3=BACK)

    return kernel


def usage_2(load_b: Load) -> Callable[..., None]:
    """A thread computes 16 × 8 of C: A is the b_tile, B the a_tile, C comes out transposed."""

    def kernel(item: Item, A: Pointer, B: Pointer, C: Pointer, sizes: tuple[int, int, int]) -> None:
        M, N, K = sizes
        m, n = (8 * i for i in divmod(item.get_global_id(0), N // 8))
        m *= 2
        acc = simd(half, 8 * 16)
        for k in range(0, K, 16):
            a = b_tile_gather(A, (M, K), m, k)
            b = load_b(B, (K, N) if load_b is a_tile_gather else (N, K), n, k)
            acc = xmx.dpas(8, 8, acc, a, b)
        # acc[n * 16 + m] is C(m, n): element n of lane m, which is how a scatter takes its data.
        rows = simd(uint32_t, 16, [((m + lane) * N + n) * BYTES for lane in range(16)])
        lsc_scatter(half, C, rows, acc, nelts=8, ds=lsc_data_size.u16, l1=BACK, l3=BACK)

    return kernel


def run(kernel: Callable[..., None], A: Half, B: Half, C: Half, target: str = "bmg") -> None:
    """Launch one thread for each tile of 128 elements of C."""
    (M, K), N = A.shape, C.shape[1]
    launch(kernel, A, B, C, (M, N, K), threads=4, groups=M * N // 128 // 4, target=target)


WAYS: dict[str, tuple[Callable[[Load], Callable[..., None]], Load, bool]] = {
    "usage 1, B_T through a transformed load": (usage_1, b_tile_2d, True),
    "usage 1, B through a gather of dwords": (usage_1, b_tile_gather, False),
    "usage 2, B through a plain load": (usage_2, a_tile_2d, False),
    "usage 2, B_T through a gather of halves": (usage_2, a_tile_gather, True),
}


def outcomes() -> dict[str, bool]:
    """Multiply small integers, which half precision sums exactly, every way there is."""
    rng = np.random.default_rng(0)
    A, B_T = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((32, 48), (48, 64)))
    right: dict[str, bool] = {}
    for name, (usage, load_b, rows_are_k) in WAYS.items():
        C = np.full((32, 64), np.nan, dtype=np.float16)
        run(usage(load_b), A, B_T if rows_are_k else np.ascontiguousarray(B_T.T), C)
        right[name] = bool((A @ B_T == C).all())
    return right


def main() -> None:
    """Say which ways give NumPy's product."""
    for name, right in outcomes().items():
        print(f"{name:42}", "right" if right else "wrong")


if __name__ == "__main__":
    main()
