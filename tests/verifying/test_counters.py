"""Counters that are stored, loaded or looked up too: prover and machine agree."""

from __future__ import annotations

import numpy as np
import pytest
from counter_kernels import ADD, GET, SET, THREE, ZERO, G, counting, group, signal, wait

import pycute_xe as cx
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.kernel import (
    Await,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Statement,
)
from pycute_xe.machine.trace import RaceFault

ONES = np.ones((8, 16), np.float32)


def answer(kernel: Kernel) -> str:
    """What is said of the counters; what is disproved is shown, and nothing else is proved."""
    verdict = cx.verify(kernel)
    if verdict.counterexample is not None:
        assert cx.replay(kernel, verdict.counterexample).shows
    else:
        assert verdict.answer == "undecided"
    return next((p.answer for p in verdict.proofs if p.property == "counters"), "not asked")


@pytest.mark.parametrize(
    "body",
    [
        (group(0, SET), group(1, signal())),
        (group(0, SET), group(1, signal()), group(2, wait(1))),
        (group(0, SET, signal()), group(1, signal())),
        (group(0, GET), group(1, signal())),
        (group(0, signal(1), wait(1, 1), signal()), group(1, SET), group(2, signal())),
        (group(0, signal()), group(1, GET, wait(1))),
        (group(0, signal()), group(1, signal(), SET), group(2, signal())),
    ],
    ids=["signalled", "waited for", "both", "loaded", "one has waited", "too late", "signals too"],
)
def test_a_plain_access_to_what_others_signal_is_disproved(body: tuple[Statement, ...]) -> None:
    kernel = counting(*body)
    with pytest.raises(RaceFault, match=r"counts\[\d, \d+\].*nothing orders"):
        cx.run(kernel, ONES, executor="reference")
    assert answer(kernel) == "disproved"


@pytest.mark.parametrize(
    ("body", "does"),
    [
        ((group(0, signal()), group(1, signal()), group(2, wait(1), SET)), "adds to"),
        ((group(0, THREE, SET, signal()), group(1, wait(4))), "waits for"),
        ((group(0, THREE, SET), group(1, wait(3))), "waits for"),
        ((group(0, signal()), group(1, wait(0), GET)), "adds to"),
        ((group(0, signal()), group(1, wait(1)), group(2, wait(1), SET)), "waits for"),
    ],
    ids=["one of two", "begun late", "a flag", "not waited", "who waits too"],
)
def test_a_wait_that_does_not_order_an_access_is_a_race(
    body: tuple[Statement, ...], does: str
) -> None:
    kernel = counting(*body)
    with pytest.raises(RaceFault, match=does):
        cx.run(kernel, ONES, executor="reference")
    assert answer(kernel) in ("undecided", "disproved")


@pytest.mark.parametrize(
    "body",
    [
        (group(0, signal()), group(1, wait(1), GET)),
        (group(0, signal()), group(1, signal()), group(2, wait(2), SET)),
        (group(0, signal(0, 2)), group(1, wait(1), wait(2), SET)),
        (group(0, THREE, ADD), group(1, THREE, ADD), group(2, wait(6))),
        (group(0, THREE, SET),),
        (group(0, signal(), SET, GET),),
    ],
    ids=["loaded", "set back", "two waits", "atomics", "stored alone", "of its own"],
)
def test_what_is_in_order_runs(body: tuple[Statement, ...]) -> None:
    kernel = counting(*body)
    assert np.array_equal(cx.run(kernel, ONES, executor="reference"), np.tile(ONES, (3, 1)))
    assert cx.verify(kernel).answer != "disproved"


def test_a_wait_in_an_earlier_trip_may_order_an_access() -> None:
    """The store of the second trip comes behind the wait of the first."""
    trip = Index("k")
    fewer = Await("counts", ZERO, Index(None, 1) - trip)
    body = If(Index(), trip, (SET,)), fewer
    kernel = counting(group(0, signal()), Loop("k", Index(), Index(None, 2), (group(1, *body),)))
    assert np.array_equal(cx.run(kernel, ONES, executor="reference"), np.tile(ONES, (3, 1)))
    (found,) = [p for p in cx.verify(kernel).proofs if p.property == "counters"]
    assert found.answer == "undecided"
    assert "waits may order the two" in found.reason


def test_a_wait_and_a_load_only_look() -> None:
    verdict = cx.verify(counting(group(0, wait(0)), group(1, GET)))
    assert [p.answer for p in verdict.proofs if p.property == "counters"] == ["proved"]


def test_a_counter_that_is_looked_up_is_not_followed() -> None:
    looked = If(Index.element("counts", 0, 0), Index(None, 1), (Fill("i", 1),))
    kernel = counting(group(0, signal()), group(1, looked))
    assert answer(kernel) == "undecided"
    with pytest.raises(RaceFault, match="reads"):
        cx.run(kernel, ONES, executor="reference")


def test_a_counter_never_shrinks() -> None:
    with pytest.raises(KernelError, match="a counter only grows, the statement adds -1"):
        counting(signal(0, -1))
    with pytest.raises(MachineError, match="a counter only grows"):
        cx.run(counting(signal(0, G - 1)), ONES, executor="reference")
