"""Global memory of a grid, with a memory of who touched each byte.

Work-groups are never in order, and threads of one only across a barrier (`Progress`). Two plain
writes to a byte clash where neither is before the other and they leave different values: what stays
depends on chance. Equal values are let pass, as hardware writes bytes whole and either may stay.
Atomic additions never clash with one another, but with plain accesses they do. Of a thread's writes
to a byte the last one counts; a read clashes with every write that another value comes from, and
with an earlier one that changed the byte, unless its thread had written there itself. Waiting for a
counter reads it, and clashes with plain writes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from pycute_xe.machine.memory import Bytes, Ints, Memory, Pages
from pycute_xe.machine.trace import Progress, RaceFault

__all__ = ["Does", "Span", "wrote_before", "clash"]

# ------------------------------------------------------------ accesses
# Accesses of threads to bytes of memory: their kinds, as tables, and which of them clash.
#
# Reads and waits look, additions and waits are atomic: neither clash among themselves.

Does = Literal["reads", "writes", "adds", "awaits"]

READ, WRITE, ADD, AWAIT = 0, 1, 2, 3
KINDS: Final[dict[Does, int]] = {
    "reads": READ,
    "writes": WRITE,
    "adds": ADD,
    "awaits": AWAIT,
}
WORDS: Final = ("reads", "writes", "adds to", "waits for")
LOOKS: Final = (READ, AWAIT)
ATOMIC: Final = (ADD, AWAIT)


@dataclass
class Log:
    """What the threads of one work-group did, in the order in which they ran."""

    places: list[Ints] = field(default_factory=list[Ints])
    data: list[Bytes] = field(default_factory=list[Bytes])
    old: list[Bytes] = field(default_factory=list[Bytes])
    heads: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    clocks: list[Ints] = field(default_factory=list[Ints])


@dataclass(frozen=True)
class Rows:
    """Accesses byte by byte, sorted by place: kind, thread, value before and after, and when.

    ``own`` is whether the thread wrote the byte before, ``final`` whether it does not again.
    """

    place: Ints
    kind: Ints
    thread: Ints
    value: Bytes
    old: Bytes
    epoch: Ints
    own: NDArray[np.bool_]
    final: NDArray[np.bool_]

    def at(self, rows: Ints | NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        return Rows(*(x[rows] for x in vars(self).values()))


def agree(one: int, other: int) -> bool:
    """Whether two kinds of access never clash: only looks, or only atomic ones."""
    return any(one in kinds and other in kinds for kinds in (LOOKS, ATOMIC))


def clash(a: Rows, b: Rows) -> NDArray[np.bool_]:
    """Whether accesses to the same bytes leave it to their order what is read or stays."""
    looks = np.isin(a.kind, LOOKS).astype(int) + np.isin(b.kind, LOOKS)
    adds = (a.kind == ADD).astype(int) + (b.kind == ADD)
    atomic = np.isin(a.kind, ATOMIC) & np.isin(b.kind, ATOMIC)
    both_final = (a.final & b.final) | (looks == 1)
    seen = _seen(a, b) | _seen(b, a)
    differ = (a.value != b.value) | (adds == 1) | seen
    return (looks < 2) & ~atomic & both_final & differ


def _seen(write: Rows, read: Rows) -> NDArray[np.bool_]:
    """Whether a read finds what an earlier write changed, and not what its own thread wrote."""
    both = (write.kind == WRITE) & (read.kind == READ)
    return both & (write.epoch < read.epoch) & (write.old != write.value) & ~read.own


def wrote_before(place: Ints, thread: Ints, writes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each access, in order of time, whether its thread wrote its place before.

    >>> place, thread = np.array([4, 4, 4, 5]), np.array([0, 0, 1, 0])
    >>> wrote_before(place, thread, np.array([True, False, False, False])).tolist()
    [False, True, False, False]
    """
    order = np.lexsort((np.arange(place.size), thread, place))
    mine = writes[order].astype(np.int64)
    earlier = np.cumsum(mine) - mine
    first = np.ones(place.size, dtype=bool)
    first[1:] = (place[order][1:] != place[order][:-1]) | (thread[order][1:] != thread[order][:-1])
    out = np.empty(place.size, dtype=bool)
    out[order] = earlier > np.maximum.accumulate(np.where(first, earlier, 0))
    return out


def no_rows() -> Rows:
    """Return what a work-group did that did nothing."""
    none = np.zeros(0, dtype=np.int64)
    data, marks = none.astype(np.uint8), none.astype(np.bool_)
    return Rows(none, none, none, data, data, none, marks, marks)


def padded(clocks: list[Ints]) -> Ints:
    """Return clocks as the rows of a table."""
    out = np.zeros((len(clocks), max(c.size for c in clocks)), dtype=np.int64)
    for row, clock in zip(out, clocks, strict=True):
        row[: clock.size] = clock
    return out


def sorted_rows(log: Log) -> Rows:
    """Sort accesses by place; of a thread's writes to a byte those that count are marked.

    Where nothing is read, only those are kept.
    """
    counts = [p.size for p in log.places]
    heads = np.repeat(np.array(log.heads, dtype=np.int64), counts, axis=0)
    place, value = np.concatenate(log.places), np.concatenate(log.data)
    kinds, threads, every = heads[:, 0], heads[:, 1], np.ones(place.size, dtype=bool)
    reads = np.isin(kinds, LOOKS).any()
    own = wrote_before(place, threads, kinds == WRITE) if reads else every
    old = np.concatenate(log.old)
    rows = Rows(place, kinds, threads, value, old, heads[:, 2], own, every)
    rows = rows.at(np.lexsort((np.arange(place.size), rows.thread, rows.kind, rows.place)))
    same = np.ones(place.size - 1, dtype=bool)
    for part in (rows.place, rows.kind, rows.thread):
        same &= part[1:] == part[:-1]
    rows.final[:-1] = ~same
    return rows if reads else rows.at(rows.final)


# ------------------------------------------------------------ races


@dataclass(frozen=True)
class _Left:
    """Who touched bytes before, from 1 on, and what each left there."""

    group: Ints
    value: Bytes
    thread: Ints


class Span:
    """A range of memory that the work-groups of a grid write, watched for races.

    ``name`` says in words what byte ``i`` of it is; ``ordered`` tells that counters may order some
    work-groups, so that all that each did is kept. `record` is called for every access, `close`
    when a work-group is done. Raises `RaceFault`, which names the byte and both threads.

    >>> from pycute_xe.machine.memory import Memory
    >>> memory = Memory()
    >>> base, one, two = memory.alloc(4), Progress(0, 2), Progress(1, 2)
    >>> span = Span(memory, base, 4, lambda i: f"byte {i}")
    >>> for thread, value in ((one, 5), (two, 6)):
    ...     span.record("writes", thread, np.array([base]), np.array([value], dtype=np.uint8))
    >>> span.close("work-group 0")
    Traceback (most recent call last):
    pycute_xe.machine.trace.RaceFault: run(place=byte 0): race: thread 0 of work-group 0 writes...
    """

    def __init__(
        self,
        memory: Memory,
        base: int,
        nbytes: int,
        name: Callable[[int], str],
        ordered: bool = False,
    ) -> None:
        """Start with what lies in memory, touched by no work-group."""
        self.ordered = ordered
        self.base, self.name = base, name
        buffer, start = memory.span(base, nbytes)
        self.pages = buffer if isinstance(buffer, Pages) else None
        whole = 0 if self.pages is not None else nbytes
        self.before: Bytes = buffer[start : start + whole].copy()
        nbytes = self.before.size
        self.now = self.before.copy()
        self.groups: list[str] = []
        # Of each closing who it was, -1 where nothing tells, and when; and what the last one knew.
        self.closers: list[int] = []
        self.when: list[int] = []
        self.clock: Ints | None = None
        # The last work-group that did each kind of thing to a byte, from 1, and what it left there.
        self.last = np.zeros((4, nbytes), dtype=np.int32)
        self.left = np.zeros((4, nbytes), dtype=np.uint8)
        self.threads = np.zeros((4, nbytes), dtype=np.int32)
        self.logs: dict[str, Log] = {}
        self.past: list[dict[int, Rows]] = []

    def record(
        self, does: Does, thread: Progress, addresses: Ints, data: Bytes, group: str = ""
    ) -> None:
        """Remember an access: addresses, and the bytes read there or left there.

        ``group`` tells work-groups apart that run in turns.
        """
        if addresses.size:
            log = self.logs.setdefault(group, Log())
            places = self._places(addresses - self.base)
            log.places.append(places)
            log.data.append(data)
            log.old.append(self.now[places])
            if KINDS[does] not in LOOKS:
                self.now[places] = data
            log.heads.append((KINDS[does], thread.index, len(log.clocks)))
            log.clocks.append(thread.clock.copy())

    def _places(self, index: Ints) -> Ints:
        """Return where bytes are kept here: as in memory, or as in the pages that were touched."""
        if self.pages is None:
            return index
        places, more = self.pages.rooms(index), self.pages.room.size - self.now.size
        if more:
            new = self.pages.first[-more:]
            self.before, self.now = (np.concatenate([x, new]) for x in (self.before, self.now))
            wider = ((0, 0), (0, more))
            self.last, self.left, self.threads = (
                np.pad(x, wider) for x in (self.last, self.left, self.threads)
            )
        return places

    def written(self) -> Ints:
        """Return the index of every byte that a closed work-group stored or added to."""
        places = np.flatnonzero(self.last[WRITE:].any(axis=0))
        return places if self.pages is None else self.pages.indices_of(places)

    def close(self, group: str, knows: Progress | None = None) -> None:
        """Compare what a work-group's threads did, and what it did with earlier work-groups.

        ``knows`` is what the work-group knows of others, by which some of them are over for it;
        then this is called before it learns more, and before it tells others.
        """
        self.groups.append(group)
        self.closers.append(knows.index if knows else -1)
        self.when.append(knows.now if knows else 0)
        self.clock = knows.clock.copy() if knows else None
        log = self.logs.pop(group, None) or self.logs.pop("", None)
        if log is None:
            self._keep(dict.fromkeys(KINDS.values(), no_rows()))
            return
        rows = sorted_rows(log)
        self._inside(rows, padded(log.clocks))
        counted = {
            kind: rows.at((rows.kind == kind) & (rows.final | (kind in LOOKS)))
            for kind in KINDS.values()
        }
        self._keep(counted)
        over = self._over()
        for kind, mine in counted.items():
            self._against_others(mine, kind, over)
        for kind, mine in counted.items():
            self.last[kind, mine.place] = len(self.groups)
            self.left[kind, mine.place] = mine.value
            self.threads[kind, mine.place] = mine.thread

    def _keep(self, counted: dict[int, Rows]) -> None:
        if self.ordered:
            self.past.append(counted)

    def _inside(self, rows: Rows, clocks: Ints) -> None:
        """Refuse what two threads of this work-group did without a barrier between."""
        group = self.groups[-1]
        for step in range(1, rows.place.size):
            first = np.flatnonzero(rows.place[:-step] == rows.place[step:])
            if not first.size:
                return
            a, b = rows.at(first), rows.at(first + step)
            now_a = clocks[a.epoch, a.thread]
            now_b = clocks[b.epoch, b.thread]
            ordered = clocks[b.epoch, a.thread] >= now_a
            ordered |= clocks[a.epoch, b.thread] >= now_b
            apart = (a.thread != b.thread) & ~ordered & clash(a, b)
            for i in np.flatnonzero(apart)[:1]:
                one, other = (f"thread {x.thread[i]} of {group} {WORDS[x.kind[i]]}" for x in (a, b))
                barrier = "let a barrier of the work-group lie between, or"
                raise self._race(int(a.place[i]), one, other, barrier)

    def _against_others(self, mine: Rows, kind: int, over: NDArray[np.bool_]) -> None:
        """Refuse what another work-group did to the same bytes: nothing orders the two."""
        for other in KINDS.values():
            if agree(kind, other):
                continue
            touched = self.last[other, mine.place] > 0
            touched &= ~over[self.last[other, mine.place]]
            self._refuse(mine, kind, other, touched, self._of_last(other, mine.place))
            if self.ordered:  # the last one may be over while one before it is not
                for number in np.flatnonzero(~over[1:-1]).tolist():
                    theirs = self.past[number][other]
                    if theirs.place.size:
                        at = np.searchsorted(theirs.place, mine.place).clip(
                            0, theirs.place.size - 1
                        )
                        left = _Left(
                            np.full(at.size, number + 1), theirs.value[at], theirs.thread[at]
                        )
                        self._refuse(mine, kind, other, theirs.place[at] == mine.place, left)

    def _of_last(self, other: int, place: Ints) -> _Left:
        return _Left(self.last[other, place], self.left[other, place], self.threads[other, place])

    def _refuse(
        self, mine: Rows, kind: int, other: int, touched: NDArray[np.bool_], left: _Left
    ) -> None:
        if ADD not in (kind, other):
            # What is read after another work-group wrote it could have been read before.
            old = self.before[mine.place] if kind in LOOKS else left.value
            touched = touched & (old != mine.value)
        for i in np.flatnonzero(touched)[:1]:
            earlier = self.groups[int(left.group[i]) - 1]
            raise self._race(
                int(mine.place[i]),
                f"thread {left.thread[i]} of {earlier} {WORDS[other]}",
                f"thread {mine.thread[i]} of {self.groups[-1]} {WORDS[kind]}",
            )

    def _over(self) -> NDArray[np.bool_]:
        """Which of the earlier closings were over for the work-group of the last, from 1 on."""
        out, clock = np.zeros(len(self.closers) + 1, np.bool_), self.clock
        if clock is not None:
            mine, when = (
                np.array(self.closers[:-1], np.int64),
                np.array(self.when[:-1], np.int64),
            )
            known = (mine >= 0) & (mine < clock.size)
            out[1:-1][known] = clock[mine[known]] >= when[known]
            out[1:-1] |= mine == self.closers[-1]
        return out

    def _race(self, place: int, one: str, other: str, way_out: str = "") -> RaceFault:
        return RaceFault(
            "run",
            {"place": self.name(place if self.pages is None else self.pages.index_of(place))},
            f"race: {one} it and {other} it, the bytes differ, and nothing orders the two",
            f"{way_out} give every element one writer".strip(),
        )
