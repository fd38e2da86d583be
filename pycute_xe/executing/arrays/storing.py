"""What a store writes: its term in the coordinates of its tile, and where that lies in a run.

Stores of rows, each under a condition on its row, are one. Work-groups for which tables say the
same are a block: what is looked up is a number there, and what is gathered by it a slice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import host_dtype
from pycute_xe.errors import UndecidableError
from pycute_xe.executing.arrays.evaluation import Evaluation, Run, reads
from pycute_xe.executing.arrays.lifting import boxed, lift
from pycute_xe.executing.arrays.recording import recorded
from pycute_xe.executing.arrays.terms import (
    Axis,
    Field,
    Lifted,
    Lifter,
    Place,
    Points,
    Registers,
    constants,
    index_field,
    joined,
    points_of,
    separated,
    whole,
)
from pycute_xe.executing.arrays.values import Value, as_type, gathered, scattered, taken
from pycute_xe.holding.contents import Write
from pycute_xe.holding.elements import State
from pycute_xe.holding.likeness import joined as joined_nodes
from pycute_xe.holding.memory import FAR
from pycute_xe.holding.nodes import Summed, undecided
from pycute_xe.kernel import If
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index, Looked
from pycute_xe.kernel.ir.program import OWN, chooses
from pycute_xe.kernel.ir.visiting import Enclosing
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Stored", "Written", "store", "stores_of", "written"]

BLOCK, SCANNED = 1 << 12, 1 << 14
"""Elements that a block stores: of fewer, it is quicker to gather what tables say; and those of
one whose loop is followed trip by trip.
"""
SPREAD = 1 << 18
"""Elements from which on an operand is not gathered again for each element that is stored."""


# ------------------------------------------------------------ stores


@dataclass(frozen=True, eq=False)
class Stored:
    """A write with its term in the coordinates of the tile that it writes.

    It is done where ``tests`` are below zero.
    """

    write: Write
    space: Registers
    places: tuple[Place, ...]
    term: Lifted
    tests: tuple[Place, ...] = ()

    @property
    def operand(self) -> str:
        """The operand that it writes."""
        return self.write.access.operand

    @property
    def adds(self) -> bool:
        """Whether it adds to what is there."""
        return self.write.access.adds


def stores_of(lifter: Lifter, writes: Sequence[Write], apart: bool) -> tuple[Stored, ...]:
    """Return writes in coordinates, those of rows together unless each is to stand ``apart``."""
    groups: list[list[Write]] = []
    for write in writes:
        if not apart and groups and _goes_on(groups[-1], write):
            groups[-1].append(write)
        else:
            groups.append([write])
    return tuple(chain.from_iterable(_stores(lifter, group) for group in groups))


def _stores(lifter: Lifter, group: list[Write]) -> Iterator[Stored]:
    """Yield the stores that a group of writes is, none of those that write nothing."""
    made = _joined(group) if len(group) > 1 else None
    if made is not None:
        try:
            one = _stored(lifter, *made)
        except UndecidableError:
            pass
        else:
            if one is not None:
                yield one
            return
    for write in group:
        one = _stored(lifter, write, {})
        if one is not None:
            yield one


def _goes_on(group: list[Write], write: Write) -> bool:
    """Whether a write is like others of a group, but for numbers in its conditions and its base."""
    first = group[0]
    if write.access.adds or first.access.adds:
        return False
    if write.access.operand != first.access.operand or len(first.enclosing) != len(write.enclosing):
        return False
    if not np.array_equal(write.subgroups, first.subgroups):
        return False
    bases = zip(first.base, write.base, strict=True)
    rounds = zip(first.enclosing, write.enclosing, strict=True)
    alike = all((i - j).is_constant for i, j in bases)
    alike = alike and all(one is other or _apart(one, other) is not None for one, other in rounds)
    return alike and joined_nodes([first.node, write.node]) is not None


def _apart(one: Enclosing, other: Enclosing) -> int | None:
    """Return by how much the second of two conditions is further up, None for others."""
    if not isinstance(one, If) or not isinstance(other, If):
        return None
    apart = (other.index - other.below) - (one.index - one.below)
    return apart.offset if apart.is_constant else None


def _joined(group: list[Write]) -> tuple[Write, dict[Index, Ints]] | None:
    """Return a group of writes as one, and what has to be below zero besides: with each position's.

    None where what they hold has different forms.
    """
    node = joined_nodes([write.node for write in group])
    if node is None:
        return None
    first = group[0]
    counts = [write.places.shape[1] for write in group]
    tests: dict[Index, Ints] = {}
    for i, one in enumerate(first.enclosing):
        if isinstance(one, If) and any(write.enclosing[i] is not one for write in group):
            apart = [_apart(one, write.enclosing[i]) or 0 for write in group]
            tests[one.index - one.below] = np.repeat(np.array(apart, np.int64), counts)
    offsets = [[index.offset for index in write.base] for write in group]
    places = [w.places + np.array(o) - offsets[0] for w, o in zip(group, offsets, strict=True)]
    kept = (
        one for i, one in enumerate(first.enclosing) if all(w.enclosing[i] is one for w in group)
    )
    write = replace(
        first,
        enclosing=tuple(kept),
        places=np.concatenate(places, axis=1),
        elements=np.concatenate([write.elements for write in group]),
        node=node,
    )
    return write, tests


def _stored(lifter: Lifter, write: Write, more: dict[Index, Ints]) -> Stored | None:
    """Return a write in coordinates, None where it writes nothing."""
    shape = write.places.shape[0], write.places.shape[1]
    flat = write.places.reshape(-1, write.places.shape[2])
    inside = np.flatnonzero((flat > FAR // 2).all(axis=1))
    if not inside.size:
        return None
    number = next(lifter.numbers)
    groups, index = boxed([np.ascontiguousarray(column) for column in flat[inside].T])
    names = [f"write__{number}_{i}" for i in range(len(groups))]
    if index.ndim > len(groups):
        names.append(f"write__{number}_again")
    space = Registers(
        shape, tuple(names), inside[index], f"write__{number}_subgroup", write.subgroups
    )

    def place(base: Index, column: Ints) -> Place:
        rest, own = _parted(base, write.subgroups)
        offset, parts = space.of(column + own[:, None])
        return Place(space.own(rest) + offset, tuple(parts))

    columns = np.moveaxis(write.places, -1, 0)
    places = map(place, write.base, map(np.ascontiguousarray, columns))
    own = [x.index - x.below for x in write.enclosing if isinstance(x, If) and not chooses(x)]
    tests = {index: np.zeros(1, np.int64) for index in own if SUBGROUP_INDEX in index.names} | more
    shown = (place(index, np.broadcast_to(x, shape)) for index, x in tests.items())
    return Stored(write, space, tuple(places), lift(lifter, write.node, space), tuple(shown))


def _parted(index: Index, subgroups: Ints) -> tuple[Index, Ints]:
    """Return an index without what only a subgroup's number decides, and that for each subgroup."""
    terms = {atom: Index.of({atom: scale}, 0) for atom, scale in index.terms}
    own = [x for x in terms.values() if x.names == OWN and not x.looked_up]
    numbers: Ints = np.zeros(subgroups.size, np.int64)
    for one in own:
        names: dict[str, Any] = {SUBGROUP_INDEX: subgroups}
        numbers, index = numbers + one.at(names), index - one
    return index, numbers


# ------------------------------------------------------------ places


@dataclass(frozen=True, eq=False)
class Written:
    """Where a store writes in a run, by some of its work-groups: variables as fields, and places.

    ``apart`` says that every element has one place, inside the operand; else what lies inside, and
    where the ``tests`` hold, is stored one by one.
    """

    ev: Evaluation
    at: tuple[Field, ...]
    tests: tuple[Field, ...]
    apart: bool

    @property
    def stores(self) -> bool:
        """Whether it stores anything."""
        return all(place.has_points for place in self.at)

    def reaches_new(self, touched: NDArray[np.bool_]) -> bool:
        """Whether none of its places is touched; they are from now on."""
        at, true = self.at, Value((), np.asarray(True), as_numeric("u8"))
        axes = joined(place.axes for place in at)
        if not self.apart or self.tests:
            at, axes, _ = _flattened(at, axes, true, touched.shape, self.tests)
        if gathered(touched, at)[1].any():
            return False
        scattered(touched, at, true, axes, False)
        return True


def written(run: Run, one: Stored, looked: Iterable[Looked]) -> tuple[Written, ...]:
    """Return where a write stores: of each block of work-groups for which ``looked`` says the same.

    Nothing where it stores nothing.
    """
    shape = run.memory[one.operand].shape
    groups = points_of(run.kernel, run.sizes, one.write.enclosing, run.look_up)
    if not all(group.size for group in groups):
        return ()
    scanned = any(term.kind is State for term in one.term.every())
    room = min(prod(shape), prod(group.size for group in groups) * one.space.index.size)
    most = room // (SCANNED if scanned else BLOCK)
    blocks = list(_blocks(run, groups, looked, most))
    blocks = run.known.setdefault(_key(groups, len(blocks)), blocks)  # whose states are one
    made = [_written(part, one, own, shape) for part, own in blocks]
    if len(made) > 1 and not _one_place_each(run, one, made, np.zeros(shape, np.bool_)):
        made = [_written(run, one, groups, shape)]
    return tuple(x for x in made if x.stores)


def _key(groups: list[Points], blocks: int) -> tuple[object, ...]:
    """Return what tells blocks of points apart from those of others."""
    columns = (item for group in groups for item in group.columns.items())
    return "blocks", blocks, *((name, numbers.tobytes()) for name, numbers in columns)


def _one_place_each(
    run: Run, one: Stored, made: Sequence[Written], touched: NDArray[np.bool_]
) -> bool:
    """Whether no two blocks store one element, or they only add; note what they touch."""
    if one.adds and not _is_rounded(run.types[one.operand]):
        return True
    return all(x.reaches_new(touched) for x in made if x.stores)


def _blocks(
    run: Run, groups: list[Points], looked: Iterable[Looked], most: int
) -> Iterator[tuple[Run, list[Points]]]:
    """Yield points by what tables say of them, in at most so many blocks; else all together."""
    known = frozenset(name for group in groups for name in group.columns)
    tables = {
        x: frozenset[str]().union(*(i.names for i in x.at)) - run.sizes.keys() for x in looked
    }
    mine = {x: names for x, names in tables.items() if names and names <= known}
    names = frozenset[str]().union(*mine.values())
    together = [group for group in groups if group.columns.keys() & names]
    if most < 2 or not together or prod(group.size for group in together) > SPREAD:
        yield run, groups
        return
    points = Points.product(together)
    axis = Axis(points.size)
    env = constants(run.sizes) | points.with_axis(axis)
    entries = [index_field(Index.element(x.operand, *x.at), env, run.look_up) for x in mine]
    rows = np.stack([entry.over((axis,)) for entry in entries], axis=1)
    _, first, number = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if not 1 < first.size <= most:
        yield run, groups
        return
    rest = [group for group in groups if not group.columns.keys() & names]
    for label in np.argsort(first):
        block = points.some(np.flatnonzero(number.reshape(-1) == label))
        yield run.of(block), [block, *rest]


def _written(run: Run, one: Stored, groups: list[Points], shape: Sequence[int]) -> Written:
    env = constants(run.sizes)
    for group in groups:
        env |= group.with_axis(Axis(group.size))
    env |= one.space.env(tuple(Axis(count) for count in one.space.index.shape))
    return _fused(run, _divided(run, env, one), one, shape)


def _places(ev: Evaluation, one: Stored) -> tuple[Field, ...]:
    return tuple(map(ev.place, one.places))


def _divided(run: Run, env: dict[str, Field], one: Stored) -> dict[str, Field]:
    """Split axes that choose places along several modes into one for each, where they can be.

    Not where the length of a sum depends on both: it would be gathered for each element.
    """
    at = _places(Evaluation(run, env), one)
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
        split = {name: _split(field, axis, index, news) for name, field in env.items()}
        if not any(_mixes(end, news) for end in _ends(Evaluation(run, split), one.term)):
            env = split
    return env


def _ends(ev: Evaluation, term: Lifted) -> Iterator[Field]:
    """Yield where the sums of a term begin and end, but for those that depend on outer ones."""
    if term.kind is Summed:
        for bound in term.given[1]:
            for end in bound[1:] if len(bound) == 3 else ():
                if end.names <= ev.env.keys():
                    yield ev.index(end)
    for part in term.parts:
        yield from _ends(ev, part)


def _mixes(field: Field, axes: tuple[Axis, ...]) -> bool:
    """Whether numbers depend on several of some axes together."""
    return any(len(set(own) & set(axes)) > 1 for own, _ in field.parts)


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


def _fused(run: Run, env: dict[str, Field], one: Stored, shape: Sequence[int]) -> Written:
    """Make one axis of those that choose a place along one mode only, of places inside.

    Not where an operand, or state, is read along some of them alone: it would be gathered for each
    element.
    """
    ev = Evaluation(run, env)
    at, tests = _places(ev, one), tuple(map(ev.place, one.tests))
    read = {
        frozenset(joined(x.axes for x in places)) for places in reads(run, env, one.term.every())
    }
    carried = {frozenset(axes) for axes in _trips(env, one.term)}
    owners: dict[Axis, set[int]] = {}
    for mode, place in enumerate(at):
        for axis in place.axes:
            owners.setdefault(axis, set()).add(mode)
    apart = True
    change: dict[Axis, tuple[Axis, Ints]] = {}
    for mode, place in enumerate(at):
        mine = tuple(axis for axis in place.axes if owners[axis] == {mode})
        if len(mine) == len(place.axes) and any(
            x & set(mine) and not x >= set(mine) for x in carried
        ):
            numbers = place.over(mine).reshape(-1)
            inside = numbers.min() >= 0 and numbers.max() < shape[mode]
            apart = apart and bool(inside) and np.unique(numbers).size == numbers.size
            continue
        if len(mine) < len(place.axes) or any(_spreads(each, mine) for each in read):
            apart = False
            continue
        if not mine:
            apart = apart and 0 <= place.offset < shape[mode]
            continue
        own = [test for test in tests if test.axes and set(test.axes) <= set(mine)]
        tests = tuple(test for test in tests if test not in own)
        line = _in_order(place, mine, shape[mode], own)
        apart = apart and line.apart
        axis = Axis(line.where.shape[1])
        change |= {old: (axis, row) for old, row in zip(mine, line.where, strict=True)}
    fused = {name: field.moved(change) for name, field in env.items()}
    left = tuple(test.moved(change) for test in tests if test.axes or test.offset >= 0)
    at = tuple(x.moved(change) for x in at)
    return Written(Evaluation(run, fused), at, left, apart or _one_each(at, shape))


def _one_each(at: tuple[Field, ...], shape: Sequence[int]) -> bool:
    """Whether every element has one place, inside: of modes that axes choose together, too."""
    near: list[tuple[set[Axis], list[int]]] = []
    for mode, place in enumerate(at):
        if not place.inside(shape[mode]):
            return False
        mine = [x for x in near if x[0] & set(place.axes)]
        joint = (
            set(place.axes).union(*(x[0] for x in mine)),
            [*(i for x in mine for i in x[1]), mode],
        )
        near = [x for x in near if x not in mine] + [joint]
    for axes, modes in near:
        own = joined(at[mode].axes for mode in modes)
        if prod(axis.size for axis in own) > SPREAD:
            return False
        flat: Any = 0
        for mode in modes:
            flat = flat * shape[mode] + at[mode].over(own)
        if np.unique(flat).size != prod(axis.size for axis in axes):
            return False
    return True


def _trips(env: dict[str, Field], term: Lifted) -> Iterator[tuple[Axis, ...]]:
    """Yield the axes of the trips with whose state a term begins."""
    for one in term.every():
        if one.kind is State and not one.given[2]:
            yield env[one.given[0].loop.var].axes


def _spreads(read: frozenset[Axis], axes: tuple[Axis, ...]) -> bool:
    """Whether one axis of several makes an operand much larger that is read along some of them."""
    wide = {axis for axis in axes if axis.size > 1}
    if not read & wide or wide <= read:
        return False
    return prod(axis.size for axis in read | wide) > SPREAD


@dataclass(frozen=True, eq=False)
class _Line:
    """The points of axes in the order of their places; whether each has one of its own."""

    where: Ints
    apart: bool


def _in_order(place: Field, axes: tuple[Axis, ...], extent: int, tests: list[Field]) -> _Line:
    """Return the points of axes whose places are inside, and whose tests hold, by their places."""
    counts = [axis.size for axis in axes]
    where = np.indices(counts).reshape(len(counts), -1)
    numbers = place.over(axes).reshape(-1)
    inside = (numbers >= 0) & (numbers < extent)
    for test in tests:
        inside = inside & whole(test.negative(axes), axes).reshape(-1)
    if not inside.all():
        numbers, where = numbers[inside], where[:, inside]
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers, kind="stable")
        numbers, where = numbers[order], where[:, order]
    return _Line(where, bool((numbers[1:] > numbers[:-1]).all()))


# ------------------------------------------------------------ values


def store(one: Stored, written: Written, array: Array, loaded: bool) -> None:
    """Put what a write stores into an array. What is ``loaded``, too, must be stored once.

    Raises `UndecidableError` where several writers meet, and one cannot tell who comes last.
    """
    ev, at = written.ev, written.at
    numeric = ev.run.types[one.operand]
    axes = joined(place.axes for place in at)
    others = tuple(a for a in joined(f.axes for f in ev.env.values()) if a not in axes)
    value = as_type(_of_writers(ev.value(one.term), others, one, loaded), numeric)
    if not written.apart or written.tests:
        at, axes, value = _flattened(at, axes, value, array.shape, written.tests)
        _demand_one(at, array.shape, one, numeric)
    scattered(array, at, value, axes, one.adds)
    ev.forget()


def _of_writers(value: Value, others: tuple[Axis, ...], one: Stored, loaded: bool) -> Value:
    """Return what all writers of an element leave there; ``others`` are axes of writers alone."""
    if one.adds:
        return _added_up(value, others)
    if loaded and any(axis.size > 1 for axis in others):
        raise undecided(f"{one.operand} is loaded and stored again and again")
    if any(axis in value.axes for axis in others):
        raise undecided(f"several subgroups store different elements of {one.operand}")
    return value


def _added_up(value: Value, others: tuple[Axis, ...]) -> Value:
    """Return the sum of what all writers of an element add."""
    if not others:
        return value
    numeric = value.type
    if _is_rounded(numeric):
        raise undecided("what is added is rounded each time")
    every = value.whole(kept := joined((value.axes, others)))
    along = tuple(i for i, axis in enumerate(kept) if axis in others)
    left = tuple(axis for axis in kept if axis not in others)
    dtype = host_dtype(numeric)
    return Value(left, _sum(every, axis=along, dtype=dtype), numeric)


_sum = recorded(np.sum)


def _flattened(
    at: tuple[Field, ...],
    axes: tuple[Axis, ...],
    value: Value,
    shape: Sequence[int],
    tests: tuple[Field, ...],
) -> tuple[tuple[Field, ...], tuple[Axis, ...], Value]:
    """Return places and values one by one, of those that lie inside."""
    inside = np.ones((1,) * len(axes), np.bool_)
    for place, extent in zip(at, shape, strict=True):
        index = place.compact(axes)
        inside = inside & (index >= 0) & (index < extent)
    for test in tests:
        inside = inside & test.negative(axes)
    inside = whole(inside, axes)
    count = int(inside.sum())
    axis = Axis(count)
    new = taken(value.whole(axes), inside)
    places = tuple(Field(0, (((axis,), p.over(axes)[inside]),)) for p in at)
    return places, (axis,), Value((axis,), new, value.type)


def _is_rounded(numeric: Numeric) -> bool:
    """Whether the order of sums shows in a type, each of which is rounded."""
    return numeric.kind == "float" and numeric.bits < 32


def _demand_one(at: tuple[Field, ...], shape: Sequence[int], one: Stored, numeric: Numeric) -> None:
    if one.adds and not _is_rounded(numeric):
        return
    flat = np.ravel_multi_index([place.over(place.axes) for place in at], tuple(shape))
    if np.bincount(flat).max(initial=0) > 1:
        raise undecided(f"several subgroups store one element of {one.operand}")
