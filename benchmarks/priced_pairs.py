"""How long `cost` takes for every configuration of the field's GEMMs at every problem of its kind.

    python benchmarks/priced_pairs.py [--every 10]

A pair is a configuration and a problem size; its kernel's facts are known before the clock runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from family_gemms import rows  # pyright: ignore[reportMissingImports]

from pycute_xe.costing import KernelFacts, cost_of, devices, facts_of
from pycute_xe.errors import CuteError

PROBLEMS = Path(__file__).parents[1] / "tests" / "data" / "family_problems.tsv"


def problems() -> list[dict[str, int]]:
    """The distinct sizes of the field's benchmarks."""
    lines = PROBLEMS.read_text(encoding="utf-8").splitlines()[1:]
    sizes = {tuple(map(int, line.split("\t")[2:5])) for line in lines}
    return [dict(zip("MNK", one, strict=True)) for one in sorted(sizes)]


def main() -> None:
    """Price every pair and print what a pair takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="take one configuration in so many")
    asked = parser.parse_args()
    start = time.perf_counter()
    known: list[KernelFacts] = []
    refused = 0
    for row in rows()[:: asked.every]:
        try:
            known.append(facts_of(row.kernel(), "bmg"))
        except CuteError:
            refused += 1
    took = time.perf_counter() - start
    print(f"{len(known)} kernels, {refused} refused on bmg: facts in {took:.1f} s")
    device, sizes = devices()[0], problems()
    slowest, pairs = 0.0, 0
    start = time.perf_counter()
    for facts in known:
        for one in sizes:
            before = time.perf_counter()
            cost_of(facts, device, one)
            slowest = max(slowest, time.perf_counter() - before)
            pairs += 1
    took = time.perf_counter() - start
    print(
        f"{pairs} pairs in {took:.1f} s: {took / pairs * 1e3:.3f} ms each, {slowest * 1e3:.1f} ms"
    )


if __name__ == "__main__":
    main()
