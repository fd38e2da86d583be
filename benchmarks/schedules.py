"""Schedules on the fast executor, as ratios of processor time on one core; 10,000 random plans.

python benchmarks/schedules.py              # both
python benchmarks/schedules.py --plans 0    # ratios alone
python benchmarks/schedules.py --no-ratios  # plans alone
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import ml_dtypes
import numpy as np

import pycute_xe as cx
from pycute_xe.kernel import gemm, scheduled
from pycute_xe.kernel.schedules import (
    DataParallel,
    Grouped,
    StreamK,
    covers,
    moe_counts,
    plan_tables,
    tile_counts,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.schedule_model import outcome, random_case

BF16 = ml_dtypes.bfloat16
OP = cx.XE_DPAS_TT(8, "f32", "bf16")


def best(does: Callable[[], object], turns: int = 3) -> float:
    """Return the least time of some turns."""
    times: list[float] = []
    for _ in range(turns):
        start = process_time()
        does()
        times.append(process_time() - start)
    return min(times)


def stream(size: tuple[int, int, int], cores: int) -> tuple[float, float]:
    """Return how much longer stream-K takes than whole tiles, by the same kernel and by `gemm`."""
    mma = cx.workgroup_mma(OP)
    rng = np.random.default_rng(0)
    m, n, k = size
    a, b = (rng.integers(-3, 4, s).astype(BF16) for s in ((m, k), (k, n)))
    counts = tile_counts(m, n, k, mma.tile_mnk)
    tables, whole = (plan_tables(x.plan(counts)) for x in (StreamK(cores), DataParallel()))
    plain, kernel = gemm(mma), scheduled(mma)
    assert np.array_equal(cx.run(plain, a, b), cx.run(kernel, a, b, **tables))
    alone = best(lambda: cx.run(plain, a, b))
    tiles = best(lambda: cx.run(kernel, a, b, **whole))
    streamed = best(lambda: cx.run(kernel, a, b, **tables))
    print(f"stream-K {m} x {n} x {k} on {cores} work-groups: {streamed:.3f} s")
    print(f"  whole tiles {tiles:.3f} s, gemm, which multiplies whole matrices, {alone:.3f} s")
    return streamed / tiles, streamed / alone


def experts(count: int, n: int, k: int) -> float:
    """Return how much longer uneven experts take than a loop of NumPy's, converted first."""
    mma = cx.workgroup_mma(OP, (128, 256, 32), ((4, 8, 1), (8, 1, 0)))
    rng = np.random.default_rng(0)
    rows = [int(r) for r in rng.integers(1, 260, count)]
    counts = moe_counts(rows, n, k, mma.tile_mnk)
    starts = np.cumsum([0, *(c[0] * mma.tile_mnk[0] for c in counts)])
    a = np.zeros((int(starts[-1]), k), BF16)
    b = rng.integers(-3, 4, (count, k, n)).astype(BF16)
    for start, r in zip(starts, rows, strict=False):
        a[start : start + r] = rng.integers(-3, 4, (r, k))
    kernel = scheduled(mma, groups="stacked", fixup=False)
    tables = plan_tables(Grouped(20).plan(*counts), stacked=True)

    def loop() -> list[np.ndarray]:
        every = zip(starts, rows, b, strict=False)
        return [a[s : s + r].astype(np.float32) @ w.astype(np.float32) for s, r, w in every]

    found = cx.run(kernel, a, b, **tables)
    for start, part in zip(starts, loop(), strict=False):
        assert np.array_equal(found[start : start + len(part)], part)
    one, other = best(loop), best(lambda: cx.run(kernel, a, b, **tables))
    print(f"{count} experts, N {n}, K {k}: {other:.3f} s, a loop of products {one:.3f} s")
    return other / one


def plans(count: int, seed: int) -> int:
    """Return how many random plans are wrong or said to be."""
    rng, wrong = random.Random(seed), 0
    start = process_time()
    for _ in range(count):
        plan, resident = random_case(rng)
        wrong += not covers(plan, resident) or outcome(plan, rng, resident) != ""
    print(f"{count} random plans: {wrong} wrong, in {process_time() - start:.0f} s")
    return wrong


def main() -> int:
    """Print the figures; 1 where a plan is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-ratios", action="store_true")
    given = parser.parse_args()
    if not given.no_ratios:
        ratios()
    return int(given.plans > 0 and plans(given.plans, given.seed) > 0)


def ratios() -> None:
    """Print how schedules compare."""
    for size in ((1024, 1024, 1024), (2048, 2048, 2048), (1500, 700, 8192)):
        tiles, alone = stream(size, 20)
        print(f"  ratios {tiles:.2f} and {alone:.2f}; at most 1.5 is wanted of the first")
    for depth in (512, 1024):
        print(f"  ratio {experts(64, depth, depth):.2f}, at most 3 is wanted")


if __name__ == "__main__":
    sys.exit(main())
