"""What is disproved is shown by a run: sizes that can be run, roundings, fences, pieces."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from broken_kernels import find, tiled_mma
from fuzz_kernels import not_replayed
from sampling import sampled
from shared_kernels import exchanging
from unsound_kernels import A, M, N, X, kernel, load, store

import pycute_xe as cx
from pycute_xe.errors import MachineError
from pycute_xe.kernel import (
    Expression,
    Fence,
    Fill,
    If,
    Index,
    Kernel,
    Map,
    Store,
    apply,
    rounded_to,
)
from pycute_xe.kernel.spec.expression import rebuilt
from pycute_xe.kernel.spec.reading import read_specification


def wrong_rows(first: int) -> Kernel:
    """Tiles from some row on are not loaded but filled."""
    fill = If(Index(None, first), M, (Fill("x", 5),))
    return kernel(A, load("A", "x"), fill, store("D", "x"))


@pytest.mark.parametrize("first", [0, 1, 40])
def test_a_counterexample_is_run(first: int) -> None:
    verdict = cx.verify(wrong_rows(first))
    assert verdict.answer == "disproved"
    assert verdict.counterexample is not None
    assert verdict.counterexample.sizes["M"] == 8 * (first + 1) + 1
    assert not_replayed(wrong_rows(first), verdict) == ""


@pytest.mark.parametrize("first", [2**17 - 3, 2**20 + 5])
@pytest.mark.long
def test_what_fails_at_large_sizes_is_run_where_it_fails(first: int) -> None:
    verdict = cx.verify(wrong_rows(first))
    assert verdict.answer == "disproved"
    assert verdict.counterexample is not None
    assert verdict.counterexample.sizes["M"] == 8 * (first + 1) + 1
    found = cx.replay(wrong_rows(first), verdict.counterexample)
    assert found.shows
    assert found.values[0] == 5
    # What is right there comes out right.
    assert not cx.replay(kernel(A, load("A", "x"), store("D", "x")), verdict.counterexample).shows


def test_what_fails_beyond_what_surfaces_have_is_undecided() -> None:
    verdict = cx.verify(wrong_rows(2**21))
    assert verdict.answer == "undecided"
    assert "2**24 or more" in str(verdict)
    assert verdict.counterexample is None


def test_operands_of_any_size_are_replayed() -> None:
    both = If(Index(None, 2**16), M, (If(Index(None, 2**15), N, (Fill("x", 5),)),))
    wrong = kernel(A, load("A", "x"), both, store("D", "x"))
    found = cx.verify(wrong).counterexample
    assert found is not None
    assert found.sizes["M"] * found.sizes["N"] > 2**37
    assert cx.replay(wrong, found).shows
    with pytest.raises(cx.CuteError, match="the operands take 2 TiB"):
        cx.replay(wrong, found, executor="fast")


@pytest.mark.parametrize("kind", ["bf16", "f16"])
@pytest.mark.parametrize("added", [0.0, 1.0])
def test_a_rounding_that_is_not_claimed_is_shown(kind: str, added: float) -> None:
    wrong = kernel(
        A + added, load("A", "x"), Map("x", rounded_to(kind, X + added)), store("D", "x")
    )
    verdict = cx.verify(wrong)
    assert verdict.answer == "disproved"
    assert not_replayed(wrong, verdict) == ""


def test_a_rounding_of_sums_of_integers_is_shown() -> None:
    op = cx.XE_DPAS_TT(8, "s32", "s8")
    mma = cx.workgroup_mma(op, (8, 16, 32), ((1, 1, 1), (1, 1, 0)))
    done = cx.kernel.gemm(mma, epilogue="bf16(acc)", d_type="f32")
    claimed = cx.kernel.gemm(mma, epilogue="1*acc", d_type="f32").computes
    wrong = dataclasses.replace(done, computes=claimed)
    verdict = cx.verify(wrong)
    assert verdict.answer == "disproved"
    assert not_replayed(wrong, verdict) == ""


@pytest.mark.parametrize("executor", ["reference", "fast"])
@pytest.mark.long
def test_a_missing_fence_stops_both_executors(executor: Any) -> None:
    right = exchanging()
    wrong = right.replace(Fence(), None)
    found = cx.verify(wrong).counterexample
    assert found is not None
    assert found.faults
    played = cx.replay(wrong, found, executor)
    assert isinstance(played.fault, MachineError)
    assert "fence" in str(played.fault)
    assert not cx.replay(right, found, executor).shows


def test_a_message_that_starts_inside_a_register_stops_both_executors() -> None:
    op = cx.XE_DPAS_TT(4, "s32", "s8")
    mma = cx.workgroup_mma(op, (4, 32, 32), ((1, 1, 1), (1, 1, 0)))
    wrong = cx.kernel.gemm(mma, d="col", d_type="s8", epilogue_tile=(4, 16))
    verdict = cx.verify(wrong)
    assert "starts inside a register" in str(verdict.counterexample)
    assert not_replayed(wrong, verdict) == ""


@pytest.mark.parametrize("pieces", sampled([(8, 16), (16, 16), (32, 32)], 1))
@pytest.mark.long
def test_many_pieces_of_a_tile_are_decided_at_once(pieces: tuple[int, int]) -> None:
    made = cx.kernel.gemm(tiled_mma(), epilogue="alpha*acc + beta*C", epilogue_tile=pieces)
    assert cx.verify(made)
    stores = [s for s in made.body if isinstance(s, Store)]
    wrong = made.replace(stores[-1], None)
    verdict = cx.verify(wrong)
    assert verdict.answer == "disproved", str(verdict)
    # The last piece of the first subgroup, which has 32 rows and 64 columns, lacks its corner.
    found = verdict.counterexample
    assert found is not None
    assert found.index == (32 - pieces[0], 64 - pieces[1])
    assert not_replayed(wrong, verdict) == ""


@pytest.mark.long
def test_a_piece_that_is_stored_twice_covers_once() -> None:
    made = cx.kernel.gemm(tiled_mma((32, 64, 32), (2, 2)), epilogue_tile=(8, 16))
    stores = [s for s in made.body if isinstance(s, Store)]
    again = made.replace(stores[0], (stores[0], stores[0]))
    assert cx.verify(again)
    elsewhere = dataclasses.replace(find(made, Store), at=stores[1].at)
    verdict = cx.verify(made.replace(stores[0], elsewhere))
    assert verdict.answer == "disproved"
    assert not_replayed(made.replace(stores[0], elsewhere), verdict) == ""


@pytest.mark.parametrize(
    ("once", "twice"),
    [
        (rounded_to("f16", X), rounded_to("f16", rounded_to("f16", X))),
        (apply("max", X, 0), apply("max", apply("relu", X), 0)),
        (apply("min", X, 3), apply("min", 3, apply("min", 3, X))),
        (X, apply("max", X, X)),
        (apply("clamp", X, 0, 6), apply("min", 6, apply("clamp", X, 0, 6))),
    ],
)
def test_what_is_done_twice_and_changes_nothing_is_proved(
    once: Expression, twice: Expression
) -> None:
    claim = rebuilt(once, lambda _: A)
    assert cx.verify(kernel(claim, load("A", "x"), Map("x", twice), store("D", "x")))


@pytest.mark.parametrize(
    ("said", "done"),
    [
        (rounded_to("f16", X), rounded_to("f16", rounded_to("bf16", X))),
        (rounded_to("bf16", X), rounded_to("bf16", rounded_to("bf16", X) + X)),
        (apply("max", X, 0), apply("max", apply("min", X, 0), 0)),
        (apply("max", X, 0), apply("max", 2 * apply("max", X, 0), 0)),
        (apply("max", X, 0), apply("max", apply("max", X, 0), 1)),
    ],
)
def test_what_only_looks_done_twice_is_disproved(said: Expression, done: Expression) -> None:
    claim = rebuilt(said, lambda _: A)
    wrong = kernel(claim, load("A", "x"), Map("x", done), store("D", "x"))
    verdict = cx.verify(wrong)
    assert verdict.answer == "disproved"
    assert not_replayed(wrong, verdict) == ""


@pytest.mark.long
def test_a_rounding_that_functions_hide_is_no_defect_of_the_library() -> None:
    """f16 makes gelu(-8) a zero, which it is in f32 already, and in real numbers is not."""
    made = cx.kernel.gemm(tiled_mma((32, 64, 32), (2, 2)), epilogue="gelu(acc)", d_type="bf16")
    text = "D[m,n] = f16(gelu(sum(k, A[m,k]*B[k,n], f32)))"
    wrong = dataclasses.replace(made, computes=read_specification(text, made.operands))
    verdict = cx.verify(wrong)
    assert verdict.answer in ("undecided", "disproved")
    assert "claim it as it is computed" in str(verdict)
    assert "defect" not in str(verdict)
