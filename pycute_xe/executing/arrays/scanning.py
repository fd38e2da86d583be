"""Recurrences trip by trip: the state of all work-groups of a block, in coordinates of operands.

The points of a state are those of a few lines: a line has the work-groups and the coordinates that
choose places together, as the tile and the row in it choose a query. Of a line only those points
are followed that a store asks for, and in each trip only those whose state it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np

from pycute_xe.executing.arrays.evaluation import (
    Contents,
    Evaluation,
    Run,
    Trip,
    demand_room,
    reads,
)
from pycute_xe.executing.arrays.lifting import (
    is_inside,
    needed_by,
    outside_of,
    reached,
    space_of,
    steps_of,
)
from pycute_xe.executing.arrays.recording import Recorded, recorded
from pycute_xe.executing.arrays.terms import (
    Axis,
    Field,
    Lifted,
    Place,
    Points,
    Registers,
    constants,
    index_field,
    joined,
    points_of,
    run_of,
    whole,
)
from pycute_xe.executing.arrays.values import Value, as_type, gathered, put, selected
from pycute_xe.holding.elements import Recurrence, State
from pycute_xe.holding.nodes import Choice, undecided
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.kernel.ir.kernel import trips
from pycute_xe.numeric import Numeric

__all__ = ["over"]

BLOCK = 1 << 14
"""Registers' rows of a block of work-groups: about what the caches hold of its intermediates."""

# ------------------------------------------------------------ coordinates

Key = int | str
"""What a line is made of: the number of a group of points, or the name of a coordinate."""


@dataclass(frozen=True, eq=False)
class _Line:
    """Groups of points and coordinates whose points are those of one axis.

    ``columns`` says which one of each the points of the line are, ``number`` which point of the
    line each combination is: -1 where nothing asks for it.
    """

    keys: tuple[Key, ...]
    columns: tuple[Ints, ...]
    number: Ints

    @property
    def size(self) -> int:
        """How many points it has."""
        return self.columns[0].size

    def at(self, fields: Sequence[Field]) -> Field:
        """Return which of its points those are where its parts are at some fields."""
        if len(fields) == 1 and self.size == self.number.size and run_of(self.number) == 0:
            return fields[0]
        axes, numbers = gathered(self.number, tuple(fields))
        if numbers.size and numbers.min() < 0:
            raise undecided("state that no store asks for is asked for")
        return Field(0, ((axes, numbers),)) if axes else Field(int(numbers))


@dataclass(frozen=True, eq=False)
class _Part:
    """A fragment's state: of which groups and coordinates it is a function, and its terms."""

    name: str
    keys: tuple[Key, ...]
    space: Registers
    type: Numeric
    start: Lifted
    step: Lifted


@dataclass(eq=False)
class _Scan:
    """A recurrence of a block of work-groups: its groups of points, parts and lines."""

    run: Run
    recurrence: Recurrence
    groups: list[Points]
    parts: dict[str, _Part]
    axes: dict[Key, Axis]
    env: dict[str, Field]
    inside: tuple[Trip, ...]

    def fields(self, ev: Evaluation, term: Lifted) -> dict[Key, Field]:
        """Return for each group and coordinate of a fragment where a term lies in it."""
        _, name, _, outer = term.given
        part, env = self.parts[name], dict(ev.env)
        own = zip(part.space.names, term.places, strict=False)
        out: dict[Key, Field] = {name: ev.place(place) for name, place in own}
        for var, place in zip(outer, term.places[len(part.space.names) :], strict=True):
            env[var] = ev.place(place)
        for key in part.keys:
            if isinstance(key, int):
                own = env.get(_numbered(self.recurrence, key))
                out[key] = _number_of(self.groups[key], env) if own is None else own
        return out

    def where(self, ev: Evaluation, term: Lifted, starts: Sequence[int] = ()) -> tuple[Field, ...]:
        """Return where a term lies in the lines of a fragment, from some points of each on."""
        fields = self.fields(ev, term)
        own = (line for line in self.lines if fields.keys() & set(line.keys))
        where = [line.at([fields[key] for key in line.keys]) for line in own]
        first = starts or [0] * len(where)
        return tuple(x + Field(-start) for x, start in zip(where, first, strict=True))

    def lines_of(self, part: _Part) -> list[int]:
        """Return the numbers of the lines that a part has."""
        return [i for i, line in enumerate(self.lines) if set(line.keys) & set(part.keys)]

    @cached_property
    def lines(self) -> list[_Line]:
        """The lines, in the order of their first keys: groups of points first."""
        bundles = self._bundles()
        free = self._free(bundles)
        return [self._line(keys, all(key in free for key in keys)) for keys in bundles]

    def _line(self, keys: tuple[Key, ...], free: bool) -> _Line:
        shape = tuple(self.axes[key].size for key in keys)
        asked = self._asked(keys, shape) if free else np.ones(shape, np.bool_)
        number = np.full(shape, -1, np.int64)
        columns: tuple[Ints, ...] = np.nonzero(asked)
        stop = index_field(self.recurrence.loop.stop, self.env, self.run.look_up)
        own = [self.axes[key] for key in keys]
        if stop.axes and set(stop.axes) <= set(own):  # those that go on longest come first
            order = np.argsort(-whole(stop.compact(own), own)[columns], kind="stable")
            columns = tuple(column[order] for column in columns)
        number[columns] = np.arange(columns[0].size)
        return _Line(keys, columns, number)

    def _asked(self, keys: tuple[Key, ...], shape: tuple[int, ...]) -> Any:
        """Return for which points of some axes a store asks for state."""
        asked = np.zeros(shape, np.bool_)
        for ev, term in self.run.asked:
            if term.given[0] is not self.recurrence or ev.run.block is not self.run.block:
                continue
            known = all(place.names <= ev.env.keys() for place in term.places)
            if not known or not set(keys) <= set(self.parts[term.given[1]].keys):
                return np.ones(shape, np.bool_)
            fields = self.fields(ev, term)
            own = [fields[key] for key in keys]
            axes = joined(one.axes for one in own)
            asked[tuple(one.compact(axes) for one in own)] = True
        return asked if asked.any() else np.ones(shape, np.bool_)

    def _bundles(self) -> list[tuple[Key, ...]]:
        """Return which axes choose places together, and no operand is read along some alone."""
        near: dict[Key, set[Key]] = {key: {key} for key in self.axes}
        whole_reads: list[set[Key]] = []
        names = {axis: key for key, axis in self.axes.items()}
        for places in reads(self.run, self.env, self._terms()):
            read = [{names[axis] for axis in field.axes if axis in names} for field in places]
            whole_reads.append(set[Key]().union(*read))
            for keys in read:
                bundle = set[Key]().union(*(near[key] for key in keys))
                near |= dict.fromkeys(bundle, bundle)
        out: list[tuple[Key, ...]] = []
        for key, bundle in near.items():
            wide = {k for k in bundle if self.axes[k].size > 1}
            whole = all(not read & wide or wide <= read for read in whole_reads)
            owners = (set(part.keys) & wide for part in self.parts.values())
            if not whole or any(own and own != wide for own in owners):
                out.append((key,))
            elif not any(key in keys for keys in out):
                out.append(tuple(k for k in self.axes if k in bundle))
        return out

    def _terms(self) -> list[Lifted]:
        parts = self.parts.values()
        return list(dict.fromkeys(x for p in parts for t in (p.start, p.step) for x in t.every()))

    def _states(self) -> list[Lifted]:
        """Return the terms that ask for state of it."""
        return [x for x in self.run.lifter.states if x.given[0] is self.recurrence]

    @cached_property
    def kept(self) -> frozenset[str]:
        """The fragments of which others ask what each trip began with."""
        own = {x.number for x in self._terms()}
        states = [x for x in self._states() if not x.given[2]]
        var = self.recurrence.loop.var
        return frozenset(x.given[1] for x in states if x.number not in own or var in x.given[3])

    @cached_property
    def trips(self) -> range:
        """The trips that some work-groups do."""
        loop, look_up = self.recurrence.loop, self.run.look_up
        start, stop = (index_field(i, self.env, look_up) for i in (loop.start, loop.stop))
        return trips(loop, start.range[0], max(start.range[0], stop.range[1]))

    @property
    def nests(self) -> bool:
        """Whether recurrences inside of it need its state, and are followed in its trips."""
        every = reached(self.recurrence, tuple(self.parts))
        return any(is_inside(one, self.recurrence) for one, _ in every)

    def _free(self, bundles: Iterable[tuple[Key, ...]]) -> set[Key]:
        """Return the keys along which a point's state needs no other's, and stores alone ask."""
        asked = {id(term) for _, term in self.run.asked}
        own, states = {x.number for x in self._terms()}, self._states()
        if self.kept or any(x.given[2] and id(x) not in asked for x in states):
            return set()
        bound = {
            name
            for x in states
            if not x.given[2] and x.number in own
            for name, place in zip(self.parts[x.given[1]].space.names, x.places, strict=False)
            if not _is_own(place, name, self.axes[name].size)
        }
        return {key for keys in bundles for key in keys} - bound


def _numbered(recurrence: Recurrence, group: int) -> str:
    """Return the name of the number of a point of a group, which no variable has."""
    return f"point of {group} of {id(recurrence)}"


def _is_own(place: Place, name: str, count: int) -> bool:
    """Whether a place is the coordinate of a name."""
    if place.base.terms or place.base.offset or len(place.parts) > 1:
        return False
    names, table = place.parts[0] if place.parts else ((name,), np.zeros(1, np.int64))
    return names == (name,) and np.array_equal(table, np.arange(count))


def _number_of(group: Points, env: Mapping[str, Field]) -> Field:
    """Return the number of the point at which variables are."""
    names = list(group.columns)
    if len(names) == 1:
        first = group.columns[names[0]]
        if first.size and (np.diff(first) == 1).all():
            return env[names[0]] + Field(-int(first[0]))
    axes = joined(env[name].axes for name in names)
    lows = [int(group.columns[n].min()) for n in names]
    spans = [int(group.columns[n].max()) - low + 1 for n, low in zip(names, lows, strict=True)]
    asked: Any = np.zeros((1,) * len(axes), np.int64)
    keys: Any = np.zeros(group.size, np.int64)
    for name, low, span in zip(names, lows, spans, strict=True):
        asked = asked * span + (env[name].compact(axes) - low)
        keys = keys * span + (group.columns[name] - low)
    order = np.argsort(keys)
    places = np.asarray(np.searchsorted(keys[order], asked), np.int64)
    numbers = order[np.minimum(places, group.size - 1)]
    if (keys[numbers] != asked).any():
        raise undecided("state of work-groups that have none is asked for")
    return Field(0, ((axes, whole(numbers, axes)),)) if axes else Field(int(numbers))


# ------------------------------------------------------------ over


def over(ev: Evaluation, term: Lifted) -> Contents:
    """Return the state of a fragment in or behind a recurrence, its type, and where a term lies.

    A recurrence that needs the state of one around it is done anew in each of its trips.
    """
    run, (recurrence, name, behind, outer) = ev.run, term.given
    needs = [one for one, _ in reached(recurrence, _asked_of(run, recurrence))]
    around = [x for x in ev.trips if x.recurrence in needs and is_inside(recurrence, x.recurrence)]
    known = around[0].known if around else run.known
    key = "over", id(recurrence), id(run.block)
    if key not in known:
        scan = _scan(run, recurrence, tuple(around))
        known[key] = scan, _followed(scan)
    scan, (state, kept) = known[key]
    if behind:
        return state[name], scan.parts[name].type, scan.where(ev, term)
    var = recurrence.loop.var
    number = ev.place(term.places[outer.index(var) - len(outer)]) if var in outer else ev.env[var]
    trip = number + Field(-scan.trips.start)
    return kept[name], scan.parts[name].type, (trip, *scan.where(ev, term))


def _asked_of(run: Run, recurrence: Recurrence) -> tuple[str, ...]:
    return tuple(name for key, name in run.lifter.spaces if key == id(recurrence))


def _scan(run: Run, recurrence: Recurrence, inside: tuple[Trip, ...]) -> _Scan:
    groups = points_of(run.kernel, run.sizes, recurrence.around, run.look_up)
    blocks = [Points({x.recurrence.loop.var: np.array([x.number])}) for x in inside]
    for block in (*blocks, *([] if run.block is None else [run.block])):
        groups = [group.within(block) for group in groups]
    if not all(group.size for group in groups):
        raise undecided("the state of a loop that no work-group enters is asked for")
    parts: dict[str, _Part] = {}
    for name in needed_by(recurrence, _asked_of(run, recurrence)):
        space = space_of(run.lifter, recurrence, name)
        start, step = steps_of(run.lifter, recurrence, name)
        outside = outside_of(run.lifter, recurrence, name)
        mine = tuple(i for i, g in enumerate(groups) if g.columns.keys() & outside)
        parts[name] = _Part(name, (*mine, *space.names), space, run.types[name], start, step)
    axes, env = dict[Key, Axis](), constants(run.sizes)
    for i in sorted({key for part in parts.values() for key in part.keys if isinstance(key, int)}):
        axes[i] = Axis(groups[i].size)
        env |= groups[i].with_axis(axes[i])
        env[_numbered(recurrence, i)] = Field(0, (((axes[i],), np.arange(axes[i].size)),))
    for part in parts.values():
        pairs = zip(part.space.names, part.space.index.shape, strict=True)
        env |= part.space.env(tuple(axes.setdefault(name, Axis(count)) for name, count in pairs))
    return _Scan(run, recurrence, groups, parts, axes, env, inside)


# ------------------------------------------------------------ trips


def _blocks(scan: _Scan) -> list[_Block]:
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
    left = max(1, BLOCK // rows)
    ranges: list[list[range]] = []
    for line, split in reversed(list(zip(scan.lines, splits, strict=True))):
        split = split and not scan.nests
        size = -(-line.size // -(-line.size // left)) if split else line.size  # even parts
        left = max(1, left // size) if split else left
        ranges.insert(0, [range(i, min(i + size, line.size)) for i in range(0, line.size, size)])
    return [_Block(scan, each) for each in product(*ranges)]


def _followed(scan: _Scan) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the state of each fragment behind the loop, and what is kept of each trip's."""
    blocks = _blocks(scan)
    found = [block.followed() for block in blocks]
    if len(blocks) == 1:
        return found[0]
    out: tuple[dict[str, Array], dict[str, Array]] = {}, {}
    for name, part in scan.parts.items():
        own = scan.lines_of(part)
        shape = tuple(scan.lines[i].size for i in own)
        into = tuple(tuple(slice(x.ranges[i].start, x.ranges[i].stop) for i in own) for x in blocks)
        out[0][name] = _put_together(shape, into, *(state[name] for state, _ in found))
        if name in scan.kept:
            whole, every = (len(scan.trips) + 1, *shape), slice(None)
            into = tuple((every, *where) for where in into)
            out[1][name] = _put_together(whole, into, *(kept[name] for _, kept in found))
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
                self.array = _begun(self.count, *self.states)
        else:
            put(self.array, self.number, state)
        self.number += 1

    @property
    def whole(self) -> Array:
        """All of them. Raises `UndecidableError` before."""
        if self.array is None:
            raise undecided("a loop does fewer trips than are asked for")
        return self.array


@recorded
def _begun(count: int, *states: Array) -> Array:
    out = np.empty((count, *states[0].shape), states[0].dtype)
    for i, state in enumerate(states):
        out[i] = state
    return out


@recorded
def _put_together(
    shape: tuple[int, ...], into: tuple[tuple[slice, ...], ...], *parts: Array
) -> Array:
    out = np.empty(shape, parts[0].dtype)
    for where, part in zip(into, parts, strict=True):
        out[where] = part
    return out


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

    def __init__(self, scan: _Scan, ranges: tuple[range, ...]) -> None:
        """Take the points of the lines as axes."""
        self.scan, self.ranges = scan, ranges
        self.lines = [Axis(len(one)) for one in ranges]
        change: dict[Axis, tuple[Axis, Ints]] = {}
        for line, axis, some in zip(scan.lines, self.lines, ranges, strict=True):
            for key, column in zip(line.keys, line.columns, strict=True):
                change[scan.axes[key]] = axis, column[some.start : some.stop]
        self.env = {name: _folded(one.moved(change)) for name, one in scan.env.items()}
        self.outer = Evaluation(scan.run, self.env, inside=scan.inside)
        parts = scan.parts.items()
        self.axes = {n: tuple(self.lines[i] for i in scan.lines_of(part)) for n, part in parts}
        self.guard = _guard(scan.parts.values())
        recurrence = scan.recurrence
        self.own = frozenset({recurrence.loop.var, f"state {id(recurrence)}"})
        self.state: dict[str, Array] = {}

    # -------------------------------------------------------- places

    def trips(self) -> Iterator[_Done | None]:
        """Yield the trips: those that some points do, and all of which state is kept."""
        loop, run = self.scan.recurrence.loop, self.scan.run
        start, stop = (index_field(i, self.env, run.look_up) for i in (loop.start, loop.stop))
        every = self.scan.trips
        if not self.scan.kept:
            every = trips(loop, start.range[0], max(start.range[0], stop.range[1]))
        for number in every:
            env = {**self.env, loop.var: Field(number)}
            tests = [start + Field(-number - 1), stop * -1 + Field(number)]
            if self.guard is not None:
                tests.append(Evaluation(run, env).place(self.guard))
            yield self._trip(env, number, [test for test in tests if test.range[1] >= 0])

    def _trip(self, env: dict[str, Field], number: int, tests: list[Field]) -> _Done | None:
        """Return a trip that is done where tests are below zero, None where they nowhere are."""
        inside = (_Within(self, number), *self.scan.inside)
        every = Evaluation(self.scan.run, env, self.outer, self.own, inside)
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
        moved = {name: _folded(x.moved(change)) for name, x in env.items() if along in x.axes}
        own = frozenset(moved) | self.own
        some = which if first is None else slice(first, first + which.size)
        return _Done(replace(every, env=env | moved, own=own), along, (axis, some))

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


def _guard(parts: Iterable[_Part]) -> Place | None:
    """Return the condition outside of which no fragment changes, if there is one."""
    places: dict[object, Place] = {}
    for part in parts:
        if part.step.kind is not Choice:
            return None
        rest = part.step.parts[1]
        same = rest.kind is State and rest.given[1] == part.name and not rest.given[2]
        sizes = zip(rest.places, part.space.names, part.space.index.shape, strict=False)
        if not same or not all(_is_own(place, name, size) for place, name, size in sizes):
            return None
        (place,) = part.step.places
        tables = tuple((names, x.shape, x.tobytes()) for names, x in place.parts)
        places[place.base, tables] = place
    first, *others = places.values()
    return None if others else first


def _folded(field: Field) -> Field:
    """Return a field whose parts that are the same everywhere are in its offset."""
    out = Field(field.offset)
    for axes, numbers in field.parts:
        same = numbers.size and not (numbers != numbers.flat[0]).any()
        out = out + (Field(int(numbers.flat[0])) if same else Field(0, ((axes, numbers),)))
    return out


def _whole(value: Value, axes: tuple[Axis, ...], numeric: Numeric) -> Array:
    """Return a value of a fragment's type over all axes of its state."""
    if any(axis not in axes for axis in value.axes):
        raise undecided("a state depends on more than its coordinates tell")
    return as_type(value, numeric).whole(axes)
