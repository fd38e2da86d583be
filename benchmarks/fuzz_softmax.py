"""Changed kernels of attention: none may be proved that computes something else than attention.

``PYTHONPATH=. python benchmarks/fuzz_softmax.py [COUNT] [SEED]`` changes a kernel of a random form,
asks for a proof, and holds what is proved against the kernel as it was on the reference executor,
at lengths below, at and above tiles; what is disproved is replayed. It ends with an error where a
verdict is contradicted.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from kernel_changes import CHANGES

from pycute_xe import replay, run
from pycute_xe.converting import convert
from pycute_xe.errors import CuteError
from pycute_xe.holding.patience import allowed
from pycute_xe.kernel import Kernel, attention, attention_combine
from pycute_xe.verifying.prover import verify_here
from tests.attention_problems import tilings

FORMS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({}, {}),
    ({}, {"causal": True}),
    ({"queries": 8}, {}),
    ({}, {"window": (5, 2)}),
    ({}, {"sink": True, "lse": True}),
    ({}, {"cached": True, "causal": True}),
    ({}, {"splits": 2, "lse": True}),
    ({"queries": 32, "subgroups": 2}, {"group": 2}),
    ({"queries": 1, "keys": 16}, {}),
    ({"queries": 2, "keys": 32, "across": 2}, {"out": 32}),
)
SIZES = ((1, 1), (7, 32), (16, 33), (18, 70), (3, 96), (21, 65))
WORK = 20_000_000
OFF = 1e-3


def made(r: random.Random) -> Kernel:
    """Return a kernel of a random form."""
    number = r.randrange(len(FORMS) + 1)
    if number == len(FORMS):
        return attention_combine(tilings()[1], 3)
    shape, options = FORMS[number]
    return attention(*tilings(**shape), stages=r.choice([0, 0, 1]), **options)


def arrays(kernel: Kernel, rng: np.random.Generator, queries: int, keys: int) -> dict[str, Any]:
    """Return operands at random for so many queries and keys."""
    named = {"B": 1, "G": 1, "H": 1, "M": queries, "N": keys, "C": 1 + keys // 3, "D": 9, "E": 11}
    out: dict[str, Any] = {}
    for operand in kernel.inputs:
        shape = tuple(mode.at(named) for mode in operand.modes)
        values = rng.standard_normal(shape) * (0.6 if operand.name == "scale" else 1.5)
        out[operand.name] = convert(np.asarray(values), operand.value_type)
    return out


def results(kernel: Kernel, given: dict[str, Any]) -> list[np.ndarray]:
    """Return what a run gives, in float64."""
    found: Any = run(kernel, **given, executor="reference")
    many = found if isinstance(found, tuple) else (found,)
    return [np.asarray(x).astype(np.float64) for x in many]


def contradicted(kernel: Kernel, right: Kernel, seed: int) -> str:
    """Say how a proved kernel differs from the right one; empty where it does not."""
    rng = np.random.default_rng(seed)
    for queries, keys in SIZES:
        given = arrays(right, rng, queries, keys)
        try:
            pairs = list(zip(results(kernel, given), results(right, given), strict=True))
        except CuteError as error:
            return f"at {queries} x {keys}: {error.condition}"
        for found, wanted in pairs:
            seen = np.isfinite(wanted)
            largest = max(1.0, np.abs(wanted[seen]).max(initial=0))
            if not np.abs(found - wanted)[seen].max(initial=0) <= OFF * largest:
                return f"at {queries} x {keys}: another result"
    return ""


def judged(seed: int) -> tuple[str, str]:
    """Change a kernel and hold its verdict against runs: a word, and what is told with it."""
    r = random.Random(seed)
    right = made(r)
    changes = [r.choice(CHANGES) for _ in range(r.choice([0, 1, 1, 1, 1, 2]))]
    done = ", ".join(change.__name__ for change in changes)
    kernel = right
    try:
        for change in changes:
            kernel = change(r, kernel)
    except CuteError:
        return "refused", done
    with allowed(WORK):
        verdict = verify_here(kernel, {})
    if verdict.answer == "proved":
        wrong = contradicted(kernel, right, seed)
        return ("BAD: proved and wrong", f"{done}: {wrong}") if wrong else ("proved", done)
    if verdict.counterexample is not None:
        shown = replay(kernel, verdict.counterexample).shows
        return (verdict.answer, done) if shown else ("BAD: not shown", f"{done}: {verdict}")
    return "undecided", f"{done}: " + "; ".join(p.reason for p in verdict.proofs if p.reason)


def main() -> int:
    """Judge so many changed kernels."""
    count, seed = (int(x) for x in (*sys.argv[1:], *("200", "1")[len(sys.argv) - 1 :]))
    warnings.simplefilter("ignore")
    words: Counter[str] = Counter()
    start = process_time()
    for number in range(seed, seed + count):
        try:
            word, told = judged(number)
        except Exception as error:  # noqa: BLE001 - a crash is what is looked for
            word, told = "BAD: crashes", f"{type(error).__name__}: {error}"
        words[word] += 1
        if word.startswith("BAD") or word == "undecided":
            print(number, word, told[:300], flush=True)
    print(dict(words), f"{process_time() - start:.0f} s")
    return any(word.startswith("BAD") for word in words)


if __name__ == "__main__":
    sys.exit(main())
