"""What a run did, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError
from pycute_xe.signatures import checked_fields, typed

__all__ = [
    "Event",
    "Reach",
    "Trace",
    "BoundsFault",
    "DeadlockFault",
    "RaceFault",
    "UnwrittenFault",
    "Clock",
    "Progress",
]

# ------------------------------------------------------------ progress
# What each thread of a work-group knows to be over, kept as a vector clock.
#
# Each thread counts its own intervals, from one arrival at a barrier to the next. Arriving
# publishes what the thread knows; waiting takes over what the others have published. An access is
# over for a thread exactly when the thread knows of the interval in which it was made.

Clock = NDArray[np.int64]


MOST_THREADS = 1 << 16
"""Threads whose clocks are kept: far more than any work-group has."""


class Progress:
    """How far a thread is, and how far it knows the others to be.

    ``clock[t]`` is the last interval of thread t that is over for this one; the thread's own entry
    is the interval it is in, from 1 on. ``label`` names the statement it is at, for reports.
    Law: an access of thread t in interval i is ordered before this thread's next one exactly when
    ``clock[t] >= i``. Document: L. Lamport, Time, Clocks, and the Ordering of Events (1978), with a
    clock for each thread.

    >>> a, b = Progress(0, 2), Progress(1, 2)
    >>> b.acquire(a.release())
    >>> a.clock.tolist(), b.clock.tolist()
    ([2, 0], [1, 1])
    """

    __slots__ = ("clock", "index", "label", "look_ahead")

    @typed
    def __init__(self, index: int, threads: int = 0) -> None:
        """Start in interval 1, knowing of no other thread."""
        if not 0 <= index < MOST_THREADS or not 0 <= threads <= MOST_THREADS:
            condition = f"index and threads must be 0 to {MOST_THREADS:,}"
            given = {"index": index, "threads": threads}
            raise MachineError("Progress", given, condition, "number the threads of a work-group")
        self.index = index
        self.label = ""
        self.clock: Clock = np.zeros(max(threads, index + 1), dtype=np.int64)
        self.clock[index] = 1
        self.look_ahead: Callable[[], None] | None = None

    @property
    def now(self) -> int:
        """The interval that the thread is in."""
        return int(self.clock[self.index])

    @typed
    def room(self, threads: int) -> None:
        """Make the clock count so many threads.

        >>> thread = Progress(0)
        >>> thread.room(3)
        >>> thread.clock.tolist()
        [1, 0, 0]
        """
        if threads > MOST_THREADS:
            condition = f"at most {MOST_THREADS:,} threads are kept apart"
            raise MachineError("room", {"threads": threads}, condition, "launch fewer")
        if threads > self.clock.size:
            self.clock = np.pad(self.clock, (0, threads - self.clock.size))

    def release(self) -> Clock:
        """Return what the thread knows, and start a new interval: it arrives at a barrier.

        >>> Progress(0).release().tolist()
        [1]
        """
        known = self.clock.copy()
        self.clock[self.index] += 1
        return known

    def acquire(self, known: Clock) -> None:
        """Know what another thread knew: the wait for its arrival is over.

        >>> thread = Progress(1)
        >>> thread.acquire(np.array([4, 0]))
        >>> thread.clock.tolist()
        [4, 1]
        """
        self.room(known.size)
        part = self.clock[: known.size]
        np.maximum(part, known, out=part)


# ------------------------------------------------------------ faults
# The faults of a work-group, each of its own class, for readers to tell them apart.


class RaceFault(MachineError):
    """Two threads touch a byte, one of them writing, and nothing orders the two accesses.

    ``overlap`` says that both write, and that the later access reaches other bytes besides.
    """

    def __init__(
        self,
        operation: str,
        operands: Mapping[str, object],
        condition: str,
        fix: str = "",
        overlap: bool = False,
    ) -> None:
        """Keep what kind of race it is beside the four parts."""
        super().__init__(operation, operands, condition, fix)
        self.overlap = overlap
        self.args = (operation, self.operands, condition, fix, overlap)


class UnwrittenFault(MachineError):
    """A read of bytes that no thread has written."""


class BoundsFault(MachineError):
    """An access beyond the shared local memory that was asked for."""


class DeadlockFault(MachineError):
    """Threads wait at a barrier that the others never reach: hardware would hang."""


# ------------------------------------------------------------ trace


def _events() -> list[Event]:
    return []


def _counter() -> Counter[str]:
    return Counter()


class Reach(NamedTuple):
    """The bytes of memory that a block touches: address of the first, bytes of a row, rows, pitch.

    The pitch of one row is 0: nothing follows it. ``start`` is where the block begins, which may
    lie outside of its surface.
    """

    first: int
    wide: int
    high: int
    pitch: int
    start: int = -1

    @property
    def bytes(self) -> NDArray[np.int64]:
        """The address of each byte, row by row.

        >>> Reach(100, 2, 2, 64).bytes.tolist()
        [100, 101, 164, 165]
        """
        rows = np.arange(self.high) * self.pitch
        return (self.first + rows[:, None] + np.arange(self.wide)).reshape(-1)


@checked_fields
@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: its kind, the instruction as text, and the bytes it moved.

    ``reach`` says where: a part of a surface, or the address of each byte; None where no byte is.
    """

    kind: str
    text: str
    nbytes: int = 0
    reach: Reach | NDArray[np.int64] | None = None


@dataclass(slots=True)
class Trace:
    """Counts of a run: messages and bytes by kind, DPAS instructions, barriers.

    Kinds are "load", "store" and "prefetch" for block-2D messages, and whatever else callers
    record. Bytes are those inside the surface. With ``keep`` every event is also listed, in order.
    ``why`` says why the byte machine did what whole arrays were asked for.

    >>> trace = Trace()
    >>> trace.message("load", "lsc_load_block2d…", 512)
    >>> trace.messages["load"], trace.nbytes["load"]
    (1, 512)
    """

    keep: bool = False
    messages: Counter[str] = field(default_factory=_counter)
    nbytes: Counter[str] = field(default_factory=_counter)
    dpas: int = 0
    barriers: int = 0
    events: list[Event] = field(default_factory=_events)
    why: str = ""

    def message(
        self,
        kind: str,
        text: str,
        nbytes: int,
        reach: Reach | NDArray[np.int64] | None = None,
    ) -> None:
        """Count a message and the bytes that it moved.

        >>> Trace().message("store", "…", 256)
        """
        self.messages[kind] += 1
        self.nbytes[kind] += nbytes
        self._record(kind, text, nbytes, reach)

    def instruction(self, text: str) -> None:
        """Count a DPAS instruction.

        >>> Trace().instruction("dpas.bf.bf.8.8")
        """
        self.dpas += 1
        self._record("dpas", text, 0)

    def barrier(self, text: str = "barrier") -> None:
        """Count a barrier that all threads have passed.

        >>> Trace().barrier()
        """
        self.barriers += 1
        self._record("barrier", text, 0)

    def _record(
        self,
        kind: str,
        text: str,
        nbytes: int,
        reach: Reach | NDArray[np.int64] | None = None,
    ) -> None:
        if self.keep:
            self.events.append(Event(kind, text, nbytes, reach))
