"""Wrong maxima that once were proved: their terms, conditions and zeros are values too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unsound_kernels import A, K, M, N, X, Y, differs, kernel, load, not_proved, store

import pycute_xe as cx
from pycute_xe.kernel import (
    Element,
    Expression,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Map,
    Operand,
    Statement,
    apply,
    total,
)
from pycute_xe.kernel.spec.expression import Const, Where
from pycute_xe.verifying.prover import prove

LOW = -1e30
BATCHES = tuple(Operand(name, "f32", ("K", "M", "N")) for name in "AB")


def a(at: Any, name: str = "A") -> Element:
    return Element(name, (at, M, N))


def largest(extent: Any, body: Expression, start: float = LOW) -> Expression:
    return apply("max", Const(start), total("k", extent, body, how="max"))


def maxima(
    claim: Expression, *body: Statement, value: Expression = X, loop: Any = None, start: float = LOW
) -> Kernel:
    """z takes the largest of what a loop computes; D is stored of it."""
    var, first, stop = loop or ("k", Index(), Index("K"))
    trip = (*body, Map("z", apply("max", Z, value)))
    loops = Loop(var, first, stop, trip)
    return kernel(claim, Fill("z", start), loops, store("D", "z"), more=BATCHES)


def batch(at: Any, to: str = "x", name: str = "A") -> Statement:
    return load(name, to, (at, M * 8, N * 16))


Z = X.__class__("z")
ONES = np.ones((9, 8, 16), np.float32)


def test_the_terms_of_a_sum_belong_together() -> None:
    two = (batch(K), batch(Index("K") - 1 - K, "y", "B"))
    wrong = maxima(largest("K", a(K) + a(K, "B")), *two, value=X + Y)
    x = np.zeros((2, 8, 16), np.float32)
    x[1] = 5
    differs(wrong, 10, x, x)
    not_proved(wrong)
    assert cx.verify(
        maxima(largest("K", a(K) + a(K, "B")), batch(K), batch(K, "y", "B"), value=X + Y)
    )


def behind(batch: Index) -> Expression:
    """The next batch, and zero behind the last one."""
    return Where(batch + 1, Index("K"), a(batch + 1), Const(0.0))


def test_the_zeros_of_a_condition_count() -> None:
    value = Where(K, Index(None, 6), X, Const(0.0))
    ours = ("k", Index(None, 1), Index("K"))
    wrong = maxima(largest(5, behind(K)), batch(K), value=value, loop=ours)
    differs(wrong, -1, -ONES, -ONES)
    assert cx.verify(wrong, {"K": 9}).answer != "proved"


def test_zeros_of_no_trip_do_not_count() -> None:
    ours = ("k", Index("M"), Index("K"))
    wrong = maxima(largest("K", a(K) * 0, -3), value=Const(0.0), loop=ours, start=-3)
    differs(wrong, 0, ONES[:3], ONES[:3])
    not_proved(wrong)


def test_a_number_counts_where_there_are_no_elements() -> None:
    """Of squares zero is no larger than any, but there are none of 5 batches and fewer."""
    ours, claim = ("k", Index(None, 5), Index("K")), largest(Index("K") - 5, a(K + 5) * a(K + 5))
    wrong = maxima(claim, batch(K), value=X * X, loop=ours, start=0)
    differs(wrong, LOW, ONES[:3], ONES[:3])
    assert not_proved(wrong).answer == "disproved"
    assert not_proved(maxima(largest("K", a(K)), batch(K), start=0)).answer == "disproved"
    assert cx.verify(maxima(largest("K", a(K) * a(K)), batch(K), value=X * X, start=0))


def test_padding_behind_a_condition_counts() -> None:
    value = Where(K, Index(None, 4), X, X)
    past = load("A", "x", (Index(), K + M * 8, N * 16))
    claim = largest(Index("M") - M, Element("A", (Index(), K + M, N)))
    wrong = maxima(claim, past, value=value, loop=("k", Index(), Index("M")))
    differs(wrong, -1, -ONES, -ONES)
    not_proved(wrong, M=8, K=1)


@pytest.mark.long
def test_what_a_claim_takes_from_outside_is_zero() -> None:
    wrong = maxima(largest("K", behind(K)), batch(K), loop=("k", Index(None, 1), Index("K")))
    assert cx.verify(wrong, {"K": 9}).answer != "proved"


def test_a_largest_of_sums_is_not_the_largest_of_their_terms() -> None:
    sums = total("q", "K", a(Index("q") + K))
    wrong = maxima(largest(1, sums), batch(K))
    differs(wrong, 9, ONES, ONES)
    not_proved(wrong)


def test_functions_of_other_elements_under_a_condition() -> None:
    body = (load("A", "x"), load("A", "y", (M * 8 + 1, N * 16)))
    first, second = apply("tanh", X), apply("tanh", Y)
    mixed = Map("x", Where(M, Index(None, 1), first, second))
    wrong = kernel(apply("tanh", A), *body, mixed, store("D", "x"))
    x = np.random.default_rng(0).standard_normal((20, 16)).astype(np.float32)
    differs(wrong, np.tanh(x), x)
    not_proved(wrong)


def under(index: Any, below: Any, claim: Expression) -> Kernel:
    """The largest of a column's batches, taken in where a condition holds."""
    some = If(index, below, (Map("z", apply("max", Z, X)),))
    loop = Loop("k", Index(), Index("K"), (batch(K), some))
    return kernel(claim, Fill("z", LOW), loop, store("D", "z"), more=BATCHES)


def test_a_maximum_under_a_condition_that_all_trips_share() -> None:
    everywhere = largest("K", a(K))
    some = Where(Index("m") - Index("m") % 8, Index(None, 16), everywhere, Const(LOW))
    right = cx.verify(under(Index("m"), Index(None, 2), some))
    assert right, str(right)
    wrong = under(Index("m"), Index(None, 2), everywhere)
    assert cx.verify(wrong).answer == "disproved"
    not_proved(wrong)


def test_a_maximum_of_some_trips_is_not_that_of_all() -> None:
    wrong = under(K, Index(None, 2), largest("K", a(K)))
    x = np.zeros((3, 8, 16), np.float32)
    x[2] = 5
    differs(wrong, 5, x, x)
    not_proved(wrong)


@pytest.mark.parametrize("same", [apply("max", Z, Z), Z * 1, 1 * Z])
def test_what_leaves_an_accumulator_as_it_was_is_seen_through(same: Expression) -> None:
    twice = Map("z", apply("max", same, X))
    loop = Loop("k", Index(), Index("K"), (batch(K), twice))
    right = kernel(largest("K", a(K)), Fill("z", LOW), loop, store("D", "z"), more=BATCHES)
    assert cx.verify(right)


def test_a_multiple_of_an_accumulator_is_not_what_it_was() -> None:
    twice = Map("z", apply("max", Z * 2, X))
    loop = Loop("k", Index(), Index("K"), (batch(K), twice))
    not_proved(kernel(largest("K", a(K)), Fill("z", LOW), loop, store("D", "z"), more=BATCHES))


def test_a_maximum_with_another_fragment_that_is_carried_is_not_nothing() -> None:
    other = (Map("y", apply("max", Z, Y)), Map("z", apply("max", Z, Y)))
    loop = Loop("k", Index(), Index("K"), (batch(K, "y"), *other))
    start = (Fill("y", 3), Fill("z", LOW))
    wrong = kernel(Const(LOW), *start, loop, store("D", "z"), more=BATCHES)
    not_proved(wrong)


def test_a_maximum_of_some_trips_is_that_of_those() -> None:
    some = largest("K", Where(K, Index(None, 2), a(K), Const(-np.inf)))
    assert cx.verify(under(K, Index(None, 2), some))


@pytest.mark.parametrize("how", ["sum", "max"])
def test_factors_of_a_summand_are_compared_with_those_of_their_name(how: str) -> None:
    """The same numbers at the same values of k, but of each other's operands."""

    def judged(claim: str) -> str:
        k = cx.kernel.KernelBuilder("rows", 1)
        rows = {name: k.input(name.upper(), "f32", ("K", 64)) for name in "xyz"}
        D, (g,) = k.output("D", "f32", (64,)), k.grid(g=4)
        k.fill("acc", k.parts((1, 16), (1, 1)), 0.0 if how == "sum" else -np.inf)
        with k.loop("i", 0, Index("K")) as i:
            for name, at in (("x", i), ("y", 0), ("z", i)):
                k.load(name, rows[name], (1, 16), at=(at, g * 16))
            value = "exp(z)*x*y"
            k.map("acc", f"acc + {value}" if how == "sum" else f"max(acc, {value})", "f32")
        k.store(D, "acc", at=(g * 16,))
        return prove(k.build(f"D[n] = {how}(k, {claim})")).answer

    assert judged("exp(Z[k,n])*Y[0,n]*X[k,n]") == "proved"
    assert judged("exp(Z[k,n])*Y[k,n]*X[0,n]") == "disproved"
    assert judged("X[0,n]*Y[k,n]*exp(Z[k,n])") == "disproved"
