"""Claims whose places are looked up: what they mean, what is proved of them, and what is not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from every import every
from sampling import sampled
from slipped import judged, sample
from table_slips import changed, looked_up_as

import pycute_xe as cx
from pycute_xe.errors import InputError, KernelError
from pycute_xe.holding.patience import allowed
from pycute_xe.kernel import (
    Distinct,
    Index,
    InRange,
    Kernel,
    KernelBuilder,
    Rising,
    Runs,
    Scatter,
    Specification,
    kv_cache_write,
)
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.spec.equations import read_claim
from pycute_xe.kernel.spec.evaluation import claimed_part, compute
from pycute_xe.verifying.evaluation import value_with
from pycute_xe.verifying.formula import Bounds, Place, Term, add, call
from pycute_xe.verifying.making import MADE
from pycute_xe.verifying.regions import session

T, SLOT = Index("T"), Index.element("slots", Index("t"))
K, SLOTS = Operand("K", "f32", ("T", 2)), Operand("slots", "s32", ("T",))
D = Operand("D", "f32", ("N", 2), role="inout")


def moved(
    claim: str = "D[slots[t],h] = K[t,h]", role: str = "inout", *, row: int = 0, ahead: int = 0
) -> Kernel:
    """Rows of K to their slots, or to the places of others."""
    k = KernelBuilder("moved", 1)
    source = k.input("K", "f32", ("T", 16))
    k.input("slots", "s32", ("T",))
    target = k.output("D", "f32", ("N", 16)) if role == "out" else k.inout("D", "f32", ("N", 16))
    k.assume(Distinct("slots"))
    (t,) = k.grid(t="T")
    k.load("row", source, (1, 16), at=(t + row, 0))
    k.store(target, "row", at=(Index.element("slots", t) + ahead, 0))
    return k.build(claim)


# ------------------------------------------------------------------ what a claim means


def test_places_that_are_not_named_keep_what_they_hold() -> None:
    spec = Specification((read_claim("D[slots[t],h] = K[t,h]", (K, SLOTS, D)),))
    rows, before = np.arange(6.0).reshape(3, 2), np.full((4, 2), 9.0)
    given = {"K": rows, "slots": np.array([2, -1, 0]), "D": before}
    out = compute(spec, (K, SLOTS, D), given)["D"]
    assert out.tolist() == [[4, 5], [9, 9], [0, 1], [9, 9]]
    window = (range(1, 3), range(1, 2))
    sizes = {"T": 3, "N": 4}
    assert cx.kernel.spec.evaluation.compute_part(spec, given, sizes, "D", window).tolist() == [
        [9], [1]]  # fmt: skip


def test_nothing_is_claimed_of_places_that_held_nothing() -> None:
    spec = Specification((read_claim("D[slots[t],h] = K[t,h]", (K, SLOTS, D)),))
    given = {"K": np.ones((2, 2)), "slots": np.array([3, -1])}
    told = claimed_part(spec, given, {"T": 2, "N": 4}, "D", (range(4), range(2)))
    assert told.any(axis=1).tolist() == [False, False, False, True]


def test_runs_are_as_long_as_a_table_says() -> None:
    counts = Operand("counts", "s32", ("T",))
    claim = read_claim(
        "D[slots[t]+i,h] = K[t,h] for t < T, i < counts[t], slots[t] > 0", (K, SLOTS, counts, D)
    )
    assert isinstance(claim, Scatter)
    assert [name for name, _ in claim.over] == ["t", "i", "h"]
    given = {"K": np.array([[1.0, 1], [2, 2], [3, 3]]), "slots": np.array([0, 1, 4])}
    given |= {"counts": np.array([9, 2, 1]), "D": np.zeros((5, 2))}
    out = compute(Specification((claim,)), (K, SLOTS, counts, D), given)["D"]
    assert out[:, 0].tolist() == [0, 2, 2, 0, 3]


def test_a_place_that_is_named_twice_has_no_value() -> None:
    spec = Specification((read_claim("D[slots[t],h] = K[t,h]", (K, SLOTS, D)),))
    given = {"K": np.ones((3, 2)), "slots": np.array([1, 0, 1]), "D": np.zeros((2, 2))}
    with pytest.raises(InputError, match="t = 0, h = 0 and at t = 2, h = 0"):
        compute(spec, (K, SLOTS, D), given)


UNFIT = {
    "no name": ("D[slots[t],h] = K[u,h]", "the name u is unknown"),
    "modes": ("D[slots[t]] = K[t,0]", "D has 2 modes"),
    "again and again": ("D[slots[0],h] = K[t,h] for t < T", "t names no place"),
    "outside": ("D[slots[t+1],h] = K[t,h] for t < T", r"slots\[t\+1\] lies outside slots"),
    "element": ("D[slots[t],h] = K[t+1,h]", r"K\[t\+1,h\] lies outside K"),
    "extent": ("D[slots[2*t],h] = K[t/2,h]", "nothing says how far it runs"),
    "range": ("D[slots[t],h] = K[t,h] for t", "does not say how far a variable runs"),
}


@every("name", UNFIT)
def test_claims_that_do_not_fit_are_refused(name: str) -> None:
    text, words = UNFIT[name]
    with pytest.raises(KernelError, match=words):
        Specification((read_claim(text, (K, SLOTS, D)),)).check((K, SLOTS, D))


def test_it_is_kept_in_a_document() -> None:
    kernel = moved()
    assert cx.from_json(cx.to_json(kernel)) == kernel
    assert str(kernel.computes).splitlines()[0] == "D[slots[t],h] = K[t,h] for t < T, h < 16"


# ------------------------------------------------------------------ what is proved


def test_a_write_into_slots_is_proved() -> None:
    verdict = cx.verify(moved())
    assert verdict, str(verdict)
    assert verdict.tried


WRONG = {
    "the next row": (moved(row=1), "D values", "K is taken elsewhere"),
    "the next slot": (moved(ahead=1), "D coverage", "is never written"),
    "a slot may be shared": (
        dataclasses.replace(moved(), computes=dataclasses.replace(moved().computes, tables=())),  # pyright: ignore[reportArgumentType, reportCallIssue]
        "D values",
        "is claimed twice",
    ),
    "one of two": (
        moved("D[slots[t],h] = K[t,h] for t < T, slots[t] > 0"), "D values", "does not name",
    ),
}  # fmt: skip


@every("name", WRONG)
def test_what_is_wrong_is_shown_by_a_table(name: str) -> None:
    kernel, claim, words = WRONG[name]
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    place = next(p.counterexample for p in verdict.proofs if p.property == claim)
    assert place is not None
    assert words in place.message
    assert "slots" in place.tables
    assert cx.replay(kernel, place).shows


def test_a_row_nobody_names_may_hold_anything_where_nothing_was() -> None:
    claim = "D[slots[t],h] = K[t,h] for t < T, slots[t] > 0"
    assert cx.verify(moved(claim, "out"))
    assert cx.verify(moved(claim, "inout")).answer == "disproved"


def test_assumptions_without_claims_keep_messages_inside() -> None:
    kernel = kv_cache_write(16, 64)
    assert kernel.computes is not None
    bare = dataclasses.replace(kernel, computes=dataclasses.replace(kernel.computes, claims=()))
    named = {proof.property: proof.answer for proof in cx.verify(bare).proofs}
    assert named["bounds"] == "proved"
    assert named["KC values"] == "undecided"
    none = dataclasses.replace(kernel, computes=None)
    assert cx.verify(none).answer == "disproved"


def test_a_builder_keeps_assumptions_without_claims() -> None:
    k = KernelBuilder("looks", 1)
    A, D = k.input("A", "f32", ("N", 16)), k.output("D", "f32", ("T", 16))
    k.input("slots", "s32", ("T",))
    k.assume(InRange("slots", Index("N")))
    (t,) = k.grid(t="T")
    k.load("x", A, (1, 16), at=(Index.element("slots", t), 0))
    k.store(D, "x", at=(t, 0))
    kernel = k.build()
    assert str(kernel.computes) == "assuming 0 <= slots[i] < N"
    given = np.ones((2, 16), np.float32)
    with pytest.raises(InputError, match="is assumed, and is not so at i = 1"):
        cx.run(kernel, given, np.array([0, 2], np.int32))


# ------------------------------------------------------------------ tables that are written


def written(*, assumed: bool) -> Kernel:
    """Rows at places that the kernel stores before it looks them up."""
    k = KernelBuilder("own", 1)
    A, D = k.input("A", "f32", ("N", 16)), k.output("D", "f32", ("T", 16))
    given, order = k.input("given", "s32", ("T", 16)), k.inout("order", "s32", ("T", 16))
    (t,) = k.grid(t="T")
    k.load("new", given, (1, 16), at=(t, 0))
    k.store(order, "new", at=(t, 0))
    k.load("x", A, (1, 16), at=(Index.element("order", t, 0), 0))
    k.store(D, "x", at=(t, 0))
    if assumed:
        k.assume(InRange("order", Index("N"), ("i", "j")))
    k.computes("order[t,j] = given[t,j]")
    k.computes("D[t,h] = A[order[t,0],h]")  # what lay there before is meant
    return k.build()


def test_what_a_kernel_writes_itself_is_no_table() -> None:
    """A look-up of what the kernel stores names no version of it: nothing is proved of that."""
    verdict = cx.verify(written(assumed=False))
    answers = {proof.property: proof for proof in verdict.proofs}
    assert answers["D values"].answer == "undecided", str(verdict)
    assert "known only in a run" in answers["D values"].reason
    with pytest.raises(KernelError, match="order is written by the kernel"):
        written(assumed=True)


def test_tables_of_other_modes_are_refused() -> None:
    k = KernelBuilder("other", 1)
    A, D = k.input("A", "f32", ("N", 16)), k.output("D", "f32", ("T", 16))
    k.input("pages", "s32", ("T", "N"))
    (t,) = k.grid(t="T")
    k.load("x", A, (1, 16), at=(Index.element("pages", t, 0), 0))
    k.store(D, "x", at=(t, 0))
    kernel = k.build()
    for one in (Distinct("pages"), Rising("pages", Index("N")), InRange("pages", Index("N"))):
        with pytest.raises(KernelError, match="pages has 2 modes, the assumption speaks of 1"):
            dataclasses.replace(kernel, computes=Specification((), tables=(one,)))


def test_runs_of_tables_of_other_lengths_are_refused() -> None:
    counts = Operand("counts", "s32", ("U",))
    spec = Specification((), tables=(Runs("slots", "counts", T),))
    with pytest.raises(KernelError, match="slots and counts are not equally long"):
        spec.check((K, SLOTS, counts))


# ------------------------------------------------------------------ slips


COUNTS = {"cache write, tokens first": 6, "weighted combine": 4, "rope": 3}


@pytest.mark.parametrize("number", sampled(range(sum(COUNTS.values())), 2))
@pytest.mark.long
def test_a_slip_is_disproved_by_a_table_or_refused(number: int) -> None:
    name, slip = list(sample(7, COUNTS))[number]
    assert judged(name, slip) in ("disproved", "refused", "without effect"), slip.words


def test_the_slot_of_the_token_from_the_end_is_disproved() -> None:
    def other(looked: object) -> Index:
        return Index.element("slots", T - 1 - Index("t"))

    verdict = cx.verify(changed(moved(), looked_up_as(other)))
    assert verdict.answer == "disproved"
    assert verdict.counterexample is not None
    assert set(verdict.counterexample.tables) == {"slots"}


def test_sums_of_the_same_operands_are_told_apart_beside_tables() -> None:
    forward = Term(1.0, (Place("A", ("x",)),), (), (Bounds("x", "0", "S_K"),))
    back = dataclasses.replace(forward, places=(Place("A", ("S_K - 1 - x",)),))
    both = add(call("exp2", (forward,)), call("exp2", (back,)))
    point, extents = {"S_K": 2, MADE: 0}, {"A": ("S_K",)}
    with session(), allowed(1e9):
        value = value_with(both, point, extents, lambda _, at: float(at[0] + 1))
    assert value == 16
