"""Machine code of kernels of all kinds, compiled for four targets and read by `native.timing`.

python benchmarks/read_targets.py [--count 200] [--seed 1] [--part 0/2]

`--part 1/2` takes every second kernel, from the second on: two processes share the kernels.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from itertools import islice
from os import times

from rich.progress import track
from timed_execution import cases

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.native.toolchain import toolchains

TARGETS = ("pvc", "bmg", "lnl", "ptl")
OPTIONS = "-cl-intel-256-GRF-per-thread"


def main() -> int:
    """Time each once for every target; print how many are read, and what is refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="0/1")
    asked = parser.parse_args()
    part, parts = map(int, asked.part.split("/"))
    newest = next(each for each in toolchains() if "ptl" in each.targets)
    start, read, refused = time.perf_counter(), Counter[str](), list[str]()
    longest: dict[str, float] = {}
    jobs = islice(cases(asked.seed), part, asked.count, parts)
    for name, kernel, _ in track(jobs, total=asked.count // parts):
        text = str(cx.emit(kernel))
        for target in TARGETS:
            try:
                code = newest.assembled(text, target, OPTIONS)
                since = sum(times()[:4])
                cx.native.timing(code, target)
                longest[f"{name} for {target}"] = sum(times()[:4]) - since
                read[target] += 1
            except CuteError as error:
                refused.append(f"{name} for {target}: {str(error)[:160]}")
    print(f"read {dict(read)}, {len(refused)} refused, {time.perf_counter() - start:.0f} s")
    print("the longest, in seconds of a processor, reading by the disassembler included:")
    for name, seconds in sorted(longest.items(), key=lambda each: -each[1])[:5]:
        print(f"  {seconds:.1f} {name}")
    print("\n".join(refused))
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
