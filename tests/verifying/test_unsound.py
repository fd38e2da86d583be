"""Kernels that once were proved and are wrong: a run shows it, and no proof may pass them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from unsound_kernels import GRID, A, K, M, N, X, Y, differs, kernel, load, not_proved, store

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.kernel import (
    Claim,
    Convert,
    Element,
    Expression,
    Fill,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Mma,
    Operand,
    Slot,
    Specification,
    Tiles,
    apply,
    total,
)
from pycute_xe.kernel.spec.expression import Const, Where
from pycute_xe.verifying.prover import prove

BF16 = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0)))

# ---------------------------------------------------------------- sums and maxima in one loop


def gemm_with(change: Any, kinds: tuple[str, str] = ("f32", "bf16")) -> Kernel:
    depth = 16 if kinds[1] == "bf16" else 32
    op = cx.XE_DPAS_TT(8, *kinds)
    mma = cx.workgroup_mma(op, (8, 16, depth), ((1, 1, 1), (1, 1, 0)))
    made = cx.kernel.gemm(mma, stages=0)
    multiply = next(s for s in made.statements() if isinstance(s, Mma))
    return made.replace(multiply, change(multiply))


def clipped(function: str) -> Map:
    return Map("tCrC", apply(function, Slot("tCrC"), 0))


def test_a_maximum_and_then_a_product_in_each_trip() -> None:
    wrong = gemm_with(lambda multiply: (clipped("max"), multiply))
    a = np.ones((8, 32), np.float32)
    a[:, :16] = -1
    differs(wrong, np.zeros((8, 16)), a, np.ones((32, 16), np.float32), dtype="bf16")
    not_proved(wrong)


def test_a_minimum_and_then_a_product_of_integers_in_each_trip() -> None:
    wrong = gemm_with(lambda multiply: (clipped("min"), multiply), ("s32", "s8"))
    differs(wrong, 64, np.ones((8, 64), np.int8), np.ones((64, 16), np.int8))
    not_proved(wrong)


def test_a_product_and_then_a_maximum_in_each_trip() -> None:
    t, q = Index("t"), Index("q")
    product = Element("A", (M, t * 16 + q)) * Element("B", (t * 16 + q, N))
    inner = total("t", Tiles("K", 16), total("q", 16, product), how="max")
    zeros = total("t", Tiles("K", 16), Const(0.0), how="max")
    claim = apply("max", apply("max", 0, inner), zeros)
    made = gemm_with(lambda multiply: (multiply, clipped("max")))
    wrong = dataclasses.replace(made, computes=Specification((Claim("D", ("m", "n"), claim),)))
    ones = np.ones((8, 32), np.float32), np.ones((32, 16), np.float32)
    differs(wrong, 16, *ones, dtype="bf16")
    not_proved(wrong, K=32)


# ---------------------------------------------------------------- what a type holds


@pytest.mark.parametrize(("wide", "narrow", "value"), [("f32", "bf16", 1.001), ("s32", "s8", 300)])
def test_a_map_that_only_copies_rounds_to_a_narrower_type(
    wide: str, narrow: str, value: float
) -> None:
    body = (load("A", "x", kind=wide), Map("y", X), Convert("y", "x"), store("D", "x", kind=wide))
    wrong = kernel(A, *body, kinds=(wide, narrow, wide))
    differs(wrong, value, np.full((3, 5), value, numpy_dtype(wide)))
    verdict = cx.verify(wrong)
    assert verdict.answer == "disproved"


@pytest.mark.parametrize("value", [X * 0.5, apply("tanh", X), X / X])
def test_fractions_in_integers_are_not_followed(value: Expression) -> None:
    body = (load("A", "x", kind="s32"), Map("x", value), store("D", "x", kind="s32"))
    claim = A * 0.5 if value == X * 0.5 else apply("tanh", A)
    wrong = kernel(claim, *body, kinds=("s32", "s32", "s32"))
    with pytest.raises(KernelError, match="may be a fraction"):
        cx.run(wrong, np.ones((3, 5), np.int32), executor="reference")
    assert cx.verify(wrong).answer == "undecided"


def test_whole_numbers_in_integers_are_followed() -> None:
    body = (load("A", "x", kind="s32"), Map("x", X * 2 + 1), store("D", "x", kind="s32"))
    assert cx.verify(kernel(A * 2 + 1, *body, kinds=("s32", "s32", "s32")))


def test_a_constant_beyond_f32_is_not_a_real_number() -> None:
    wrong = kernel(A, load("A", "x"), Map("x", X * 1e300 * 1e-300), store("D", "x"))
    differs(wrong, 1, np.ones((3, 5), np.float32))
    assert "infinite" in str(not_proved(wrong))


def test_zero_times_infinity_is_not_zero() -> None:
    body = (load("A", "x"), Fill("y", float("inf")), Map("x", X + Y * 0), store("D", "x"))
    wrong = kernel(A, *body)
    differs(wrong, 1, np.ones((3, 5), np.float32))
    assert "D[0, 0] is nan" in str(not_proved(wrong).counterexample)


def test_a_divisor_that_a_condition_makes_zero() -> None:
    fill = (Fill("y", 0), If(M, Index(None, 1), (Fill("y", 2),)))
    wrong = kernel(0.5 * A, load("A", "x"), *fill, Map("x", X / Y), store("D", "x"))
    differs(wrong, 0.5, np.ones((11, 5), np.float32))
    not_proved(wrong)


def test_what_is_assumed_of_numbers_is_said() -> None:
    said = " ".join(cx.verify(kernel(A, load("A", "x"), store("D", "x"))).assumptions)
    for words in ("every number that is computed", "zeros that pad", "overflows", "by zero"):
        assert words in said


# ---------------------------------------------------------------- indices beside the surface


@pytest.mark.parametrize("off", [1, -1])
@pytest.mark.parametrize("verb", ["load", "store"])
def test_an_index_beside_the_surface_is_inside(verb: str, off: int) -> None:
    at, away = (Index("l"), M * 8, N * 16), (Index("l") + off, M * 8, N * 16)
    loads = load("A", "x", away if verb == "load" else at)
    stores = store("D", "x", away if verb == "store" else at)
    batched = (
        Operand("A", "f32", ("L", "M", "N")),
        Operand("D", "f32", ("L", "M", "N"), role="out"),
    )
    claim = Element("A", (Index("l"), M, N))
    wrong = kernel(claim, loads, stores, more=batched, grid=(("l", Index("L")), *GRID))
    for executor in ("reference", "fast"):
        with pytest.raises(MachineError, match="outside"):
            cx.run(wrong, np.ones((3, 8, 16), np.float32), executor=executor)
    verdict = not_proved(wrong)
    assert {p.property: p.answer for p in verdict.proofs}["bounds"] == "disproved"


@pytest.mark.long
def test_a_grid_of_batches_is_not_rounded_up() -> None:
    made = cx.kernel.gemm(BF16, batch=True)
    assert cx.verify(made)
    wrong = dataclasses.replace(made, grid=(("l", Tiles("L", 2) * 2), *made.grid[1:]))
    verdict = cx.verify(wrong)
    assert verdict.answer == "needs"
    assert [p.condition for p in verdict.proofs if not p] == ["(L) mod 2 = 0"]
    assert cx.verify(wrong, {"L": 4})
    assert not_proved(wrong, L=3).answer == "disproved"


def test_a_loop_under_a_condition_keeps_its_index_inside() -> None:
    ops = (Operand("A", "f32", ("K", "M", "N")),)
    step = load("A", "x", (K, M * 8, N * 16))
    for bound, answer in ((Index("K"), True), (Index("K") + 1, False)):
        loop = Loop("k", Index(), Index("K") + 3, (If(K, bound, (step,)),))
        made = kernel(0.0, Fill("x", 0.0), loop, Fill("x", 0.0), store("D", "x"), more=ops)
        answers = {p.property: p.answer for p in cx.verify(made).proofs}
        assert (answers["bounds"] == "proved") is answer


# ---------------------------------------------------------------- two writers


def test_two_work_groups_that_round_in_two_ways() -> None:
    twice = (*GRID, ("r", Index(None, 2)))
    other = If(Index("r"), Index(None, 1), (Map("z", (X + 1e4) + (Y - 1e4)),))
    body = (load("A", "x"), load("B", "y"), Map("z", X + Y), other, store("D", "z"))
    more = (Operand("B", "f32", ("M", "N")),)
    wrong = kernel(A + Element("B", (M, N)), *body, more=more, grid=twice)
    x = np.full((3, 5), 0.3, np.float32)
    with pytest.raises(MachineError, match="race"):
        cx.run(wrong, x, x, executor="reference")
    assert "two subgroups" in str(not_proved(wrong))


def test_two_work_groups_may_store_one_copy() -> None:
    twice = (*GRID, ("r", Index(None, 2)))
    assert cx.verify(kernel(A, load("A", "x"), store("D", "x"), grid=twice))


# ---------------------------------------------------------------- right ones


def test_a_store_that_a_later_one_covers_is_not_a_counterexample() -> None:
    batches = (Operand("A", "f32", ("K", "M", "N")),)
    again = If(K, Index("K") - 1, (store("D", "y"),))
    trip = (load("A", "x", (K, M * 8, N * 16)), store("D", "x"), again)
    claim = Element("A", (Index("K") - 1, M, N))
    right = kernel(claim, Fill("y"), Loop("k", Index(), Index("K"), trip), more=batches)
    a = np.random.default_rng(0).standard_normal((3, 8, 16)).astype(np.float32)
    assert np.array_equal(cx.run(right, a, executor="reference"), a[-1])
    verdict = cx.verify(right)
    assert verdict.answer != "disproved", str(verdict)


# ---------------------------------------------------------------- sums that take an element twice


def test_a_sum_that_takes_every_element_twice() -> None:
    """The elements are those that are claimed; each of them is there in two trips."""
    right = gemm_with(lambda multiply: multiply)
    loop = right.loop("k")
    half = {"k": Index("k") // 2}
    body = tuple(
        dataclasses.replace(s, at=tuple(i.substitute(half) for i in s.at))
        if isinstance(s, Load)
        else s
        for s in loop.body
    )
    wrong = right.replace(loop, dataclasses.replace(loop, stop=loop.stop * 2, body=body))
    differs(wrong, np.full((8, 16), 16), np.ones((8, 16)), np.ones((16, 16)), dtype="bf16")
    not_proved(wrong)


def test_a_claim_that_takes_every_element_twice() -> None:
    right = gemm_with(lambda multiply: multiply)
    product = Element("A", (M, K)) * Element("B", (K, N))
    claim = Claim("D", ("m", "n"), total("j", 2, total("k", "K", product)))
    not_proved(dataclasses.replace(right, computes=Specification((claim,))))


# ---------------------------------------------------------------- roundings under conditions


@pytest.mark.parametrize("right", [True, False])
def test_terms_that_share_a_condition_are_rounded_together(right: bool) -> None:
    """Both terms count where the condition holds: s8 of a sum is not the sum of two s8."""

    def clamped(value: Expression) -> Expression:
        return value if right else apply("clamp", value, -128, 127)

    value = A + Where(N, Index(None, 16), Const(0.0), Element("B", (M, N)))
    modes = ("M", "N")
    later = If(Index(), N, (Map("z", Slot("z") + clamped(Slot("w"))),))
    made = kernel(
        Where(M, Index(None, 8), A, value),
        load("A", "x", kind="s32"),
        load("B", "w", kind="s32"),
        Map("z", X),
        If(Index(), M, (Map("z", clamped(X)), later)),
        Convert("z", "y"),
        store("D", "y", kind="s8"),
        kinds=("s32", "s8", "s32", "s32"),
        more=(Operand("B", "s32", modes), Operand("D", "s8", modes, role="out")),
    )
    assert prove(made).answer == ("proved" if right else "disproved")
    large = np.full((16, 32), 200, np.int32)
    stored = np.asarray(cx.run(made, large, -large, executor="reference"))
    assert stored[8, 16] == (0 if right else 127 - 128)
