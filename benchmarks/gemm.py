"""Time `run` (fast executor) against NumPy doing the same work, as ratios.

Both are timed alternately in one process, so that a busy machine disturbs both alike. NumPy works
the fastest exact way: conversions to float32, one product, the epilogue, the output type. Targets:
1.15 for bf16, 1.6 with bias, relu and bf16 output, 2.0 for s8, 3 for a batch of 64 small products;
``--memory`` runs 8192^3 and compares the peak over A, B and D with A and B, at most 4.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import pycute_xe as cx
from pycute_xe.executing import run
from pycute_xe.kernel import Kernel, gemm

BF16, F32 = ml_dtypes.bfloat16, np.float32
Array = NDArray[Any]
Call = Callable[[], Any]


def kernel(of: str = "bf16", to: str = "f32", tile: int = 256, **given: Any) -> Kernel:
    """A kernel of square tiles, both operands row-major."""
    subgroups = ((8, 4, 1), (4, 1, 0)) if tile == 256 else ((4, 2, 1), (2, 1, 0))
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, to, of), (tile, tile, 32), subgroups)
    return gemm(mma, **given)


def normal(*shape: int) -> Array:
    """Random bf16 numbers."""
    return np.random.default_rng(0).standard_normal(shape, dtype=F32).astype(BF16)


def bytes_of(*shape: int) -> Array:
    """Random s8 numbers."""
    return np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)


def cases(n: int) -> dict[str, tuple[float, Call, Call]]:
    """Name → (target, ours, NumPy's)."""
    a, b, bias = normal(n, n), normal(n, n), normal(n).astype(F32)
    a8, b8 = bytes_of(n, n), bytes_of(n, n)
    many_a, many_b = normal(64, 128, 128), normal(64, 128, 128)
    plain, bytewise = kernel(), kernel("s8", "s32")
    ending = kernel(epilogue="relu(acc + bias[n])", d_type="bf16")
    batched = kernel(tile=128, batch=True)

    def activated() -> Array:
        out = a.astype(F32) @ b.astype(F32)
        out += bias
        return np.maximum(out, 0, out=out).astype(BF16)

    return {
        f"bf16 {n}^3": (1.15, lambda: run(plain, a, b), lambda: a.astype(F32) @ b.astype(F32)),
        f"bf16 {n}^3, bias, relu, to bf16": (1.6, lambda: run(ending, a, b, bias), activated),
        # 1024 products of s8 are at most 2^24, which float32 holds.
        f"s8 {n}^3": (
            2.0,
            lambda: run(bytewise, a8, b8),
            lambda: (a8.astype(F32) @ b8.astype(F32)).astype(np.int32),
        ),
        "bf16 64 x 128^3": (
            3.0,
            lambda: run(batched, many_a, many_b),
            lambda: many_a.astype(F32) @ many_b.astype(F32),
        ),
    }


def seconds(call: Call) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(ours: Call, numpy: Call, rounds: int) -> str:
    """Return both times and their ratios; the first calls warm the caches and are compared."""
    assert np.array_equal(ours(), numpy())
    pairs = [(seconds(ours), seconds(numpy)) for _ in range(rounds)]
    mine, theirs = zip(*pairs, strict=True)
    paired = statistics.median(first / second for first, second in pairs)
    return (
        f"run {min(mine) * 1e3:.1f} ms, NumPy {min(theirs) * 1e3:.1f} ms (minima); "
        f"ratio {min(mine) / min(theirs):.2f} of the minima, {paired:.2f} median of the pairs"
    )


def memory(n: int) -> str:
    """Return the peak of NumPy's memory in a run over A, B and D, in units of A and B."""
    a, b, plain = normal(n, n), normal(n, n), kernel()
    run(plain, a[:256, :256], b[:256, :256])
    tracemalloc.start()
    out = run(plain, a, b)
    over = tracemalloc.get_traced_memory()[1] - out.nbytes
    tracemalloc.stop()
    return (
        f"{over / 2**20:.0f} MiB over A, B and D, {over / (a.nbytes + b.nbytes):.2f} times A and B"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    for name, (target, ours, numpy) in cases(1024).items():
        print(f"{name}: {compare(ours, numpy, given.rounds)}; target {target}", flush=True)
    if given.memory:
        print(f"bf16 8192^3: {memory(8192)}; target 4", flush=True)
