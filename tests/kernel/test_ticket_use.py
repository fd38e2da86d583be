"""A ticket is its work-group's own: what spoils that, and that each reader refuses it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import pytest

from pycute_xe.errors import KernelError
from pycute_xe.executing.tickets import with_tickets
from pycute_xe.kernel import FetchAdd, Index, InRange, Kernel, KernelBuilder, Tiles, dealt_tiles
from pycute_xe.kernel.ir.operands import Role
from pycute_xe.kernel.ir.tickets import misused
from pycute_xe.verifying.tickets import ticketed

U = Index("u")
BESIDE = "is used beside"


@dataclass(frozen=True)
class Use:
    """How a ticket is drawn and used."""

    by: int = 1
    role: Role = "scratch"
    place: Index | int = U
    used: Index | int = U
    before: bool = False
    again: bool = False
    loads: str = ""
    stores: str = ""
    prefetches: str = ""


def drawn(use: Use, *, dealt: bool = False) -> Kernel:
    """D = 2 A by tiles: the ticket of a work-group says which, or it takes all that are left."""
    k = KernelBuilder("drawn", 1)
    A = k.input("A", "f32", ("M", 16))
    ids = None if dealt else k.input("ids", "s32", ("U",))
    D = k.output("D", "f32", ("M", 16))
    counter = k.operand("counter", "s32", (16,), use.role)
    tickets = k.operand("tickets", "s32", ("U",), "scratch" if dealt else "out")
    (u,) = k.grid(u="U")
    count = Tiles("M", 16)
    with ExitStack() as stack:
        if dealt:
            stack.enter_context(k.loop("i", 0, count))
        if use.before:
            k.load("x", A, (16, 16), at=(Index.element("tickets", u) * 16, 0))
        at = 0 if ids is None else Index.element("ids", u)
        ticket = k.ticket(counter, at, tickets, use.place, use.by)
        if use.again:
            k.ticket(counter, at, tickets, use.place, use.by)
        looked = Index.element("tickets", *((use.used,) if use.used is not U else (use.place,)))
        if dealt:
            stack.enter_context(k.when(ticket < count))
        k.load("x", A, (16, 16), at=(looked * 16, 0))
        named = {"counter": counter, "tickets": tickets}
        part = k.parts((1, 16), (1, 1))
        if use.loads:
            k.load("seen", named[use.loads], part, at=0)
            k.store(k.operand("copy", "s32", (16,), "scratch"), "seen", at=0)
        if use.prefetches:
            k.prefetch(named[use.prefetches], part, at=0)
        if use.stores:
            k.fill("none", part, 0, "s32")
            k.store(named[use.stores], "none", at=0)
        k.map("y", "2*x")
        k.store(D, "y", at=(ticket * 16, 0))
    claims = "D[m,n] = 2*A[m,n]"
    claims += "" if dealt else "\ntickets are tickets of ids"
    claims += "" if use.role == "scratch" else "\ncounter[i] = counter[i]"
    if not dealt:
        k.assume(InRange("ids", Index(None, 16)))
    return k.build(claims)


RIGHT = Use()
WRONG = {
    "by two": (Use(by=2), "one by one"),
    "by nothing": (Use(by=0), "one by one"),
    "a counter that is kept": (Use(role="inout"), "need not begin with 0"),
    "one place": (Use(place=0), "one place"),
    "one place for two": (Use(place=U // 2), "one place"),
    "the ticket of another": (Use(used=U - 1), BESIDE),
    "the first ticket": (Use(used=0), BESIDE),
    "before it is drawn": (Use(before=True), BESIDE),
    "drawn twice": (Use(again=True), BESIDE),
    "the counter is loaded": (Use(loads="counter"), BESIDE),
    "the counter is stored": (Use(stores="counter"), BESIDE),
    "tickets are loaded": (Use(loads="tickets"), BESIDE),
    "tickets are stored": (Use(stores="tickets"), BESIDE),
    "tickets are prefetched": (Use(prefetches="tickets"), BESIDE),
}
BUILT = [(name, dealt) for name in WRONG for dealt in (False, True)]
BUILT.remove(("tickets are loaded", False))  # they are an output


def take_of(kernel: Kernel) -> FetchAdd:
    return next(s for s in kernel.statements() if isinstance(s, FetchAdd))


@pytest.mark.parametrize("dealt", [False, True])
def test_what_is_its_own_is_not_misused(dealt: bool) -> None:
    kernel = drawn(RIGHT, dealt=dealt)
    assert misused(kernel, take_of(kernel)) == ""
    assert dealt_tiles(kernel).grid if dealt else ticketed(kernel).operand("tickets").role == "in"


@pytest.mark.parametrize(("name", "dealt"), BUILT)
def test_no_reader_takes_what_is_misused(name: str, dealt: bool) -> None:
    use, words = WRONG[name]
    kernel = drawn(use, dealt=dealt)
    assert words in misused(kernel, take_of(kernel))
    with pytest.raises(KernelError) as refused:
        (dealt_tiles if dealt else ticketed)(kernel)
    other_form = use.again or (dealt and use.before)  # refused before that is asked
    assert other_form or words in refused.value.condition
    tables = {"A": np.ones((16, 16), np.float32), "ids": np.zeros(1, np.int32)}
    with pytest.raises(KernelError):
        with_tickets(kernel, {"M": 16, "U": 1}, tables)


def test_a_statement_that_stands_twice_draws_twice() -> None:
    kernel = drawn(RIGHT)
    twice = replace(kernel, body=(take_of(kernel), *kernel.body))
    assert BESIDE in misused(twice, take_of(kernel))
