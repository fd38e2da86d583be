"""Functions of one element: intervals hold what numbers become, and a number that differs shows.

What a number becomes is said by exact fractions, as in ``benchmarks/conversion_programs.py``.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from conversion_programs import EVERY, FLOATS, Number, converted, of
from sampling import sampled

from pycute_xe.numeric import as_numeric
from pycute_xe.verifying.enumeration import Interval, between, enumerated
from pycute_xe.verifying.formula import Formula, Place, Term, add, call, multiply, number

KEPT = [name for name in EVERY if name not in ("f8e4m3", "f8e5m2", "f16", "f4e2m1")]
"""Types in which the numbers here do not overflow to infinity or NaN."""


def element(kind: str) -> Formula:
    return (Term(1.0, (Place("A", ("i",), as_numeric(kind)),)),)


def chain(r: random.Random) -> list[tuple[str, float | str]]:
    """A few functions, one after the other."""
    some: list[tuple[str, float | str]] = []
    for _ in range(r.randint(1, 4)):
        name = r.choice(("to", "max", "min", "add", "mul", "abs"))
        if name == "to":
            some.append((name, r.choice(KEPT)))
        else:
            some.append((name, r.choice((-3.0, -1.0, 0.1, 0.5, 2.0, 7.0, 100.0, 1e-3))))
    return some


def formula_of(steps: list[tuple[str, float | str]], start: Formula) -> Formula:
    out = start
    for name, other in steps:
        if name == "to":
            out = call(f"to {other}", out)
        elif name == "abs":
            out = call("abs", out)
        elif name == "add":
            out = add(out, number(float(other)))
        elif name == "mul":
            out = multiply(out, number(float(other)))
        else:
            out = call(name, out, number(float(other)))
    return out


def exact_of(steps: list[tuple[str, float | str]], x: Number) -> Number:
    for name, other in steps:
        if name == "to":
            x = converted(x, str(other))
        elif name == "abs":
            x = of(name, [x])
        else:
            x = of(name, [x, Fraction(float(other))])
    return x


@pytest.mark.parametrize("seed", sampled(range(3000), 100))
def test_an_interval_holds_what_its_numbers_become(seed: int) -> None:
    r = random.Random(seed)
    steps = chain(r)
    ends = sorted(r.choice((1, 1e-4, 1e6)) * r.uniform(-4, 4) for _ in range(2))
    low, high = (np.array([end]) for end in ends)
    found = between(formula_of(steps, element("f64")), Interval.of(low, high))
    alone = between(formula_of(steps, element("f64")), Interval.of(low, low))
    for x in (*ends, *(r.uniform(*ends) for _ in range(20))):
        exact = exact_of(steps, Fraction(x))
        assert exact is not None
        assert Fraction(float(found.low[0])) <= exact <= Fraction(float(found.high[0])), steps
    value = exact_of(steps, Fraction(ends[0]))
    if alone.is_one.all():
        assert value == Fraction(float(alone.low[0]))
    assert not found.nan.any()


@pytest.mark.parametrize("kind", ["f16", "bf16", "s16", "u8", "f8e4m3", "f32", "s32", "s64", "f64"])
def test_every_number_of_a_type_is_tried(kind: str) -> None:
    """A clamp differs from none at its ends alone, which lie anywhere."""
    x, to = element(kind), as_numeric("s8")
    bytes_ = call("to s8", x)
    one = 3.0 if kind in FLOATS else 2.0
    other = add(bytes_, multiply(number(0.0), x))
    assert enumerated((bytes_, other), as_numeric(kind), to).equal
    wrong = call("max", bytes_, call("min", number(one), call("max", x, number(one))))
    found = enumerated((bytes_, wrong), as_numeric(kind), to)
    assert found.number is not None
    assert found.number < one


def test_a_function_that_is_not_known_is_left_alone() -> None:
    x = element("f32")
    steep = (call("to f64", multiply(x, number(3.0))), multiply(x, number(3.0)))
    found = enumerated(steep, as_numeric("f32"), as_numeric("f64"))
    assert not found.equal


def test_a_rounding_of_one_number_in_millions_is_seen() -> None:
    """Behind a half of bf16, f32 rounds to the half, which then goes to the even one."""
    x = element("f64")
    direct, twice = call("to bf16", x), call("to bf16", call("to f32", x))
    found = enumerated((direct, twice), as_numeric("f64"), as_numeric("f32"))
    assert found.number is not None
    exact = Fraction(found.number)
    assert converted(exact, "bf16") != converted(converted(exact, "f32"), "bf16")
