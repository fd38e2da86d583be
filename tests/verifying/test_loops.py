"""What fragments hold in loops and behind them: no trips, first trips, parts of fragments."""

from __future__ import annotations

import numpy as np
import pytest
from unsound_kernels import K, M, N, X, Y, differs, kernel, load, not_proved, store

import pycute_xe as cx
from pycute_xe.kernel import (
    Element,
    Expression,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Map,
    Operand,
    Reorder,
    Slot,
    Statement,
    apply,
    total,
)
from pycute_xe.kernel.spec.expression import Const, Where
from pycute_xe.layout import Layout

BATCHES = (Operand("A", "f32", ("K", "M", "N")),)
Z = Slot("z")
HALF = Layout((2, 64), (0, 1))


def batch(to: str) -> Statement:
    return load("A", to, (K, M * 8, N * 16))


def a(at: Index) -> Element:
    return Element("A", (at, M, N))


def all_but_the_last(nothing: float) -> Expression:
    return Where(K, Index("K") - 1, a(K), Const(nothing))


def looping(
    claim: Expression | float, *body: Statement, start: float = 0.0, fewer: int = 0
) -> Kernel:
    """y is 3 and z a number, a loop over the batches does something, z is stored."""
    loop = Loop("k", Index(), Index("K") - fewer, body)
    return kernel(claim, Fill("y", 3.0), Fill("z", start), loop, store("D", "z"), more=BATCHES)


ONES = np.ones((1, 8, 16), np.float32)


def test_what_a_loop_writes_is_not_written_where_it_has_no_trip() -> None:
    anew = (batch("x"), Map("z", X * 2))
    assert cx.verify(looping(2 * a(Index("K") - 1), *anew))
    wrong = looping(2 * a(Index("K") - 2), *anew, start=7.0, fewer=1)
    differs(wrong, 0, ONES)
    not_proved(wrong)
    left = Where(Index("K"), Index(None, 2), Const(7.0), 2 * a(Index("K") - 2))
    assert cx.verify(looping(left, *anew, start=7.0, fewer=1))


def test_the_first_trip_finds_what_lay_there_before() -> None:
    """Every trip adds what the one before loaded; the first one adds 3."""
    body = (Map("z", Z + Y), batch("y"))
    right = looping(3.0 + total("k", "K", all_but_the_last(0.0)), *body)
    assert cx.verify(right)
    x = np.arange(3, dtype=np.float32).reshape(3, 1, 1) + ONES
    assert (np.asarray(cx.run(right, x)) == 3 + 1 + 2).all()
    not_proved(looping(total("k", Index("K"), a(K)), *body))


@pytest.mark.long
@pytest.mark.parametrize("largest", [apply("max", Z, Y), apply("max", Y, Z)])
def test_the_largest_of_what_the_trips_before_loaded(largest: Expression) -> None:
    body = (Map("z", largest), batch("y"))
    right = apply("max", 3.0, total("k", "K", all_but_the_last(-np.inf), how="max"))
    x = np.arange(3, dtype=np.float32).reshape(3, 1, 1) * 4 + ONES
    assert (np.asarray(cx.run(looping(right, *body, start=3.0), x)) == 5).all()
    assert cx.verify(looping(right, *body, start=3.0)).answer != "disproved"
    not_proved(looping(Const(3.0), *body, start=3.0))


def registers(made: Kernel) -> str:
    return next(p.answer for p in cx.verify(made).proofs if p.property == "registers")


@pytest.mark.long
def test_a_condition_keeps_the_first_trip_from_reading_what_is_not_written() -> None:
    def reading(first: int) -> Kernel:
        later = If(Index(None, first), K, (Map("z", Z + X),))
        loop = Loop("k", Index(), Index("K"), (later, batch("x")))
        fills = (Fill("y"), Fill("z"), Reorder("y", "x", HALF))
        claim = total("k", "K", all_but_the_last(0.0))
        return kernel(claim, *fills, loop, store("D", "z"), more=BATCHES)

    found = np.asarray(cx.run(reading(0), np.vstack([ONES, ONES * 2]), executor="reference"))
    assert (found == 1).all()
    assert registers(reading(0)) == "proved"
    assert cx.verify(reading(0)).answer != "disproved"
    with pytest.raises(cx.MachineError, match="uninitialised"):
        cx.run(reading(-1), ONES, executor="reference")
    assert registers(reading(-1)) != "proved"


def test_a_part_that_a_trip_leaves_unwritten_is_not_lost_from_sight() -> None:
    """A trip leaves half of z undefined, which the next one reads."""
    half = Reorder("x", "z", HALF)
    loop = Loop("k", Index(), Index("K"), (Map("x", 1.0 / (Z + 2.0)), half))
    body = (Fill("z", 1.0), loop, Fill("z", 1.0), store("D", "z"))
    made = kernel(1.0, *body, more=BATCHES)
    assert registers(made) != "proved"
    with pytest.raises(cx.MachineError, match="uninitialised"):
        cx.run(made, np.ones((2, 8, 16), np.float32), executor="reference")
