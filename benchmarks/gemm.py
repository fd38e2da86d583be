"""Time `run` (fast executor) against NumPy on the same bf16 inputs, as a ratio.

Both are timed alternately in one process, so that a busy machine disturbs both alike; the
reference is `A.astype(f32) @ B.astype(f32)`, conversions included. The first target is a
ratio of at most 4.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import ml_dtypes
import numpy as np

import pycute_xe as cx

SIZES = ((1024, 1024, 1024), (4096, 1024, 1024))  # M, N, K


def seconds(call: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def kernel() -> cx.kernel.Kernel:
    """The 256 × 256 × 32 kernel over 8 × 4 subgroups, both operands row-major."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, tile=(256, 256, 32), subgroups=((8, 4, 1), (4, 1, 0)))
    return cx.kernel.gemm(mma, a="row", b="row", stages=2)


def compare(shape: tuple[int, int, int], rounds: int) -> str:
    """One line of results for one (M, N, K)."""
    m, n, k = shape
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, k), dtype=np.float32).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((k, n), dtype=np.float32).astype(ml_dtypes.bfloat16)
    gemm = kernel()

    def ours() -> object:
        return cx.run(gemm, a, b)

    def numpy() -> object:
        return a.astype(np.float32) @ b.astype(np.float32)

    ours()  # compiles the maps, warms the caches
    numpy()
    pairs = [(seconds(ours), seconds(numpy)) for _ in range(rounds)]
    mine, theirs = zip(*pairs, strict=True)
    paired = statistics.median(first / second for first, second in pairs)
    return (
        f"{m}x{n}x{k}: run {min(mine) * 1e3:.1f} ms, NumPy {min(theirs) * 1e3:.1f} ms (minima); "
        f"ratio {min(mine) / min(theirs):.2f} of the minima, {paired:.2f} median of the pairs"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    for size in SIZES:
        print(compare(size, parser.parse_args().rounds), flush=True)
