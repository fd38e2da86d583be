"""Floor 8: accesses of threads to bytes of memory: their kinds, as tables, and which of them clash.

Reads and waits look, additions and waits are atomic: neither clash among themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.machine.memory import Bytes

__all__ = [
    "ADD",
    "KINDS",
    "LOOKS",
    "WORDS",
    "Does",
    "Log",
    "Rows",
    "agree",
    "clash",
    "no_rows",
    "padded",
    "sorted_rows",
    "wrote_before",
]

Ints: TypeAlias = NDArray[np.int64]
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
