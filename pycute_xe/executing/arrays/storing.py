"""Floor 9: what a store writes: the axes of its places, and the value at each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import host_dtype
from pycute_xe.errors import UndecidableError
from pycute_xe.executing.arrays.evaluating import Evaluation, Run
from pycute_xe.executing.arrays.lifting import lift
from pycute_xe.executing.arrays.places import Axis, Field, joined, separated
from pycute_xe.executing.arrays.points import constants, points_of
from pycute_xe.executing.arrays.terms import Lifted, Lifter, Place, Space, boxed
from pycute_xe.executing.arrays.values import Value, as_held, compact, gathered, scattered
from pycute_xe.holding.contents import undecided
from pycute_xe.holding.follower import Write
from pycute_xe.holding.placement import FAR
from pycute_xe.kernel import AtomicStore, If
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.roles import chooses
from pycute_xe.numeric import Numeric

__all__ = ["Stored", "store", "stored"]

Array: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Stored:
    """A write with its term in the coordinates of the tile that it writes."""

    write: Write
    space: Space
    places: tuple[Place, ...]
    term: Lifted
    tests: tuple[Place, ...] = ()

    @property
    def adds(self) -> bool:
        """Whether it adds to what is there."""
        return isinstance(self.write.statement, AtomicStore)


def stored(lifter: Lifter, write: Write, number: int) -> Stored | None:
    """Return a write in coordinates, None where it writes nothing."""
    shape = write.places.shape[0], write.places.shape[1]
    flat = write.places.reshape(-1, write.places.shape[2])
    inside = np.flatnonzero((flat > FAR // 2).all(axis=1))
    if not inside.size:
        return None
    groups, index = boxed([np.ascontiguousarray(column) for column in flat[inside].T])
    names = [f"write__{number}_{i}" for i in range(len(groups))]
    if index.ndim > len(groups):
        names.append(f"write__{number}_again")
    space = Space(shape, tuple(names), inside[index], f"write__{number}_subgroup", write.who)
    places: list[Place] = []
    for mode, base in enumerate(write.base):
        offset, parts = space.of(np.ascontiguousarray(write.places[..., mode]))
        places.append(Place(base + offset, tuple(parts)))
    tests = tuple(
        Place(space.own(one.index - one.below), ())
        for one in write.around
        if isinstance(one, If)
        and not chooses(one)
        and SUBGROUP_INDEX in (one.index - one.below).names
    )
    return Stored(write, space, tuple(places), lift(lifter, write.node, space), tests)


def store(
    run: Run, one: Stored, array: Array, touched: NDArray[np.bool_] | None, loaded: bool
) -> None:
    """Put what a write stores into an array; ``touched`` tells what others wrote.

    What is ``loaded``, too, must be stored once.

    Raises `UndecidableError` where several writers meet, and one cannot tell who comes last.
    """
    name = one.write.statement.operand
    groups = points_of(run.kernel, run.sizes, one.write.around, run.look_up)
    if not all(group.size for group in groups):
        return
    env = constants(run.sizes)
    for group in groups:
        env |= group.with_axis(Axis(group.size))
    env |= one.space.env(tuple(Axis(count) for count in one.space.index.shape))
    env, at, apart = _fused(run, _divided(run, env, one), one, array.shape)
    if not all(axis.size for place in at for axis in place.axes):
        return
    ev = Evaluation(run, env)
    value, tests = ev.value(one.term), tuple(map(ev.place, one.tests))
    axes = joined(place.axes for place in at)
    others = tuple(a for a in joined(f.axes for f in env.values()) if a not in axes)
    value = as_held(_of_writers(value, others, one, loaded), run.types[name])
    if not apart or tests:
        at, axes, value = _flattened(at, axes, value, array.shape, tests)
        if not axes[0].size:
            return
        _demand_one(at, array.shape, one, run.types[name])
    if touched is not None:
        if gathered(touched, at)[1].any():
            raise undecided(f"two statements store one element of {name}")
        scattered(touched, at, Value((), np.asarray(True), run.types[name]), axes, False)
    with np.errstate(over="ignore", invalid="ignore"):
        scattered(array, at, value, axes, one.adds)


def _of_writers(value: Value, others: tuple[Axis, ...], one: Stored, loaded: bool) -> Value:
    """Return what all writers of an element leave there; ``others`` are axes of writers alone."""
    name = one.write.statement.operand
    if one.adds:
        return _added_up(value, others)
    if loaded and any(axis.size > 1 for axis in others):
        raise undecided(f"{name} is loaded and stored again and again")
    if any(axis in value.axes for axis in others):
        raise undecided(f"several subgroups store different elements of {name}")
    return value


def _added_up(value: Value, others: tuple[Axis, ...]) -> Value:
    """Return the sum of what all writers of an element add."""
    if not others:
        return value
    numeric = value.type
    if numeric.kind == "float" and numeric.bits < 32:
        raise undecided("what is added is rounded each time")
    array = value.over(kept := joined((value.axes, others)))
    whole = np.broadcast_to(array, [axis.size for axis in kept])
    along = tuple(i for i, axis in enumerate(kept) if axis in others)
    left = tuple(axis for axis in kept if axis not in others)
    dtype = host_dtype(numeric)
    with np.errstate(over="ignore", invalid="ignore"):
        return Value(left, whole.sum(axis=along, dtype=dtype), numeric)


def _flattened(
    at: tuple[Field, ...],
    axes: tuple[Axis, ...],
    value: Value,
    shape: Sequence[int],
    tests: tuple[Field, ...],
) -> tuple[tuple[Field, ...], tuple[Axis, ...], Value]:
    """Return places and values one by one, of those that lie inside."""
    whole = tuple(axis.size for axis in axes)
    inside = np.ones((1,) * len(axes), np.bool_)
    for place, extent in zip(at, shape, strict=True):
        numbers_ = compact(place, axes)
        inside = inside & (numbers_ >= 0) & (numbers_ < extent)
    for test in tests:
        inside = inside & (compact(test, axes) < 0)
    inside = np.broadcast_to(inside, whole)
    count = int(inside.sum())
    axis = Axis(count)
    new = np.broadcast_to(value.over(axes), whole)[inside]
    places = tuple(
        Field(0, (((axis,), np.broadcast_to(compact(p, axes), whole)[inside]),)) for p in at
    )
    return places, (axis,), Value((axis,), new, value.type)


def _demand_one(at: tuple[Field, ...], shape: Sequence[int], one: Stored, numeric: Numeric) -> None:
    if one.adds and (numeric.kind != "float" or numeric.bits >= 32):
        return
    flat = np.ravel_multi_index([place.over(place.axes) for place in at], tuple(shape))
    if np.bincount(flat).max(initial=0) > 1:
        name = one.write.statement.operand
        raise undecided(f"several subgroups store one element of {name}")


# ---------------------------------------------------------------- axes of a store


def _places(run: Run, env: Mapping[str, Field], one: Stored) -> tuple[Field, ...]:
    ev = Evaluation(run, dict(env))
    return tuple(map(ev.place, one.places))


def _divided(run: Run, env: dict[str, Field], one: Stored) -> dict[str, Field]:
    """Split axes that choose places along several modes into one for each, where they can be."""
    at = _places(run, env, one)
    for axis in joined(place.axes for place in at):
        mine = [p for place in at for axes, p in place.parts if axes == (axis,)]
        mixed = any(axis in axes and axes != (axis,) for p in at for axes, _ in p.parts)
        if len(mine) < 2 or mixed:
            continue
        try:
            groups, index = boxed(mine)
        except UndecidableError:
            continue
        if len(groups) < 2:
            continue
        news = tuple(Axis(n) for n in index.shape)
        env = {name: _split(field, axis, index, news) for name, field in env.items()}
    return env


def _split(field: Field, axis: Axis, index: Ints, news: tuple[Axis, ...]) -> Field:
    out = Field(field.offset)
    for axes, part in field.parts:
        if axes != (axis,):
            out = out + Field(0, ((axes, part),))
            continue
        offset, parts = separated(part[index])
        named = tuple((tuple(news[i] for i in a), x) for a, x in parts)
        out = out + Field(offset, named)
    return out


def _fused(
    run: Run, env: dict[str, Field], one: Stored, shape: Sequence[int]
) -> tuple[dict[str, Field], tuple[Field, ...], bool]:
    """Make one axis of those that choose a place along one mode only, of places inside.

    Returns also whether every element has one place.
    """
    at = _places(run, env, one)
    owners: dict[Axis, set[int]] = {}
    for mode, place in enumerate(at):
        for axis in place.axes:
            owners.setdefault(axis, set()).add(mode)
    apart = True
    change: dict[Axis, tuple[Axis, Ints]] = {}
    for mode, place in enumerate(at):
        mine = tuple(axis for axis in place.axes if owners[axis] == {mode})
        if len(mine) < len(place.axes):
            apart = False
            continue
        if not mine:
            apart = apart and 0 <= place.offset < shape[mode]
            continue
        line = _in_order(place, mine, shape[mode])
        apart = apart and line.apart
        axis = Axis(line.where.shape[1])
        change |= {old: (axis, row) for old, row in zip(mine, line.where, strict=True)}
    env = {name: field.moved(change) for name, field in env.items()}
    return env, tuple(place.moved(change) for place in at), apart


@dataclass(frozen=True, eq=False)
class _Line:
    """The points of axes in the order of their places; whether each has one of its own."""

    where: Ints
    apart: bool


def _in_order(place: Field, axes: tuple[Axis, ...], extent: int) -> _Line:
    """Return the points of axes whose places are inside, by their places."""
    counts = [axis.size for axis in axes]
    where = np.indices(counts).reshape(len(counts), -1)
    numbers = place.over(axes).reshape(-1)
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers, kind="stable")
        numbers, where = numbers[order], where[:, order]
    inside = (numbers >= 0) & (numbers < extent)
    if not inside.all():
        numbers, where = numbers[inside], where[:, inside]
    return _Line(where, bool((numbers[1:] > numbers[:-1]).all()))
