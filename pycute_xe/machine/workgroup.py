"""The threads of a work-group, run together between barriers.

A thread is a generator: it runs its instructions itself and yields where it meets the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from pycute_xe.errors import CuteError, MachineError
from pycute_xe.machine.barriers import BarrierArrive, Barriers, BarrierWait, Meeting, NamedBarrier
from pycute_xe.machine.trace import DeadlockFault, Progress, Trace

__all__ = [
    "BarrierArrive",
    "BarrierWait",
    "CounterWait",
    "Meeting",
    "NamedBarrier",
    "run",
    "stepped",
]


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
        found = list(progress) if progress is not None else [Progress(i) for i in range(count)]
        if len(found) != count:
            raise MachineError(
                "run",
                {"threads": count, "progress": len(found)},
                "every thread needs a Progress of its own",
                f"give {count}",
            )
        self.barriers = Barriers(found, trace)
        self.running = set(range(count))
        self._waiting: dict[int, BarrierWait] = {}
        self._looking = False
        self.failed: list[CuteError] = []
        for index, mine in enumerate(found):
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
        return [f"{_threads(who)} wait{'s' * (len(who) < 2)} {at}" for at, who in places.items()]

    def _ended(self, absent: list[int]) -> list[str]:
        ended = [i for i in absent if i not in self.running]
        return [f"{_threads(ended)} {'has' if len(ended) < 2 else 'have'} ended"] if ended else []


def _threads(who: Sequence[int]) -> str:
    """Thread numbers in words, runs of them shortened."""
    runs: list[list[int]] = []
    for index in sorted(who):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"thread{'s' * (len(who) > 1)} {', '.join(parts)}"
