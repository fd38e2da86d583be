"""Loops that add only under a condition: what is left out adds nothing."""

from __future__ import annotations

import pytest
from broken_kernels import find, tiled_mma
from fuzz_kernels import not_replayed
from unsound_kernels import K, M, N, X, kernel, load, store

import pycute_xe as cx
from pycute_xe.kernel import (
    Element,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Map,
    Mma,
    Operand,
    Slot,
    Statement,
    Tiles,
    apply,
    total,
)
from pycute_xe.kernel.spec.expression import Const, Where

BATCHES = (Operand("A", "f32", ("K", "M", "N")),)
Z = Slot("z")
A = Element("A", (K, M, N))


def adding(*body: Statement, first: int = 4) -> Kernel:
    """z takes what a loop over k adds; the first elements of A are claimed."""
    trip = (load("A", "x", (K, M * 8, N * 16)), *body)
    loop = Loop("k", Index(), Index("K"), trip)
    claim = total("k", "K", Where(K, Index(None, first), A, Const(0.0)))
    return kernel(claim, Fill("z"), loop, store("D", "z"), more=BATCHES)


def early(bound: int, *body: Statement) -> If:
    return If(K, Index(None, bound), body)


PLUS = Map("z", Z + X)
TWICE = (PLUS, Map("z", Z - X))


@pytest.mark.parametrize("first", [1, 4])
@pytest.mark.long
def test_what_is_added_under_the_claimed_condition_is_proved(first: int) -> None:
    assert cx.verify(adding(early(first, PLUS), first=first))
    assert cx.verify(adding(early(first, PLUS, *TWICE), *TWICE, first=first))
    assert cx.verify(adding(early(first + 1, early(first, PLUS)), first=first))


@pytest.mark.parametrize(
    "body",
    [
        (early(3, PLUS),),
        (early(5, PLUS),),
        (PLUS,),
        (early(4, PLUS), PLUS),
        (early(4, PLUS), early(1, PLUS)),
        (If(Index(None, 3), K, (PLUS,)),),
        (early(4, Map("z", Z + X + 1)),),
        (early(4, Map("z", Z + 2 * X)),),
    ],
)
def test_another_condition_or_another_term_is_disproved(body: tuple[Statement, ...]) -> None:
    wrong = adding(*body)
    verdict = cx.verify(wrong)
    assert verdict.answer == "disproved", str(verdict)
    assert not_replayed(wrong, verdict) == ""


@pytest.mark.parametrize(
    "step",
    [
        Map("z", apply("max", Z, X)),
        Map("z", Z * X),
        Map("z", Z + Z),
        Map("z", X),
        Map("z", Where(K, Index(None, 2), Z + X, apply("max", Z, X))),
    ],
)
def test_what_is_not_added_is_never_proved(step: Map) -> None:
    assert not cx.verify(adding(early(4, step)))


@pytest.mark.long
def test_products_under_a_condition() -> None:
    gemm = cx.kernel.gemm(tiled_mma((16, 32, 32), (2, 2)), stages=0)
    multiply = find(gemm, Mma)
    assert cx.verify(gemm.replace(multiply, If(K, Tiles("K", 32), (multiply,))))
    for condition in ((K, Index(None, 2)), (Index(), K)):
        wrong = gemm.replace(multiply, If(*condition, (multiply,)))
        verdict = cx.verify(wrong)
        assert verdict.answer == "disproved"
        assert not_replayed(wrong, verdict) == ""
