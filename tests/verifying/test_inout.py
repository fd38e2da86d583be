"""Operands that are read and written: what is read must be what lay there."""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy as np
import pytest
from broken_kernels import find, tiled_mma
from small_kernels import by_subgroup, fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.errors import UndecidableError
from pycute_xe.kernel import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Claim,
    Convert,
    Element,
    Fill,
    If,
    Index,
    Kernel,
    KernelBuilder,
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
from pycute_xe.kernel.spec.expression import Const, Expression, Where, apply, rounded_to
from pycute_xe.layout import Layout
from pycute_xe.verifying import prove
from pycute_xe.verifying.regions import Region

M, N, G = Index("m"), Index("n"), Index("g")
X, Y = Element("X", (M, N)), Element("Y", (M, N))
AT = (G * 8, Index())
LOAD_X = dataclasses.replace(load_of("X", "x"), at=AT)
LOAD_Y = dataclasses.replace(load_of("Y", "y"), at=AT)
STORE = dataclasses.replace(store_of("Y", "x"), at=AT)
ADD = Map("x", Slot("x") + Slot("y"))


def rows(claim: Expression, *body: Statement, subgroups: int = 1) -> Kernel:
    """Each work-group has 8 rows of X and Y, of 16 columns."""
    operands = (Operand("X", "f32", ("M", 16)), Operand("Y", "f32", ("M", 16), role="inout"))
    claims = Specification((Claim("Y", ("m", "n"), claim),))
    fragments = (fragment("x", "f32", 8), fragment("y", "f32", 8))
    return Kernel("rows", subgroups, operands, fragments, (("g", Tiles("M", 8)),), body, claims)


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


@pytest.mark.long
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


@pytest.mark.long
def test_each_subgroup_may_store_what_it_added_to_in_a_statement_of_its_own() -> None:
    kernel = accumulating()
    store = find(kernel, Store)
    verdict = cx.verify(kernel.replace(store, tuple(by_subgroup(i, store) for i in range(4))))
    assert verdict, str(verdict)


def test_sums_with_what_lay_there() -> None:
    assert cx.verify(rows(X + Y, LOAD_X, LOAD_Y, ADD, STORE))
    disproved(rows(X - Y, LOAD_X, LOAD_Y, ADD, STORE), "Y[0, 0]")
    disproved(rows(X, LOAD_X, LOAD_Y, ADD, STORE), "Y[0, 0]")


TWICE = (LOAD_X, LOAD_Y, ADD, STORE, LOAD_Y, ADD, STORE)


@pytest.mark.parametrize(
    ("body", "right"),
    [
        ((LOAD_X, STORE, LOAD_Y, ADD, STORE), X + X),
        (TWICE, X + X + Y + Y),
        ((Loop("k", Index(), Index(None, 2), (LOAD_X, LOAD_Y, ADD, STORE)),), None),
    ],
)
@pytest.mark.long
def test_what_is_read_after_it_is_overwritten_is_what_was_stored(
    body: tuple[Statement, ...], right: Expression | None
) -> None:
    """Additions in a loop that all add the same are not counted: that stays undecided."""
    if right is not None:
        assert cx.verify(rows(right, *body))
    for claim in (X + Y, X + X + X + Y, X):
        disproved(rows(claim, *body), "Y[0, 0]")


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


ADD_X, ADD_Y = (AtomicStore(STORE.copy, "Y", AT, x, STORE.modes) for x in "xy")


@pytest.mark.parametrize(
    ("claim", "body", "told", "answer"),
    [
        (Y + X + X, (LOAD_X, STORE, ADD_X), "both stored and added to", "disproved"),
        (Y + Y, (LOAD_Y, ADD_Y), "loaded while others add", "undecided"),
    ],
    ids=["stored", "loaded"],
)
def test_what_is_added_to_is_neither_stored_nor_loaded(
    claim: Expression, body: tuple[Statement, ...], told: str, answer: str
) -> None:
    """No proof decides; a run shows that a store has replaced the value that is added to."""
    kernel = rows(claim, *body)
    (values,) = [p for p in prove(kernel, {}).proofs if p.property == "Y values"]
    assert values.answer == "undecided"
    assert told in values.reason
    assert cx.verify(kernel).answer == answer


@pytest.mark.long
def test_additions_that_round_are_not_proved() -> None:
    op = cx.XE_DPAS_TT(8, "bf16", "bf16")
    kernel = cx.kernel.split_k(cx.workgroup_mma(op, (16, 32, 32), ((1, 1, 1), (1, 1, 0))), 2)
    (values,) = [p for p in cx.verify(kernel).proofs if p.property == "D values"]
    assert values.reason.startswith("every addition to it rounds to bf16")


def test_a_later_store_that_is_not_always_done_leaves_what_was_stored() -> None:
    small = If(Index("M"), Index(None, 9), (STORE,))
    body = (LOAD_X, Map("x", Slot("x") * 2), STORE, LOAD_X, small)
    disproved(rows(X, *body), "Y[0, 0]")
    assert cx.verify(rows(Where(Index("M"), Index(None, 9), X, 2 * X), *body))


def test_what_a_barrier_orders_is_not_said_to_be_a_race() -> None:
    """Two subgroups store 8 rows each, and load the 8 behind these: the other's, and none's."""
    rows_of_two = Layout(((16, 2), 8), ((16, 8), 1))
    store, load = (
        dataclasses.replace(s, copy=cx.make_tiled_copy(s.copy.atom, rows_of_two, (16, 16)), at=at)
        for s, at in ((STORE, AT), (LOAD_Y, (G * 8 + 8, Index())))
    )
    for between, answer in (((BarrierArrive(), BarrierWait()), "undecided"), ((), "disproved")):
        kernel = rows(X, Fill("x", 2.0), store, *between, load, subgroups=2)
        assert values_of(dataclasses.replace(kernel, grid=(("g", Index(None, 1)),))) == answer


def test_what_a_subgroup_stored_itself_is_not_said_to_be_a_race() -> None:
    """Subgroup 0 stores, and behind a barrier both load."""
    first = If(Index("subgroup"), Index(None, 1), (by_both(STORE),))
    body = (Fill("x", 2.0), first, BarrierArrive(), BarrierWait(), by_both(LOAD_Y))
    verdict = cx.verify(rows(X, *body, subgroups=2))
    assert verdict.counterexample is not None  # it stores 2, and a run shows that
    assert not verdict.counterexample.faults


BOTH = Layout(((16, 2), 8), ((8, 0), 1))
EXP = apply("exp", X)


def by_both(one: Load | Store, at: tuple[Index, Index] = AT) -> Load | Store:
    """The statement done by two subgroups, to the same elements."""
    return dataclasses.replace(one, copy=cx.make_tiled_copy(one.copy.atom, BOTH, (8, 16)), at=at)


@pytest.mark.parametrize(
    ("claim", "maps", "answer"),
    [
        (X, (), "proved"),
        (EXP, (Map("x", apply("exp", Slot("x"))),), "undecided"),
        (
            Where(Index("M"), Index(None, 9), X, EXP),
            (Map("x", Where(Index("M"), Index(None, 9), Slot("x"), apply("exp", Slot("x")))),),
            "undecided",
        ),
    ],
    ids=["copied", "computed", "copied or computed"],
)
def test_two_subgroups_may_store_what_is_copied(
    claim: Expression, maps: tuple[Statement, ...], answer: str
) -> None:
    kernel = rows(claim, by_both(LOAD_X), *maps, by_both(STORE), subgroups=2)
    assert values_of(kernel) == answer


def values_of(kernel: Kernel) -> str:
    return next(p.answer for p in cx.verify(kernel).proofs if p.property == "Y values")


def test_what_is_computed_and_converted_rounds_too() -> None:
    narrow = cx.as_numeric("bf16")
    out = dataclasses.replace(store_of("Y", "y", "bf16"), at=AT)
    body = (by_both(LOAD_X), Map("x", apply("exp", Slot("x"))), Convert("x", "y"), by_both(out))
    operands = Operand("X", "f32", ("M", 16)), Operand("Y", "bf16", ("M", 16), role="out")
    claims = Specification((Claim("Y", ("m", "n"), rounded_to(narrow, EXP)),))
    fragments = fragment("x", "f32", 8), fragment("y", "bf16", 8)
    grid = (("g", Tiles("M", 8)),)
    assert values_of(Kernel("both", 2, operands, fragments, grid, body, claims)) == "undecided"


def test_work_groups_whose_tiles_overlap_store_in_no_order() -> None:
    at = (G * 4, Index())
    load, store = (dataclasses.replace(s, at=at) for s in (LOAD_X, STORE))
    kernel = rows(EXP, load, Map("x", apply("exp", Slot("x"))), store)
    assert values_of(dataclasses.replace(kernel, grid=(("g", Tiles("M", 4)),))) == "undecided"


def test_what_is_left_out_under_a_condition_is_missing() -> None:
    """Under a condition x is 0."""
    half = Map("x", Where(Index("M"), Index(None, 9), Slot("x"), Const(0.0)))
    disproved(rows(X, LOAD_X, half, STORE), "Y[")


@pytest.mark.parametrize(
    ("size", "answer"), [(1 << 20, "disproved"), (1 << 23, "disproved"), (1 << 24, "undecided")]
)
def test_what_only_large_problems_show_is_replayed(size: int, answer: str) -> None:
    twice = If(Index(None, size), Index("M"), (Map("x", Slot("x") * 2),))
    verdict = cx.verify(rows(X, LOAD_X, twice, STORE))
    (values,) = [p for p in verdict.proofs if p.property == "Y values"]
    assert values.answer == answer
    if verdict.counterexample is None:
        assert "an extent is 2**24 or more" in values.reason
    else:
        assert cx.replay(rows(X, LOAD_X, twice, STORE), verdict.counterexample).shows


@pytest.mark.parametrize("told", ["X is finite", "o_0 is a word of its own, and n_0 another"])
def test_what_a_claim_assumes_is_told(told: str) -> None:
    kernel = rows(X, LOAD_X, STORE)
    assert kernel.computes is not None
    assumed = dataclasses.replace(kernel.computes, assumes=(told,))
    verdict = cx.verify(dataclasses.replace(kernel, computes=assumed))
    (values,) = [p for p in verdict.proofs if p.property == "Y values"]
    assert told in values.assumptions
    assert f"assuming {told}" in str(verdict)


def columns_added(first: Index | int = 0, last: Index | str = "K") -> Kernel:
    """R[n] += the sum of a column of A, its rows from one to another."""
    k = KernelBuilder("columns", 1)
    A, R = k.input("A", "f32", ("K", "N")), k.inout("R", "f32", ("N",))
    (n,) = k.grid(n=Tiles("N", 16))
    k.fill("s", k.parts((1, 16), (1, 1)))
    with k.loop("i", first, Index(last) if isinstance(last, str) else last) as i:
        k.load("x", A, (1, 16), at=(i, n * 16))
        k.map("s", "s + x")
    k.atomic_add(R, "s", at=n * 16)
    return k.build("R[n] = R[n] + sum(k, A[k,n])")


def test_rows_that_are_left_out_by_their_column_are_missed() -> None:
    """Names of what is added are not those of where it is added."""
    n = Index("n")
    assert prove(columns_added())
    for wrong in (columns_added(n * 16), columns_added(n * 16, n * 16 + 16), columns_added(1)):
        verdict = prove(wrong)
        assert verdict.answer == "disproved", verdict
        assert verdict.counterexample is not None
        assert cx.replay(wrong, verdict.counterexample).shows


def test_one_name_for_two_coordinates_is_refused() -> None:
    with pytest.raises(UndecidableError, match="two coordinates are called u_0"):
        Region.where(("u_0", "n", "u_0"), "u_0 < n")
