"""Claims that name what has no value: scratch, what an output held, elements outside an operand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small_kernels import fragment
from unsound_kernels import A, K, M, N, kernel, load, store

import pycute_xe as cx
from pycute_xe.errors import KernelError
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
    Tiles,
    total,
)
from pycute_xe.kernel.spec.expression import Where
from pycute_xe.kernel.spec.places import Situated, is_inside, situated_elements

LOAD, STORE = load("A", "x"), store("D", "x")
BELOW = Element("A", (M + 1, N))
ROWS, COLUMNS = Index("M"), Index("N")
W = Operand("W", "f32", ("M", "N"), role="scratch")
COUNTS = Operand("counts", "s32", ("M",), role="scratch")


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (Element("W", (M, N)), r"W\[m,n\] has no value before the kernel stores it"),
        (A + Element("D", (M, N)), r"D\[m,n\] has no value before .* role=\"inout\""),
        (Element("A", (Index.element("counts", M), N)), r"counts\[m\] has no value"),
        (BELOW, r"A\[m\+1,n\] lies outside A where M = 2, m = 1"),
        (Element("A", (M - 1, N)), "lies outside A where"),
        (Element("A", (M * 2, N)), "lies outside A where M = 2, m = 1"),
        (Where(M, ROWS, BELOW, A), "lies outside A"),
        (Where(M + 1, ROWS, A, BELOW), "lies outside A"),
        (total("k", "M", Element("A", (K + 1, N))), "lies outside A"),
    ],
)
def test_a_claim_of_what_has_no_value_is_refused(claim: Expression, words: str) -> None:
    with pytest.raises(KernelError, match=words):
        kernel(claim, LOAD, STORE, more=(W, COUNTS))


def test_what_an_operand_held_may_be_claimed() -> None:
    more = (Operand("D", "f32", ("M", "N"), role="inout"),)
    old = load("D", "x")
    assert cx.verify(kernel(Element("D", (M, N)), old, STORE, more=more))


@pytest.mark.parametrize(
    "claim",
    [
        Where(M + 1, ROWS, BELOW, A),
        Where(M, ROWS - 1, BELOW, A),
        Where(M + 1, ROWS, A, A),
        Element("A", (M // 2, N)),
        Element("A", (M % 5, N)),
        Element("A", (ROWS - 1 - M, COLUMNS - 1 - N)),
        Where(M, Index(None, 8), A, Element("A", (M - 8, N))),
    ],
)
def test_what_lies_inside_may_be_claimed(claim: Expression) -> None:
    """Whether it is what the kernel computes is another question."""
    verdict = cx.verify(kernel(claim, LOAD, STORE))
    assert "lies outside" not in str(verdict)
    ranges = (("m", ROWS), ("n", COLUMNS))
    bounded = [is_inside(one, (ROWS, COLUMNS)) for one in situated_elements(claim, ranges)]
    assert all(bounded) or claim == Element("A", (M % 5, N))  # that is left to the proof


def test_bounds_never_contradict_small_problems() -> None:
    """Indices made of what indices are made of: none shown to be inside is outside somewhere."""
    rng = np.random.default_rng(5)
    shown = 0
    for _ in range(400):
        index = Index(None, int(rng.integers(-2, 3)))
        for name in ("m", "n", "M"):
            part = Index(name, int(rng.integers(-3, 4))) * int(rng.integers(-2, 3))
            way = rng.integers(0, 4)
            divisor = int(rng.integers(1, 6))
            index = index + (part, part // divisor, part % divisor, 0)[way]
        one = Situated(Element("A", (index,)), (("m", ROWS), ("n", COLUMNS)))
        extent = (ROWS, (COLUMNS + 3) // 2, Index(None, 7))[rng.integers(0, 3)]
        if is_inside(one, (extent,)):
            shown += 1
            for rows, columns in ((1, 1), (2, 9), (9, 2), (13, 12)):
                for m in range(rows):
                    for n in range(columns):
                        env = {"M": rows, "N": columns, "m": m, "n": n}
                        assert 0 <= index.at(env) < extent.at(env)
    assert shown >= 10


def test_what_small_problems_do_not_show_is_left_to_the_proof() -> None:
    """7 M = 11 N + 1 holds first at 8 rows and 5 columns; behind the last row are zeros."""

    def chosen(below: Expression, here: Expression) -> Expression:
        near = Where(COLUMNS * 11, ROWS * 7, below, here)
        return Where(ROWS * 7, COLUMNS * 11 + 2, near, here)

    body = (LOAD, load("A", "y", (M * 8 + 1, N * 16)), Map("x", chosen(Slot("y"), Slot("x"))))
    values = cx.verify(kernel(chosen(BELOW, A), *body, STORE)).proofs[-1]
    assert values.answer == "needs"
    assert values.counterexample is not None
    assert "A[m+1,n] is claimed, and lies outside A" in values.counterexample.message
    assert values.counterexample.sizes == {"M": 8, "N": 5}


def test_a_condition_is_one_under_which_the_claim_has_a_value_everywhere() -> None:
    two, four = Index(None, 2), Index(None, 4)
    both = Element("A", (two, N)) + Element("A", (four, N))
    claim = Claim("D", ("m", "n"), both)
    operands = (Operand("A", "f32", ("M", "N")), Operand("D", "f32", (1, "N"), role="out"))
    loads = (load("A", "x", (two, N * 16)), load("A", "y", (four, N * 16)))
    body = (*loads, Map("x", Slot("x") + Slot("y")), store("D", "x", (Index(), N * 16)))
    fragments = (fragment("x", "f32", 8), fragment("y", "f32", 8))
    grid, claims = (("n", Tiles("N", 16)),), Specification((claim,))
    values = cx.verify(Kernel("both", 1, operands, fragments, grid, body, claims)).proofs[-1]
    assert (values.answer, values.condition) == ("needs", "M >= 5")


def test_what_has_a_value_at_some_sizes_is_asked_for_those_alone() -> None:
    claim = Claim("D", ("m", "n"), Element("A", (Index(None, 2), N)))
    operands = (Operand("A", "f32", ("M", "N")), Operand("D", "f32", (1, "N"), role="out"))
    body = (load("A", "x", (Index(None, 2), N * 16)), store("D", "x", (Index(), N * 16)))
    grid, claims = (("n", Tiles("N", 16)),), Specification((claim,))
    third = Kernel("third", 1, operands, (fragment("x", "f32", 8),), grid, body, claims)
    assert cx.verify(third, {"M": 3})
    found = cx.verify(third).counterexample
    assert found is not None
    assert "A[2,n] is claimed, and lies outside A" in found.message
    shown = cx.replay(third, found)
    assert shown.shows
    assert "the claim has no value at these sizes: element 2 is read" in str(shown.fault)


@pytest.mark.parametrize("name", ["W", "D"])
def test_a_loop_claims_nothing_of_what_has_no_value(name: str) -> None:
    held = (("x", Element(name, (M * 8, N * 16))),)
    loop = dataclasses.replace(Loop("k", Index(), Index(None, 2), (Fill("x", 0),)), holds=held)
    with pytest.raises(KernelError, match="has no value before the kernel stores it"):
        kernel(A, loop, LOAD, STORE, more=(W,))
