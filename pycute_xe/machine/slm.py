"""Shared local memory of a work-group, with a memory of who touched each byte when.

Two threads may touch a byte, one of them writing, only if one access is over before the other
starts. Barriers order accesses, named ones too: see `pycute_xe.machine.trace`. Two atomics never
clash; an atomic and a plain access do, as two plain ones would.

ESIMD's barrier() fences by itself, so that `Slm` needs no fence; a split barrier's halves do not,
and in `FencedSlm` fences must wait for stores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError
from pycute_xe.machine.memory import Bytes, Ints as Index
from pycute_xe.machine.trace import BoundsFault, Progress, RaceFault, UnwrittenFault

__all__ = ["Progress", "Slm", "FencedSlm"]


# ------------------------------------------------------------ slm words
# The bytes of an access to shared local memory, and how reports name them.

Part = slice | Index


def addresses(part: Part) -> Index:
    """Return the byte addresses of an access.

    >>> addresses(slice(3, 6)).tolist()
    [3, 4, 5]
    """
    if not isinstance(part, slice):
        return part
    start: int = part.start
    return np.arange(start, part.stop, dtype=np.int64)


def named(where: Index) -> str:
    """Return a set of bytes in words, short.

    >>> named(np.array([3, 4, 5])), named(np.array([3, 9]))
    ('3 to 5', '2 of 3 to 9')
    """
    places = np.unique(where)
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 == places.size:
        return str(first) if first == last else f"{first} to {last}"
    return f"{places.size} of {first} to {last}"


def by(label: str) -> str:
    """Return who did it, in words.

    >>> by("slm_block_store (kernel:7)")
    ' by slm_block_store (kernel:7)'
    """
    return f" by {label}" if label else ""


# ------------------------------------------------------------ slm

Does = Literal["reads", "writes", "atomically reads", "atomically writes"]

# What each access clashes with, beside the last plain write, if another thread did it unordered.
# Atomics of many threads meet at a byte with nothing between, so each thread's last one is kept.
_BARS: Final[dict[Does, tuple[Does, ...]]] = {
    "reads": ("atomically writes",),
    "writes": ("reads", "atomically writes", "atomically reads"),
    "atomically reads": (),
    "atomically writes": ("reads",),
}
_DID: Final[dict[Does, str]] = {
    "reads": "read",
    "atomically reads": "atomically read",
    "atomically writes": "atomically wrote",
}


class _Touch:
    """For each byte, the interval in which a thread last touched it, and by which statement."""

    def __init__(self, nbytes: int) -> None:
        self.when: NDArray[np.int32] = np.zeros(nbytes, dtype=np.int32)
        self.label: NDArray[np.int32] = np.zeros(nbytes, dtype=np.int32)
        self.latest = 0

    def record(self, part: Part, when: int, label: int) -> None:
        self.latest = max(self.latest, when)
        self.when[part] = when
        self.label[part] = label


@dataclass(frozen=True, slots=True)
class _Clash:
    """Bytes of an access that another thread touched, unordered."""

    thread: int
    did: str
    label: str
    where: Index
    partial: bool


MOST_BYTES = 1 << 24
"""Bytes that can be reserved: far more than any target has."""


class Slm:
    """Shared local memory: a fixed number of bytes, addressed from 0, unwritten at the start.

    Accesses out of bounds, reads of bytes never written and races raise a `MachineError` of their
    own class. Without a `Progress` an access is not watched for races. A race names both threads,
    both statements (the ``label`` each thread had) and the bytes. It is found whatever the order in
    which the threads happen to run.
    Document: Intel ESIMD LSC SLM guide (slm_init, barriers, reading before a barrier).

    >>> slm = Slm(64)
    >>> slm.write(0, np.array([5], dtype=np.uint8))
    >>> slm.read(0, 1).tolist()
    [5]
    """

    def __init__(self, nbytes: int) -> None:
        """Reserve the bytes."""
        if type(nbytes) is not int or not 0 <= nbytes <= MOST_BYTES:
            condition = f"nbytes must be an integer from 0 to {MOST_BYTES:,}"
            raise MachineError("Slm", {"nbytes": nbytes}, condition, "give it in bytes")
        self._data: Bytes = np.zeros(nbytes, dtype=np.uint8)
        self._written: NDArray[np.bool_] = np.zeros(nbytes, dtype=np.bool_)
        self._writer: NDArray[np.int32] = np.full(nbytes, -1, dtype=np.int32)
        self._writes = _Touch(nbytes)
        # The last interval in which each thread wrote anything: what is over wholly is soon seen.
        self._wrote: dict[int, int] = {}
        self._last: dict[Does, dict[int, _Touch]] = {kind: {} for kind in _DID}
        self._threads = 0
        self._labels: dict[str, int] = {}

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._data.size

    def grow(self, nbytes: int) -> None:
        """Add unwritten bytes at the end, up to a size.

        >>> slm = Slm(4)
        >>> slm.grow(8)
        >>> slm.nbytes
        8
        """
        more = max(nbytes - self.nbytes, 0)
        self._data = np.pad(self._data, (0, more))
        self._written = np.pad(self._written, (0, more))
        self._writer = np.pad(self._writer, (0, more), constant_values=-1)
        for touch in (self._writes, *(t for kind in self._last.values() for t in kind.values())):
            touch.when, touch.label = (np.pad(x, (0, more)) for x in (touch.when, touch.label))

    def read(self, address: int, nbytes: int, thread: Progress | None = None) -> Bytes:
        """Return a copy of bytes; a fault for bounds, unwritten bytes and races.

        >>> Slm(4).read(0, 4)
        Traceback (most recent call last):
            ...
        pycute_xe.machine.trace.UnwrittenFault: Slm.read(...): byte 0 was never written...
        """
        self._bounds("Slm.read", address, nbytes)
        return self._load(slice(address, address + nbytes), thread)

    def gather(
        self, addresses: Index, thread: Progress | None = None, atomic: bool = False
    ) -> Bytes:
        """Return the byte at each address, as one access; faults as of `read`.

        An ``atomic`` read clashes with plain writes only.

        >>> slm = Slm(4)
        >>> slm.write(0, np.arange(4, dtype=np.uint8))
        >>> slm.gather(np.array([3, 1])).tolist()
        [3, 1]
        """
        self._inside("Slm.gather", addresses)
        return self._load(addresses, thread, atomic)

    def write(self, address: int, data: Bytes, thread: Progress | None = None) -> None:
        """Write bytes; a fault for bounds and races.

        >>> Slm(4).write(3, np.zeros(2, dtype=np.uint8))
        Traceback (most recent call last):
            ...
        pycute_xe.machine.trace.BoundsFault: Slm.write(address=3, nbytes=2): the access...
        """
        self._bounds("Slm.write", address, data.size)
        self._store(slice(address, address + data.size), data, thread)

    def scatter(
        self, addresses: Index, data: Bytes, thread: Progress | None = None, atomic: bool = False
    ) -> None:
        """Write a byte to each address, as one access, the last of several for one address stays.

        Faults as of `write`; an ``atomic`` write clashes with plain accesses only.

        >>> slm = Slm(4)
        >>> slm.scatter(np.array([3, 3]), np.array([7, 8], dtype=np.uint8))
        >>> slm.read(3, 1).tolist()
        [8]
        """
        self._inside("Slm.scatter", addresses)
        self._store(addresses, data, thread, atomic)

    def _load(self, part: Part, thread: Progress | None, atomic: bool = False) -> Bytes:
        does: Does = "atomically reads" if atomic else "reads"
        written = self._written[part]
        if not written.all():
            raise self._unwritten(part, ~written, thread, does)
        if thread is not None:
            self._watch(part, thread, does)
            self._record(part, thread, does)
        return self._data[part].copy()

    def _store(
        self, part: Part, data: Bytes, thread: Progress | None, atomic: bool = False
    ) -> None:
        does: Does = "atomically writes" if atomic else "writes"
        if thread is not None:
            self._watch(part, thread, does)
            self._record(part, thread, does)
        elif not atomic:
            self._writer[part] = -1
        self._data[part] = data
        self._written[part] = True

    def _watch(self, part: Part, thread: Progress, does: Does) -> None:
        """Refuse an access that something another thread did is not over for."""
        self._meet(thread)
        clash = self._over_writes(part, thread)
        for kind in _BARS[does]:
            clash = clash or self._over(kind, part, thread)
        if clash is not None:
            raise self._race(does, thread, clash)

    def _record(self, part: Part, thread: Progress, does: Does) -> None:
        touch = self._writes
        if does == "writes":
            self._writer[part] = thread.index
            self._wrote[thread.index] = thread.now
        else:
            touch = self._last[does].setdefault(thread.index, _Touch(self.nbytes))
        touch.record(part, thread.now, self._label(thread))

    def _meet(self, thread: Progress) -> None:
        """Count a thread, and let its clock count all threads seen so far."""
        self._threads = max(self._threads, thread.index + 1)
        thread.room(self._threads)

    def _label(self, thread: Progress) -> int:
        return self._labels.setdefault(thread.label, len(self._labels))

    def _over_writes(self, part: Part, thread: Progress) -> _Clash | None:
        """Bytes whose last plain write, of another thread, is not over for this one."""
        mine = thread.index
        if all(i == mine or when <= thread.clock[i] for i, when in self._wrote.items()):
            return None
        writers = self._writer[part]
        # "Never written" is -1; it finds the last clock there is, and is masked.
        late = (
            (writers >= 0)
            & (writers != thread.index)
            & (thread.clock[writers] < self._writes.when[part])
        )
        return self._clash(part, late, self._writes, "wrote", writers) if late.any() else None

    def _over(self, kind: Does, part: Part, thread: Progress) -> _Clash | None:
        """Bytes whose last access of a kind, of some other thread, is not over for this one."""
        for index, touch in self._last[kind].items():
            if index != thread.index and touch.latest > thread.clock[index]:
                late = touch.when[part] > thread.clock[index]
                if late.any():
                    others = np.full_like(late, index, int)
                    return self._clash(part, late, touch, _DID[kind], others)
        return None

    def _clash(
        self, part: Part, late: NDArray[np.bool_], touch: _Touch, did: str, threads: NDArray[Any]
    ) -> _Clash:
        first = int(late.argmax())
        mine = late & (threads == threads[first])
        label = list(self._labels)[int(touch.label[part][first])]
        return _Clash(int(threads[first]), did, label, addresses(part)[mine], not mine.all())

    def _race(self, does: Does, thread: Progress, clash: _Clash) -> MachineError:
        here, there = by(thread.label), by(clash.label)
        missing, fix = self.missing(clash.thread, clash.where)
        return RaceFault(
            f"Slm.{does.split()[-1][:-1]}",
            {"thread": thread.index},
            f"race: thread {clash.thread} {clash.did} these bytes ({named(clash.where)}){there}, "
            f"thread {thread.index} {does} them{here}, and {missing}",
            fix,
            overlap=clash.did == "wrote" and does == "writes" and clash.partial,
        )

    def missing(self, _thread: int, _where: Index) -> tuple[str, str]:
        """Return what would put a thread's access in order before another's, and the way out."""
        return "no barrier lies between", "put a barrier between the two, which both threads reach"

    def _unwritten(
        self, part: Part, missing: NDArray[np.bool_], thread: Progress | None, does: Does
    ) -> MachineError:
        """Say that bytes are unwritten, or who is about to write them with no barrier between."""
        where = addresses(part)[missing]
        if thread is not None and thread.look_ahead is not None:
            # A thread that would write them later does it now, so that the report can name it.
            thread.look_ahead()
            try:
                self._watch(where, thread, does)
            except RaceFault as race:
                return race
        reader = "" if thread is None else f" by any thread; thread {thread.index} reads it"
        return UnwrittenFault(
            "Slm.read",
            {"access": named(addresses(part))},
            f"byte {int(where[0])} was never written{reader}{by(thread.label) if thread else ''}",
            "write it first, and put a barrier between",
        )

    def _bounds(self, operation: str, address: int, nbytes: int) -> None:
        if address < 0 or nbytes < 0 or address + nbytes > self._data.size:
            raise self._outside(operation, {"address": address, "nbytes": nbytes})

    def _inside(self, operation: str, addresses: Index) -> None:
        if addresses.size and (addresses.min() < 0 or addresses.max() >= self._data.size):
            ends: dict[str, object] = {"first": int(addresses.min()), "last": int(addresses.max())}
            raise self._outside(operation, ends)

    def _outside(self, operation: str, operands: dict[str, object]) -> MachineError:
        return BoundsFault(
            operation,
            operands,
            f"the access leaves the shared local memory of {self._data.size} bytes",
            "correct the offset, which counts bytes, or ask for more shared local memory",
        )


class FencedSlm(Slm):
    """Shared local memory whose stores are over for others behind a fence and then a barrier.

    Law: a store without a fence before its thread's next arrival counts as made after the arrival.
    Source: the row ``fence`` of ``atoms/arch.toml``.

    >>> slm, one, two = FencedSlm(4), Progress(0, 2), Progress(1, 2)
    >>> slm.write(0, np.array([5], dtype=np.uint8), one)
    >>> two.acquire(one.release())
    >>> slm.arrived(one)
    >>> slm.read(0, 1, two)
    Traceback (most recent call last):
    pycute_xe.machine.trace.RaceFault: Slm.read(thread=1): race: thread 0 wrote these bytes (0)...
    """

    def __init__(self, nbytes: int) -> None:
        """Reserve the bytes, none of them stored to."""
        super().__init__(nbytes)
        self._unfenced: dict[int, NDArray[np.bool_]] = {}
        self._late: NDArray[np.bool_] = np.zeros(nbytes, dtype=np.bool_)

    def grow(self, nbytes: int) -> None:
        """Add unwritten bytes at the end, up to a size."""
        before = self.nbytes
        super().grow(nbytes)
        more = (0, self.nbytes - before)
        self._late = np.pad(self._late, more)
        self._unfenced = {index: np.pad(mine, more) for index, mine in self._unfenced.items()}

    def _record(self, part: Any, thread: Progress, does: Any) -> None:
        super()._record(part, thread, does)
        if does == "writes":
            blank = np.zeros(self.nbytes, dtype=np.bool_)
            self._unfenced.setdefault(thread.index, blank)[part] = True

    def fence(self, thread: Progress) -> None:
        """Let the next arrival of a thread count for its stores so far."""
        self._unfenced.pop(thread.index, None)

    def arrived(self, thread: Progress) -> None:
        """Let the stores that no fence waited for count as made after a thread's arrival."""
        mine = self._unfenced.get(thread.index)
        if mine is not None:
            late = mine & (self._writer == thread.index)
            self._writes.when[late] = thread.now
            self._wrote[thread.index] = thread.now
            self._late |= late

    def missing(self, thread: int, where: NDArray[np.int64]) -> tuple[str, str]:
        """Return what would put a thread's access in order before another's, and the way out."""
        if not self._late[where].any():
            return super().missing(thread, where)
        return (
            "no barrier with a fence before it lies between",
            "put Fence(), BarrierArrive() and BarrierWait() between the two, in this order",
        )
