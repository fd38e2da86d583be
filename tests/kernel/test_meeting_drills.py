"""Named barriers by other classes: one that arrives as a producer, and one that waits."""

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
    changed,
    each_entry_is_needed,
    emission_is_refused,
    entered,
    entries_like,
    is_never_proved,
    is_proved,
)
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Fence, Kernel, NamedArrive, NamedBarrier, NamedWait, Statement
from pycute_xe.kernel.ir.effects import NamedMeeting
from pycute_xe.kernel.ir.statements import touching


@dataclass(frozen=True, slots=True)
class Publish(Statement):
    """Arrive at a named barrier as a producer."""

    touches = touching(indices="barrier.number", named="meeting")
    barrier: NamedBarrier

    @property
    def role(self) -> str:
        """As what it arrives."""
        return "producer"

    @property
    def meeting(self) -> NamedMeeting:
        """The barrier, and that it produces."""
        return NamedMeeting(self.barrier, "producer")


@dataclass(frozen=True, slots=True)
class Obtain(Statement):
    """Wait for a named barrier."""

    touches = touching(indices="barrier.number", named="meeting")
    barrier: NamedBarrier

    @property
    def meeting(self) -> NamedMeeting:
        """The barrier that is waited for."""
        return NamedMeeting(self.barrier)


KINDS = {
    Publish: entries_like(NamedArrive, lambda s: f"publish   {s.barrier}"),
    Obtain: entries_like(NamedWait, lambda s: f"obtain    {s.barrier}"),
}


def written(twin: Kernel) -> Kernel:
    """Return a kernel whose producers publish and whose consumers obtain."""

    def change(s: Statement) -> Statement:
        meeting = s.touched.named
        if meeting is None or meeting.role == "consumer":
            return s
        return Obtain(meeting.barrier) if meeting.waits else Publish(meeting.barrier)

    return changed(twin, change)


BF16 = cx.bulk.numpy_dtype("bf16")
RNG = np.random.default_rng(3)
A, B = (RNG.integers(-4, 5, shape).astype(BF16) for shape in ((16, 130), (130, 32)))
DRILL = Drill(KINDS, written, (A, B), {"M": 16, "N": 32, "K": 130})


@cache
def right() -> Kernel:
    """A product whose operands some subgroups produce and others consume."""
    return cx.kernel.specialised_gemm(tiled_mma((16, 32, 16), (1, 2)), stages=2)


def without(role: str | None) -> Callable[[Any], Statement | None]:
    """Leave out what arrives in a role, or what waits."""

    def change(s: Statement) -> Statement | None:
        meeting = s.touched.named
        return None if meeting is not None and meeting.role == role else s

    return change


def recounted(s: Any) -> Statement:
    """Count a producer more than there are, where producers arrive."""
    if not isinstance(s, NamedArrive) or s.role != "producer":
        return s
    return replace(s, barrier=replace(s.barrier, producers=s.barrier.producers + 1))


WRONG: dict[str, Callable[[Any], Any]] = {
    "no producer arrives": without("producer"),
    "no fence": lambda s: None if s == Fence() else s,
    "a producer too many is counted": recounted,
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_answers_as_of_named_barriers(reader: str) -> None:
    agrees(reader, right(), DRILL)


def test_barriers_of_another_class_are_proved() -> None:
    is_proved(right(), DRILL)


@pytest.mark.long
@pytest.mark.parametrize("reader", ["check", "reference", "fast"])
@pytest.mark.parametrize("name", sampled(WRONG, 1))
def test_readers_answer_alike_of_wrong_barriers(name: str, reader: str) -> None:
    agrees(reader, changed(right(), WRONG[name]), DRILL)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_barriers_are_never_proved(name: str) -> None:
    is_never_proved(changed(right(), WRONG[name]), DRILL)


def test_whoever_arrives_as_a_consumer_must_wait() -> None:
    with entered(KINDS), pytest.raises(KernelError, match="arrives as a consumer and never waits"):
        changed(written(right()), lambda s: None if isinstance(s, Obtain) else s)


def test_what_the_listing_says() -> None:
    with entered(KINDS):
        assert "publish   barrier " in str(written(right()))
        assert "obtain    barrier " in str(written(right()))


def test_no_language_is_written() -> None:
    emission_is_refused(right(), DRILL, "named barriers")


@pytest.mark.parametrize("missing", TABLES)
def test_each_entry_is_needed(missing: str) -> None:
    each_entry_is_needed(right(), DRILL, missing)
