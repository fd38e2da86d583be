"""Random programs of nested loops over registers: is what `verify` says of their sums so?

Each seed makes a program of fills, sums and copies in loops and conditions, up to three deep. All
that it holds are multiples of A, which are stepped as integers: the claim is that multiple, or the
one after it, which is wrong. Nothing may be said that is not so, and no answer contradicted:
    python benchmarks/nested_loops.py --count 1000 --seed 0
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from small_kernels import fragment  # pyright: ignore[reportMissingImports]
from unsound_kernels import A, kernel, load, store  # pyright: ignore[reportMissingImports]

import pycute_xe as cx
from pycute_xe.kernel import Claim, Fill, If, Index, Kernel, Loop, Map, Slot, Specification

NAMES = "xyzqwuv"
LARGEST = 1 << 20
"""Multiples beyond are left out: f32 would round them."""
DEEPEST = 3


@dataclass(frozen=True)
class Step:
    """What a fragment becomes: zero, or something of one or two fragments."""

    how: str
    to: str
    one: str
    two: str


@dataclass(frozen=True)
class Repeated:
    """Steps in a loop."""

    var: str
    start: int
    stop: int
    body: tuple[Any, ...]


@dataclass(frozen=True)
class Chosen:
    """Steps where a loop's variable is below a bound, or from there on."""

    var: str
    bound: int
    below: bool
    body: tuple[Any, ...]


def steps(r: random.Random, variables: tuple[str, ...], fresh: Iterator[int]) -> tuple[Any, ...]:
    """Return random steps, inside loops over some variables."""
    return tuple(one(r, variables, fresh) for _ in range(r.randint(1, 4)))


def one(r: random.Random, variables: tuple[str, ...], fresh: Iterator[int]) -> Any:
    """Return a random step, a loop, or a condition."""
    drawn = r.random()
    if drawn < 0.3 and len(variables) < DEEPEST:
        var, start = f"i{next(fresh)}", r.choice((0, 0, 0, 1))
        return Repeated(
            var, start, start + r.choice((0, 1, 2, 2, 3, 3)), steps(r, (*variables, var), fresh)
        )
    if drawn < 0.4 and variables:
        inside = tuple(plain(r) for _ in range(r.randint(1, 2)))
        return Chosen(r.choice(variables), r.choice((1, 1, 2)), r.random() < 0.5, inside)
    return plain(r)


def plain(r: random.Random) -> Step:
    """Return a random step."""
    how = r.choice(("sum", "add", "add", "copy", "copy", "twice", "fill"))
    return Step(how, r.choice(NAMES[1:]), r.choice(NAMES), r.choice(NAMES))


def stepped(body: tuple[Any, ...], held: dict[str, int], at: dict[str, int]) -> None:
    """Step a program on the multiples of A that fragments hold."""
    for step in body:
        match step:
            case Repeated(var, start, stop, inner):
                for trip in range(start, stop):
                    stepped(inner, held, {**at, var: trip})
            case Chosen(var, bound, below, inner):
                if (at[var] < bound) == below:
                    stepped(inner, held, at)
            case Step(how, to, one, two):
                held[to] = {
                    "fill": 0,
                    "copy": held[one],
                    "twice": 2 * held[one],
                    "add": held[to] + held[one],
                    "sum": held[one] + held[two],
                }[how]


def statements(body: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the statements of a program."""
    for step in body:
        match step:
            case Repeated(var, start, stop, inner):
                ends = (Index(None, start), Index(None, stop))
                yield Loop(var, *ends, tuple(statements(inner)))
            case Chosen(var, bound, below, inner):
                pair = (Index(var), Index(None, bound))
                pair = pair if below else (Index(None, bound - 1), Index(var))
                yield If(*pair, tuple(statements(inner)))
            case Step("fill", to):
                yield Fill(to)
            case Step("copy", to, one):
                yield Map(to, Slot(one) + 0)
            case Step("twice", to, one):
                yield Map(to, Slot(one) * 2)
            case Step("add", to, one):
                yield Map(to, Slot(to) + Slot(one))
            case Step("sum", to, one, two):
                yield Map(to, Slot(one) + Slot(two))


def made(seed: int) -> tuple[Kernel, int]:
    """Return the kernel of a seed, and which multiple of A it stores."""
    r = random.Random(seed)
    body = steps(r, (), iter(range(1000)))
    held = dict.fromkeys(NAMES, 0) | {"x": 1}
    stepped(body, held, {})
    name = max(NAMES[1:], key=lambda n: (0 < held[n] < LARGEST, r.random()))
    plain_one = kernel(A, load("A", "x"), store("D", "x"))
    fills = tuple(Fill(other) for other in NAMES[1:])
    program = (load("A", "x"), *fills, *statements(body), store("D", name))
    fragments = tuple(fragment(n, "f32", 8) for n in NAMES)
    return dataclasses.replace(plain_one, fragments=fragments, body=program), held[name]


def judged(seed: int, right: bool) -> tuple[str, str]:
    """Return a word for what is said of a right claim, or of a wrong one, and why."""
    program, multiple = made(seed)
    if abs(multiple) >= LARGEST:
        return "left out", ""
    value = A * float(multiple + (not right))
    claimed = dataclasses.replace(program, computes=Specification((Claim("D", ("m", "n"), value),)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = cx.verify(claimed)
    why = "; ".join(proof.reason for proof in verdict.proofs if proof.reason)
    words = f"{verdict.answer}, {'right' if right else 'wrong'}"
    if verdict.answer in (("disproved", "needs") if right else ("proved",)):
        return f"BAD: {words}", str(verdict)
    if "please report" in why:
        return f"BAD: contradicted, {words}", why
    return words, why


def main() -> int:
    """Judge so many programs; print the counts and what is bad."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    counts, reasons = Counter[str](), Counter[str]()
    for seed in range(asked.seed, asked.seed + asked.count):
        for right in (True, False):
            word, why = judged(seed, right)
            counts[word] += 1
            if word.startswith("BAD"):
                print(seed, word, why, flush=True)
            elif word.startswith("undecided"):
                reasons[re.sub(r"\d+", "#", why)[:100]] += 1
    print(dict(counts), reasons.most_common(6))
    return int(any(word.startswith("BAD") for word in counts))


if __name__ == "__main__":
    raise SystemExit(main())
