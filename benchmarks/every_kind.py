"""Compile a small kernel of every kind and hold each binary against `run`.

For each: the compiler accepts the text, messages and DPAS in the code are those of the listing, and
the binary, executed, leaves the numbers, bytes, messages and barriers of a run: to the bit, or
within a share of the largest output where exponentials and quotients are computed. Needs ocloc and
iga64 (see `native.missing`).
"""

from __future__ import annotations

import argparse
import sys
import time
from multiprocessing import Pool
from pathlib import Path

import pycute_xe as cx
from pycute_xe.errors import CuteError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from compiled_kinds import CASES  # pyright: ignore[reportMissingImports]


def judged(name: str) -> tuple[str, list[str], float]:
    """Compile and run a case; what is wrong, and how long it took."""
    start = time.perf_counter()
    try:
        wrong = CASES[name].wrong()
    except CuteError as error:
        wrong = [f"{type(error).__name__}: {error}"]
    return name, wrong, time.perf_counter() - start


def main() -> None:
    """Judge the kernels; exit with 1 where any is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    if cx.native.missing():
        print(cx.native.missing())
        raise SystemExit(2)
    start, bad = time.perf_counter(), 0
    with Pool(asked.workers) as pool:
        for name, wrong, seconds in pool.imap(judged, CASES):
            bad += bool(wrong)
            share = CASES[name].share
            exact = f"within {share:.2g} of the largest" if share else "to the bit"
            print(f"{'wrong' if wrong else 'equal'} {seconds:5.1f} s  {name}, {exact}", flush=True)
            for line in wrong:
                print(f"      {line}", flush=True)
    print(f"{len(CASES) - bad} of {len(CASES)} kinds, {time.perf_counter() - start:.0f} s")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
