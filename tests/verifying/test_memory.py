"""Scratch and outputs that are stored and loaded back: what lies there is what was stored last."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small_kernels import by_subgroup, fragment
from unsound_kernels import load, store

import pycute_xe as cx
from pycute_xe.errors import MachineError
from pycute_xe.kernel import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Claim,
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
    Specification,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.spec.computing import compute
from pycute_xe.kernel.spec.expression import Const, Where
from pycute_xe.layout import Layout

G, S, ROWS = Index("g"), Index("subgroup"), Index("M")
M, N = Index("m"), Index("n")
A = Element("A", (M, N))
AT, ZERO = (G * 8, Index()), (Index(), Index())
LOAD, KEEP = load("A", "x", AT), store("W", "x", AT)
BACK, OUT = load("W", "y", AT), store("D", "y", AT)
DOUBLE, ADD = Map("x", Slot("x") * 2), Map("x", Slot("x") + Slot("y"))
SCRATCH = Operand("W", "f32", ("M", 16), role="scratch")


def through(
    claim: Expression, *body: Statement, memory: Operand = SCRATCH, subgroups: int = 1
) -> Kernel:
    """Rows of A, 8 to each subgroup, go through W to D."""
    operands = (Operand("A", "f32", ("M", 16)), Operand("D", "f32", ("M", 16), role="out"), memory)
    fragments = tuple(fragment(name, "f32", 8) for name in "xy")
    claims = Specification((Claim("D", ("m", "n"), claim),))
    grid = (("g", Tiles("M", 8 * subgroups)),)
    return Kernel("through", subgroups, operands, fragments, grid, body, claims)


def is_right(kernel: Kernel) -> bool:
    """Whether the machine computes what is claimed, of 19 rows."""
    a = np.random.default_rng(3).integers(1, 99, (19, 16)).astype(np.float32)
    assert kernel.computes is not None
    wanted = compute(kernel.computes, kernel.operands, {"A": a})["D"]
    try:
        return np.array_equal(cx.run(kernel, a, executor="reference"), wanted)
    except MachineError:
        return False


def judged(kernel: Kernel, answer: str) -> None:
    verdict = cx.verify(kernel)
    assert verdict.answer == answer, str(verdict)
    if answer != "undecided":
        assert is_right(kernel) == (answer == "proved")
    if verdict.counterexample is not None:
        assert cx.replay(kernel, verdict.counterexample).shows


FIRST = If(G, Index(None, 1), (KEEP,))
TRIPS = Loop("k", Index(), ROWS, (KEEP, BACK))


@pytest.mark.parametrize(
    ("claim", "body", "answer"),
    [
        (A, (LOAD, KEEP, BACK, OUT), "proved"),
        (A * 2, (LOAD, KEEP, BACK, OUT), "disproved"),
        (A * 2, (LOAD, DOUBLE, KEEP, BACK, OUT), "proved"),
        (A, (LOAD, KEEP, DOUBLE, BACK, OUT), "proved"),
        (A * 2, (LOAD, KEEP, DOUBLE, KEEP, BACK, OUT), "proved"),
        (A, (LOAD, KEEP, DOUBLE, KEEP, BACK, OUT), "disproved"),
        (A, (LOAD, BACK, KEEP, OUT), "undecided"),
        (Const(0.0), (BACK, Map("y", Slot("y") - Slot("y")), OUT), "undecided"),
        (A, (LOAD, KEEP, load("W", "y", (G * 8 + 8, Index())), OUT), "undecided"),
        (A, (LOAD, store("W", "x", (G * 8 - 8, Index())), BACK, OUT), "undecided"),
        (A, (LOAD, store("W", "x", ZERO), load("W", "y", ZERO), OUT), "undecided"),
        (A, (LOAD, KEEP, load("W", "y", (Index(), G * 8)), OUT), "undecided"),
        (A, (LOAD, FIRST, BACK, OUT), "undecided"),
        (Where(M, Index(None, 8), A * 2, A), (LOAD, KEEP, DOUBLE, FIRST, BACK, OUT), "proved"),
        (A, (LOAD, KEEP, DOUBLE, FIRST, BACK, OUT), "disproved"),
        (A, (LOAD, TRIPS, OUT), "proved"),
        (A, (LOAD, Loop("k", Index(), ROWS, (BACK, KEEP)), OUT), "undecided"),
    ],
)
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
    assert cx.verify(kernel).answer == "undecided"


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


def of_two(one: Load | Store, turned: bool = False) -> Load | Store:
    """Each of two subgroups moves 8 rows; turned, those of the other one."""
    op = cx.XE_LOAD_2D(32, 8, 16) if isinstance(one, Load) else cx.XE_STORE_2D(32, 8, 16)
    places = Layout((2, 1), (1, 2))
    copy = cx.make_block_2d_copy(op, ("ld", 1), "f32", (2, 1), places)
    at = (G * 16 + (8 - S * 16 if turned else 0), Index())
    return dataclasses.replace(one, copy=copy, at=at)


LOAD2, KEEP2, BACK2, OUT2 = (of_two(x) for x in (LOAD, KEEP, BACK, OUT))
BACKX, OUTX = of_two(BACK, turned=True), of_two(OUT, turned=True)
MEET = (BarrierArrive(), BarrierWait())
SEEN = (Fence(), *MEET)
THREE = Index(None, 3)


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ((LOAD2, KEEP2, *SEEN, BACKX, OUTX), "proved"),
        ((LOAD2, KEEP2, BACK2, OUT2), "proved"),
        ((LOAD2, KEEP2, *SEEN, BACKX, OUT2), "disproved"),
        ((LOAD2, KEEP2, BACKX, OUTX), "undecided"),
        ((LOAD2, KEEP2, Fence(), BACKX, OUTX), "undecided"),
        ((LOAD2, KEEP2, *SEEN, BACKX, Map("x", Slot("x") * 5), KEEP2, OUTX), "undecided"),
        ((LOAD2, by_subgroup(0, KEEP2), *SEEN, BACKX, OUTX), "undecided"),
        ((LOAD2, Loop("k", Index(), THREE, (KEEP2, *SEEN, BACKX, *MEET)), OUTX), "proved"),
    ],
)
def test_parts_of_another_subgroup(body: tuple[Statement, ...], answer: str) -> None:
    judged(through(A, *body, subgroups=2), answer)


@pytest.mark.parametrize(
    "between", [MEET, (*MEET, Fence()), (If(G, Index(None, 1), SEEN),)], ids=str
)
def test_a_barrier_alone_does_not_wait_for_stores(between: tuple[Statement, ...]) -> None:
    kernel = through(A, LOAD2, KEEP2, *between, BACKX, OUTX, subgroups=2)
    assert cx.verify(kernel).answer == "undecided"


def test_a_loop_without_a_trip_orders_nothing() -> None:
    for count, answer in ((ROWS, "proved"), (ROWS - 1, "undecided")):
        meet = Loop("k", Index(), count, SEEN)
        kernel = through(A, LOAD2, KEEP2, meet, BACKX, OUTX, subgroups=2)
        assert cx.verify(kernel).answer == answer


def test_what_others_add_to_is_not_followed() -> None:
    add = AtomicStore(KEEP.copy, "W", AT, "x", KEEP.modes)
    assert cx.verify(through(A + A, LOAD, KEEP, add, BACK, OUT)).answer == "undecided"


# ---------------------------------------------------------------- what is stored last counts


DIRECT = store("D", "x", AT)
DIRECT2 = of_two(DIRECT)
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
