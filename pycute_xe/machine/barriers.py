"""The barriers of a work-group: who has arrived, who may pass, and what passing orders.

The barrier of the whole work-group counts every thread. A named barrier counts producers and
consumers: it fires when as many of each have arrived as it was told to expect. Producers go on,
consumers wait. What any of them did before it arrived is over for whoever has waited, because the
barrier fires only when all have arrived; a producer, which does not wait, learns nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pycute_xe.errors import MachineError
from pycute_xe.machine.trace import Clock, Progress, Trace
from pycute_xe.signatures import typed_fields

__all__ = ["BarrierArrive", "BarrierWait", "Barriers", "Meeting", "NamedBarrier", "Role"]

Role = Literal["producer_consumer", "producer", "consumer"]


@typed_fields
@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """A named barrier: its number, and how many producers and consumers it waits for.

    A thread that is both counts as both. Number 0 is the barrier of the whole work-group.
    Raises `MachineError` for numbers that cannot be.
    Document: DPC++ ESIMD reference, ``named_barrier_signal``; XeTLA 0.3.6, ``xetla_nbarrier_t``.

    >>> NamedBarrier(1, producers=4, consumers=12)
    NamedBarrier(id=1, producers=4, consumers=12)
    """

    id: int
    producers: int
    consumers: int

    def __post_init__(self) -> None:
        """Refuse barriers that no thread could reach."""
        if not 1 <= self.id <= 31 or min(self.producers, self.consumers) < 1:
            raise MachineError(
                "NamedBarrier",
                {"id": self.id, "producers": self.producers, "consumers": self.consumers},
                "named barriers are numbered 1 to 31, with one producer and one consumer at least",
                "number 0 is the barrier of the work-group, barrier()",
            )


@dataclass(frozen=True, slots=True)
class BarrierArrive:
    """The thread says that it has come this far, and goes on.

    Without a named barrier, at the one of the work-group. ``label`` names the statement.
    """

    barrier: NamedBarrier | None = None
    role: Role = "producer_consumer"
    label: str = ""


@dataclass(frozen=True, slots=True)
class BarrierWait:
    """The thread goes on when everyone whom the barrier counts has arrived as often as it has."""

    barrier: NamedBarrier | None = None
    label: str = ""


Meeting = BarrierArrive | BarrierWait
"""What a thread may yield."""


def _arrivals() -> dict[int, tuple[Role, Clock]]:
    return {}


def _fired() -> list[Clock]:
    return []


def _numbers() -> dict[int, int]:
    return {}


@dataclass(slots=True)
class _State:
    """One barrier: arrivals of the current round, what past rounds published, who owes a wait."""

    producers: int
    consumers: int
    arrivals: dict[int, tuple[Role, Clock]] = field(default_factory=_arrivals)
    fired: list[Clock] = field(default_factory=_fired)
    owes: dict[int, int] = field(default_factory=_numbers)

    def count(self, *roles: Role) -> int:
        """Arrivals of this round in some roles."""
        return sum(role in roles for role, _ in self.arrivals.values())

    @property
    def produced(self) -> int:
        return self.count("producer", "producer_consumer")

    @property
    def consumed(self) -> int:
        return self.count("consumer", "producer_consumer")


class Barriers:
    """Every barrier of a work-group, by number; 0 is the one of all threads.

    >>> from pycute_xe.machine.trace import Progress
    >>> barriers = Barriers([Progress(0), Progress(1)])
    >>> barriers.arrive(0, BarrierArrive())
    >>> barriers.may_pass(0, BarrierWait())
    False
    >>> barriers.arrive(1, BarrierArrive())
    >>> barriers.may_pass(0, BarrierWait())
    True
    """

    def __init__(self, progress: Sequence[Progress], trace: Trace | None = None) -> None:
        """Start with no arrivals."""
        self._progress = progress
        self._trace = trace
        for thread in progress:
            thread.room(len(progress))
        self._states: dict[int, _State] = {0: _State(len(progress), len(progress))}

    def arrive(self, index: int, meeting: BarrierArrive) -> None:
        """Count an arrival, and fire the barrier if it was the last one.

        Raises `MachineError` for a second arrival before the wait, for one too many, and for counts
        that differ from those of other arrivals.
        """
        state, name = self._state(index, meeting.barrier), _name(meeting.barrier)
        if index in state.owes:
            raise _misuse(index, name, "the thread arrives twice without waiting", meeting.label)
        if index in state.arrivals:
            raise _misuse(
                index, name, "the thread arrives again before the barrier has fired", meeting.label
            )
        clock = self._progress[index].release()
        state.arrivals[index] = (meeting.role, clock)
        if meeting.role != "producer":
            state.owes[index] = len(state.fired)
        self._too_many(index, state, name, meeting.label)
        if (state.produced, state.consumed) == (state.producers, state.consumers):
            self._fire(state, name)

    def expect_wait(self, index: int, meeting: BarrierWait) -> None:
        """Refuse a wait of a thread that has not arrived, or only as a producer."""
        state, name = self._state(index, meeting.barrier), _name(meeting.barrier)
        if index not in state.owes:
            produces = index in state.arrivals
            wrong = "the thread waits without arriving"
            wrong = "the thread waits, but arrived as a producer" if produces else wrong
            raise _misuse(index, name, wrong, meeting.label)

    def may_pass(self, index: int, meeting: BarrierWait) -> bool:
        """Whether the round that a waiting thread arrived in has fired."""
        state = self._state(index, meeting.barrier)
        return len(state.fired) > state.owes[index]

    def passes(self, index: int, meeting: BarrierWait) -> None:
        """Let a thread know what those who arrived in its round published."""
        state = self._state(index, meeting.barrier)
        self._progress[index].acquire(state.fired[state.owes.pop(index)])

    def absent(self, index: int, meeting: BarrierWait) -> list[int]:
        """Threads that have not arrived where a thread waits; none where not all are counted."""
        state = self._state(index, meeting.barrier)
        count = len(self._progress)
        if (state.producers, state.consumers) != (count, count):
            return []
        return [i for i in range(count) if i not in state.arrivals]

    def named(self, index: int, meeting: BarrierWait) -> str:
        """A barrier in words, with the round that a thread waits for, from 1 on."""
        state = self._state(index, meeting.barrier)
        turn = state.owes[index] + 1
        return f"barrier {turn}" if meeting.barrier is None else f"{_name(meeting.barrier)}"

    def shortfall(self, index: int, meeting: BarrierWait) -> str:
        """What a barrier still waits for, in words."""
        state = self._state(index, meeting.barrier)
        return (
            f"{state.produced} of {state.producers} producers and {state.consumed} of "
            f"{state.consumers} consumers have arrived"
        )

    def ends(self, index: int) -> None:
        """Refuse an end of a thread that owes a wait."""
        for number, state in self._states.items():
            if index in state.owes:
                name = f"named barrier {number}" if number else "the barrier"
                raise _misuse(index, name, "the thread ended between arriving and waiting", "")

    def left_over(self) -> None:
        """Refuse arrivals, at the end of all threads, whose barrier never fired."""
        for number, state in self._states.items():
            for index in state.arrivals:
                name = f"named barrier {number}" if number else "the barrier"
                raise _misuse(index, name, "the thread arrived, and the barrier never fired", "")

    def _state(self, index: int, barrier: NamedBarrier | None) -> _State:
        if barrier is None:
            return self._states[0]
        found = self._states.setdefault(barrier.id, _State(barrier.producers, barrier.consumers))
        if (found.producers, found.consumers) != (barrier.producers, barrier.consumers):
            wrong = (
                f"this thread counts {barrier.producers} producers and {barrier.consumers} "
                f"consumers, others {found.producers} and {found.consumers}"
            )
            raise _misuse(index, _name(barrier), wrong, "")
        return found

    def _too_many(self, index: int, state: _State, name: str, label: str) -> None:
        if state.produced > state.producers or state.consumed > state.consumers:
            counted = f"{state.producers} producers and {state.consumers} consumers"
            wrong = f"more threads arrive than {counted}"
            raise _misuse(index, name, wrong, label)

    def _fire(self, state: _State, name: str) -> None:
        state.fired.append(np.maximum.reduce([clock for _, clock in state.arrivals.values()]))
        state.arrivals.clear()
        if self._trace is not None:
            self._trace.barrier("barrier" if name == "the barrier" else name)


def _name(barrier: NamedBarrier | None) -> str:
    return "the barrier" if barrier is None else f"named barrier {barrier.id}"


def _misuse(index: int, name: str, condition: str, label: str) -> MachineError:
    operands: dict[str, object] = {"thread": index, "at": name}
    if label:
        operands["by"] = label
    return MachineError("run", operands, condition, "arrive once, then wait once")
