"""Random problems of attention against float64: lengths, masks, heads, batches, pages, parts.

``python benchmarks/fuzz_attention.py [COUNT] [SEED]`` runs 200 problems by default, every tenth on
both executors, and ends with an error where one is further off than its type allows: 2e-2 of the
largest value for bf16, 2e-3 for f16.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from pycute_xe import run
from pycute_xe.kernel import attention_combine
from tests.attention_problems import Problem, off, problem, tilings

ALLOWED = {"bf16": 2e-2, "f16": 2e-3}
FORMS = ("plain", "causal", "window", "packed", "paged", "split", "decode", "cached")


Rng = np.random.Generator
Options = dict[str, Any]


def one(rng: Rng, *of: Any) -> Any:
    """Return one of several."""
    return of[int(rng.integers(len(of)))]


def drawn(rng: Rng, form: str) -> tuple[str, Problem, Any]:
    """Return a problem of a form: the type, the problem, and the tilings of its kernel."""
    kind, subgroups = one(rng, "bf16", "f16"), one(rng, 1, 2)
    shape: Options = {"queries": one(rng, 8, 16, 32) * subgroups, "subgroups": subgroups}
    shape["keys"] = one(rng, 16, 32, 64)
    if form == "split":
        shape |= {"queries": 16 * subgroups}
    elif form == "decode":
        shape |= {"queries": one(rng, 1, 8, 16), "subgroups": 1, "across": one(rng, 2, 4)}
        shape["keys"] = 32 * shape["across"]
    mmas = tilings(kind, **shape)
    options = {"stages": one(rng, 0, 1, 2), "out": 32, "group": one(rng, 1, 2, 4)}
    options |= of_form(rng, form, shape["keys"])
    if form != "split":
        options |= {"sink": one(rng, True, False, False), "out_type": one(rng, "f32", kind)}
    sizes = {"depth": 2 * int(rng.integers(4, 40)), "columns": 2 * int(rng.integers(4, 30))}
    return kind, problem(rng, mmas, batches(rng, form), heads=4, **sizes, **options), mmas


def of_form(rng: Rng, form: str, keys: int) -> Options:
    """Return the options that make a form."""
    causal = {"causal": one(rng, True, False)}
    match form:
        case "causal":
            return {"causal": True}
        case "window":
            return causal | {"window": (one(rng, 0, 3, 40), one(rng, 0, 5, 60))}
        case "packed":
            return causal | {"packed": True} | one(rng, {}, {"page": 2 * keys})
        case "paged":
            return causal | {"page": keys * one(rng, 1, 2)}
        case "cached":
            return causal | {"cached": True}
        case "split":
            return causal | {"splits": one(rng, 2, 3, 8), "lse": True}
        case _:
            return {}


def batches(rng: Rng, form: str) -> list[tuple[int, int]]:
    """Return queries and keys of each batch: at least as many keys, so that each query sees one."""
    out: list[tuple[int, int]] = []
    count = one(rng, 1, 2, 3)
    queries = one(rng, 1, int(rng.integers(1, 70))) if form == "decode" else 0
    for _ in range(count):
        more = queries or int(rng.integers(1, 70))
        out.append((more, more + int(rng.integers(1, 200))))
    if form == "paged":  # all batches have as many queries
        least = min(m for m, _ in out)
        return [(least, n) for _, n in out]
    return out if form == "packed" else out[:1] * count


def result(given: Problem, mmas: Any, executor: Any) -> Any:
    """Return O, put together where the keys were parted."""
    found = run(given.kernel, **given.operands, executor=executor)
    if given.kernel.grid[-1][0] != "s":
        return found
    return run(attention_combine(mmas[1], found.O.shape[0]), found.O, found.lse, executor=executor)


def main() -> None:
    """Run the problems and print the worst of each form."""
    count, seed = (int(x) for x in (*sys.argv[1:], *("200", "1")[len(sys.argv) - 1 :]))
    rng, start = np.random.default_rng(seed), perf_counter()
    worst: dict[str, float] = {}
    for number in range(count):
        form = FORMS[number % len(FORMS)]
        kind, given, mmas = drawn(rng, form)
        executors = ("fast", "reference") if number % 10 == number // 10 % 10 else ("fast",)
        for executor in executors:
            error = off(result(given, mmas, executor), given)
            worst[f"{form} {kind}"] = max(worst.get(f"{form} {kind}", 0.0), error)
            if error > ALLOWED[kind]:
                raise SystemExit(f"problem {number}, {executor}: {error:.1e}\n{given.told}")
    for name, error in sorted(worst.items()):
        print(f"{name:14} {error:.1e}")
    print(f"{count} problems, seed {seed}, {perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
