"""Operands that are read and written: what is read must be what lay there."""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy as np
import pytest
from broken_kernels import find, tiled_mma
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.kernel import (
    Claim,
    Element,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Operand,
    Slot,
    Specification,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.kinds.parts import gmem_stride
from pycute_xe.kernel.spec.expression import Expression

M, N, G = Index("m"), Index("n"), Index("g")
X, Y = Element("X", (M, N)), Element("Y", (M, N))
AT = (G * 8, Index())
LOAD_X = dataclasses.replace(load_of("X", "x"), at=AT)
LOAD_Y = dataclasses.replace(load_of("Y", "y"), at=AT)
STORE = dataclasses.replace(store_of("Y", "x"), at=AT)
ADD = Map("x", Slot("x") + Slot("y"))


def rows(claim: Expression, *body: Statement) -> Kernel:
    """Each work-group has 8 rows of X and Y, of 16 columns."""
    operands = (Operand("X", "f32", ("M", 16)), Operand("Y", "f32", ("M", 16), role="inout"))
    claims = Specification((Claim("Y", ("m", "n"), claim),))
    fragments = (fragment("x", "f32", 8), fragment("y", "f32", 8))
    return Kernel("rows", 1, operands, fragments, (("g", Tiles("M", 8)),), body, claims)


def disproved(kernel: Kernel, words: str) -> None:
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert words in verdict.counterexample.message
    assert cx.replay(kernel, verdict.counterexample).shows


def accumulating(**given: bool) -> Kernel:
    """D = D + A·B, D's tile loaded before the store."""
    gemm = cx.kernel.gemm(tiled_mma((32, 64, 32), (2, 2)))
    store = find(gemm, Store)
    copy = cx.make_block_2d_copy_C(gemm.mma, gmem_stride("D", "row"))
    load = Load(copy, "D", store.at, "old", store.modes)
    old = dataclasses.replace(gemm.fragment("tCrC"), name="old")
    (claim,) = gemm.computes.claims
    value = claim.value + Element("D", tuple(map(Index, claim.indices)))
    claims = Specification((dataclasses.replace(claim, value=value),))
    both = dataclasses.replace(gemm.operand("D"), role="inout")
    kernel = dataclasses.replace(
        gemm,
        operands=(*gemm.operands[:2], both),
        fragments=(*gemm.fragments, old),
        computes=claims,
    )
    add = Map("tCrC", Slot("tCrC") + Slot("old"))
    first = (store, load) if given.get("late") else (load,)
    return kernel.replace(store, (*first, add, store))


def test_a_product_added_to_what_lay_there_is_proved() -> None:
    kernel = accumulating()
    verdict = cx.verify(kernel)
    assert verdict, str(verdict)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, s).astype(ml_dtypes.bfloat16) for s in ((40, 33), (33, 70)))
    d = rng.integers(-9, 9, (40, 70)).astype(np.float32)
    out = cx.run(kernel, A=a, B=b, D=d, executor="reference")
    assert np.array_equal(out, d + a.astype(np.float32) @ b.astype(np.float32))
    assert not cx.verify(accumulating(late=True))


def test_sums_with_what_lay_there() -> None:
    assert cx.verify(rows(X + Y, LOAD_X, LOAD_Y, ADD, STORE))
    disproved(rows(X - Y, LOAD_X, LOAD_Y, ADD, STORE), "Y[0, 0]")
    disproved(rows(X, LOAD_X, LOAD_Y, ADD, STORE), "Y[0, 0]")


@pytest.mark.parametrize(
    "body",
    [
        (LOAD_X, STORE, LOAD_Y, ADD, STORE),
        (LOAD_X, LOAD_Y, ADD, STORE, LOAD_Y, ADD, STORE),
        (Loop("k", Index(), Index(None, 2), (LOAD_X, LOAD_Y, ADD, STORE)),),
    ],
)
def test_what_is_read_after_it_is_overwritten_is_not_proved(body: tuple[Statement, ...]) -> None:
    for claim in (X + Y, X + X + Y, X + X, X):
        verdict = cx.verify(rows(claim, *body))
        assert verdict.answer == "undecided", str(verdict)
    assert "loaded after it was stored" in str(cx.verify(rows(X + Y, *body)))


def test_what_another_work_group_overwrites_is_a_race() -> None:
    ahead = dataclasses.replace(LOAD_Y, at=(G * 8 + 8, Index()))
    kernel = rows(X + Y, LOAD_X, ahead, ADD, STORE)
    found = [p.counterexample for p in cx.verify(kernel).proofs if p.counterexample is not None]
    assert any("in no order" in one.message for one in found)
    assert all(cx.replay(kernel, one).shows for one in found)
    behind = dataclasses.replace(LOAD_Y, at=(G * 8 - 8, Index()))
    disproved(rows(X + Y, LOAD_X, behind, ADD, STORE), "in no order")


def test_what_is_never_written_keeps_its_value() -> None:
    keep = rows(Y, LOAD_X, If(G, Index(), (STORE,)))
    assert cx.verify(keep), str(cx.verify(keep))
    first = rows(Y, LOAD_Y, dataclasses.replace(STORE, fragment="y"))
    assert cx.verify(first)
    disproved(rows(X, LOAD_X, If(G, Index(None, 1), (STORE,))), "Y[8, 0] is never written")


def test_what_is_stored_back_disturbs_no_load() -> None:
    back = dataclasses.replace(STORE, fragment="y", at=(Index(), Index()))
    first = dataclasses.replace(LOAD_Y, at=(Index(), Index()))
    assert cx.verify(rows(Y, first, back))
