"""Scratch and outputs that are stored and loaded back: what lies there is what was stored last."""

from __future__ import annotations

import dataclasses

import pytest
from memory_kernels import (
    AT,
    BACK,
    BACK2,
    BACKX,
    BY_A_RUN,
    DIRECT,
    DIRECT2,
    DOUBLE,
    KEEP,
    KEEP2,
    LOAD,
    LOAD2,
    MEET,
    OUT,
    OUT2,
    OUTX,
    ROWS,
    SCRATCH,
    SEEN,
    THREE,
    ZERO,
    A,
    G,
    M,
    N,
    S,
    judged,
    of_two,
    through,
)
from small_kernels import by_subgroup, fragment
from unsound_kernels import load, store

import pycute_xe as cx
from pycute_xe.holding.memory import FAR, loaded_back, placed
from pycute_xe.kernel import (
    AtomicStore,
    Element,
    Expression,
    Fence,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Operand,
    Slot,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.spec.expression import Const, Where
from pycute_xe.layout import Layout
from pycute_xe.verifying import prove

FIRST = If(G, Index(None, 1), (KEEP,))
TRIPS = Loop("k", Index(), ROWS, (KEEP, BACK))

ON = (G * 8 + Index("k") * 8, Index())
MOVED, KEPT_ONCE = load("W", "y", ON), If(Index("k"), Index(None, 1), (store("W", "x", ON),))


@pytest.mark.parametrize(
    ("claim", "body", "answer"),
    [
        (A, (LOAD, KEEP, BACK, OUT), "proved"),
        (A * 2, (LOAD, KEEP, BACK, OUT), "disproved"),
        (A * 2, (LOAD, DOUBLE, KEEP, BACK, OUT), "proved"),
        (A, (LOAD, KEEP, DOUBLE, BACK, OUT), "proved"),
        (A * 2, (LOAD, KEEP, DOUBLE, KEEP, BACK, OUT), "proved"),
        (A, (LOAD, KEEP, DOUBLE, KEEP, BACK, OUT), "disproved"),
        (A, (LOAD, BACK, KEEP, OUT), BY_A_RUN),
        (Const(0.0), (BACK, Map("y", Slot("y") - Slot("y")), OUT), BY_A_RUN),
        (A, (LOAD, KEEP, load("W", "y", (G * 8 + 8, Index())), OUT), BY_A_RUN),
        (A, (LOAD, store("W", "x", (G * 8 - 8, Index())), BACK, OUT), BY_A_RUN),
        (A, (LOAD, store("W", "x", ZERO), load("W", "y", ZERO), OUT), BY_A_RUN),
        (A, (LOAD, KEEP, load("W", "y", (Index(), G * 8)), OUT), BY_A_RUN),
        (A, (LOAD, FIRST, BACK, OUT), BY_A_RUN),
        (Where(M, Index(None, 8), A * 2, A), (LOAD, KEEP, DOUBLE, FIRST, BACK, OUT), "proved"),
        (A, (LOAD, KEEP, DOUBLE, FIRST, BACK, OUT), "disproved"),
        (A, (LOAD, TRIPS, OUT), "proved"),
        (A, (LOAD, Loop("k", Index(), ROWS, (BACK, KEEP)), OUT), BY_A_RUN),
        (A, (LOAD, Loop("k", Index(), Index(None, 3), (KEPT_ONCE, MOVED)), OUT), BY_A_RUN),
    ],
)
@pytest.mark.long
def test_a_part_of_its_own(claim: Expression, body: tuple[Statement, ...], answer: str) -> None:
    judged(through(claim, *body), answer)


@pytest.mark.parametrize(
    ("memory", "answer"),
    [
        (Operand("W", "f32", (8, 16), role="scratch"), "disproved"),
        (Operand("W", "f32", (ROWS // 2 + 1, 16), role="scratch"), "disproved"),
        (Operand("W", "f32", (Tiles("M", 8) * 8, 32), role="scratch"), "proved"),
    ],
)
def test_what_is_stored_outside_is_lost(memory: Operand, answer: str) -> None:
    judged(through(A, LOAD, KEEP, BACK, OUT, memory=memory), answer)


def test_what_lies_between_rows_is_not_known() -> None:
    """A surface is 64 bytes wide at least, so that what is stored behind a short row is there."""
    kernel = through(A, LOAD, KEEP, BACK, OUT, memory=Operand("W", "f32", ("M", 8), role="scratch"))
    judged(kernel, "undecided")


def test_integers_of_scratch_are_zero_at_first() -> None:
    for claim, middle in ((Const(0.0), ()), (Element("A", (M, N)), (store("W", "x", AT, "s32"),))):
        kernel = through(claim, LOAD)
        kernel = dataclasses.replace(
            kernel,
            operands=tuple(dataclasses.replace(o, value_type="s32") for o in kernel.operands),
            fragments=tuple(fragment(name, "s32", 8) for name in "xy"),
            body=(
                load("A", "x", AT, "s32"),
                *middle,
                load("W", "y", AT, "s32"),
                store("D", "y", AT, "s32"),
            ),
        )
        assert cx.verify(kernel)


# ---------------------------------------------------------------- several subgroups


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ((LOAD2, KEEP2, *SEEN, BACKX, OUTX), "proved"),
        ((LOAD2, KEEP2, BACK2, OUT2), "proved"),
        ((LOAD2, KEEP2, *SEEN, BACKX, OUT2), "disproved"),
        ((LOAD2, KEEP2, BACKX, OUTX), BY_A_RUN),
        ((LOAD2, KEEP2, Fence(), BACKX, OUTX), BY_A_RUN),
        ((LOAD2, KEEP2, *SEEN, BACKX, Map("x", Slot("x") * 5), KEEP2, OUTX), BY_A_RUN),
        ((LOAD2, by_subgroup(0, KEEP2), *SEEN, BACKX, OUTX), BY_A_RUN),
        ((LOAD2, KEEP2, DOUBLE, by_subgroup(1, KEEP2), BACK2, OUT2), BY_A_RUN),
        ((LOAD2, Loop("k", Index(), THREE, (KEEP2, *SEEN, BACKX, *MEET)), OUTX), "proved"),
    ],
)
def test_parts_of_another_subgroup(body: tuple[Statement, ...], answer: str) -> None:
    judged(through(A, *body, subgroups=2), answer)


@pytest.mark.parametrize(
    ("between", "answer"),
    [
        (MEET, "undecided"),
        ((*MEET, Fence()), "undecided"),
        ((If(G, Index(None, 1), SEEN),), BY_A_RUN),  # the race of the other work-groups
    ],
    ids=["barrier", "barrier, fence", "in one group"],
)
def test_a_barrier_alone_does_not_wait_for_stores(
    between: tuple[Statement, ...], answer: str
) -> None:
    judged(through(A, LOAD2, KEEP2, *between, BACKX, OUTX, subgroups=2), answer)


def test_a_loop_without_a_trip_orders_nothing() -> None:
    def met(count: Index) -> Kernel:
        meet = Loop("k", Index(), count, SEEN)
        return through(A, LOAD2, KEEP2, meet, BACKX, OUTX, subgroups=2)

    judged(met(ROWS), "proved")
    judged(met(ROWS - 1), BY_A_RUN)


def test_what_others_add_to_is_not_followed() -> None:
    add = AtomicStore(KEEP.copy, "W", AT, "x", KEEP.modes)
    assert cx.verify(through(A + A, LOAD, KEEP, add, BACK, OUT)).answer == "undecided"


# ---------------------------------------------------------------- what is stored last counts


AGAIN = (LOAD2, *SEEN, DIRECT2)


@pytest.mark.parametrize(
    ("claim", "body", "answer"),
    [
        (A, (LOAD2, DIRECT2, *SEEN, DIRECT2), "proved"),
        (A, (LOAD2, DOUBLE, DIRECT2, *AGAIN), "proved"),
        (A * 2, (LOAD2, DOUBLE, DIRECT2, *AGAIN), "disproved"),
        (A, (LOAD2, DOUBLE, DIRECT2, LOAD2, *SEEN, of_two(DIRECT, turned=True)), "disproved"),
        (A, (LOAD2, DOUBLE, DIRECT2, *SEEN, of_two(LOAD, True), of_two(DIRECT, True)), "proved"),
        (A * 2, (LOAD2, Loop("k", Index(), THREE, (DIRECT2, *SEEN, DOUBLE))), "disproved"),
    ],
)
def test_a_store_repeated_behind_a_barrier(
    claim: Expression, body: tuple[Statement, ...], answer: str
) -> None:
    judged(through(claim, *body, subgroups=2), answer)


# ---------------------------------------------------------------- which accesses are followed

K = Index("k")
UP, SWAPPED, FURTHER = (G * 8 - 8, Index()), (Index(), G * 8), (G * 8 + (1 << 17), Index())
ALONG = (G * 8 + K * 8, Index())
ADDED = AtomicStore(KEEP.copy, "W", AT, "x", KEEP.modes)
APART = "its accesses do not lie around one place"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ((ADDED, BACK), "loaded while others add to it"),
        ((KEEP, load("W", "y", SWAPPED)), APART),
        ((Loop("k", Index(), THREE, (store("W", "x", ALONG), load("W", "y", ALONG))),), APART),
        ((KEEP, store("W", "x", FURTHER), BACK), "the work-group uses 2097280 elements of W"),
    ],
    ids=["added to", "two places", "moved by a loop", "many"],
)
def test_why_an_operand_is_not_followed(body: tuple[Statement, ...], words: str) -> None:
    found = loaded_back(through(A, LOAD, *body, OUT))["W"]
    assert isinstance(found, cx.UndecidableError)
    assert words in found.condition


def test_what_lies_before_the_first_row_is_zero() -> None:
    body = (LOAD, store("W", "x", UP), load("W", "y", UP), OUT)
    judged(through(Where(M, Index(None, 8), Const(0.0), A), *body), "proved")
    judged(through(A, *body), "disproved")


def test_who_is_left_out_by_a_condition_touches_nothing() -> None:
    kernel, first = through(A, LOAD2, KEEP2, DIRECT2, subgroups=2), If(S, Index(None, 1), (KEEP2,))
    for enclosing, far in (((), [False, False]), ((first,), [False, True])):
        _, table, _ = placed(kernel, KEEP2.access, enclosing)
        assert [bool((mine == FAR).all()) for mine in table] == far


# ---------------------------------------------------------------- stores that nothing loads


def spread(by: int, first: int, one: Store | Load = KEEP) -> Store | Load:
    """The 8 rows of one subgroup, ``by`` rows for each work-group, from a row on."""
    return dataclasses.replace(one, at=(G * by + first, Index()))


def by_two(by: int, first: int, one: Store | AtomicStore = KEEP) -> Store | AtomicStore:
    """Both subgroups store, or add, to the same rows."""
    copy = cx.make_tiled_copy(KEEP.copy.atom, Layout(((16, 2), 8), ((8, 0), 1)), (8, 16))
    return dataclasses.replace(one, copy=copy, at=(G * by + first, Index()))


def own(first: int, one: Store | Load | AtomicStore) -> Store | Load | AtomicStore:
    """What `of_two` moves, in 32 rows for each work-group instead of 16."""
    return dataclasses.replace(one, at=(one.at[0] + G * 16 + first, one.at[1]))


LARGE = dataclasses.replace(SCRATCH, modes=(ROWS * 4 + 99, Index(None, 16)))
ADDED2 = dataclasses.replace(ADDED, copy=KEEP2.copy, at=KEEP2.at)


def assert_followed(right: bool, *body: Statement, subgroups: int = 1) -> None:
    """What is right is proved; of the rest no proof decides, and a run shows a race."""
    kernel = through(A, *body, memory=LARGE, subgroups=subgroups)
    (values,) = [p for p in prove(kernel, {}).proofs if p.property == "D values"]
    assert values.answer == ("proved" if right else "undecided")
    assert right or values.reason.startswith("an element of W is loaded after it was stored to")
    assert cx.verify(kernel).answer == ("proved" if right else "disproved")


@pytest.mark.parametrize(
    ("more", "right"),
    [((spread(16, 8),), True), ((spread(16, 8), spread(16, 24)), False)],
    ids=["own", "those of the next"],
)
def test_work_groups_store_to_no_common_rows(more: tuple[Statement, ...], right: bool) -> None:
    """W's rows are loaded back by the work-group that stored them; others are only stored to."""
    assert_followed(right, LOAD, spread(16, 0), spread(16, 0, BACK), *more, OUT)


@pytest.mark.parametrize(
    ("more", "right"), [((own(16, KEEP2),), True), ((by_two(32, 16),), False)], ids=["own", "both"]
)
def test_subgroups_store_to_no_common_rows(more: tuple[Statement, ...], right: bool) -> None:
    assert_followed(right, LOAD2, own(0, KEEP2), own(0, BACK2), *more, OUT2, subgroups=2)


@pytest.mark.parametrize(
    ("one", "right"),
    [(own(0, KEEP2), True), (by_two(32, 0, ADDED), True), (by_two(32, 0), False)],
    ids=["own", "both add", "both"],
)
def test_what_is_added_to_elsewhere_is_stored_by_one(one: Statement, right: bool) -> None:
    """Where W is not followed, for others add to it, its stores must be apart all the same."""
    assert_followed(right, LOAD2, one, own(16, ADDED2), DIRECT2, subgroups=2)
