"""Sums over segments by atomics, and differences that no tables have beside others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.kernel import AtMost, Index, InRange, Kernel, KernelBuilder, Rising
from pycute_xe.verifying.prover import prove

N, T = Index("N"), Index("T")
BY_ROWS = "R[n,h] = R[n,h] + sum(t, where(starts[n] <= t, where(t < starts[n+1], X[t,h], 0), 0))"
BY_PLACES = "R[n,h] = R[n,h] + sum(j < starts[n+1]-starts[n], X[starts[n]+j,h])"


def starts(at: Index) -> Index:
    return Index.element("starts", at)


def begun(name: str, whole: bool = True) -> tuple[KernelBuilder, Any, Any]:
    k = KernelBuilder(name, 1)
    X, R = k.input("X", "f32", ("T", 16)), k.inout("R", "f32", ("N", 16))
    k.input("starts", "s32", (N + 1,))
    k.assume(Rising("starts", T, whole))
    return k, X, R


def by_loops(
    claim: str = BY_ROWS,
    first: int = 0,
    last: int = 0,
    row: int = 0,
    fewer: int = 0,
    twice: bool = False,
    whole: bool = True,
    place: Callable[[Index, Index], Index] = lambda n, t: n,
) -> Kernel:
    """Each work-group adds the rows of its segment one by one."""
    k, X, R = begun("by_loops", whole)
    (n,) = k.grid(n=N - fewer)
    with k.loop("t", starts(n) + first, starts(n + 1) + last) as t:
        k.load("x", X, (1, 16), at=(t + row, 0))
        for _ in range(1 + twice):
            k.atomic_add(R, "x", at=(place(n, t), 0))
    return k.build(claim)


def by_work_groups(
    claim: str = BY_PLACES,
    own: int = 0,
    row: int = 0,
    fewer: int = 0,
    longer: int = 0,
    place: int = 0,
    known: bool = True,
) -> Kernel:
    """A work-group for each row of each segment, if the segment has it."""
    k, X, R = begun("by_work_groups")
    k.input("longest", "s32", ())
    longest, b = Index.element("longest"), Index("b")
    if known:
        k.assume(AtMost(starts(b + 1) - starts(b), longest, (("b", N),)))
    n, i = k.grid(n=N, i=longest - fewer)
    with k.when(i < starts(n + 1) - starts(n) + longer):
        k.load("x", X, (1, 16), at=(starts(n + own) + i + row, 0))
        k.atomic_add(R, "x", at=(n + place, 0))
    return k.build(claim)


def by_owners(
    claim: str = BY_ROWS, low: bool = True, high: bool = True, row: int = 0, place: int = 0
) -> Kernel:
    """Each work-group adds a row to the segment that a table says it is of."""
    k, X, R = begun("by_owners")
    k.input("ids", "s32", ("T",))
    t = Index("t")
    k.assume(InRange("ids", N))
    if low:
        k.assume(AtMost(starts(Index.element("ids", t)), t, (("t", T),)))
    if high:
        k.assume(AtMost(t + 1, starts(Index.element("ids", t) + 1), (("t", T),)))
    (g,) = k.grid(g=T)
    own = Index.element("ids", g)
    k.load("x", X, (1, 16), at=(g + row, 0))
    with k.when(starts(own) < T + 1):
        k.atomic_add(R, "x", at=(own + place, 0))
    return k.build(claim)


RIGHT: dict[str, Callable[[], Kernel]] = {
    "by loops": by_loops,
    "by loops, places": lambda: by_loops(BY_PLACES),
    "rows behind the last": lambda: by_loops(whole=False),
    "by work-groups": by_work_groups,
    "by work-groups, rows": lambda: by_work_groups(BY_ROWS),
    "some do nothing": lambda: by_work_groups(fewer=-2),
    "by owners": by_owners,
    "by owners, places": lambda: by_owners(BY_PLACES),
}

WRONG: dict[str, Callable[[], Kernel]] = {
    "the first left out": lambda: by_loops(first=1),
    "one before": lambda: by_loops(first=-1),
    "the last left out": lambda: by_loops(last=-1),
    "one behind": lambda: by_loops(last=1),
    "the next row": lambda: by_loops(row=1),
    "the row before": lambda: by_loops(row=-1),
    "twice": lambda: by_loops(twice=True),
    "the last segment left out": lambda: by_loops(fewer=1),
    "added to the next": lambda: by_loops(place=lambda n, t: n + 1),
    "added from the end": lambda: by_loops(place=lambda n, t: N - 1 - n),
    "added to half": lambda: by_loops(place=lambda n, t: n // 2),
    "added to twice": lambda: by_loops(place=lambda n, t: n * 2),
    "added to the row": lambda: by_loops(place=lambda n, t: t),
    "added to the place": lambda: by_loops(place=lambda n, t: t - starts(n)),
    "one more claimed": lambda: by_loops(BY_ROWS.replace("t < starts[n+1]", "t <= starts[n+1]")),
    "one less claimed": lambda: by_loops(BY_ROWS.replace("starts[n] <= t", "starts[n] < t")),
    "twice claimed": lambda: by_loops(BY_ROWS.replace("X[t,h]", "2*X[t,h]")),
    "turned": lambda: by_loops(BY_ROWS.replace("X[t,h]", "X[t,15-h]")),
    "claimed for what was": lambda: by_loops(BY_ROWS.replace("R[n,h] + ", "")),
    "rows of the next claimed": lambda: by_loops(BY_PLACES.replace("X[starts[n]", "X[starts[n+1]")),
    "rows of the next": lambda: by_work_groups(own=1),
    "the next row of each": lambda: by_work_groups(row=1),
    "one work-group too few": lambda: by_work_groups(fewer=1),
    "one row too many": lambda: by_work_groups(longer=1),
    "one row too few": lambda: by_work_groups(longer=-1),
    "the next segment": lambda: by_work_groups(place=1),
    "no longest": lambda: by_work_groups(known=False),
    "the next owner": lambda: by_owners(place=1),
    "the owner before": lambda: by_owners(place=-1),
    "the next row of the owner": lambda: by_owners(row=1),
    "owners begin anywhere": lambda: by_owners(low=False),
    "owners end anywhere": lambda: by_owners(high=False),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.long
def test_sums_of_segments_are_proved(name: str) -> None:
    verdict = prove(RIGHT[name]())
    assert verdict.answer == "proved", str(verdict)


@pytest.mark.long
@pytest.mark.parametrize("name", sampled(RIGHT, 2))
def test_a_proof_of_segments_is_tried(name: str) -> None:
    verdict = cx.verify(RIGHT[name]())
    assert verdict.answer == "proved", str(verdict)
    assert len(verdict.tried.runs) > 1


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.long
def test_other_sums_are_not_proved(name: str) -> None:
    verdict = prove(WRONG[name]())
    assert verdict.answer in ("disproved", "undecided"), str(verdict)


# ------------------------------------------------------------ no proof by a difference of no tables


def twice_added(order: str) -> Kernel:
    """D = A, and rows of B: from the fifth on to T[t], of which there are none, and one that is."""
    k = KernelBuilder("twice_added", 1)
    A, B = k.input("A", "f32", ("N", 16)), k.input("B", "f32", ("N", 16))
    D, i = k.output("D", "f32", ("N", 16)), Index("i")
    for table in "TU":
        k.input(table, "s32", ("N",))
    most = {"T": Index.element("U", i), "U": Index(None, 5)}
    k.assume(*(AtMost(Index.element(name, i), end, (("i", N),)) for name, end in most.items()))
    (t,) = k.grid(t="N")
    k.prefetch(B, (1, 16), at=(Index.element("T", t) + Index.element("U", t), 0))
    k.load("x", A, (1, 16), at=(t, 0))
    ends = {"n": (5, Index.element("T", t)), "s": (0, 2)}
    for what in order:
        with k.loop(f"j_{what}", *ends[what]) as j:
            k.load(f"y_{what}", B, (1, 16), at=(t + j, 0))
            k.map("x", f"x + y_{what}")
    k.store(D, "x", at=(t, 0))
    return k.build("D[n,h] = A[n,h]")


def test_a_sum_without_rows_is_none() -> None:
    assert prove(twice_added("n"))


@pytest.mark.parametrize("order", ["s", "ns", "sn"])
def test_a_difference_that_no_tables_have_hides_no_other(order: str) -> None:
    assert prove(twice_added(order)).answer in ("disproved", "undecided")
