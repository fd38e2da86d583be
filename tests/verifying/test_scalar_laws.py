"""Laws of functions: true of NumPy's values, and used by proofs without proving what is wrong."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.kernel import Kernel, KernelBuilder, Tiles
from pycute_xe.kernel.spec.functions import FUNCTIONS, evaluated

X = np.concatenate([np.linspace(-9, 9, 77), [1e-3, -1e-3, 0.5, 2.0]])
POSITIVE = X[X > 0]


def value_of(name: str, *x: Any) -> Any:
    return FUNCTIONS[name].meaning(np, *x)


LAWS = {
    "mirrored": (X, lambda f, x: f(-x), lambda f, x: f(x)),
    "squared": (X, lambda f, x: f(x) * f(x), lambda f, x: x),
    "of_square": (POSITIVE, lambda f, x: f(x * x * 3.0) / f(3.0 * np.ones_like(x)), lambda f, x: x),
    "inverse": (POSITIVE, lambda f, x: 1 / f(x), lambda f, x: x),
}


@pytest.mark.parametrize("column", LAWS)
def test_the_laws_of_rows_hold_for_numbers(column: str) -> None:
    points, left, argument = LAWS[column]
    rows = [f for f in FUNCTIONS.values() if getattr(f, column) is not None]
    assert rows
    for row in rows:
        f = partial(value_of, row.name)
        right = evaluated(getattr(row, column), value_of, argument(f, points))
        np.testing.assert_allclose(left(f, points), right, rtol=1e-12, err_msg=row.name)


def test_functions_that_multiply_do_so_for_numbers() -> None:
    rows = [f for f in FUNCTIONS.values() if f.multiplies]
    assert rows
    for row in rows:
        x, y = X[:, None], X[None, :]
        np.testing.assert_allclose(row.meaning(np, x * y), row.meaning(np, x) * row.meaning(np, y))


EQUAL = [
    ("max(x, -x)", "abs(x)"),
    ("-min(x, -x)", "abs(x)"),
    ("abs(x)*abs(x)", "x*x"),
    ("abs(-x)", "abs(x)"),
    ("abs(y - x)", "abs(x - y)"),
    ("abs(x*y)", "abs(x)*abs(y)"),
    ("abs(-2*x)", "2*abs(x)"),
    ("abs(-3*x)", "abs(3*x)"),
    ("1/sqrt(x)", "rsqrt(x)"),
    ("y/sqrt(x*x + 1)", "y*rsqrt(x*x + 1)"),
    ("1/rsqrt(x)", "sqrt(x)"),
    ("sqrt(4*x)", "2*sqrt(x)"),
    ("1/(1 + exp(0 - x))", "sigmoid(x)"),
    ("x/(exp(0 - x) + 1)", "silu(x)"),
    ("sigmoid(-x)", "1 - sigmoid(x)"),
    ("tanh(-x)", "-tanh(x)"),
    ("y/(2*x)", "y/x/2"),
]
WRONG = [
    ("max(x, -x)", "x"),
    ("max(x, -x)", "-abs(x)"),
    ("abs(x)*abs(y)", "x*y"),
    ("abs(x + y)", "abs(x) + abs(y)"),
    ("abs(y - x)", "abs(x + y)"),
    ("sqrt(x*x)", "x"),
    ("sqrt(x*x)", "-abs(x)"),
    ("1/sqrt(x*x + 1)", "sqrt(x*x + 1)"),
    ("1/(2 + exp(0 - x))", "sigmoid(x)"),
    ("1/(1 + exp(x))", "sigmoid(x)"),
    ("sigmoid(-x)", "-sigmoid(x)"),
    ("tanh(-x)", "tanh(x)"),
    ("sqrt(2*x)", "2*sqrt(x)"),
]


def written(text: str) -> str:
    """Return a text in which the x of a function's name is no variable."""
    return text.replace("exp", "EP").replace("max", "MA")


def claimed(code: str, claim: str) -> Kernel:
    k = KernelBuilder("mapped", 2)
    names = [name for name in "xy" if name in written(code + claim)]
    operands = {name: k.input(name.upper(), "f32", ("M", "N")) for name in names}
    D = k.output("D", "f32", ("M", "N"))
    m, n = k.grid(m=Tiles("M", 16), n=Tiles("N", 16))
    for name, operand in operands.items():
        k.load(name, operand, (16, 16), at=(m * 16, n * 16))
    k.map("z", code)
    k.store(D, "z", at=(m * 16, n * 16))
    text = written(claim).replace("x", "X[m,n]").replace("y", "Y[m,n]")
    return k.build("D[m,n] = " + text.replace("EP", "exp").replace("MA", "max"))


@pytest.mark.parametrize(("code", "claim"), EQUAL)
def test_what_is_equal_by_a_law_is_proved_both_ways(code: str, claim: str) -> None:
    assert cx.verify(claimed(code, claim)).answer == "proved"
    assert cx.verify(claimed(claim, code)).answer == "proved"


@pytest.mark.parametrize(("code", "claim"), WRONG)
def test_what_no_law_makes_equal_is_disproved(code: str, claim: str) -> None:
    assert cx.verify(claimed(code, claim)).answer == "disproved"


def greatest(body: str, claim: str, first: float = 0.0) -> Kernel:
    k = KernelBuilder("greatest", 4)
    A, D = k.input("A", "f32", ("M", "N")), k.output("D", "f32", ("M",))
    (m,) = k.grid(m=Tiles("M", 64))
    k.fill("acc", k.parts((64, 32), (4, 1)), first)
    with k.loop("t", 0, Tiles("N", 32)) as t:
        k.load("x", A, k.parts((64, 32), (4, 1)), at=(m * 64, t * 32))
        k.map("acc", body)
    k.reduce("r", "max", "acc", axis=1)
    k.store(D, "r", at=(m * 64,))
    return k.build(f"D[m] = max(n, {claim})")


@pytest.mark.parametrize(
    "body", ["max(acc, abs(x))", "max(acc, max(x, -x))", "max(max(acc, x), -x)"]
)
def test_the_greatest_size_of_a_row_needs_no_mask(body: str) -> None:
    kernel = greatest(body, "abs(A[m,n])")
    assert cx.verify(kernel).answer == "proved"
    A = np.random.default_rng(3).standard_normal((70, 45), dtype=np.float32)
    np.testing.assert_array_equal(cx.run(kernel, A), abs(A).max(1))


@pytest.mark.parametrize(
    ("body", "claim"),
    [
        ("max(acc, x)", "A[m,n]"),
        ("max(acc, exp(x))", "exp(A[m,n])"),
        ("max(acc, abs(x))", "A[m,n]"),
        ("max(acc, x)", "abs(A[m,n])"),
    ],
)
def test_other_rows_without_a_mask_are_not_proved(body: str, claim: str) -> None:
    assert not cx.verify(greatest(body, claim))
