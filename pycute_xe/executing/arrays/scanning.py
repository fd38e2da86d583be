"""Recurrences trip by trip: the state of all work-groups, in coordinates of operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from pycute_xe.converting import host_dtype
from pycute_xe.executing.arrays.evaluation import Evaluation, Run
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
    Points,
    Registers,
    constants,
    index_field,
    joined,
    points_of,
    whole,
)
from pycute_xe.executing.arrays.values import (
    Value,
    as_type,
)
from pycute_xe.holding.nodes import Recurrence, undecided
from pycute_xe.kernel.arrays import Array
from pycute_xe.kernel.ir.kernel import trips
from pycute_xe.numeric import Numeric

__all__ = ["exits"]

BLOCK = 1 << 13
"""Registers' rows of a block of work-groups: about what the caches hold of its intermediates."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A fragment's state: the groups of points on which it depends, its coordinates, its type."""

    name: str
    groups: tuple[int, ...]
    counts: tuple[int, ...]
    space: Registers
    type: Numeric
    start: Lifted
    step: Lifted


def exits(
    run: Run, term: Lifted
) -> tuple[Array, Numeric, Callable[[Evaluation], tuple[Field, ...]]]:
    """Return the state of a fragment behind a recurrence, its type, and where points lie in it."""
    recurrence, name, _, outer = term.given
    key = "exits", id(recurrence)
    if key not in run.known:
        run.known[key] = _scanned(run, recurrence)
    parts, groups, arrays = run.known[key]
    part = parts[name]

    def leading(ev: Evaluation) -> tuple[Field, ...]:
        env = dict(ev.env)
        for var, place in zip(outer, term.places[len(part.space.names) :], strict=True):
            env[var] = ev.place(place)
        return tuple(_number_of(groups[g], env) for g in part.groups)

    return arrays[name], part.type, leading


def _number_of(group: Points, env: dict[str, Field]) -> Field:
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


def _scanned(
    run: Run, recurrence: Recurrence
) -> tuple[dict[str, _Part], list[Points], dict[str, Array]]:
    asked = [name for key, name in run.lifter.spaces if key == id(recurrence)]
    names = needed_by(recurrence, asked)
    outside = {name: outside_of(run.lifter, recurrence, name) for name in names}
    groups = points_of(run.kernel, run.sizes, recurrence.around, run.look_up)
    if not all(group.size for group in groups):
        raise undecided("the state of a loop that no work-group enters is asked for")
    parts: dict[str, _Part] = {}
    for name in names:
        space = space_of(run.lifter, recurrence, name)
        start, step = steps_of(run.lifter, recurrence, name)
        mine = tuple(i for i, g in enumerate(groups) if g.columns.keys() & outside[name])
        parts[name] = _Part(name, mine, space.index.shape, space, run.types[name], start, step)
    arrays = {
        p.name: np.empty((*(groups[g].size for g in p.groups), *p.counts), host_dtype(p.type))
        for p in parts.values()
    }
    used = sorted({g for part in parts.values() for g in part.groups})
    rows = max(int(np.prod(part.counts[:1], dtype=np.int64)) for part in parts.values())
    for ranges in _blocks([groups[g].size for g in used], rows):
        chosen = dict(zip(used, ranges, strict=True))
        _block(run, recurrence, parts, groups, chosen, rows, arrays)
    return parts, groups, arrays


def _blocks(counts: list[int], rows: int) -> Iterator[tuple[range, ...]]:
    """Yield ranges of the points of groups, so that a block has not too many rows."""
    left, sizes = max(1, BLOCK // max(rows, 1)), list[int]()
    for count in reversed(counts):
        size = max(1, min(count, left))
        sizes.insert(0, size)
        left = max(1, left // size)
    ranges = [
        [range(i, min(i + size, count)) for i in range(0, count, size)]
        for count, size in zip(counts, sizes, strict=True)
    ]
    yield from product(*ranges)


def _block(
    run: Run,
    recurrence: Recurrence,
    parts: dict[str, _Part],
    groups: list[Points],
    chosen: dict[int, range],
    rows: int,
    arrays: dict[str, Array],
) -> None:
    env = constants(run.sizes)
    axes: dict[int, Axis] = {}
    for number, which in chosen.items():
        axes[number] = Axis(len(which))
        env |= groups[number].some(which).with_axis(axes[number])
    axes_of: dict[str, tuple[Axis, ...]] = {}
    shared: dict[str, Axis] = {}
    for part in parts.values():
        pairs = zip(part.space.names, part.counts, strict=True)
        own = tuple(shared.setdefault(name, Axis(count)) for name, count in pairs)
        axes_of[part.name] = (*(axes[g] for g in part.groups), *own)
        env |= part.space.env(own)
    outer = Evaluation(run, env)
    points = {
        p.name: tuple(Field(0, (((axes[g],), np.arange(axes[g].size)),)) for g in p.groups)
        for p in parts.values()
    }
    state = {p.name: _whole(outer.value(p.start), axes_of[p.name], p.type) for p in parts.values()}
    if not all(axis.size for axis in axes.values()):
        return
    loop = recurrence.loop
    start, stop = (index_field(i, env, run.look_up) for i in (loop.start, loop.stop))
    every = trips(loop, start.range[0], stop.range[1])
    marker = frozenset({loop.var, f"state {id(recurrence)}"})
    many = max(1, BLOCK // max(1, rows * prod(map(len, chosen.values()))))
    for turns in (every[i : i + many] for i in range(0, len(every), many)):
        axis = Axis(len(turns))
        moving = {loop.var: Field(0, (((axis,), np.array(turns, np.int64)),))}
        ahead = Evaluation(run, {**env, **moving}, outer, frozenset({loop.var}))
        for turn, trip in enumerate(turns):
            begun, ended = start + Field(-trip), stop + Field(-trip)  # begun <= 0 < ended
            if begun.range[0] > 0 or ended.range[1] <= 0:
                continue
            states = {n: (points[n], array, parts[n].type) for n, array in state.items()}
            here = {**env, loop.var: Field(trip)}
            inner = Evaluation(run, here, outer, marker, states, ahead=ahead, turn=(axis, turn))
            everyone = begun.range[1] <= 0 and ended.range[0] > 0
            new: dict[str, Array] = {}
            for part in parts.values():
                own = axes_of[part.name]
                step = _whole(inner.value(part.step), own, part.type)
                if not everyone:
                    goes = (begun + Field(-1)).negative(own) & (ended * -1).negative(own)
                    step = np.where(goes, step, state[part.name])
                new[part.name] = step
            state = new
    for part in parts.values():
        into = tuple(slice(chosen[g].start, chosen[g].stop) for g in part.groups)
        arrays[part.name][into] = state[part.name]


def _whole(value: Value, axes: tuple[Axis, ...], numeric: Numeric) -> Array:
    """Return a value of a fragment's type over all axes of its state."""
    if any(axis not in axes for axis in value.axes):
        raise undecided("a state depends on more than its coordinates tell")
    return as_type(value, numeric).whole(axes)
