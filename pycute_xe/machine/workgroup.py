"""Floor 8: the threads of a work-group, run together between barriers.

A thread is a generator: it runs its instructions itself and yields where it meets the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pycute_xe.errors import MachineError
from pycute_xe.machine.slm import Progress
from pycute_xe.machine.trace import Trace

__all__ = ["BarrierArrive", "BarrierWait", "Meeting", "run"]


@dataclass(frozen=True, slots=True)
class BarrierArrive:
    """The thread says that it has come this far, and goes on."""


@dataclass(frozen=True, slots=True)
class BarrierWait:
    """The thread goes on when every thread has arrived as often as it has."""


Meeting = BarrierArrive | BarrierWait
"""What a thread may yield."""


def run(
    threads: Sequence[Iterator[Meeting]],
    progress: Sequence[Progress] | None = None,
    trace: Trace | None = None,
) -> None:
    """Run every thread to its end, one after the other between barriers, in their order.

    A barrier is an arrival and a wait, of all threads; work may lie between the two. ``progress``
    (one for each thread) is kept up to date, for `Slm` to tell races by.
    Raises `MachineError` for a deadlock, which is a thread that waits for one that has ended, and
    for an arrival without its wait or a wait without its arrival.
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
    group = _Group(threads, progress)
    passed = 0
    while group.running:
        for index in group.ready():
            group.advance(index)
        if group.running and not group.ready():
            raise group.deadlock()
        for _ in range(group.passed() - passed):
            passed += 1
            if trace is not None:
                trace.barrier()


class _Group:
    """The threads, how far each is, and which still run."""

    def __init__(
        self, threads: Sequence[Iterator[Meeting]], progress: Sequence[Progress] | None
    ) -> None:
        self.threads = list(threads)
        self.progress = list(progress or map(Progress, range(len(self.threads))))
        if len(self.progress) != len(self.threads):
            raise MachineError(
                "run",
                {"threads": len(self.threads), "progress": len(self.progress)},
                "every thread has one progress",
                "give as many of each",
            )
        self.running = set(range(len(self.threads)))
        self._waiting: set[int] = set()

    def ready(self) -> list[int]:
        """Threads that can go on: those not waiting, or waiting for what has happened."""
        return [i for i in sorted(self.running) if i not in self._waiting or self._released(i)]

    def passed(self) -> int:
        """Barriers that every thread has waited at."""
        return min((p.waited for p in self.progress), default=0)

    def advance(self, index: int) -> None:
        """Run one thread until it has to wait, or ends."""
        mine = self.progress[index]
        if index in self._waiting:
            self._waiting.discard(index)
            mine.waited += 1
        for meeting in self.threads[index]:
            self._expect(index, arriving=isinstance(meeting, BarrierArrive))
            if isinstance(meeting, BarrierArrive):
                mine.arrived += 1
                continue
            # Even the last to arrive waits its turn, so that threads always run in their order.
            self._waiting.add(index)
            return
        self.running.discard(index)
        if mine.arrived != mine.waited:
            raise MachineError(
                "run", {"thread": index}, "it ended between arriving and waiting", "wait as well"
            )

    def deadlock(self) -> MachineError:
        """Say who waits, and for whom."""
        waiting = sorted(self._waiting)
        needed = max(self.progress[i].arrived for i in waiting)
        missing = [i for i, p in enumerate(self.progress) if p.arrived < needed]
        return MachineError(
            "run",
            {"waiting": waiting, "missing": missing},
            f"deadlock: thread {missing[0]} never arrives at barrier {needed}",
            "every thread must meet every barrier",
        )

    def _released(self, index: int) -> bool:
        needed = self.progress[index].arrived
        return all(p.arrived >= needed for p in self.progress)

    def _expect(self, index: int, arriving: bool) -> None:
        mine = self.progress[index]
        if arriving == (mine.arrived == mine.waited):
            return
        condition = "it arrives twice without waiting" if arriving else "it waits without arriving"
        raise MachineError("run", {"thread": index}, condition, "arrive once, then wait once")
