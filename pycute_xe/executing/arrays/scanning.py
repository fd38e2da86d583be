"""Recurrences in coordinates of operands: the state of all work-groups of a block.

The points of a state are those of a few lines: a line has the work-groups and the coordinates that
choose places together, as the tile and the row in it choose a query. Of a line only those points
are followed that a store asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pycute_xe.errors import UndecidableError
from pycute_xe.executing.arrays.evaluation import Evaluation, Run, Trip, reads
from pycute_xe.executing.arrays.lifting import (
    needed_by,
    outside_of,
    space_of,
    steps_of,
)
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
from pycute_xe.executing.arrays.values import gathered
from pycute_xe.holding.elements import Recurrence
from pycute_xe.holding.nodes import undecided
from pycute_xe.kernel import Loop
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.ir.kernel import MOST_TRIPS, trips
from pycute_xe.numeric import Numeric

__all__ = ["Part", "Scan", "asked_of", "is_own", "kept_of", "scan_of", "trips_of"]

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
class Part:
    """A fragment's state: of which groups and coordinates it is a function, and its terms."""

    name: str
    keys: tuple[Key, ...]
    space: Registers
    type: Numeric
    start: Lifted
    step: Lifted


@dataclass(eq=False)
class Scan:
    """A recurrence of a block of work-groups: its groups of points, parts and lines."""

    run: Run
    recurrence: Recurrence
    groups: list[Points]
    parts: dict[str, Part]
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

    def lines_of(self, part: Part) -> list[int]:
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

    @cached_property
    def kept(self) -> frozenset[str]:
        """The fragments of which others ask what each trip began with."""
        return kept_of(self.run, self.recurrence)

    @cached_property
    def trips(self) -> range:
        """The trips that some work-groups do."""
        return trips_of(self.run, self.recurrence.loop, self.env)[0]

    def _free(self, bundles: Iterable[tuple[Key, ...]]) -> set[Key]:
        """Return the keys along which a point's state needs no other's, and stores alone ask."""
        asked = {id(term) for _, term in self.run.asked}
        own, states = {x.number for x in self._terms()}, states_of(self.run, self.recurrence)
        if self.kept or any(x.given[2] and id(x) not in asked for x in states):
            return set()
        bound = {
            name
            for x in states
            if not x.given[2] and x.number in own
            for name, place in zip(self.parts[x.given[1]].space.names, x.places, strict=False)
            if not is_own(place, name, self.axes[name].size)
        }
        return {key for keys in bundles for key in keys} - bound


def _numbered(recurrence: Recurrence, group: int) -> str:
    """Return the name of the number of a point of a group, which no variable has."""
    return f"point of {group} of {id(recurrence)}"


def is_own(place: Place, name: str, count: int) -> bool:
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
            number = env[names[0]] + Field(-int(first[0]))
            if not number.inside(first.size):
                raise _absent()
            return number
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
        raise _absent()
    return Field(0, ((axes, whole(numbers, axes)),)) if axes else Field(int(numbers))


def _absent() -> UndecidableError:
    return undecided("state of work-groups that have none is asked for")


def asked_of(run: Run, recurrence: Recurrence) -> tuple[str, ...]:
    """Return the fragments of a recurrence whose state is asked for."""
    return tuple(name for key, name in run.lifter.spaces if key == id(recurrence))


def states_of(run: Run, recurrence: Recurrence) -> list[Lifted]:
    """Return the terms that ask for state of a recurrence."""
    return [x for x in run.lifter.states if x.given[0] is recurrence]


def kept_of(run: Run, recurrence: Recurrence) -> frozenset[str]:
    """Return the fragments of a recurrence of which others ask what each trip began with."""
    names = needed_by(recurrence, asked_of(run, recurrence))
    steps = (term for name in names for term in steps_of(run.lifter, recurrence, name))
    own = {x.number for term in steps for x in term.every()}
    states = [x for x in states_of(run, recurrence) if not x.given[2]]
    var = recurrence.loop.var
    return frozenset(x.given[1] for x in states if x.number not in own or var in x.given[3])


def trips_of(run: Run, loop: Loop, env: Mapping[str, Field]) -> tuple[range, Field, Field]:
    """Return the trips of a loop that are done anywhere, and where they begin and end.

    Raises `InputError` for too many of a work-group, `UndecidableError` for those of several that
    lie too far apart.
    """
    start, stop = (index_field(i, env, run.look_up) for i in (loop.start, loop.stop))
    first, last = start.range[0], max(start.range[0], stop.range[1])
    if last - first > MOST_TRIPS:
        axes = joined((start.axes, stop.axes))
        begins, ends = start.over(axes).reshape(-1), stop.over(axes).reshape(-1)
        longest = int(np.argmax(ends - begins))
        trips(loop, int(begins[longest]), int(ends[longest]))
        raise undecided(f"the trips of {loop.var} lie too far apart")
    return range(first, last), start, stop


def scan_of(run: Run, recurrence: Recurrence, inside: tuple[Trip, ...]) -> Scan:
    """Return a recurrence in coordinates: of a block of work-groups, inside some trips."""
    groups = points_of(run.kernel, run.sizes, recurrence.enclosing, run.look_up)
    blocks = [Points({x.recurrence.loop.var: np.array([x.number])}) for x in inside]
    for block in (*blocks, *([] if run.block is None else [run.block])):
        groups = [group.within(block) for group in groups]
    if not all(group.size for group in groups):
        raise undecided("the state of a loop that no work-group enters is asked for")
    parts: dict[str, Part] = {}
    for name in needed_by(recurrence, asked_of(run, recurrence)):
        space = space_of(run.lifter, recurrence, name)
        start, step = steps_of(run.lifter, recurrence, name)
        outside = outside_of(run.lifter, recurrence, name)
        mine = tuple(i for i, g in enumerate(groups) if g.columns.keys() & outside)
        parts[name] = Part(name, (*mine, *space.names), space, run.types[name], start, step)
    axes, env = dict[Key, Axis](), constants(run.sizes)
    for i in sorted({key for part in parts.values() for key in part.keys if isinstance(key, int)}):
        axes[i] = Axis(groups[i].size)
        env |= groups[i].with_axis(axes[i])
        env[_numbered(recurrence, i)] = axes[i].points
    for part in parts.values():
        pairs = zip(part.space.names, part.space.index.shape, strict=True)
        env |= part.space.env(tuple(axes.setdefault(name, Axis(count)) for name, count in pairs))
    return Scan(run, recurrence, groups, parts, axes, env, inside)
