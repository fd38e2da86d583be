"""Random programs of integers that overflow, proved with `overflow="wraps"` and judged by runs.

Each loads A of some type and computes a few fragments of it, of that type or of another. What is
specified is the composition of
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

import pycute_xe as cx
from pycute_xe.kernel import Kernel, KernelBuilder, Tiles

Value = Callable[[int], int]

FORMS: dict[str, Callable[[int, int], int]] = {
    "{x} + {y}": lambda x, y: x + y,
    "{x} - {y}": lambda x, y: x - y,
    "{x}*{y}": lambda x, y: x * y,
    "max({x}, {y})": max,
    "min({x}, {y})": min,
    "relu({x} - {y})": lambda x, y: max(low(x - y, "s64"), 0),
    "abs({x})": lambda x, _: abs(x),
    "{x} + 3": lambda x, _: x + 3,
    "-{x}": lambda x, _: -x,
    "65537*{x}": lambda x, _: 65537 * x,
    "max({x} + {y}, 5)": lambda x, y: max(low(x + y, "s64"), 5),
}
RING = ("{x} + {y}", "{x} - {y}", "{x}*{y}", "{x} + 3", "-{x}", "65537*{x}")


KINDS = ("s32", "u32", "s32", "u32", "s64", "u64", "s16", "u16", "s8", "u8")


def low(value: int, kind: str) -> int:
    """Return the lowest bits as a type reads them."""
    bits = int(kind[1:])
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
        ends += ((1 << 63), (1 << 64), (1 << 62), (1 << 8), (1 << 7), 3037000500)
        numbers = {low(end + step, self.kind) for end in ends for step in range(-9, 10)}
        return any(self.stored(x) != self.specified(x) for x in numbers)


def program(r: random.Random) -> Program:
    """Return a program whose specification is right in about one case of two."""
    kind = r.choice(KINDS)
    k = KernelBuilder("wrapping", 1)
    A = k.input("A", kind, ("M", "N"))
    m, n = k.grid(m=Tiles("M", 16), n=Tiles("N", 16))
    k.load("v0", A, (16, 16), at=(m * 16, n * 16))
    texts = ["A[m,n]"]
    stored: list[Value] = [lambda x: x]
    specified: list[Value] = [lambda x: low(x, "s64")]
    kinds = [kind]
    ring = r.random() < 0.5
    count = r.randint(1, 3)
    for number in range(1, count + 1):
        form = r.choice(RING if ring else list(FORMS))
        other = r.randrange(number)
        last = number - 1
        kinds.append(kinds[-1] if r.random() < 0.7 else r.choice(KINDS))
        k.map(f"v{number}", form.format(x=f"v{last}", y=f"v{other}"), kinds[-1])
        stored.append(_of(form, stored[last], stored[other], kinds[-1]))
        said = form if r.random() < 0.85 else r.choice(RING if ring else list(FORMS))
        texts.append(f"({said.format(x=texts[last], y=texts[other])})")
        specified.append(_of(said, specified[last], specified[other], "s64"))
    D = k.output("D", kinds[-1], ("M", "N"))
    k.store(D, f"v{count}", at=(m * 16, n * 16))
    kernel = k.build(f"D[m,n] = {texts[-1]}")
    claimed = specified[-1]
    return Program(kernel, kind, stored[-1], lambda x: low(claimed(x), kinds[-1]))


def _of(form: str, first: Value, second: Value, kind: str) -> Value:
    """Return a form of two values, computed in 64 bits with a sign, of which a type keeps some."""
    function = FORMS[form]

    def value(x: int) -> int:
        return low(low(function(low(first(x), "s64"), low(second(x), "s64")), "s64"), kind)

    return value


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
    if verdict.answer == "disproved" and verdict.counterexample is None:
        wrong = "disproved without an example"
    if any("please report" in proof.reason for proof in verdict.proofs):
        wrong = "called a defect"
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
