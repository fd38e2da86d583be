"""Floor 9: what two subgroups do to one element of an output in no order, as the reference judges.

A run first keeps the last subgroup that touched each element in each way: `Touches` finds elements
that another one touched as well. Where there are any, a second run keeps everything that is done
to those: `Races` compares it. A subgroup's last store counts, equal bytes are let pass, additions
clash with stores and loads alone, and a barrier of their work-group orders two subgroups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError
from pycute_xe.executing.groups.touching import ADD, READ, WRITE, Touched, codes_of
from pycute_xe.machine.races import wrote_before

__all__ = ["Races"]

Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]

_WORDS: Final = ("loads", "stores", "adds to")


@dataclass(eq=False)
class Races:
    """Everything that is done to contested elements, in the order in which it is done."""

    contested: Mapping[str, Bools]
    subgroups: int
    done: dict[str, list[Ints]] = field(default_factory=dict[str, "list[NDArray[np.int64]]"])
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    count: int = 0

    def __post_init__(self) -> None:
        """Start with no barrier arrived at."""
        self.arrived: Ints = np.zeros(0, np.int64)
        self.passed: Ints = np.zeros(0, np.int64)

    def enter(self, count: int) -> None:
        """Begin so many work-groups more, none of which has met."""
        self.arrived, self.passed = (
            np.append(x, np.zeros(count, np.int64)) for x in (self.arrived, self.passed)
        )

    def watches(self, name: str) -> bool:
        """Whether loads of an operand matter."""
        return name in self.contested

    def touch(self, one: Touched, array: NDArray[Any]) -> None:
        """Keep what is about to be done to an array."""
        if one.name not in self.contested:
            return
        flat: Ints = np.ravel_multi_index(one.at, array.shape)
        here = self.contested[one.name][flat]
        flat, thread = flat[here], one.thread[here]
        group = thread // self.subgroups
        self.count += 1
        rows = (
            flat,
            thread,
            np.full(flat.size, one.kind),
            codes_of(one.values)[here],
            codes_of(array[one.at])[here],
            self.arrived[group],
            self.passed[group],
            np.full(flat.size, self.count),
        )
        self.shapes[one.name] = array.shape
        self.done.setdefault(one.name, []).append(np.stack([np.asarray(r, np.int64) for r in rows]))

    def check(self) -> None:
        """Refuse the first two that clash. Raises `MachineError`."""
        for name, parts in self.done.items():
            rows = _Rows.of(np.concatenate(parts, axis=1))
            for step in range(1, rows.flat.size):
                first = np.flatnonzero(rows.flat[:-step] == rows.flat[step:])
                if not first.size:
                    break
                one, other = rows.at(first), rows.at(first + step)
                for i in np.flatnonzero(_clash(one, other, self.subgroups))[:1]:
                    place = np.unravel_index(int(one.flat[i]), self.shapes[name])
                    raise _race(name, place, int(one.kind[i]), int(other.kind[i]))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Accesses sorted by element and by when they were: all columns are as long.

    ``own`` is whether the subgroup stored to the element before, ``final`` whether it does not
    again.
    """

    flat: Ints
    thread: Ints
    kind: Ints
    value: Ints
    before: Ints
    arrived: Ints
    passed: Ints
    own: Bools
    final: Bools

    @classmethod
    def of(cls, columns: Ints) -> _Rows:
        """Sort, and tell the last store of each subgroup; without loads only that is kept."""
        flat, thread, kind, *_, when = columns
        own = wrote_before(flat, thread, kind == WRITE)
        columns = np.vstack([columns, own.astype(np.int64)])
        columns = columns[:, np.lexsort((when, kind, thread, flat))]
        final = np.ones(columns.shape[1], bool)
        final[:-1] = (columns[:3, 1:] != columns[:3, :-1]).any(axis=0)
        if not (columns[2] == READ).any():
            columns, final = columns[:, final], final[final]
        order = np.lexsort((columns[7], columns[0]))
        flat, thread, kind, value, before, arrived, passed, _, wrote = columns[:, order]
        own = wrote.astype(bool)
        return cls(flat, thread, kind, value, before, arrived, passed, own, final[order])

    def at(self, rows: Ints) -> _Rows:
        """Return some rows."""
        return _Rows(*(x[rows] for x in vars(self).values()))


def _clash(one: _Rows, other: _Rows, subgroups: int) -> Bools:
    """Whether two accesses to an element, the other one later, are in no order and differ."""
    apart = one.thread != other.thread
    met = one.thread // subgroups == other.thread // subgroups
    ordered = met & (other.passed > one.arrived)
    reads = (one.kind == READ).astype(int) + (other.kind == READ)
    adds = (one.kind == ADD).astype(int) + (other.kind == ADD)
    seen = (other.kind == READ) & (one.kind == WRITE) & (one.before != one.value) & ~other.own
    differ = (one.value != other.value) | (adds == 1) | seen
    last = (one.final & other.final) | (reads == 1)
    return apart & ~ordered & (reads < 2) & (adds < 2) & last & differ


def _race(name: str, place: Any, one: int, other: int) -> MachineError:
    if one == other == WRITE:
        told = "two subgroups store it"
    else:
        told = f"one subgroup {_WORDS[one]} it and another {_WORDS[other]} it"
    return MachineError(
        "run",
        {"place": f"{name}{[int(i) for i in place]}"},
        f"race: {told}, the bytes differ, and nothing orders the two",
        "give every element one writer, or let a barrier of the work-group lie between",
    )
