"""Compile a small kernel of every kind and hold each binary against `run`.

For each: the compiler accepts the text, messages and DPAS in the code are those of the listing, and
the binary, executed, leaves the numbers, bytes, messages and barriers of a run: to the bit, or
within a share of the largest output where exponentials and quotients are computed. Needs ocloc
22.43 and iga64 (`native.missing`); with --newest, what `make compilers` unpacked, for pvc and bmg.
"""

from __future__ import annotations

import argparse
import sys
import time
from multiprocessing import Pool
from pathlib import Path

from pycute_xe.errors import CuteError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from compiled_cases import asked_compilers  # pyright: ignore[reportMissingImports]
from compiled_kinds import CASES  # pyright: ignore[reportMissingImports]

Task = tuple[str, tuple[str, str]]


def judged(task: Task) -> tuple[Task, list[str], float]:
    """Compile and run a case for a target by a compiler; what is wrong, and how long it took."""
    start = time.perf_counter()
    name, made = task
    try:
        wrong = CASES[name].wrong(made)
    except CuteError as error:
        wrong = [f"{type(error).__name__}: {error}"]
    return task, wrong, time.perf_counter() - start


def main() -> None:
    """Judge the kernels; exit with 1 where any is wrong."""
    asked, compilers = asked_compilers(argparse.ArgumentParser())
    tasks = [(name, made) for made in compilers for name in [*CASES][:: asked.every]]
    start, bad = time.perf_counter(), 0
    with Pool(asked.workers) as pool:
        for (name, (target, _)), wrong, seconds in pool.imap(judged, tasks):
            bad += bool(wrong)
            share = CASES[name].share
            exact = f"within {share:.2g} of the largest" if share else "to the bit"
            print(
                f"{'wrong' if wrong else 'equal'} {seconds:5.1f} s  {target} {name}, {exact}",
                flush=True,
            )
            for line in wrong:
                print(f"      {line}", flush=True)
    print(
        f"{len(tasks) - bad} of {len(tasks)} binaries of kinds, {time.perf_counter() - start:.0f} s"
    )
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
