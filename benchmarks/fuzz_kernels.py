"""Random kernels and what is done to them: no wrong one is proved, no right one refuted.

Each seed makes a kernel (`random_kernels`), changes it in up to two ways (`kernel_changes`), and
holds the verdict against runs of the reference executor, compared with NumPy and with the value of
the specification by an evaluator of its own (`specification_values`), which is asked of both. A
counterexample must show on both executors when it is replayed:
    python benchmarks/fuzz_kernels.py --count 20000 --workers 2
"""

from __future__ import annotations

import argparse
import os
import random
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from multiprocessing import Pool
from typing import Any

import numpy as np
from kernel_changes import CHANGES
from random_kernels import Made, made
from specification_values import computed

import pycute_xe as cx
from pycute_xe.errors import CuteError, InputError
from pycute_xe.kernel import Kernel
from pycute_xe.verifying.verdict import Verdict

SEEDS = range(4)
BUDGET = 10.0
"""Work that a proof may take: about as many seconds of a processor."""


@dataclass(frozen=True)
class Outcome:
    """What a seed came to: a word that is counted, and what to look at if it is bad."""

    seed: int
    word: str
    told: str = ""
    seconds: float = 0.0
    over: float = 0.0

    @property
    def bad(self) -> bool:
        """Whether the verdict is contradicted by a run."""
        return self.word.startswith("BAD")


def changed(seed: int) -> tuple[Made, tuple[str, ...]]:
    """Return the kernel of a seed and what was done to it; `CuteError` where it is refused."""
    r = random.Random(seed)
    first = made(r)
    kernel, done = first.kernel, list[str]()
    for _ in range(r.choice([0, 1, 1, 1, 2])):
        change = r.choice(CHANGES)
        done.append(change.__name__)
        kernel = change(r, kernel)
    return replace(first, kernel=kernel), tuple(done)


def wrong(one: Made, sizes: dict[str, int], seeds: Iterable[int] = SEEDS) -> str:
    """Say how running a kernel goes wrong at a size; empty where it is right."""
    for seed in seeds:
        given = one.arrays(sizes, seed)
        try:
            out: Any = cx.run(one.kernel, **given, executor="reference")
        except CuteError as error:
            return f"fault: {error.condition}"
        wanted = _wanted(one, given, sizes)
        arrays = out if isinstance(out, tuple) else (out,)
        found = dict(zip((o.name for o in one.kernel.outputs), arrays, strict=True))
        for name, value in wanted.items():
            actual = np.asarray(found[name], np.float64)
            if not _equal(actual, value, one.tolerance):
                return f"{name} differs"
    return ""


def _wanted(one: Made, given: dict[str, Any], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Return what each output should be: what NumPy makes of inputs, which is what is claimed.

    Raises `AssertionError` where the two are not the same.
    """
    wanted, claimed = one.expected(given), computed(one.kernel, given, sizes)
    for name, value in wanted.items():
        if not _equal(np.asarray(claimed[name], np.float64), value, one.tolerance):
            raise AssertionError(f"what is claimed of {name} at {sizes} is not what NumPy does")
    return wanted


def _equal(actual: np.ndarray, wanted: np.ndarray, tolerance: float) -> bool:
    if not tolerance:
        return np.array_equal(actual, np.broadcast_to(wanted, actual.shape))
    return bool(np.allclose(actual, wanted, rtol=tolerance, atol=tolerance))


def judged(seed: int) -> Outcome:
    """Make the kernel of a seed and hold its verdict against runs."""
    try:
        one, done = changed(seed)
    except CuteError:
        return Outcome(seed, "refused at construction")
    try:
        return _judged(seed, one, done)
    except Exception as error:  # noqa: BLE001 - a crash is what is looked for
        return Outcome(seed, "BAD: crashes", f"{done}: {type(error).__name__}: {error}")


def _judged(seed: int, one: Made, done: tuple[str, ...]) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = _spent()
        verdict = cx.verify(one.kernel, budget=BUDGET)
        seconds = _spent() - start
        over = seconds - BUDGET
        word, told = held_against_runs(one, verdict)
    return Outcome(seed, word, f"{', '.join(done)}: {told}" if told else "", seconds, over)


def _spent() -> float:
    """The processor's time of this process and of those that it started and awaited."""
    return sum(os.times()[:4])


def held_against_runs(one: Made, verdict: Verdict) -> tuple[str, str]:
    """Hold the verdict on a kernel against runs at some sizes: a word, and what is told with it."""
    if verdict.answer == "proved":
        for size in one.sizes:
            how = wrong(one, size, range(1))
            if how:
                return "BAD: proved and wrong", f"{size}: {how}"
        return "proved", ""
    if verdict.answer in ("disproved", "needs"):
        missing = not_replayed(one.kernel, verdict)
        return (
            (f"BAD: {verdict.answer}, {missing}", str(verdict))
            if missing
            else (
                verdict.answer,
                "",
            )
        )
    right = not any(wrong(one, size) for size in one.sizes)
    reasons = "; ".join(proof.reason for proof in verdict.proofs if proof.answer == "undecided")
    return f"undecided, {'right' if right else 'wrong'}", reasons


def not_replayed(kernel: Kernel, verdict: Verdict) -> str:
    """Say what a replay of the counterexample does not show; empty where both executors do."""
    found = verdict.counterexample
    if found is None:
        return "without a counterexample"
    for executor in ("reference", "fast"):
        try:
            shown = cx.replay(kernel, found, executor)
        except InputError as error:
            # "fast" runs the whole problem, or none of it.
            if executor == "fast" and "statements are done, must be at most" in error.condition:
                continue
            return f"the replay is refused: {error.condition}"
        except CuteError as error:
            return f"the replay is refused: {error.condition}"
        if not shown.shows:
            return f"a replay on {executor} shows nothing"
        if found.faults and executor == "reference" and shown.fault is None:
            return "a fault does not stop the reference executor"
    return ""


def _begin(budget: float) -> None:
    global BUDGET
    BUDGET = budget


def main() -> int:
    """Judge so many seeds; print the counts and what is bad."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--budget", type=float, default=BUDGET, help="work of a proof")
    parser.add_argument("--only", type=int, help="one seed, told in full")
    asked = parser.parse_args()
    _begin(asked.budget)
    if asked.only is not None:
        print(changed(asked.only)[0].kernel)
        print(judged(asked.only))
        return 0
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    slow: list[tuple[float, int]] = []
    over = 0.0
    with Pool(asked.workers, _begin, (asked.budget,)) as pool:
        todo = range(asked.seed, asked.seed + asked.count)
        for number, one in enumerate(pool.imap_unordered(judged, todo, chunksize=8), 1):
            counts[one.word] += 1
            over = max(over, one.over)
            slow = sorted([*slow, (one.seconds, one.seed)], reverse=True)[:5]
            if one.bad:
                print(one, flush=True)
            elif one.told:
                reasons[f"{one.word}: {one.told.partition(': ')[2][:160]}"] += 1
                if one.word == "undecided, right":
                    print(one.seed, one.told[:200], flush=True)
            if number % 500 == 0:
                print(f"{number}: {dict(counts)}", flush=True)
    _print(counts, reasons, slow)
    print(f"over a budget of {BUDGET:g} s: {over:.2f} s")
    return int(any(word.startswith("BAD") for word in counts))


def _print(counts: Counter[str], reasons: Counter[str], slow: list[tuple[float, int]]) -> None:
    for word, count in counts.most_common():
        print(f"{count:7} {word}")
    for word, count in reasons.most_common(40):
        print(f"        {count:6} {word}")
    right = counts["proved"] + counts["undecided, right"]
    print(f"right kernels undecided: {counts['undecided, right']} of {right}")
    print(
        "slowest, by the processor's time:",
        ", ".join(f"{seconds:.2f} s (seed {seed})" for seconds, seed in slow),
    )


if __name__ == "__main__":
    raise SystemExit(main())
