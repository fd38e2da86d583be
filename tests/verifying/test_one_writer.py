"""Places that a claim does not name: two work-groups that store there in no order are no proof."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.kernel import (
    Distinct,
    Index,
    InRange,
    Kernel,
    KernelBuilder,
    Permutation,
    Rising,
    Runs,
)
from pycute_xe.kernel.spec.tables import Assumption, Sorted
from pycute_xe.verifying.prover import prove

T, N = Index("T"), Index("N")
NOTHING = "D[S[t],h] = A[t,h] for t < T, t > T"
"""A claim that names no place."""


def looked(name: str, *at: Index | int) -> Index:
    return Index.element(name, *(Index(None, i) if isinstance(i, int) else i for i in at))


def entry(t: Index) -> Index:
    return looked("S", t)


DIFFERENT = (Distinct("S"),)
RISING = (Rising("S", N),)
BOTH = (Permutation("S"), Permutation("P"))
RUNS = (Runs("S", "P", N),)


@dataclass(frozen=True)
class Moves:
    """Rows of A that go to places of D: by work-groups t, by each of q, for j in order."""

    place: Callable[[Index, Index, Index], Index]
    assumed: tuple[Assumption, ...] = DIFFERENT
    turns: Callable[[Index], Index] | None = None
    row: Callable[[Index, Index, Index], Index] = field(default=lambda t, _q, _j: t)
    groups: Index = T
    beside: int = 1
    again: Callable[[Index, Index, Index], Index] | None = None
    when: Callable[[Index], tuple[Index, int]] | None = None
    claim: str = NOTHING


def moved(given: Moves, page: int = 0) -> Kernel:
    k = KernelBuilder("moved", 1)
    A = k.input("A", "f32", ("T", 16))
    k.input("S", "s32", (T + 1,))
    k.input("P", "s32", (T + 1,))
    D = k.output("D", "f32", ("N", page, 16) if page else ("N", 16))
    k.assume(*given.assumed)
    t, q = k.grid(t=given.groups, q=given.beside)
    k.prefetch(A, (1, 16), at=(looked("S", t) + looked("P", t), 0))  # all tables are used
    with ExitStack() as stack:
        if given.when is not None:
            index, above = given.when(t)
            stack.enter_context(k.when(above < index))
        j = Index(None, 0)
        if given.turns is not None:
            j = stack.enter_context(k.loop("j", 0, given.turns(t)))
        k.load("x", A, (1, 16), at=(given.row(t, q, j), 0))
        at = given.place(t, q, j)
        k.store(D, "x", at=(at // page, at % page, 0) if page else (at, 0))
        if given.again is not None:
            k.store(D, "x", at=(given.again(t, q, j), 0))
    claim = given.claim.replace("D[S[t],", f"D[S[t]/{page},S[t]%{page},") if page else given.claim
    return k.build(claim)


RIGHT = {
    "slots that differ": Moves(lambda t, _q, _j: entry(t)),
    "a permutation": Moves(lambda t, _q, _j: entry(t), BOTH),
    "one looked up by another": Moves(
        lambda t, _q, _j: entry(looked("P", t)), BOTH, claim=NOTHING.replace("S[t]", "S[P[t]]")),
    "no table": Moves(lambda t, _q, _j: t),
    "from the end": Moves(lambda t, _q, _j: N - 1 - entry(t), (*DIFFERENT, InRange("S", N))),
    "two rows each": Moves(lambda t, _q, j: entry(t) * 2 + j, turns=lambda _: Index(None, 2),
                           assumed=BOTH),
    "rows between entries": Moves(
        lambda t, _q, j: entry(t) + j, RISING, lambda t: entry(t + 1) - entry(t)),
    "runs": Moves(lambda t, _q, j: entry(t) + j, RUNS, lambda t: looked("P", t)),
    "one thread, in order": Moves(
        lambda _t, _q, j: entry(j), (), lambda _: T, row=lambda _t, _q, j: j,
        groups=Index(None, 1)),
    "the same row by all": Moves(lambda _t, _q, _j: N - 1, row=lambda _t, _q, _j: Index()),
    "the same row by two": Moves(lambda t, _q, _j: entry(t), beside=2),
    "one of them": Moves(lambda _t, _q, _j: Index(), when=lambda t: (1 - t, 0)),
    "twice by one": Moves(lambda t, _q, _j: entry(t), again=lambda t, _q, _j: entry(t)),
    "even and odd": Moves(lambda t, _q, _j: entry(t) * 2, BOTH,
                          again=lambda t, _q, _j: entry(t) * 2 + 1),
    "what is left is claimed": Moves(
        lambda t, _q, _j: entry(t), claim="D[S[t],h] = A[t,h] for t < T, t > 3"),
}  # fmt: skip

WRONG = {
    "slots that may be equal": Moves(lambda t, _q, _j: entry(t), (InRange("S", N),)),
    "slots in order": Moves(lambda t, _q, _j: entry(t), (Sorted("S"), InRange("S", N))),
    "halves": Moves(lambda t, _q, _j: entry(t) // 2),
    "half of the work-groups": Moves(lambda t, _q, _j: t // 2),
    "remainders": Moves(lambda t, _q, _j: entry(t) % 2),
    "one place": Moves(lambda _t, _q, _j: Index()),
    "one slot": Moves(lambda _t, _q, _j: looked("S", 0)),
    "a slot and the next": Moves(lambda t, _q, _j: entry(t), again=lambda t, _q, _j: entry(t) + 1),
    "slots and places": Moves(lambda t, _q, _j: entry(t), again=lambda t, _q, _j: t),
    "slots further on": Moves(lambda t, _q, _j: entry(t) + t),
    "slots further back": Moves(lambda t, _q, _j: entry(t) - t),
    "negative ones taken for others": Moves(lambda t, _q, _j: entry(t) + 1),
    "negative ones turned": Moves(lambda t, _q, _j: N - 1 + entry(t)),
    "looked up by what repeats": Moves(
        lambda t, _q, _j: entry(looked("P", t)), (Permutation("S"), InRange("P", T))),
    "the other table": Moves(lambda t, _q, _j: looked("P", t)),
    "two rows each, one apart": Moves(
        lambda t, _q, j: entry(t) + j, BOTH, lambda _: Index(None, 2)),
    "three rows each, two apart": Moves(
        lambda t, _q, j: entry(t) * 2 + j, BOTH, lambda _: Index(None, 3)),
    "one row too many": Moves(
        lambda t, _q, j: entry(t) + j, RISING, lambda t: entry(t + 1) - entry(t) + 1),
    "rows up to the next but one": Moves(
        lambda t, _q, j: entry(t) + j, RISING, lambda t: entry(t + 1) - entry(t) + entry(t + 1)),
    "from the end of rows": Moves(
        lambda t, _q, j: entry(t + 1) - j, RISING, lambda t: entry(t + 1) - entry(t) + 1),
    "rows of what need not rise": Moves(
        lambda t, _q, j: entry(t) + j, (Distinct("S"), InRange("S", N)),
        lambda t: entry(t + 1) - entry(t)),
    "runs, one longer": Moves(
        lambda t, _q, j: entry(t) + j, RUNS, lambda t: looked("P", t) + 1),
    "runs of another": Moves(
        lambda t, _q, j: entry(t) + j, RUNS, lambda t: looked("P", t + 1)),
    "two threads, in order each": Moves(
        lambda _t, _q, j: entry(j), (), lambda _: T, row=lambda _t, q, j: j + q,
        groups=Index(None, 1), beside=2),
    "two rows by two": Moves(lambda t, _q, _j: entry(t), beside=2, row=lambda t, q, _j: t + q),
    "all but one": Moves(lambda _t, _q, _j: Index(), when=lambda t: (t, 0)),
    "two of them": Moves(lambda _t, _q, _j: Index(), when=lambda t: (2 - t, 0)),
    "what is claimed is right": Moves(
        lambda t, _q, _j: entry(t) // 2 + entry(t) % 2,
        claim="D[S[t],h] = A[t,h] for t < T, S[t] > N"),
}  # fmt: skip


HARD = "rows of what need not rise"
SELDOM = "negative ones turned"
"""Two entries of one negative number are seldom drawn."""


@pytest.mark.parametrize("name", RIGHT)
def test_one_writer_of_every_place_is_proved(name: str) -> None:
    verdict = prove(moved(RIGHT[name]))
    assert verdict.answer == "proved", str(verdict)


@pytest.mark.parametrize("name", WRONG)
def test_two_writers_of_a_place_are_not_proved(name: str) -> None:
    verdict = prove(moved(WRONG[name]))
    answers = {proof.property: proof for proof in verdict.proofs}
    assert verdict.answer == "undecided", str(verdict)
    why = answers["D values"].reason
    assert "that no claim names" in why or (name == HARD and "too long" in why)


@pytest.mark.long
@pytest.mark.parametrize("name", sampled([n for n in WRONG if n not in (HARD, SELDOM)], 4))
def test_a_run_shows_two_writers(name: str) -> None:
    assert cx.verify(moved(WRONG[name])).answer == "disproved"


def tiles(
    step: int, subgroups: int, beside: int = 0, assumed: tuple[Assumption, ...] = BOTH
) -> Kernel:
    """Tiles of two rows at places that are looked up, a row for each of two subgroups or both."""
    k = KernelBuilder("tiles", subgroups)
    A, D = k.input("A", "f32", ("T", 16)), k.output("D", "f32", ("N", 16))
    k.input("S", "s32", (T + 1,))
    k.input("P", "s32", (T + 1,))
    k.assume(*assumed)
    (t,) = k.grid(t=T)
    part = k.parts((2, 16), (subgroups, 1))
    k.prefetch(A, part, at=(looked("S", t) + looked("P", t), 0))
    k.load("x", A, part, at=(t * 2, 0))
    k.store(D, "x", at=(entry(t) * step + beside * t, 0))
    return k.build(NOTHING)


@pytest.mark.parametrize("subgroups", [1, 2])
def test_tiles_do_not_overlap(subgroups: int) -> None:
    assert prove(tiles(2, subgroups)).answer == "proved"
    assert prove(tiles(3, subgroups)).answer == "proved"
    overlapping = (
        tiles(1, subgroups),
        tiles(0, subgroups),
        tiles(0, subgroups, 1),
        tiles(2, subgroups, 1),
        tiles(2, subgroups, assumed=(InRange("S", N),)),
    )
    assert {prove(kernel).answer for kernel in overlapping} == {"undecided"}
    assert prove(tiles(0, subgroups, 2)).answer == "proved"


def test_what_is_rounded_by_one_of_two_is_a_race_though_roundings_are_left_out() -> None:
    k = KernelBuilder("twice", 1)
    X, D = k.input("X", "f32", ("N", 16)), k.output("D", "f32", ("N", 16))
    t, u = k.grid(t="N", u=2)
    k.load("x", X, (1, 16), at=(t, 0))
    k.convert("h", "x", "f16")
    k.convert("w", "h", "f32")
    with k.when(u < 1):
        k.store(D, "x", at=(t, 0))
    with k.when(u > 0):
        k.store(D, "w", at=(t, 0))
    k.reads_as_real("f16")
    assert prove(k.build("D[n,h] = X[n,h]")).answer == "undecided"
