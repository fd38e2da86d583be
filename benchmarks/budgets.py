"""Verdicts on an idle machine and beside busy processes: the same, of so much processor time.

``python benchmarks/budgets.py [COUNT]`` verifies 100 kernels by default, of every kind and of the
fuzz, with budgets from 0.5 to 10: first alone, then beside four processes that do nothing but
count. It ends with an error where two verdicts on one question differ in more than their times, or
where one takes more than 1.5 seconds of a processor for each unit of its budget, and a second.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from multiprocessing import Process
from os import times
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from broken_kernels import tiled_mma  # pyright: ignore[reportMissingImports]
from compiled_kinds import CASES  # pyright: ignore[reportMissingImports]
from fuzz_kernels import changed

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel
from pycute_xe.verifying import Verdict

BUDGETS = (0.5, 1.0, 10.0)
EACH, OVER = 1.5, 1.0
"""Seconds of a processor that a verdict may take for a budget of 1, and besides."""
BUSY = 4
LONG = (401449, 501477, 400088, 301668)
"""Seeds of the fuzz whose questions take long."""


def kernels() -> Iterator[tuple[str, Kernel]]:
    """Yield kernels by name: a wide softmax, every kind, then those of the fuzz."""
    yield "softmax, 16 subgroups", cx.kernel.softmax_gemm(tiled_mma((32, 512, 32), (2, 16)))
    for name, case in CASES.items():
        yield name, case.make()[0]
    for seed in (*LONG, *range(700_000, 701_000)):
        try:
            yield f"fuzz {seed}", changed(seed)[0].kernel
        except CuteError:
            continue


def said(verdict: Verdict) -> tuple[object, ...]:
    """All that a verdict says but the times."""
    proofs = ((p.property, p.answer, p.condition, p.reason) for p in verdict.proofs)
    return (verdict.scope, str(verdict.counterexample), *proofs)


def count() -> None:
    """Keep a processor busy."""
    number = 0
    while True:
        number += 1


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep processors busy meanwhile."""
    others = [Process(target=count, daemon=True) for _ in range(processes)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()


def judged(asked: list[tuple[str, Kernel, float]]) -> list[tuple[Verdict, float]]:
    """Verify each kernel within its budget; take the time of a processor, of children as well."""
    out: list[tuple[Verdict, float]] = []
    for _, kernel, budget in asked:
        start = sum(times()[:4])
        verdict = cx.verify(kernel, budget=budget)
        out.append((verdict, sum(times()[:4]) - start))
    return out


def main() -> None:
    """Verify all, alone and beside others; exit with 1 where two verdicts differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=100)
    chosen = islice(kernels(), parser.parse_args().count)
    asked = [(name, kernel, b) for (name, kernel), b in zip(chosen, cycle(BUDGETS), strict=False)]
    warnings.simplefilter("ignore")
    runs: dict[str, list[tuple[Verdict, float]]] = {"idle": judged(asked)}
    with busy(BUSY):
        runs[f"beside {BUSY} busy processes"] = judged(asked)
    bad = 0
    for words, found in runs.items():
        over = max(s - EACH * b for (_, _, b), (_, s) in zip(asked, found, strict=True))
        cut = sum(any("is used up" in p.reason for p in v.proofs) for v, _ in found)
        print(
            f"{words}: {sum(s for _, s in found):.1f} s, {cut} cut by work;"
            f" {over:+.2f} s beyond {EACH} s for each unit of a budget"
        )
        bad += over > OVER
    for (name, _, budget), *both in zip(asked, *runs.values(), strict=True):
        one, other = (verdict for verdict, _ in both)
        if said(one) != said(other):
            print(f"two answers for {name} within {budget}:\n{one}\n{other}")
            bad += 1
    print(f"{len(asked)} kernels, {'as wanted' if not bad else f'{bad} not as wanted'}")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
