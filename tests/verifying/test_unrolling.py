"""Loops of which no form is known: small problems decide, with every trip written out."""

from __future__ import annotations

import dataclasses

import pytest
from attention_faults import FAULTS, changed, right
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.kernel import (
    Claim,
    Element,
    Expression,
    Fill,
    Index,
    Kernel,
    Loop,
    Map,
    Operand,
    Slot,
    Specification,
    apply,
    total,
)

M, N = Index("m"), Index("n")


def x(tile: int) -> Expression:
    return Element("X", (Index(None, tile), M, N))


def looped(value: Expression, claim: Expression) -> Kernel:
    """Y becomes a value of what it was and of X[k], once for every tile of X."""
    operands = (Operand("X", "f32", ("L", 8, 16)), Operand("Y", "f32", (8, 16), role="out"))
    load = dataclasses.replace(load_of("X", "x", at=(0, 0, 0)), at=(Index("k"), Index(), Index()))
    loop = Loop("k", Index(), Index("L"), (load, Map("y", value)))
    fragments = (fragment("x", "f32", 8), fragment("y", "f32", 8))
    computes = Specification((Claim("Y", ("m", "n"), claim),))
    body = (Fill("y"), loop, store_of("Y", "y"))
    return Kernel("looped", 1, operands, fragments, (), body, computes)


def horner(claim: Expression) -> Kernel:
    """A sum that is doubled, and multiplied, before the next tile is added."""
    return looped(2 * Slot("y") + Slot("x") * Slot("y") + Slot("x"), claim)


TWO = 2 * x(0) + x(1) * x(0) + x(1)


def test_what_is_right_for_given_sizes_is_proved_for_them_alone() -> None:
    kernel = horner(TWO)
    verdict = cx.verify(kernel, {"L": 2})
    assert verdict, str(verdict)
    assert verdict.scope == "L = 2"
    assert cx.verify(kernel, {"L": 3}).answer == "disproved"


def test_what_is_right_in_one_small_problem_is_wrong_in_the_next() -> None:
    found = cx.verify(horner(x(0))).counterexample
    assert found is not None
    assert found.sizes == {"L": 2}
    assert cx.replay(horner(x(0)), found).shows


def test_what_small_problems_do_not_show_stays_open() -> None:
    """The sum is never negative, so that relu does nothing; nothing is proved by that."""
    value = apply("relu", Slot("y")) + apply("relu", Slot("x"))
    every = total("j", "L", apply("relu", Element("X", (Index("j"), M, N))))
    verdict = cx.verify(looped(value, every))
    assert verdict.answer == "undecided", str(verdict)
    assert "neither a sum nor a maximum" in str(verdict)


@pytest.mark.long
def test_a_slip_of_attention_is_disproved() -> None:
    base, change = FAULTS["the maximum is not kept"]
    kernel = changed(right(base).kernel, change)
    found = cx.verify(kernel, budget=60).counterexample
    assert found is not None
    assert cx.replay(kernel, found).shows
