"""The threads of a work-group, run together between barriers, and what passing a barrier orders.

A thread is a generator: it runs its instructions itself and yields where it meets the others.
The barrier of the whole work-group counts every thread. A named barrier counts producers and
consumers: it fires when as many of each have arrived as it was told to expect. Producers go on,
consumers wait. What any of them did before it arrived is over for whoever has waited, because the
barrier fires only when all have arrived; a producer, which does not wait, learns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from pycute_xe.errors import CuteError, MachineError
from pycute_xe.machine.trace import Clock, DeadlockFault, Progress, Trace
from pycute_xe.signatures import checked_fields, typed_fields

__all__ = [
    "BarrierArrive",
    "BarrierWait",
    "Barriers",
    "Meeting",
    "NamedBarrier",
    "Role",
    "CounterWait",
    "run",
    "stepped",
]


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


@checked_fields
@dataclass(frozen=True, slots=True)
class BarrierArrive:
    """The thread says that it has come this far, and goes on.

    Without a named barrier, at the one of the work-group. ``label`` names the statement.
    """

    barrier: NamedBarrier | None = None
    role: Role = "producer_consumer"
    label: str = ""


@checked_fields
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
        state = self._states.setdefault(barrier.id, _State(barrier.producers, barrier.consumers))
        if (state.producers, state.consumers) != (barrier.producers, barrier.consumers):
            wrong = (
                f"this thread counts {barrier.producers} producers and {barrier.consumers} "
                f"consumers, others {state.producers} and {state.consumers}"
            )
            raise _misuse(index, _name(barrier), wrong, "")
        return state

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


@dataclass(frozen=True, slots=True)
class CounterWait:
    """The thread goes on when ``ready`` says so, which depends on other work-groups."""

    ready: Callable[[], bool]
    label: str = ""


def run(
    threads: Sequence[Iterator[Meeting]],
    progress: Sequence[Progress] | None = None,
    trace: Trace | None = None,
) -> None:
    """Run every thread to its end, one after the other between barriers, in their order.

    A barrier is an arrival and a wait, of all threads or of those that a `NamedBarrier` counts;
    work may lie between the two. ``progress`` (one for each thread) is kept up to date, for `Slm`
    to tell races by.
    Raises `DeadlockFault` where threads wait for what never happens: it names every waiting thread
    with its barrier, and where the missing ones are. Raises `MachineError` for an arrival without
    its wait or a wait without its arrival.
    Document: Intel ESIMD LSC SLM guide, barrier synchronisation; C++ ``barrier_arrive`` and
    ``barrier_wait`` of cute/util/xe_split_barrier.hpp.

    >>> log = []
    >>> def thread(name):
    ...     log.append(f"{name} before")
    ...     yield BarrierArrive()
    ...     yield BarrierWait()
    ...     log.append(f"{name} after")
    >>> run([thread("a"), thread("b")])
    >>> log
    ['a before', 'b before', 'a after', 'b after']
    """
    for waits in stepped(threads, progress, trace):
        raise DeadlockFault(
            "run",
            {"waiting": waits},
            f"deadlock: a thread waits for {waits[0]}, which no other work-group changes",
            "run the work-groups together",
        )


def stepped(
    threads: Sequence[Iterator[Meeting | CounterWait]],
    progress: Sequence[Progress] | None = None,
    trace: Trace | None = None,
) -> Iterator[list[str]]:
    """Run every thread as `run` does, and yield where all wait for other work-groups.

    Yielded is what they wait for, in words. Raises as `run` does.

    >>> open_ = []
    >>> def thread():
    ...     yield CounterWait(lambda: bool(open_), "the counter")
    >>> going = stepped([thread()])
    >>> next(going), open_.append(1), next(going, "done")
    (['the counter'], None, 'done')
    """
    group = _Group(threads, progress, trace)
    while group.running:
        for index in group.ready():
            # A look-ahead of one before may have moved it on, or seen it fail.
            if group.can_go(index):
                group.advance(index)
        if group.failed:
            raise group.failed[0]
        if group.running and not group.ready():
            if not group.polling:
                raise group.deadlock()
            yield [wait.label for wait in group.polling.values()]
    group.barriers.left_over()


class _Group:
    """The threads, how far each is, and which still run."""

    def __init__(
        self,
        threads: Sequence[Iterator[Meeting | CounterWait]],
        progress: Sequence[Progress] | None,
        trace: Trace | None,
    ) -> None:
        self.polling: dict[int, CounterWait] = {}
        self.threads = list(threads)
        count = len(self.threads)
        states = list(progress) if progress is not None else [Progress(i) for i in range(count)]
        if len(states) != count:
            raise MachineError(
                "run",
                {"threads": count, "progress": len(states)},
                "every thread needs a Progress of its own",
                f"give {count}",
            )
        self.barriers = Barriers(states, trace)
        self.running = set(range(count))
        self._waiting: dict[int, BarrierWait] = {}
        self._looking = False
        self.failed: list[CuteError] = []
        for index, mine in enumerate(states):
            mine.look_ahead = partial(self.look_ahead, index)

    def ready(self) -> list[int]:
        """Threads that can go on: those not waiting, or waiting for what has happened."""
        return [index for index in sorted(self.running) if self.can_go(index)]

    def can_go(self, index: int) -> bool:
        """Whether a thread still runs, and waits for nothing that has yet to happen."""
        if index in self.polling and not self.polling[index].ready():
            return False
        wait = self._waiting.get(index)
        return index in self.running and (wait is None or self.barriers.may_pass(index, wait))

    def advance(self, index: int) -> None:
        """Run one thread until it has to wait, or ends."""
        if index in self._waiting:
            self.barriers.passes(index, self._waiting.pop(index))
        self.polling.pop(index, None)
        for meeting in self.threads[index]:
            if isinstance(meeting, CounterWait):
                self.polling[index] = meeting
                return
            if isinstance(meeting, BarrierArrive):
                self.barriers.arrive(index, meeting)
                continue
            self.barriers.expect_wait(index, meeting)
            # Even the last to arrive waits its turn, so that threads always run in their order.
            self._waiting[index] = meeting
            return
        self.running.discard(index)
        self.barriers.ends(index)

    def look_ahead(self, index: int) -> None:
        """Run the other threads on to their next wait, because this one is about to fail.

        What they do wrong meanwhile is reported later: the failure of this thread comes first.
        """
        if self._looking:
            return
        self._looking = True
        for other in self.ready():
            if other != index:
                try:
                    self.advance(other)
                except CuteError as error:
                    self.running.discard(other)
                    self.failed.append(error)
        self._looking = False

    def deadlock(self) -> DeadlockFault:
        """Say who waits where, and where those are that they wait for."""
        # A barrier of all threads says best who is missing; a named one only how many.
        index = max(self._waiting, key=lambda i: (len(self._absent(i)), -i))
        wait, absent = self._waiting[index], self._absent(index)
        name = self.barriers.named(index, wait)
        lines = [*self._waits(), *self._ended(absent)]
        what = f"{name} never fires, as {self.barriers.shortfall(index, wait)}"
        if absent:
            what = f"{_threads(absent)} never arrive{'s' * (len(absent) < 2)} at {name}"
        return DeadlockFault(
            "run",
            {"waiting": sorted(self._waiting), "missing": absent},
            f"deadlock: {what}; {'; '.join(lines)}",
            "every thread must meet every barrier that counts it, outside any condition",
        )

    def _absent(self, index: int) -> list[int]:
        return self.barriers.absent(index, self._waiting[index])

    def _waits(self) -> list[str]:
        """One line for each place where threads wait."""
        places: dict[str, list[int]] = {}
        for index, wait in sorted(self._waiting.items()):
            by = f" ({wait.label})" if wait.label else ""
            places.setdefault(f"at {self.barriers.named(index, wait)}{by}", []).append(index)
        return [
            f"{_threads(threads)} wait{'s' * (len(threads) < 2)} {at}"
            for at, threads in places.items()
        ]

    def _ended(self, absent: list[int]) -> list[str]:
        ended = [i for i in absent if i not in self.running]
        return [f"{_threads(ended)} {'has' if len(ended) < 2 else 'have'} ended"] if ended else []


def _threads(threads: Sequence[int]) -> str:
    """Thread numbers in words, runs of them shortened."""
    runs: list[list[int]] = []
    for index in sorted(threads):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"thread{'s' * (len(threads) > 1)} {', '.join(parts)}"
