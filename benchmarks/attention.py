"""How long `fast` takes for attention, as a multiple of NumPy with the same roundings.

``python benchmarks/attention.py`` runs 8 heads of 1024 queries and keys, 64 deep, bf16.
"""

from __future__ import annotations

from time import process_time
from typing import Any

import ml_dtypes
import numpy as np

import pycute_xe as cx
from pycute_xe.kernel import attention

HEADS, LENGTH, DEPTH, SCALE = 8, 1024, 64, 0.125


def whole(q: Any, k: Any, v: Any) -> Any:
    """Return attention by whole matrices: scores and sums in f32, weights rounded to bf16."""
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    scores = np.float32(SCALE * np.log2(np.e)) * (q @ k.swapaxes(-1, -2))
    weights = np.exp2(scores - scores.max(axis=-1, keepdims=True))
    sums = weights.sum(axis=-1, keepdims=True)
    return weights.astype(ml_dtypes.bfloat16).astype(np.float32) @ v / sums


def best(of: Any, times: int = 3) -> float:
    """Return the least seconds of processor time of a few runs."""
    found: list[float] = []
    for _ in range(times):
        start = process_time()
        of()
        found.append(process_time() - start)
    return min(found)


def main() -> None:
    """Time both and print the ratio."""
    op, grid = cx.XE_DPAS_TT(8, "f32", "bf16"), ((8, 1, 1), (1, 1, 1))
    tiles = (128, 64, 32), (128, 32, 64)
    mmas = tuple(cx.workgroup_mma(op, tile, grid) for tile in tiles)
    kernel = attention(mmas[0], mmas[1], out=64)
    rng = np.random.default_rng(0)
    shape = (1, HEADS, LENGTH, DEPTH)
    q, k, v = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for _ in range(3))
    ours = best(lambda: cx.run(kernel, q, k, v, scale=SCALE))
    theirs = best(lambda: whole(q, k, v))
    error = float(np.abs(cx.run(kernel, q, k, v, scale=SCALE) - whole(q, k, v)).max())
    told = f"{1e3 * ours:.0f} ms, NumPy {1e3 * theirs:.0f} ms, {ours / theirs:.1f} times; target 3"
    print(f"{told}; differ by {error:.1e}")


if __name__ == "__main__":
    main()
