"""Conditions that mix the subgroup's number with the grid and with loops."""

from __future__ import annotations

import dataclasses

import pytest
from memory_kernels import DIRECT2, KEEP2, LOAD2, THREE, A, G, M, S, judged, through
from small_kernels import by_subgroup

import pycute_xe as cx
from pycute_xe.kernel import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Element,
    Expression,
    If,
    Index,
    Loop,
    Map,
    Slot,
    Statement,
)
from pycute_xe.kernel.spec.expression import Const, Where

TILE, K, ROWS = S + 2 * G, Index("k"), Index("M")
DOUBLE = Map("x", Slot("x") * 2)


def before(number: int, *body: Statement) -> If:
    """What is done for the first tiles of 8 rows."""
    return If(TILE, Index(None, number), body)


def since(number: int, *body: Statement) -> If:
    return If(Index(None, number - 1) - TILE, Index(), body)


def rows_before(row: int, then: Expression, otherwise: Expression) -> Expression:
    return Where(M, Index(None, row), then, otherwise)


@pytest.mark.parametrize(
    ("claim", "body", "answer"),
    [
        (rows_before(8, A * 2, A), (before(1, DOUBLE), DIRECT2), "proved"),
        (rows_before(16, A * 2, A), (before(1, DOUBLE), DIRECT2), "disproved"),
        (rows_before(16, A * 2, A), (before(2, DOUBLE), DIRECT2), "proved"),
        (rows_before(8, A, A * 2), (since(1, DOUBLE), DIRECT2), "proved"),
        (rows_before(8, A * 2, A), (since(1, DOUBLE), DIRECT2), "disproved"),
        (
            rows_before(8, A, A * 2),
            (before(1, DIRECT2), DOUBLE, since(1, DIRECT2)),
            "proved",
        ),
        (rows_before(8, A, A * 2), (before(2, DIRECT2), DOUBLE, since(1, DIRECT2)), "disproved"),
        (A, (If(TILE * 8, ROWS, (DIRECT2,)),), "proved"),
        (A, (If(TILE * 8, ROWS - 8, (DIRECT2,)),), "disproved"),
        (A, (before(2, DIRECT2),), "disproved"),
        (
            rows_before(8, A, A * 8),
            (Loop("k", Index(), THREE, (since(1, DOUBLE),)), DIRECT2),
            "proved",
        ),
        (
            rows_before(8, A * 4, A),
            (Loop("k", Index(), THREE, (If(S + 2 * G + K, Index(None, 2), (DOUBLE,)),)), DIRECT2),
            None,
        ),
        (A, (Map("x", Slot("x") + Slot("x")), before(1, KEEP2), DIRECT2), "disproved"),
    ],
)
def test_some_subgroups_of_some_work_groups(
    claim: Expression, body: tuple[Statement, ...], answer: str | None
) -> None:
    kernel = through(claim, LOAD2, *body, subgroups=2)
    if answer is not None:
        verdict = cx.verify(kernel)
        assert (verdict.answer == "proved") == (answer == "proved"), str(verdict)
        if verdict.counterexample is not None:
            assert cx.replay(kernel, verdict.counterexample).shows
        if answer == "proved":
            judged(kernel, answer)
    else:
        assert cx.verify(kernel).answer != "proved"


@pytest.mark.parametrize(
    "body",
    [
        (before(1, KEEP2), dataclasses.replace(LOAD2, operand="W"), DIRECT2),
        (by_subgroup(0, before(1, DOUBLE)), DIRECT2),
        (before(1, by_subgroup(0, DOUBLE)), DIRECT2),
    ],
)
def test_what_subgroups_share_is_not_followed(body: tuple[Statement, ...]) -> None:
    kernel = through(A, LOAD2, *body, subgroups=2)
    assert cx.verify(kernel).answer != "proved"


ADD = AtomicStore(DIRECT2.copy, "D", DIRECT2.at, "x", DIRECT2.modes)


def test_additions_of_some_subgroups() -> None:
    old = Element("D", (M, Index("n")))
    body = (ADD, before(1, ADD))
    kernel = through(A, LOAD2, DIRECT2, subgroups=2)
    assert kernel.computes is not None
    claim = rows_before(8, A * 2, A)
    for value, right in ((claim, True), (A, False), (A * 2, False)):
        given = tuple(
            dataclasses.replace(o, role="inout") if o.name == "D" else o for o in kernel.operands
        )
        (mine,) = kernel.computes.claims
        spec = dataclasses.replace(
            kernel.computes, claims=(dataclasses.replace(mine, value=old + value),)
        )
        made = dataclasses.replace(kernel, operands=given, body=(LOAD2, *body), computes=spec)
        verdict = cx.verify(made)
        assert verdict.answer != ("disproved" if right else "proved"), str(verdict)
        if verdict.counterexample is not None:
            assert cx.replay(made, verdict.counterexample).shows


def test_halves_of_a_barrier_are_refused_there() -> None:
    with pytest.raises(cx.errors.KernelError, match="that others never reach"):
        through(Const(0.0), LOAD2, before(1, BarrierArrive(), BarrierWait()), subgroups=2)
