"""Tickets: work that a counter deals out, whoever comes first, and what spoils it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from every import every

import pycute_xe as cx
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.kernel import (
    FetchAdd,
    If,
    Index,
    Kernel,
    KernelBuilder,
    Loop,
    Tiles,
    dealt_gemm,
    dealt_tiles,
)
from pycute_xe.kernel.ir.operands import Role


def scaled(
    *,
    clears: bool = False,
    turns: int = 0,
    by: int = 1,
    place: Index | int | str = "u",
    role: Role = "scratch",
    groups: Index | int | str = "U",
    kept: Index | int | str = "U",
    at: int = 0,
    value: str = "2*x",
    claim: str = "2*A[m,n]",
) -> Kernel:
    """D = 2 A by tiles of 16 rows, each by whoever draws its ticket."""
    k = KernelBuilder("scaled", 1)
    A, D = k.input("A", "f32", ("M", 16)), k.output("D", "f32", ("M", 16))
    counter = k.operand("counter", "s32", (16,), role)
    tickets = k.operand("tickets", "s32", (kept,), "scratch")
    (u,) = k.grid(u=groups)
    count = Tiles("M", 16)
    with k.loop("i", 0, count + turns):
        ticket = k.ticket(counter, at, tickets, place, by)
        with k.when(ticket < count):
            k.load("x", A, (16, 16), at=(ticket * 16, 0))
            k.map("y", value)
            k.store(D, "y", at=(ticket * 16, 0))
    if clears:
        k.fill("none", k.parts((1, 16), (1, 1)), 0, "s32")
        with k.when(u < 1):
            k.store(counter, "none", at=0)
    k.computes(f"D[m,n] = {claim}")
    if role != "scratch":
        k.computes("counter[i] = counter[i]")
    return k.build()


@pytest.mark.long
def test_work_dealt_out_is_proved_for_any_number_of_work_groups() -> None:
    for kernel in (scaled(), dealt_gemm(cx.workgroup_mma(
        cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((1, 1, 1), (1, 1, 0))))):  # fmt: skip
        verdict = cx.verify(kernel)
        assert verdict, verdict
        assert any("each ticket is drawn once" in a for p in verdict.proofs for a in p.assumptions)


@every("groups", (1, 2, 5, 20))
@pytest.mark.long
def test_each_tile_is_done_once_by_whoever_comes(groups: int) -> None:
    A = np.arange(70 * 16, dtype=np.float32).reshape(70, 16)
    for executor in ("fast", "reference"):
        assert (cx.run(scaled(), A, U=groups, executor=executor) == 2 * A).all()


SPOILT = {
    "too few turns": (lambda: scaled(turns=-1), "go on until"),
    "every other number": (lambda: scaled(by=2), "one by one"),
    "one place for all tickets": (lambda: scaled(place=0), "one place"),
    "more work-groups than places": (
        lambda: scaled(groups="M", kept=256),
        "outside of tickets",
    ),
    "a counter behind the end": (lambda: scaled(at=16), "16 may lie outside of counter"),
    "no work-groups": (lambda: scaled(groups=Index("M") // 2, kept="M"), "may be empty along u"),
    "a counter that need not be zero": (lambda: scaled(role="inout"), "need not begin with 0"),
}


@every("name", SPOILT)
def test_what_is_not_a_deal_is_not_proved(name: str) -> None:
    make, words = SPOILT[name]
    with pytest.raises(KernelError, match=words):
        dealt_tiles(make())
    assert cx.verify(make()).answer in ("undecided", "disproved")


def passed_on(*, fenced: bool) -> Kernel:
    """D = A, halves of a tile exchanged between subgroups, which leave something there at last."""
    k = KernelBuilder("passed", 2)
    A, D = k.input("A", "f32", ("M", 32)), k.output("D", "f32", ("M", 32))
    k.shared("half", "f32", (32, 32))
    counter = k.operand("counter", "s32", (1,), "scratch")
    tickets = k.operand("tickets", "s32", ("U",), "scratch")
    (u,) = k.grid(u="U")
    with k.loop("i", 0, Tiles("M", 32)):
        ticket = k.ticket(counter, 0, tickets, u)
        with k.when(ticket < Tiles("M", 32)):
            k.load("x", A, k.parts((32, 32), (2, 1)), at=(ticket * 32, 0))
            k.share("half", "x")
            k.fence()
            k.barrier()
            k.take("y", "half", k.parts((32, 32), (1, 2)))
            k.store(D, "y", at=(ticket * 32, 0))
            k.barrier()
            k.share("half", "y")
            if fenced:
                k.fence()
    return k.build("D[m,n] = A[m,n]")


def test_what_a_tile_leaves_in_shared_memory_is_stored_before_the_next() -> None:
    assert cx.verify(passed_on(fenced=True))
    with pytest.raises(KernelError, match="no fence lies"):
        dealt_tiles(passed_on(fenced=False))
    assert cx.verify(passed_on(fenced=False)).answer == "undecided"


def test_a_counter_cleared_while_others_draw_is_a_race() -> None:
    kernel = scaled(clears=True)
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", verdict
    assert "counter" in str(verdict.counterexample)
    A = np.ones((70, 16), np.float32)
    with pytest.raises(CuteError, match="race"):
        cx.run(kernel, A, U=3, executor="reference")


def test_work_that_depends_on_who_does_it_is_not_dealt_out() -> None:
    kernel = scaled()
    loop = next(s for s in kernel.body if isinstance(s, Loop))
    take, done = loop.body
    assert isinstance(take, FetchAdd)
    assert isinstance(done, If)
    store = done.body[-1]
    moved = dataclasses.replace(store, at=(Index("u") * 16, Index()))  # pyright: ignore[reportCallIssue]
    wrong = kernel.replace(store, moved)
    with pytest.raises(KernelError, match="depends on the work-group"):
        dealt_tiles(wrong)
    assert cx.verify(wrong).answer != "proved"


REFUSED = {
    "another type": ("f32", ("U",), "scratch", "holds f32"),
    "an input": ("s32", ("U",), "in", "a ticket is written"),
    "another rank": ("s32", ("U", 2), "scratch", "has 2 modes"),
}


@every("name", REFUSED)
def test_a_ticket_has_a_place(name: str) -> None:
    kind, modes, role, words = REFUSED[name]
    k = KernelBuilder("refused", 1)
    counter = k.operand("counter", "s32", (1,), "scratch")
    into = k.operand("into", kind, modes, role)  # pyright: ignore[reportArgumentType]
    (u,) = k.grid(u="U")
    with pytest.raises(KernelError, match=words):
        k.ticket(counter, 0, into, u)
