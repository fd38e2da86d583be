"""Sums that a loop rescales by exponentials: proved where the factors come to one, never else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.kernel import (
    Claim,
    Element,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Map,
    Operand,
    Slot,
    Specification,
    Statement,
    apply,
    total,
)
from pycute_xe.kernel.spec.expression import Expression, Where, as_expression

LOW = -1024.0
K, M, N = map(Index, ("k", "m", "n"))
X, Y, TOP, NEW, FIX, SUM = map(Slot, ("x", "y", "top", "new", "fix", "sum"))
LARGER = Map("new", apply("max", TOP, X))
FACTOR = Map("fix", apply("exp2", TOP - NEW))
KEEP = Map("top", NEW)
ADD = Map("sum", SUM * FIX + apply("exp2", X - TOP))
RIGHT = (LARGER, FACTOR, KEEP, ADD)
LARGER_THAN_BEFORE = Map("new", apply("max", Slot("out"), X))
TO_LARGER = Map("fix", apply("exp2", Slot("out") - LARGER_THAN_BEFORE.value))


def of(k: str) -> Expression:
    return Element("X", (Index(k), M, N))


def claimed(function: str = "exp2") -> Expression:
    top = apply("max", LOW, total("j", "L", of("j"), how="max"))
    return total("i", "L", apply(function, of("i") - top))


def online(
    *body: Statement, claim: Expression | None = None, start: float = LOW, kind: str = "f32"
) -> Kernel:
    """The sum of exp2(X - the largest X) over tiles, with a maximum that goes along."""
    operands = (Operand("X", "f32", ("L", 8, 16)), Operand("Y", "f32", (8, 16), role="out"))
    load = dataclasses.replace(load_of("X", "x", at=(0, 0, 0)), at=(K, Index(), Index()))
    names = ("x", "top", "new", "fix", "out")
    fragments = (*(fragment(name, "f32", 8) for name in names), fragment("sum", kind, 8))
    whole = (
        Fill("top", start),
        Fill("sum"),
        Loop("k", Index(), Index("L"), (load, *body)),
        Map("out", SUM),
        store_of("Y", "out"),
    )
    claims = Specification((Claim("Y", ("m", "n"), claimed() if claim is None else claim),))
    return Kernel("online", 1, operands, fragments, (("g", Index(None, 1)),), whole, claims)


def test_a_running_sum_is_proved_and_gives_what_numpy_does() -> None:
    kernel = online(*RIGHT)
    verdict = cx.verify(kernel)
    assert verdict, str(verdict)
    x = np.random.default_rng(3).normal(size=(5, 8, 16)).astype(np.float32)
    wanted = np.exp2(x - x.max(axis=0)).sum(axis=0)
    assert np.allclose(np.asarray(cx.run(kernel, x)), wanted, rtol=1e-5)


def test_another_exponential_is_followed_too() -> None:
    fix, add = (
        Map("fix", apply("exp", TOP - NEW)),
        Map("sum", apply("exp", X - TOP) + FIX * SUM),
    )
    assert cx.verify(online(LARGER, fix, KEEP, add, claim=claimed("exp")))
    mixed = online(LARGER, FACTOR, KEEP, add, claim=claimed("exp"))
    assert not cx.verify(mixed)


@pytest.mark.parametrize(
    "body",
    [
        (LARGER, Map("fix", apply("exp2", NEW - TOP)), KEEP, ADD),
        (LARGER, FACTOR, ADD, KEEP),
        (LARGER, FACTOR, KEEP, KEEP, Map("sum", SUM + apply("exp2", X - TOP))),
        (LARGER, FACTOR, KEEP, ADD, ADD),
        (LARGER, FACTOR, KEEP, ADD, Map("top", TOP + 1.0)),
        (LARGER, KEEP, Map("fix", apply("exp2", TOP - NEW)), ADD),
        (LARGER, FACTOR, KEEP, Map("sum", SUM * FIX * FIX + apply("exp2", X - TOP))),
        (LARGER, FACTOR, KEEP, Map("sum", SUM * FIX + apply("exp2", X - NEW) * FIX)),
        (LARGER, FACTOR, If(K % 2, Index(None, 1), (KEEP,)), ADD),
        (LARGER, FACTOR, KEEP, If(K % 2, Index(None, 1), (ADD,))),
        (LARGER, FACTOR, If(K, Index(None, 1), (KEEP, ADD))),
        (LARGER, Map("fix", apply("exp2", TOP - X)), KEEP, ADD),
        # The first time the largest is kept, it is X alone.
        (Map("out", TOP), TO_LARGER, Map("new", X), KEEP, ADD, LARGER_THAN_BEFORE, KEEP),
    ],
)
def test_what_is_rescaled_otherwise_is_not_proved(body: tuple[Statement, ...]) -> None:
    kernel = online(*body)
    verdict = cx.verify(kernel)
    assert not verdict, str(verdict)
    if verdict.counterexample is not None:
        assert cx.replay(kernel, verdict.counterexample).shows


def test_a_tile_left_out_of_both_is_left_out_of_the_claim() -> None:
    even = online(LARGER, FACTOR, If(K % 2, Index(None, 1), (KEEP, ADD)))
    verdict = cx.verify(even)
    assert verdict.counterexample is not None, str(verdict)
    assert cx.replay(even, verdict.counterexample).shows


def test_a_maximum_that_goes_on_without_the_sum_is_not_followed() -> None:
    """In odd trips only the maximum changes, and the sum stays as it was."""
    even = If(K % 2, Index(None, 1), (ADD,))
    top = apply("max", LOW, total("j", "L", of("j"), how="max"))
    term = Where(Index("i") % 2, Index(None, 1), apply("exp2", of("i") - top), as_expression(0.0))
    kernel = online(LARGER, FACTOR, KEEP, even, claim=total("i", "L", term))
    x = np.stack([np.full((8, 16), value, np.float32) for value in (0, 1, 1)])
    assert (np.asarray(cx.run(kernel, x)) == 1.0 + 1.0 / 1.0).all()
    assert not cx.verify(kernel)


def test_a_sum_that_rounds_at_every_trip_is_not_proved() -> None:
    assert not cx.verify(online(*RIGHT, kind="bf16"))


def test_a_maximum_from_minus_infinity_is_not_proved() -> None:
    top = total("j", "L", of("j"), how="max")
    claim = total("i", "L", apply("exp2", of("i") - top))
    assert not cx.verify(online(*RIGHT, claim=claim, start=float("-inf")))


def test_registers_are_judged_where_values_are_not_known() -> None:
    claim = total("i", "L", apply("relu", of("i")))
    kernel = online(Map("sum", apply("relu", SUM) + apply("relu", X)), claim=claim)
    answers = {proof.property: proof.answer for proof in cx.verify(kernel).proofs}
    assert answers["registers"] == answers["Y coverage"] == "proved"
    assert answers["Y values"] == "undecided"
