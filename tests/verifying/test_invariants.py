"""What loops claim to hold: shown by induction and then used, or nothing is shown at all."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from broken_kernels import find, tiled_mma
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.kernel import (
    Claim,
    Element,
    Fill,
    Index,
    Kernel,
    Loop,
    Map,
    Mma,
    Operand,
    Slot,
    Specification,
    Statement,
    Tiles,
)
from pycute_xe.kernel.spec.expression import Expression, Total, Where, as_expression

K, M, N, E, S = map(Index, ("k", "m", "n", "element", "subgroup"))
X = Element("X", (M, N))
ONE = Index(None, 1)


def looping(claim: Expression, holds: Expression | None, *body: Statement) -> Kernel:
    """X is loaded into x, y is 1 at first, a loop does something, y is stored."""
    operands = (
        Operand("X", "f32", (8, 16)),
        Operand("R", "f32", ("L",)),
        Operand("Y", "f32", (8, 16), role="out"),
    )
    claims = Specification((Claim("Y", ("m", "n"), claim),))
    fragments = (fragment("x", "f32", 8), fragment("y", "f32", 8))
    held = () if holds is None else (("y", holds),)
    loop = Loop("k", Index(), Index("L"), body, held)
    whole = (load_of("X", "x"), Fill("y", 1.0), loop, store_of("Y", "y"))
    return Kernel("looping", 1, operands, fragments, (("g", ONE),), whole, claims)


def alternating(index: Index, first: float, second: float) -> Expression:
    return Where(index % 2, ONE, as_expression(first), as_expression(second))


FLIP = Map("y", 1.0 - Slot("y"))


def test_a_claim_that_is_so_is_used() -> None:
    claim = alternating(Index("L"), 1.0, 0.0)
    assert cx.verify(looping(claim, None, FLIP)).answer == "undecided"
    verdict = cx.verify(looping(claim, alternating(K, 1.0, 0.0), FLIP))
    assert verdict, str(verdict)
    assert "invariants" in [proof.property for proof in verdict.proofs]
    for length in (1, 2, 3):
        kernel = looping(claim, alternating(K, 1.0, 0.0), FLIP)
        given = {"X": np.ones((8, 16), np.float32), "R": np.ones(length, np.float32)}
        assert (np.asarray(cx.run(kernel, **given)) == 1 - length % 2).all()


def test_a_true_claim_shows_a_wrong_specification() -> None:
    kernel = looping(alternating(Index("L"), 0.0, 1.0), alternating(K, 1.0, 0.0), FLIP)
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert cx.replay(kernel, verdict.counterexample).shows


@pytest.mark.parametrize(
    ("holds", "words"),
    [
        (alternating(K, 0.0, 1.0), "at its start"),
        (alternating(K, 1.0, 2.0), "after a trip"),
        (as_expression(1.0), "after a trip"),
        (Slot("y"), "claims something of y"),
        (alternating(E, 1.0, 0.0), "at its start"),
    ],
)
def test_a_wrong_claim_proves_nothing(holds: Expression, words: str) -> None:
    right = cx.verify(looping(alternating(Index("L"), 1.0, 0.0), holds, FLIP))
    assert right.answer == "undecided", str(right)
    assert right.counterexample is None
    assert words in str(right)
    for claim in (as_expression(1.0), as_expression(7.0)):
        kernel = looping(claim, holds, FLIP)
        verdict = cx.verify(kernel)
        # With every trip written out, or by a run that differs.
        assert verdict.answer == "disproved", str(verdict)
        assert words in str(verdict)
        if verdict.counterexample is not None:
            assert cx.replay(kernel, verdict.counterexample).shows


def test_a_claim_in_terms_of_fragments_and_elements() -> None:
    swap = Map("y", Slot("x") - Slot("y"))
    held = Where(K % 2, ONE, as_expression(1.0), Slot("x") - 1.0)
    claim = Where(Index("L") % 2, ONE, as_expression(1.0), X - 1.0)
    assert cx.verify(looping(claim, held, swap))
    by_place = Where(K % 2, ONE, as_expression(1.0), Element("X", (E // 16, E % 16)) - 1.0)
    assert cx.verify(looping(claim, by_place, swap))
    turned = Where(K % 2, ONE, as_expression(1.0), Element("X", (E % 8, E // 8)) - 1.0)
    assert cx.verify(looping(claim, turned, swap)).answer == "undecided"


def test_a_loop_that_may_not_be_run() -> None:
    later = dataclasses.replace(
        looping(alternating(Index("L") + 1, 1.0, 0.0), alternating(K, 1.0, 0.0), FLIP),
    )
    short = later.replace(
        later.loop("k"), dataclasses.replace(later.loop("k"), stop=Index("L") - 1)
    )
    assert cx.verify(short)


def test_a_claim_in_terms_of_a_fragment_of_another_size() -> None:
    made = looping(X, None, Map("y", Slot("x")))
    loop = dataclasses.replace(made.loop("k"), holds=(("y", Slot("w")),))
    for count, words in ((8, "at its start"), (16, "claims something of w")):
        kernel = dataclasses.replace(
            made,
            fragments=(*made.fragments, fragment("w", "f32", count)),
            body=(Fill("w", 2.0), *made.body[:2], loop, made.body[-1]),
        )
        verdict = cx.verify(kernel)
        assert verdict.answer == "undecided"
        assert words in str(verdict)


@pytest.mark.long
def test_a_claimed_sum_in_a_narrow_type() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "bf16", "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0)))
    gemm = cx.kernel.gemm(mma, stages=0)
    loop = gemm.loop("k")
    m, n = Index("m") * 8 + E // 16, Index("n") * 16 + E % 16
    product = Element("A", (m, Index("q"))) * Element("B", (Index("q"), n))
    for kind, words in (("bf16", "a sum accumulated in bf16"), ("f32", "after a trip")):
        holds = (("tCrC", Total("sum", (("q", K * 16),), product, cx.as_numeric(kind))),)
        verdict = cx.verify(gemm.replace(loop, dataclasses.replace(loop, holds=holds)))
        assert verdict.answer == "undecided"
        assert words in str(verdict)


@pytest.mark.long
def test_the_sum_of_a_product_as_a_claim() -> None:
    gemm = cx.kernel.gemm(tiled_mma((8, 16, 16), (1, 1)), stages=0)
    loop = gemm.loop("k")
    m, n = Index("m") * 8 + E // 16, Index("n") * 16 + E % 16
    product = Element("A", (m, Index("q"))) * Element("B", (Index("q"), n))

    def claimed(extent: Index) -> Kernel:
        holds = (("tCrC", Total("sum", (("q", extent),), product, cx.as_numeric("f32"))),)
        return gemm.replace(loop, dataclasses.replace(loop, holds=holds))

    verdict = cx.verify(claimed(K * 16))
    assert verdict, str(verdict)
    assert cx.verify(claimed(K * 16 + 1)).answer == "undecided"
    assert cx.verify(claimed(K * 8)).answer == "undecided"
    right = claimed(K * 16)
    twice = right.replace(find(right, Mma), (find(right, Mma), find(right, Mma)))
    found = cx.verify(twice).counterexample
    assert found is not None
    assert cx.replay(twice, found).shows
    assert Tiles("K", 16) == loop.stop
