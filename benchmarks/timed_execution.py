"""Binaries executed in the order of the model of a core: equal to untimed runs, byte for byte.

    python benchmarks/timed_execution.py [--count 100] [--seed 1]

Each runs with the usual latencies, with all of them eight times as long, and twice with latencies
by chance.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from compiled_kinds import CASES
from counted_kernels import kernels
from rich.progress import track

import pycute_xe as cx
from pycute_xe.errors import CuteError


def cases(seed: int) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Kernels of all kinds with their operands: first those of the tests, then by chance."""
    for name, case in CASES.items():
        yield name, *case.make()
    for more in count(seed):
        for name, kernel, given in kernels(more):
            yield f"{name}, seed {more}", kernel, dict(given)


def replayed(binary: cx.native.Binary, given: dict[str, Any]) -> str:
    """What differs from an untimed run, empty where nothing does."""
    for slower, seed in ((1.0, None), (8.0, None), (8.0, 1), (8.0, 2)):
        if not (got := cx.native.replay(binary, slower=slower, seed=seed, **given)):
            return f"{slower:g} times, seed {seed}: {got}"[:400]
    return ""


def main() -> int:
    """Replay binaries for pvc and bmg in turn; print what differs and what is refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    start, equal, wrong, refused = time.perf_counter(), 0, list[str](), list[str]()
    jobs = islice(cases(asked.seed), 2 * asked.count)
    for name, kernel, given in track(jobs, total=asked.count // 2):
        for target in ("pvc", "bmg"):
            try:
                differs = replayed(cx.native.compile(kernel, target), given)
            except CuteError as error:
                refused.append(f"{name} for {target}: {str(error)[:120]}")
                continue
            equal += not differs
            wrong += [f"{name} for {target}: {differs}"] * bool(differs)
        if equal + len(wrong) >= asked.count:
            break
    seconds = time.perf_counter() - start
    print(f"{equal} equal, {len(wrong)} not, {len(refused)} not executed here, {seconds:.0f} s")
    print("\n".join([*wrong, *refused]))
    return bool(wrong)


if __name__ == "__main__":
    random.seed(0)
    sys.exit(main())
