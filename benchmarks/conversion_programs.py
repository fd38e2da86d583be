"""Programs of conversions over all pairs of element types, judged by arithmetic of their own.

Each loads X of a type, takes it through a few fragments of other types, and stores D. What is
claimed is the chain of roundings that was made, or drops, adds or changes one. The judge is exact
rational arithmetic that is written here, against a run of the byte machine on the edges of X's
type: neither knows what the prover knows.

    python benchmarks/conversion_programs.py --count 2000 --seed 0
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from unsound_kernels import GRID, M, N, load, store  # pyright: ignore[reportMissingImports]

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.kernel import (
    Claim,
    Convert,
    Element,
    Expression,
    Fragment,
    Kernel,
    Map,
    Operand,
    Slot,
    Specification,
    Statement,
    apply,
    rounded_to,
)
from pycute_xe.kernel.spec.expression import Apply, Const, Rounded
from pycute_xe.verifying.verdict import Verdict

Number: TypeAlias = "Fraction | None"
"""An exact number; None where something overflowed, of which nothing is said."""

FLOATS = {
    "f64": (53, -1022, Fraction(2) ** 1024 - Fraction(2) ** 971),
    "f32": (24, -126, Fraction(2) ** 128 - Fraction(2) ** 104),
    "tf32": (11, -126, Fraction(2) ** 128 - Fraction(2) ** 117),
    "bf16": (8, -126, Fraction(2) ** 128 - Fraction(2) ** 120),
    "f16": (11, -14, Fraction(65504)),
    "f8e5m2": (3, -14, Fraction(57344)),
    "f8e4m3": (4, -6, Fraction(448)),
    "f4e2m1": (2, 0, Fraction(6)),
}
"""Digits, the least exponent of a normal number, the largest number."""

INTEGERS = ("s64", "s32", "s16", "s8", "s4", "s2", "u32", "u16", "u8", "u4", "u2")
WIDE = ("s64", "s32", "u32")
NARROW = ("bf16", "f16", "f8e5m2", "f8e4m3")
STORED = tuple(t for t in (*FLOATS, *INTEGERS) if cx.as_numeric(t).bits >= 8)
EVERY = (*FLOATS, *INTEGERS)
NUMBERS = (0.0, 1.0, -1.0, 2.0, 3.0, 0.5, 0.1, -0.1, 100.0, 127.0, -128.0, 255.0, 1000.0, 1e-46)
ENDS = (
    (-128.0, 127.0),
    (-200.0, 300.0),
    (0.0, 255.0),
    (0.0, 6.0),
    (-0.1, 0.1),
    (-32768.0, 32767.0),
)


def ends(name: str) -> tuple[int, int]:
    """Return the least and the largest integer of a type."""
    bits = int(name[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "s" else (0, (1 << bits) - 1)


def nearest(x: Number, name: str) -> Number:
    """Return a number rounded to a type: IEEE 754-2019, 4.3.1, and saturated integers."""
    if x is None:
        return None
    if name in INTEGERS:
        low, high = ends(name)
        return Fraction(min(max(round(x), low), high))
    digits, least, most = FLOATS[name]
    if not x:
        return x
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    out = round(x / unit) * unit
    if name == "tf32" and abs(out) < Fraction(2) ** least:
        return Fraction(0)
    if abs(out) > most:
        return (most if out > 0 else -most) if name == "f4e2m1" else None
    return out


def converted(x: Number, name: str) -> Number:
    """Return what a conversion gives: integers beyond 2^53 become floats by way of f64."""
    wide = x is not None and x.denominator == 1 and abs(x) > 1 << 53 and name in FLOATS
    return nearest(nearest(x, "f64") if wide else x, name)


def value(claim: Expression, x: Number) -> Number:
    """Return what is claimed, in exact arithmetic but for the roundings it says."""
    match claim:
        case Const(number):
            return Fraction(number)
        case Element():
            return x
        case Rounded(to, body):
            return converted(value(body, x), to.name)
        case Apply(function, arguments):
            return of(function, [value(a, x) for a in arguments])
        case _:
            raise TypeError(f"no value of {claim}")


def of(function: str, given: list[Number]) -> Number:
    """Return a function of exact numbers."""
    known = [x for x in given if x is not None]
    if len(known) < len(given):
        return None
    table = {
        "add": lambda x, y: x + y,
        "mul": lambda x, y: x * y,
        "max": max,
        "min": min,
        "abs": abs,
        "relu": lambda x: max(x, Fraction(0)),
        "clamp": lambda x, low, high: min(max(x, low), high),
    }
    return table[function](*known)


@dataclass(frozen=True)
class Step:
    """A statement: what it fills is of a type; ``function`` of numbers, none for a conversion."""

    to: str
    function: str = "convert"
    numbers: tuple[float, ...] = ()

    def done(self, x: Number) -> Number:
        """Return what it makes of a number, None where something overflows on the way."""
        if self.function == "convert":
            return converted(x, self.to)
        if self.to in INTEGERS:
            found = of(self.function, [x, *map(Fraction, self.numbers)]) if self.function else x
            if found is None:
                return None
            low, high = ends(self.to)
            wrapped = (int(found) - low) % (high - low + 1) + low
            overflows = self.function in ("add", "mul", "abs") and wrapped != found
            return None if overflows and high >= 1 << 30 else Fraction(wrapped)
        compute = "f64" if self.to == "f64" else "f32"
        numbers = [nearest(Fraction(n), compute) for n in self.numbers]
        taken = converted(x, compute)
        found = of(self.function, [taken, *numbers]) if self.function else taken
        return nearest(nearest(found, compute), self.to)


@dataclass(frozen=True)
class Program:
    """X of a type, the steps it takes, and what is claimed of D."""

    first: str
    steps: tuple[Step, ...]
    claim: Expression

    @property
    def kernel(self) -> Kernel:
        """The program as a kernel."""
        types = (self.first, *(step.to for step in self.steps))
        last = f"f{len(self.steps)}"
        body: list[Statement] = [load("X", "f0", kind=self.first)]
        for i, step in enumerate(self.steps):
            source = Slot(f"f{i}")
            if step.function == "convert":
                body.append(Convert(f"f{i}", f"f{i + 1}"))
            elif step.function:
                made = apply(step.function, source, *map(Const, step.numbers))
                body.append(Map(f"f{i + 1}", made))
            else:
                body.append(Map(f"f{i + 1}", source))
        body.append(store("D", last, kind=types[-1]))
        operands = (
            Operand("X", self.first, ("M", "N")),
            Operand("D", types[-1], ("M", "N"), role="out"),
        )
        fragments = tuple(Fragment(f"f{i}", cx.as_numeric(t), 8) for i, t in enumerate(types))
        claims = Specification((Claim("D", ("m", "n"), self.claim),))
        return Kernel("conversions", 1, operands, fragments, GRID, tuple(body), claims)


def made(r: random.Random) -> Program:
    """Return a random program: half of the claims are what is done."""
    first = r.choice(STORED)
    types = [first]
    steps: list[Step] = []
    for number in range(count := r.randint(1, 3)):
        to = r.choice(STORED if number == count - 1 else EVERY)
        steps.append(step(r, types[-1], to))
        types.append(to)
    claim: Expression = Element("X", (M, N))
    for source, one in zip(types, steps, strict=False):
        claim = claimed(r, claim, source, one, exact=any(t in WIDE for t in types[1:]))
    if r.random() < 0.5:
        claim = bent(r, claim)
    if types[-1] in NARROW and not (isinstance(claim, Rounded) and claim.to.name == types[-1]):
        claim = rounded_to(types[-1], claim)  # these roundings are said
    return Program(first, tuple(steps), claim)


def step(r: random.Random, source: str, to: str) -> Step:
    """Return a conversion, a copy, or a function of a number or two."""
    kind = r.choice(("convert", "convert", "", "one", "ends", "sign"))
    if kind == "convert" or (to in INTEGERS and source in FLOATS):
        return Step(to)
    whole = to in INTEGERS
    if kind == "one":
        number = r.choice([n for n in NUMBERS if not whole or n.is_integer()])
        return Step(to, r.choice(("add", "mul", "max", "min")), (number,))
    if kind == "ends":
        return Step(to, "clamp", r.choice([e for e in ENDS if not whole or e[0].is_integer()]))
    return Step(to, r.choice(("abs", "relu")) if kind else "")


def claimed(r: random.Random, x: Expression, source: str, one: Step, exact: bool) -> Expression:
    """Return what a step makes of an expression, as a specification says it.

    Roundings of sums and products are said where the result is to be ``exact``.
    """
    if one.function == "convert":
        return rounded_to(one.to, x)
    if one.to in INTEGERS:
        narrow = source != one.to
        if one.function:
            x = apply(one.function, x, *map(Const, one.numbers))
        return rounded_to(one.to, x) if narrow and r.random() < 0.5 else x
    compute = "f64" if one.to == "f64" else "f32"
    x = rounded_to(compute, x)
    if one.function:
        kept = [float(nearest(Fraction(n), compute) or 0) for n in one.numbers]
        numbers = kept if exact or r.random() < 0.5 else one.numbers
        x = apply(one.function, x, *map(Const, numbers))
        if one.function in ("add", "mul") and (exact or r.random() < 0.5):
            x = rounded_to(compute, x)
    return x if one.to == compute else rounded_to(one.to, x)


def bent(r: random.Random, claim: Expression) -> Expression:
    """Drop, add or change a rounding or a number."""
    parts: list[Expression] = []

    def gather(x: Expression) -> None:
        parts.append(x)
        for y in getattr(x, "arguments", ()) or ((x.body,) if isinstance(x, Rounded) else ()):
            gather(y)

    gather(claim)
    place = r.choice([p for p in parts if not isinstance(p, Const)])
    how = r.choice(("drop", "add", "change"))

    def rebuilt(x: Expression) -> Expression:
        if x is place:
            if isinstance(x, Rounded) and how != "add":
                return x.body if how == "drop" else rounded_to(r.choice(EVERY), x.body)
            if isinstance(x, Apply) and how == "drop":
                return x.arguments[0]
            return rounded_to(r.choice(EVERY), x)
        if isinstance(x, Rounded):
            return Rounded(x.to, rebuilt(x.body))
        if isinstance(x, Apply):
            return Apply(x.function, tuple(map(rebuilt, x.arguments)))
        return x

    return rebuilt(claim)


@lru_cache
def edges(name: str) -> NDArray[np.generic]:
    """Return numbers of a type at which roundings and ends show; of eight bits all there are."""
    numeric = cx.as_numeric(name)
    if numeric.bits == 8:
        return np.arange(256, dtype=np.uint8).view(numpy_dtype(numeric))
    found: list[Fraction] = [Fraction(n) for n in (0, 1, -1)]
    for exponent in (*range(-150, 140, 9), *range(-12, 66)):
        power = Fraction(2) ** exponent
        for digits in (0, *(d for d, _, _ in FLOATS.values())):
            half = power / (1 << digits) if digits else Fraction(0)
            for more in (Fraction(0), power / (1 << 23), power / (1 << 40), power / (1 << 52), 1):
                found += [power + half + more, power + half - more, power + 3 * half + more]
    found += [Fraction(k, 2) for k in (1, 3, 5, 253, 255, 257, 509, 511, 513, 65535, 131071)]
    if name in FLOATS:
        digits, least, most = FLOATS[name]
        tiny = Fraction(2) ** (least - digits + 1)
        found += [tiny, 3 * tiny, Fraction(2) ** least, most]
    else:
        found += [Fraction(x + d) for x in ends(name) for d in (-1, 0, 1)]
    random.Random(0).shuffle(found)
    kept = {x for y in found for x in (y, -y) if nearest(x, name) == x}
    some = sorted(random.Random(1).sample(sorted(kept), min(len(kept), 700)))
    as_numbers = [float(x) if name in FLOATS else int(x) for x in (*some, Fraction(0))]
    return np.array(
        [*as_numbers, -0.0 if name in FLOATS else 0],
        dtype=numpy_dtype("f32" if name == "tf32" else numeric),
    )


def exactly(array: NDArray[np.generic], name: str) -> list[Number]:
    """Return an array's elements as exact numbers, None of what is not finite."""
    if name in FLOATS:
        wide = array.astype(np.float64)
        return [Fraction(float(x)) if isfinite(x) else None for x in wide.ravel()]
    return [Fraction(int(x)) for x in array.ravel()]


@dataclass(frozen=True)
class Judged:
    """What the judge says of a program: where D is not what is claimed, exactly and nearly."""

    wrong: tuple[Number, ...]
    beyond: tuple[Number, ...]


def judged(program: Program) -> Judged:
    """Run a program on the edges of X's type, and compare with its claim."""
    given = edges(program.first)
    rows = -(-given.size // 16)
    padded = np.zeros(rows * 16, given.dtype)
    padded[: given.size] = given
    out = program.steps[-1].to
    kernel = program.kernel
    found = exactly(np.asarray(cx.run(kernel, padded.reshape(rows, 16), executor="reference")), out)
    wrong: list[Number] = []
    beyond: list[Number] = []
    for x, actual in zip(exactly(padded, program.first), found, strict=True):
        done, most = x, abs(x or Fraction(0))
        for one in program.steps:
            done = one.done(done)
            most = max(most, abs(done or Fraction(0)), *map(abs, map(Fraction, one.numbers)))
        wanted = converted(value(program.claim, x), out) if x is not None else None
        if done is None or wanted is None or actual is None:
            continue
        if actual != done:
            raise AssertionError(f"{program}: {float(x or 0)} became {actual}, not {done}")
        if actual != wanted:
            wrong.append(x)
            if not _near(actual, wanted, most, program):
                beyond.append(x)
    return Judged(tuple(wrong), tuple(beyond))


def _near(actual: Fraction, wanted: Fraction, most: Fraction, program: Program) -> bool:
    """Whether two results differ by roundings of sums and products in f32 alone.

    Such a rounding may move a number by a unit of the narrowest type that it goes through.
    """
    types = [one.to for one in program.steps]
    if types[-1] in WIDE:
        return False
    units = [max(abs(actual), abs(wanted)) / (1 << FLOATS[t][0] - 2) for t in types if t in FLOATS]
    units += [Fraction(1) for t in types if t in INTEGERS]
    return abs(actual - wanted) <= max(units) + most / (1 << 20)


@dataclass(frozen=True)
class Outcome:
    """What the prover says of a program, and whether that is so."""

    seed: int
    program: Program
    answer: str
    right: bool
    bad: str = ""
    reason: str = ""


def outcome(seed: int) -> Outcome:
    """Return what is said of the program of a seed."""
    program = made(random.Random(seed))
    verdict = cx.verify(program.kernel)
    truth = judged(program)
    real = any("real numbers" in text for text in verdict.assumptions)
    bad = ""
    if verdict.answer == "proved" and (truth.beyond if real else truth.wrong):
        bad = f"proved, and wrong at {[float(x or 0) for x in truth.wrong[:3]]}"
    if verdict.answer == "disproved" and not truth.wrong and not _shown(program, verdict):
        bad = "disproved, and right at every edge"
    reason = next((proof.reason for proof in verdict.proofs if proof.reason), "")
    return Outcome(seed, program, verdict.answer, not truth.wrong, bad, reason)


def _shown(program: Program, verdict: Verdict) -> bool:
    return verdict.counterexample is not None and bool(
        cx.replay(program.kernel, verdict.counterexample).shows
    )


def main() -> int:
    """Judge programs and print what was right, wrong and undecided."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    counts: Counter[tuple[str, bool]] = Counter()
    bad = 0
    for one in _outcomes(options.seed, options.count):
        counts[one.answer, one.right] += 1
        bad += bool(one.bad)
        if one.bad or (options.show and one.right and one.answer != "proved"):
            steps = " ".join(
                f"{s.function or 'copy'}{s.numbers or ''}->{s.to}" for s in one.program.steps
            )
            print(
                f"{one.seed}: {one.program.first} {steps}; {one.program.claim}: "
                f"{one.bad or one.reason}"
            )
    right = sum(n for (_, is_right), n in counts.items() if is_right)
    left = counts["undecided", True]
    print({f"{a} {'right' if r else 'wrong'}": n for (a, r), n in sorted(counts.items())})
    print(f"{bad} contradicted; {left} of {right} right ones undecided")
    return 1 if bad or left * 200 > right else 0


def _outcomes(seed: int, count: int) -> Iterator[Outcome]:
    return map(outcome, range(seed, seed + count))


if __name__ == "__main__":
    sys.exit(main())
