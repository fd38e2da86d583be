"""Random programs of integers that overflow, proved with `overflow="wraps"` and judged by runs.

Each loads X of 32 bits and computes a few fragments of it. What is specified is the composition of
the same functions, or drops or changes one. The judge computes in Python's integers what registers
and the specification keep, at the limits of the type: it knows nothing of the prover. A program
that is proved and differs there, or disproved and equal at every number that is tried, is counted.

    python benchmarks/wrapping_programs.py --count 300 --seed 0
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pycute_xe as cx
from pycute_xe.kernel import Kernel, KernelBuilder, Tiles

Value = Callable[[int], int]

FORMS: dict[str, Callable[[int, int], int]] = {
    "{x} + {y}": lambda x, y: x + y,
    "{x} - {y}": lambda x, y: x - y,
    "{x}*{y}": lambda x, y: x * y,
    "max({x}, {y})": max,
    "min({x}, {y})": min,
    "relu({x} - {y})": lambda x, y: max(x - y, 0),
    "abs({x})": lambda x, _: abs(x),
    "{x} + 3": lambda x, _: x + 3,
    "-{x}": lambda x, _: -x,
    "65537*{x}": lambda x, _: 65537 * x,
    "max({x} + {y}, 5)": lambda x, y: max(x + y, 5),
}
RING = ("{x} + {y}", "{x} - {y}", "{x}*{y}", "{x} + 3", "-{x}", "65537*{x}")


def low(value: int, kind: str, bits: int = 32) -> int:
    """Return the lowest bits as a type reads them."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


@dataclass(frozen=True)
class Program:
    """A kernel with its specification, and what both come to for an integer."""

    kernel: Kernel
    kind: str
    stored: Value
    specified: Value

    def differs(self) -> bool:
        """Whether a number near the limits of the type, or a small one, shows a difference."""
        ends = (0, 1 << 31, 1 << 32, -(1 << 31), 1 << 30, 1 << 16, 46341, 65535, 1 << 15)
        numbers = {low(end + step, self.kind) for end in ends for step in range(-9, 10)}
        return any(self.stored(x) != self.specified(x) for x in numbers)


def program(r: random.Random) -> Program:
    """Return a program whose specification is right in about one case of two."""
    kind: Literal["s32", "u32"] = r.choice(["s32", "u32"])
    k = KernelBuilder("wrapping", 1)
    A, D = k.input("A", kind, ("M", "N")), k.output("D", kind, ("M", "N"))
    m, n = k.grid(m=Tiles("M", 16), n=Tiles("N", 16))
    k.load("v0", A, (16, 16), at=(m * 16, n * 16))
    texts = ["A[m,n]"]
    stored: list[Value] = [lambda x: x]
    specified: list[Value] = [lambda x: x]
    ring = r.random() < 0.5
    count = r.randint(1, 3)
    for number in range(1, count + 1):
        form = r.choice(RING if ring else list(FORMS))
        other = r.randrange(number)
        last = number - 1
        k.map(f"v{number}", form.format(x=f"v{last}", y=f"v{other}"), kind)
        stored.append(_of(form, stored[last], stored[other], kind, 32))
        said = form if r.random() < 0.85 else r.choice(RING if ring else list(FORMS))
        texts.append(f"({said.format(x=texts[last], y=texts[other])})")
        specified.append(_of(said, specified[last], specified[other], "s64", 64))
    k.store(D, f"v{count}", at=(m * 16, n * 16))
    kernel = k.build(f"D[m,n] = {texts[-1]}")
    claimed = specified[-1]
    return Program(kernel, kind, stored[-1], lambda x: low(claimed(x), kind))


def _of(form: str, first: Value, second: Value, kind: str, bits: int) -> Value:
    """Return a form of two values; what comes to more than so many bits keeps the lowest."""
    function = FORMS[form]
    if bits == 64:
        return lambda x: low(function(first(x), second(x)), kind, bits)
    return lambda x: low(low(function(first(x), second(x)), "s64", 64), kind, bits)


def judged(r: random.Random) -> tuple[str, str]:
    """Return the answer, and what is wrong with it if anything."""
    try:
        made = program(r)
    except cx.CuteError as error:
        return "not built", "" if "never used" in str(error) else str(error)
    verdict = cx.verify(made.kernel, overflow="wraps")
    differs = made.differs()
    wrong = ""
    if verdict.answer == "proved" and differs:
        wrong = "proved, and a run differs"
    if verdict.answer == "disproved" and not differs and verdict.counterexample is None:
        wrong = "disproved without an example"
    right = "wrong" if differs else "right"
    return f"{verdict.answer} of {right}", f"{wrong}\n{made.kernel}" if wrong else ""


def main() -> int:
    """Judge so many programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    bad = 0
    for number in range(asked.count):
        answer, wrong = judged(random.Random(f"{asked.seed} {number}"))
        counts[answer] += 1
        if wrong:
            bad += 1
            print(f"program {number}: {wrong}", flush=True)
    print(*(f"{name}: {count}" for name, count in counts.most_common()), sep="\n")
    print(f"{asked.count} programs, {bad} of them judged wrongly")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
