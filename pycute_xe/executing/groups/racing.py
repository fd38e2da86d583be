"""Floor 9: what two subgroups do to one element of an output in no order, as the reference judges.

A run first keeps the last subgroup that touched each element in each way: `Touches` finds elements
that another one touched as well. Where there are any, a second run keeps everything that is done
to those: `Races` compares it. A subgroup's last store counts, equal bytes are let pass, additions
clash with stores and loads alone, and a barrier of their work-group orders two subgroups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError
from pycute_xe.kernel import AtomicStore, Kernel, Load, Store
from pycute_xe.machine.races import wrote_before

__all__ = ["ADD", "READ", "WRITE", "Races", "Touched", "Touches", "Window"]

Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]

READ, WRITE, ADD = 0, 1, 2
_MANY: Final = -1
_WORDS: Final = ("loads", "stores", "adds to")


@dataclass(frozen=True, eq=False)
class Touched:
    """Elements of an operand, which subgroup of the grid touched each, and the values it moved."""

    kind: int
    name: str
    at: tuple[Ints, ...]
    thread: Ints
    values: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Window:
    """A tile of an operand of a ``shape``, ``full`` are its extents before it is cut."""

    slices: tuple[slice, ...]
    full: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def begins(self) -> tuple[int, ...]:
        """Where it begins."""
        return tuple(one.start for one in self.slices)

    @property
    def aligned(self) -> bool:
        """Whether it is one of a grid of tiles, none of which overlap."""
        return all(first % n == 0 for first, n in zip(self.begins, self.full, strict=True))


class Touches:
    """The last subgroup, from 1, that touched each element of the outputs, for each way."""

    def __init__(self, kernel: Kernel) -> None:
        """Watch what is stored, and loads of that."""
        kinds = {Load: READ, Store: WRITE, AtomicStore: ADD}
        done = [
            (s.operand, kinds[type(s)])
            for s in kernel.statements()
            if isinstance(s, (Load, Store, AtomicStore))
        ]
        # Memory to work in is shared by turns, which the reference executor judges.
        scratch = {o.name for o in kernel.operands if o.role == "scratch"}
        stored = {name for name, kind in done if kind != READ} - scratch
        self.ways = {name: {kind for n, kind in done if n == name} for name in stored}
        self.last: dict[tuple[str, int], NDArray[np.int32]] = {}
        self.contested: dict[str, Bools] = {}
        self.tiles: dict[str, dict[tuple[int, ...], tuple[Window, int]]] = {}
        self.apart: set[str] = set()

    def enter(self, count: int) -> None:
        """Begin so many work-groups more: nothing is counted for each."""

    def watches(self, name: str) -> bool:
        """Whether loads of an operand matter."""
        return name in self.ways

    def touch(self, one: Touched, array: NDArray[Any]) -> None:
        """Note what is about to be done to an array."""
        if one.name not in self.ways or not one.thread.size:
            return
        flat: Ints = np.ravel_multi_index(one.at, array.shape)
        me = (one.thread + 1).astype(np.int32)
        doubtful = np.zeros(flat.size, bool)
        for kind in self.ways[one.name]:
            if kind == one.kind != WRITE:
                continue
            before = self._of(one.name, kind, array.size)[flat]
            other = (before != 0) & (before != me)
            if kind == one.kind:
                other &= _codes(array[one.at]) != _codes(one.values)
            doubtful |= other
        self._keep(one, flat, me, doubtful, array.size)
        if doubtful.any():
            marked = self.contested.setdefault(one.name, np.zeros(array.size, bool))
            marked[flat[doubtful]] = True

    def touch_window(self, name: str, kind: int, window: Window, me: int) -> None:
        """Note what the work-group ``me``, from 1, does to all elements of a window."""
        if name not in self.ways or any(one.start >= one.stop for one in window.slices):
            return
        tiles = self.tiles.setdefault(name, {})
        full = next((other.full for other, _ in tiles.values()), window.full)
        if name not in self.apart and full == window.full and window.aligned:
            for other in self.ways[name]:
                found = tiles.get((other, *window.begins))
                if found is not None and found[1] != me and (other != kind or kind == WRITE):
                    self._contest(name, window)
            tiles[(kind, *window.begins)] = window, me
            return
        self._part(name)
        room = prod(window.shape)
        for other in self.ways[name]:
            if kind != other or kind == WRITE:
                before = self._of(f"{name} by work-group", other, room).reshape(window.shape)
                before = before[window.slices]
                if ((before != 0) & (before != me)).any():
                    self._contest(name, window)
        mine = self._of(f"{name} by work-group", kind, room)
        mine.reshape(window.shape)[window.slices] = me

    def _contest(self, name: str, window: Window) -> None:
        room = prod(window.shape)
        marked = self.contested.setdefault(name, np.zeros(room, bool))
        marked.reshape(window.shape)[window.slices] = True

    def _part(self, name: str) -> None:
        """Note tiles element by element from now on: they are not those of one grid."""
        self.apart.add(name)
        for (kind, *_), (window, me) in self.tiles[name].items():
            mine = self._of(f"{name} by work-group", kind, prod(window.shape))
            mine.reshape(window.shape)[window.slices] = me
        self.tiles[name] = {}

    def _keep(self, one: Touched, flat: Ints, me: Any, doubtful: Bools, room: int) -> None:
        """Remember who touched each element, and that it was several."""
        last = self._of(one.name, one.kind, room)
        before = last[flat]
        several = (before != 0) & (before != me)
        last[flat] = me
        beside = last[flat] != me  # another one touches it in the same statement
        if beside.any() and one.kind == WRITE:
            codes = _codes(one.values)
            final = np.zeros(room, codes.dtype)
            final[flat] = codes
            doubtful |= final[flat] != codes
        last[flat[several | beside]] = _MANY

    def _of(self, name: str, kind: int, room: int) -> NDArray[np.int32]:
        if (name, kind) not in self.last:
            self.last[name, kind] = np.zeros(room, np.int32)
        return self.last[name, kind]


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
            _codes(one.values)[here],
            _codes(array[one.at])[here],
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


def _codes(values: NDArray[Any]) -> Ints:
    """Return the bytes of each value as a number."""
    kept = np.ascontiguousarray(values).reshape(-1)
    return kept.view(f"u{kept.itemsize}").astype(np.int64)


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
