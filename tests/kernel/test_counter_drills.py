"""Counters of other classes: one that adds without keeping a ticket, and one that keeps it.

`Count` does what `Signal` does, and `Draw` what `FetchAdd` does; who waits is the known `Await`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from broken_kernels import tiled_mma
from drilled_kinds import (
    READERS,
    TABLES,
    Drill,
    agrees,
    answers,
    changed,
    each_entry_is_needed,
    emission_is_refused,
    entered,
    entries_like,
    exchanged,
    is_never_proved,
    is_proved,
)
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.kernel import (
    Await,
    Claim,
    Element,
    FetchAdd,
    Fill,
    If,
    Index,
    Kernel,
    Load,
    Operand,
    Signal,
    Specification,
    Statement,
    Store,
    dealt_gemm,
    dealt_tiles,
)
from pycute_xe.kernel.ir.effects import CounterAccess
from pycute_xe.kernel.ir.statements import touching
from pycute_xe.kernel.schedules import SplitK, plan_tables


@dataclass(frozen=True, slots=True)
class Count(Statement):
    """Add to a counter, behind all that the work-group has stored."""

    touches = touching(counter="access", indices="at by", meets="both")
    operand: str
    at: tuple[Index, ...]
    by: Index

    @property
    def access(self) -> CounterAccess:
        """The counter that is added to."""
        return CounterAccess(self.operand, self.at, by=self.by)


@dataclass(frozen=True, slots=True)
class Draw(Statement):
    """Add to a counter, and keep what it was."""

    touches = touching(counter="access", indices="at by place", meets="both")
    operand: str
    at: tuple[Index, ...]
    by: Index
    into: str
    place: tuple[Index, ...]

    @property
    def access(self) -> CounterAccess:
        """The counter that is added to, and where its ticket goes."""
        where = (self.operand, self.at)
        return CounterAccess(*where, by=self.by, into=self.into, place=self.place)


COUNTING = {Count: entries_like(Signal, lambda s: f"count     {s.operand} += {s.by}")}
DRAWING = {Draw: entries_like(FetchAdd, lambda s: f"draw      {s.into} of {s.operand}")}


def counted(twin: Kernel) -> Kernel:
    return exchanged(twin, {Signal: lambda s: Count(s.operand, s.at, s.by)})


def drawn(twin: Kernel) -> Kernel:
    return exchanged(twin, {FetchAdd: lambda s: Draw(s.operand, s.at, s.by, s.into, s.place)})


# ------------------------------------------------------------ Count

G, ZERO = Index("g"), (Index(), Index())
ONES = np.ones((8, 16), np.float32)
SET, GET = store_of("counts", "i", "s32"), load_of("counts", "i", "s32")
COUNT = Drill(COUNTING, counted, (ONES,), {})


def signal(by: int = 1) -> Signal:
    return Signal("counts", ZERO, Index(None, by))


def wait(least: int) -> Await:
    return Await("counts", ZERO, Index(None, least))


def group(number: int, *body: Statement) -> If:
    return If(G, Index(None, number + 1), (If(Index(None, number - 1), G, body),))


def counting(*body: Statement) -> Kernel:
    """Two work-groups copy A, each to rows of its own, and do something with counters."""
    operands = (
        Operand("A", "f32", (8, 16)),
        Operand("D", "f32", (16, 16), role="out"),
        Operand("counts", "s32", (8, 16), role="scratch"),
    )
    fragments = (fragment("x", "f32", 8), fragment("i", "s32", 8))
    claim = Claim("D", ("m", "n"), Element("A", (Index("m") % 8, Index("n"))))
    out = replace(store_of("D", "x"), at=(G * 8, Index()))
    grid = (("g", Index(None, 2)),)
    body = (load_of("A", "x"), Fill("i", 0), *body, out)
    return Kernel("counting", 1, operands, fragments, grid, body, Specification((claim,)))


ORDERED = {
    "waited for": lambda: counting(group(0, signal()), group(1, wait(1), GET)),
    "two for one": lambda: counting(group(0, signal(2)), group(1, wait(1), wait(2), SET)),
    "of its own": lambda: counting(group(0, signal(), SET, GET)),
}
WRONG = {
    "stored by another": lambda: counting(group(0, SET), group(1, signal())),
    "loaded by another": lambda: counting(group(0, GET), group(1, signal())),
    "never signalled": lambda: counting(group(1, wait(1))),
    "signalled too seldom": lambda: counting(group(0, signal()), group(1, wait(2), GET)),
    "not waited for": lambda: counting(group(0, signal()), group(1, wait(0), GET)),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ORDERED)
def test_every_reader_answers_as_of_a_signal(name: str, reader: str) -> None:
    agrees(reader, ORDERED[name](), COUNT)


@pytest.mark.long
@pytest.mark.parametrize("reader", ["check", "verify", "reference", "fast"])
@pytest.mark.parametrize("name", [name for name in WRONG if name != "never signalled"])
def test_readers_answer_alike_of_a_signal_that_does_not_suffice(name: str, reader: str) -> None:
    agrees(reader, WRONG[name](), COUNT)


@pytest.mark.parametrize("name", [name for name in WRONG if name != "never signalled"])
def test_what_waits_for_too_much_is_never_proved(name: str) -> None:
    is_never_proved(WRONG[name](), COUNT)


def test_a_counter_that_nobody_adds_to_stops_the_run() -> None:
    kernel = WRONG["never signalled"]()
    assert cx.verify(kernel).answer != "proved"
    with pytest.raises(MachineError, match="wait"):
        cx.run(kernel, ONES, executor="reference")


def test_a_counter_of_another_class_never_shrinks() -> None:
    with entered(COUNTING), pytest.raises(KernelError, match="only grows"):
        counted(counting(signal())).replace(
            Count("counts", ZERO, Index(None, 1)), Count("counts", ZERO, Index(None, -1))
        )


@pytest.mark.parametrize("executor", ["reference", "fast"])
def test_pieces_of_a_tile_are_handed_on_in_turn(executor: Any) -> None:
    """A plan in which work-groups add what others have begun, which their signals allow."""
    twin = cx.kernel.scheduled(tiled_mma((16, 32, 16), (2, 2)))
    tables = plan_tables(SplitK(2, 2).plan((1, 1, 2)))
    rng = np.random.default_rng(1)
    bf16 = cx.bulk.numpy_dtype("bf16")
    a, b = (rng.integers(-4, 5, shape).astype(bf16) for shape in ((11, 32), (32, 29)))
    with entered(COUNTING):
        kernel = counted(twin)
        found, report = cx.run(kernel, a, b, *tables.values(), executor=executor, report=True)
        assert np.array_equal(found, a.astype(int) @ b.astype(int))
    _, expected = cx.run(twin, a, b, *tables.values(), executor=executor, report=True)
    assert (report.executor, report.barriers) == (expected.executor, expected.barriers)
    assert report.messages == expected.messages


def test_a_plan_of_signals_of_another_class_is_followed() -> None:
    twin = cx.kernel.scheduled(tiled_mma((16, 32, 16), (2, 2)))
    with entered(COUNTING):
        alone = cx.kernel.whole_tiles(counted(twin))
        assert alone == cx.kernel.whole_tiles(twin)
        assert answers(counted(twin)) == answers(twin)


def test_no_language_is_written_for_a_count() -> None:
    emission_is_refused(ORDERED["waited for"](), COUNT, "wait for another one")


@pytest.mark.parametrize("missing", TABLES)
def test_each_entry_of_a_count_is_needed(missing: str) -> None:
    each_entry_is_needed(ORDERED["waited for"](), COUNT, missing)


# ------------------------------------------------------------ Draw

BF16 = cx.bulk.numpy_dtype("bf16")
RNG = np.random.default_rng(0)
A, B = (RNG.integers(-4, 5, shape).astype(BF16) for shape in ((40, 24), (24, 64)))
SIZES = {"M": 40, "K": 24, "U": 2}


@cache
def dealt() -> Kernel:
    """A product whose work-groups draw their tiles."""
    return dealt_gemm(tiled_mma((16, 32, 16), (2, 2)), 2)


def with_groups(kernel: Kernel, executor: Any) -> object:
    out, report = cx.run(kernel, A, B, U=2, executor=executor, report=True)
    return str(np.asarray(out).tolist()), dict(report.messages), report.dpas, report.barriers


DRAW = Drill(DRAWING, drawn, (A, B), SIZES)


@pytest.mark.parametrize("reader", ["check", "verify", "cost", "draw"])
def test_every_reader_answers_as_of_a_ticket(reader: str) -> None:
    agrees(reader, dealt(), DRAW)


@pytest.mark.parametrize("executor", ["reference", "fast"])
def test_tickets_of_another_class_are_drawn(executor: Any) -> None:
    expected = with_groups(dealt(), executor)
    with entered(DRAWING):
        assert with_groups(drawn(dealt()), executor) == expected


def test_tiles_that_another_class_deals_are_proved() -> None:
    is_proved(dealt(), DRAW)
    with entered(DRAWING):
        assert dealt_tiles(drawn(dealt())) == dealt_tiles(dealt())


def by_two(s: Any) -> Statement:
    return replace(s, by=Index(None, 2)) if isinstance(s, FetchAdd) else s


def one_place(s: Any) -> Statement:
    return replace(s, place=(Index(),)) if isinstance(s, FetchAdd) else s


def a_row_on(s: Any) -> Statement:
    return replace(s, at=(s.at[0] + 16, s.at[1])) if isinstance(s, (Load, Store)) else s


@pytest.mark.parametrize("change", [by_two, one_place, a_row_on])
def test_wrong_deals_are_never_proved(change: Callable[[Any], Any]) -> None:
    wrong = changed(dealt(), change)
    assert cx.verify(wrong).answer != "proved"
    with entered(DRAWING):
        assert cx.verify(drawn(wrong)).answer != "proved"
        assert answers(drawn(wrong)) == answers(wrong)


def test_no_language_is_written_for_a_draw() -> None:
    emission_is_refused(dealt(), DRAW)


@pytest.mark.parametrize("missing", [name for name in TABLES if name != "DOES"])
def test_each_entry_of_a_draw_is_needed(missing: str) -> None:
    each_entry_is_needed(dealt(), DRAW, missing)


def test_the_machine_needs_its_entry_of_a_draw() -> None:
    with entered(DRAWING, "DOES"), pytest.raises(KernelError, match="no meaning for Draw"):
        cx.run(drawn(dealt()), A, B, U=2, executor="reference")
