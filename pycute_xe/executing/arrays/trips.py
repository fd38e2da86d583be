"""Recurrences trip by trip: the state of all work-groups of a block, and what a trip leaves.

Of a line of points, in each trip only those are followed whose state it changes. What needs no
state is evaluated for all trips at once, where that is not large. A recurrence that needs the state
of one around it is followed anew in each trip of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np

from pycute_xe.executing.arrays.evaluation import Ahead, Contents, Evaluation, Run
from pycute_xe.executing.arrays.lifting import is_inside, named, reached
from pycute_xe.executing.arrays.recording import Recorded, recorded
from pycute_xe.executing.arrays.scanning import (
    Part,
    Scan,
    asked_of,
    is_own,
    kept_of,
    scan_of,
    trips_of,
)
from pycute_xe.executing.arrays.terms import Axis, Field, Lifted, Place, Points, joined, run_of
from pycute_xe.executing.arrays.values import (
    Value,
    as_type,
    demand_room,
    put,
    put_together,
    selected,
)
from pycute_xe.holding.elements import Recurrence, State
from pycute_xe.holding.nodes import Choice, undecided
from pycute_xe.kernel import Loop
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.numeric import Numeric

__all__ = ["over"]

MANY = 16
"""Trips from which on what needs no state is evaluated for all of them at once."""
AHEAD = 1 << 23
"""Elements of the state of all trips of which that which needs no state is evaluated at once."""
BLOCK = 1 << 14
"""Registers' rows of a block of work-groups: about what the caches hold of its intermediates."""

# ------------------------------------------------------------ over


def over(ev: Evaluation, term: Lifted) -> Contents:
    """Return the state of a fragment in or behind a recurrence, its type, and where a term lies.

    A recurrence that needs the state of one around it is done anew in each of its trips.
    """
    recurrence, name, behind, outer = term.given
    run = _run_of(ev.run, recurrence)
    needs = [one for one, _ in reached(recurrence, asked_of(run, recurrence))]
    enclosing = [
        x for x in ev.trips if x.recurrence in needs and is_inside(recurrence, x.recurrence)
    ]
    known = enclosing[0].known if enclosing else run.known
    key = "over", id(recurrence), id(run.block)
    if key not in known:
        scan = scan_of(run, recurrence, tuple(enclosing))
        known[key] = scan, _followed(scan)
    scan, (state, kept) = known[key]
    if behind:
        return state[name], scan.parts[name].type, scan.where(ev, term)
    var = recurrence.loop.var
    own: Place | None = dict(zip(outer[::-1], term.places[::-1], strict=False)).get(var)
    number = ev.env[var] if own is None else ev.place(own)
    trip = number + Field(-scan.trips.start)
    return kept[name], scan.parts[name].type, (trip, *scan.where(ev, term))


def _run_of(run: Run, recurrence: Recurrence) -> Run:
    """Return the run of a block of work-groups, one for all stores where its trips are kept.

    Of a block no more counts then than the variables around the loop.
    """
    if run.block is None or not kept_of(run, recurrence):
        return run
    enclosing = {name for name, _ in run.kernel.grid} | {
        one.var for one in recurrence.enclosing if isinstance(one, Loop)
    }
    names = [name for name in run.block.columns if name in enclosing]
    if not names:
        return run.of(None)
    rows = np.unique(np.stack([run.block.columns[name] for name in names]), axis=1)
    block = Points(dict(zip(names, rows, strict=True)))
    return run.of(run.known.setdefault(("block", *names, rows.tobytes()), block))


# ------------------------------------------------------------ trips


def _blocks(scan: Scan) -> list[_Block]:
    """Return the parts of a scan by ranges of its lines, so that a block has not too many rows."""
    columns = {part.space.names[-1] for part in scan.parts.values() if len(part.space.names) > 1}
    groups = [[scan.axes[k].size for k in x.keys if isinstance(k, int)] for x in scan.lines]
    rows = 1
    splits = [
        bool(own) and not columns & set(line.keys)
        for own, line in zip(groups, scan.lines, strict=True)
    ]
    for own, line, split in zip(groups, scan.lines, splits, strict=True):
        if not split:
            rows *= prod(own) if columns & set(line.keys) else line.size
    every = reached(scan.recurrence, tuple(scan.parts))
    nests = any(is_inside(one, scan.recurrence) for one, _ in every)  # and need its state
    left = max(1, BLOCK // rows)
    ranges: list[list[range]] = []
    for line, split in reversed(list(zip(scan.lines, splits, strict=True))):
        split = split and not nests
        size = -(-line.size // -(-line.size // left)) if split else line.size  # even parts
        left = max(1, left // size) if split else left
        ranges.insert(0, [range(i, min(i + size, line.size)) for i in range(0, line.size, size)])
    return [_Block(scan, each) for each in product(*ranges)]


def _followed(scan: Scan) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the state of each fragment behind the loop, and what is kept of each trip's."""
    blocks = _blocks(scan)
    ended = [block.followed() for block in blocks]
    if len(blocks) == 1:
        return ended[0]
    out: tuple[dict[str, Array], dict[str, Array]] = {}, {}
    for name, part in scan.parts.items():
        own = scan.lines_of(part)
        shape = tuple(scan.lines[i].size for i in own)
        into = tuple(tuple(slice(x.ranges[i].start, x.ranges[i].stop) for i in own) for x in blocks)
        out[0][name] = put_together(shape, into, *(state[name] for state, _ in ended))
        if name in scan.kept:
            whole, every = (len(scan.trips) + 1, *shape), slice(None)
            into = tuple((every, *where) for where in into)
            out[1][name] = put_together(whole, into, *(kept[name] for _, kept in ended))
    return out


class _Kept:
    """What a fragment holds when each of so many trips begins, in one array."""

    def __init__(self, count: int, axes: tuple[Axis, ...]) -> None:
        demand_room((Axis(count), *axes))
        self.count, self.number, self.states = count, 0, list[Array]()
        self.array: Array | None = None

    def add(self, state: Array) -> None:
        """Keep the state of one more trip: from the first on that is computed, in its place."""
        if self.array is None:
            self.states.append(state)
            if isinstance(state, Recorded) or len(self.states) == self.count:
                shape = self.count, *state.shape
                self.array = put_together(shape, (*range(len(self.states)),), *self.states)
        else:
            put(self.array, self.number, state)
        self.number += 1

    @property
    def whole(self) -> Array:
        """All of them. Raises `UndecidableError` before."""
        if self.array is None:
            raise undecided("a loop does fewer trips than are asked for")
        return self.array


@dataclass(frozen=True, eq=False)
class _Done:
    """A trip: where it is evaluated, and which points of which axis do it; None for all.

    ``tests`` are below zero where it is done, where they are of several axes.
    """

    ev: Evaluation
    axis: Axis | None = None
    some: tuple[Axis, slice | Ints] | None = None
    tests: tuple[Field, ...] = ()


@dataclass(frozen=True, eq=False)
class _Within:
    """A trip of a block: `Trip`."""

    block: _Block
    number: int
    known: dict[Any, Any] = field(default_factory=dict[Any, Any])

    @property
    def recurrence(self) -> Recurrence:
        """The recurrence."""
        return self.block.scan.recurrence

    def state(self, ev: Evaluation, term: Lifted) -> Contents:
        """Return what a fragment holds when it begins, and where a term lies in it."""
        name, block = term.given[1], self.block
        part = block.scan.parts[name]
        starts = [block.ranges[i].start for i in block.scan.lines_of(part)]
        return block.state[name], part.type, block.scan.where(ev, term, starts)


class _Block:
    """The trips of a recurrence for ranges of its lines."""

    def __init__(self, scan: Scan, ranges: tuple[range, ...]) -> None:
        """Take the points of the lines as axes."""
        self.scan, self.ranges = scan, ranges
        self.lines = [Axis(len(one)) for one in ranges]
        change: dict[Axis, tuple[Axis, Ints]] = {}
        for line, axis, some in zip(scan.lines, self.lines, ranges, strict=True):
            for key, column in zip(line.keys, line.columns, strict=True):
                change[scan.axes[key]] = axis, column[some.start : some.stop]
        self.env = {name: one.moved(change).folded() for name, one in scan.env.items()}
        self.outer = Evaluation(scan.run, self.env, inside=scan.inside)
        parts = scan.parts.items()
        self.axes = {n: tuple(self.lines[i] for i in scan.lines_of(part)) for n, part in parts}
        self.guard = _guard(scan.parts.values())
        recurrence = scan.recurrence
        self.own = frozenset({recurrence.loop.var, named(recurrence)})
        self.state: dict[str, Array] = {}

    # -------------------------------------------------------- places

    def trips(self) -> Iterator[_Done | None]:
        """Yield the trips: those that some points do, and all of which state is kept."""
        loop, run = self.scan.recurrence.loop, self.scan.run
        own, start, stop = trips_of(run, loop, self.env)
        every = self.scan.trips if self.scan.kept else own
        axis, room = Axis(len(every)), max(prod(x.size for x in own) for own in self.axes.values())
        ahead = None
        if axis.size >= MANY and axis.size * room <= AHEAD:
            env = {**self.env, loop.var: axis.points + Field(every.start)}
            own = frozenset({loop.var})
            ahead = Ahead(
                Evaluation(run, env, self.outer, own), axis, 0, named(self.scan.recurrence)
            )
        for number in every:
            env = {**self.env, loop.var: Field(number)}
            tests = [start + Field(-number - 1), stop * -1 + Field(number)]
            if self.guard is not None:
                tests.append(Evaluation(run, env).place(self.guard))
            now = ahead and replace(ahead, at=number - every.start)
            yield self._trip(env, number, now, [test for test in tests if test.range[1] >= 0])

    def _trip(
        self, env: dict[str, Field], number: int, ahead: Ahead | None, tests: list[Field]
    ) -> _Done | None:
        """Return a trip that is done where tests are below zero, None where they nowhere are."""
        inside = (_Within(self, number), *self.scan.inside)
        every = Evaluation(self.scan.run, env, self.outer, self.own, inside, ahead)
        if not tests:
            return _Done(every)
        if any(test.range[0] >= 0 for test in tests):
            return None
        along, *others = joined(test.axes for test in tests)
        if others or any(along not in own for own in self.axes.values()):
            return _Done(every, tests=tuple(tests))
        goes = np.logical_and.reduce([test.over((along,)) < 0 for test in tests])
        which = np.flatnonzero(goes)
        if which.size in (0, goes.size):
            return _Done(every) if which.size else None
        axis, first = Axis(which.size), run_of(which)
        change = {along: (axis, which)}
        moved = {name: x.moved(change).folded() for name, x in env.items() if along in x.axes}
        own = frozenset(moved) | self.own
        some = which if first is None else slice(first, first + which.size)
        some_of = replace(every, env=env | moved, own=own, ahead=None)
        return _Done(some_of, along, (axis, some))

    # -------------------------------------------------------- values

    def followed(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return what each fragment holds behind the loop, and what it did before each trip."""
        parts, outer = self.scan.parts.values(), self.outer
        self.state = {
            p.name: _whole(outer.value(p.start), self.axes[p.name], p.type) for p in parts
        }
        count = len(self.scan.trips) + 1
        kept = {name: _Kept(count, self.axes[name]) for name in self.scan.kept}
        for name, states in kept.items():
            states.add(self.state[name])
        for trip in self.trips():
            if trip is not None:
                self._follow(trip)
                trip.ev.forget()
            for name, states in kept.items():
                states.add(self.state[name])
        outer.forget()
        return self.state, {name: states.whole for name, states in kept.items()}

    def _follow(self, trip: _Done) -> None:
        """Put what a trip leaves into the state."""
        new: dict[str, Array] = {}
        for part in self.scan.parts.values():
            own = self.axes[part.name]
            if trip.some is not None:
                own = tuple(trip.some[0] if axis is trip.axis else axis for axis in own)
            step = part.step if self.guard is None else part.step.parts[0]
            new[part.name] = _whole(trip.ev.value(step), own, part.type)
            if trip.tests:
                new[part.name] = self._mixed(part.name, new[part.name], trip.tests)
        if trip.some is None:
            self.state = new
            return
        for name, array in new.items():
            mode = next(i for i, axis in enumerate(self.axes[name]) if axis is trip.axis)
            index = (slice(None),) * mode + (trip.some[1],)
            self.state[name] = _with(self.state[name], index, array)

    def _mixed(self, name: str, step: Array, tests: tuple[Field, ...]) -> Array:
        """Return what a trip leaves where it is done, and elsewhere the state as it was."""
        own = self.axes[name]
        if any(axis not in own for test in tests for axis in test.axes):
            raise undecided("a state depends on more than its coordinates tell")
        goes: Any = reduce(np.logical_and, (test.negative(own) for test in tests))
        return selected(goes, step, self.state[name], own)


@recorded
def _with(array: Array, index: Any, new: Array) -> Array:
    """Return a copy of an array with other elements at some places."""
    out = array.copy()
    out[index] = new
    return out


def _guard(parts: Iterable[Part]) -> Place | None:
    """Return the condition outside of which no fragment changes, if there is one."""
    places: dict[object, Place] = {}
    for part in parts:
        if part.step.kind is not Choice:
            return None
        rest = part.step.parts[1]
        same = rest.kind is State and rest.given[1] == part.name and not rest.given[2]
        sizes = zip(rest.places, part.space.names, part.space.index.shape, strict=False)
        if not same or not all(is_own(place, name, size) for place, name, size in sizes):
            return None
        (place,) = part.step.places
        tables = tuple((names, x.shape, x.tobytes()) for names, x in place.parts)
        places[place.base, tables] = place
    first, *others = places.values()
    return None if others else first


def _whole(value: Value, axes: tuple[Axis, ...], numeric: Numeric) -> Array:
    """Return a value of a fragment's type over all axes of its state."""
    if any(axis not in axes for axis in value.axes):
        raise undecided("a state depends on more than its coordinates tell")
    return as_type(value, numeric).whole(axes)
