"""A kernel on whole arrays: followed once, run for any sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import host_dtype
from pycute_xe.errors import UndecidableError
from pycute_xe.executing.arrays.evaluation import Evaluation, Run
from pycute_xe.executing.arrays.faults import demand_sound, waits
from pycute_xe.executing.arrays.lifting import (
    boxed,
    lift,
)
from pycute_xe.executing.arrays.products import product_of
from pycute_xe.executing.arrays.scanning import exits
from pycute_xe.executing.arrays.terms import (
    Axis,
    Field,
    Lifted,
    Lifter,
    Place,
    Registers,
    constants,
    joined,
    points_of,
    separated,
    whole,
)
from pycute_xe.executing.arrays.values import (
    Value,
    as_type,
    gathered,
    scattered,
)
from pycute_xe.executing.problem import Problem
from pycute_xe.holding.contents import Followed, Write
from pycute_xe.holding.following import follow
from pycute_xe.holding.memory import FAR
from pycute_xe.holding.nodes import Leaf, Summed, undecided
from pycute_xe.kernel import AtomicStore, If, Kernel, Load, Loop
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.identities import identified
from pycute_xe.kernel.ir.program import chooses
from pycute_xe.numeric import Numeric

__all__ = ["Plan", "plan", "run_on_arrays"]

# ------------------------------------------------------------ storing
# What a store writes: the axes of its places, and the value at each.


@dataclass(frozen=True, eq=False)
class Stored:
    """A write with its term in the coordinates of the tile that it writes."""

    write: Write
    space: Registers
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
    space = Registers(
        shape, tuple(names), inside[index], f"write__{number}_subgroup", write.subgroups
    )
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


Written: TypeAlias = tuple[dict[str, Field], tuple[Field, ...], bool]
"""Variables as fields, the places of a store, and whether every element has one place."""


def written(run: Run, one: Stored, shape: Sequence[int]) -> Written | None:
    """Return where a write stores in an array of a shape, None where it stores nothing."""
    env = constants(run.sizes)
    groups = points_of(run.kernel, run.sizes, one.write.around, run.look_up)
    for group in groups:
        env |= group.with_axis(Axis(group.size))
    env |= one.space.env(tuple(Axis(count) for count in one.space.index.shape))
    if not all(group.size for group in groups):
        return None
    env, at, apart = _fused(run, _divided(run, env, one), one, shape)
    return (env, at, apart) if all(axis.size for place in at for axis in place.axes) else None


def store(
    run: Run,
    one: Stored,
    written: Written,
    array: Array,
    touched: NDArray[np.bool_] | None,
    loaded: bool,
) -> None:
    """Put what a write stores into an array; ``touched`` tells what others wrote.

    What is ``loaded``, too, must be stored once.

    Raises `UndecidableError` where several writers meet, and one cannot tell who comes last.
    """
    name = one.write.statement.operand
    env, at, apart = written
    ev = Evaluation(run, env)
    value, tests = ev.value(one.term), tuple(map(ev.place, one.tests))
    axes = joined(place.axes for place in at)
    others = tuple(a for a in joined(f.axes for f in env.values()) if a not in axes)
    value = as_type(_of_writers(value, others, one, loaded), run.types[name])
    if not apart or tests:
        at, axes, value = _flattened(at, axes, value, array.shape, tests)
        if not axes[0].size:
            return
        _demand_one(at, array.shape, one, run.types[name])
    if touched is not None:
        if gathered(touched, at)[1].any():
            raise undecided(f"two statements store one element of {name}")
        scattered(touched, at, Value((), np.asarray(True), run.types[name]), axes, False)
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
    every = value.whole(kept := joined((value.axes, others)))
    along = tuple(i for i, axis in enumerate(kept) if axis in others)
    left = tuple(axis for axis in kept if axis not in others)
    dtype = host_dtype(numeric)
    return Value(left, every.sum(axis=along, dtype=dtype), numeric)


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
    new = value.whole(axes)[inside]
    places = tuple(Field(0, (((axis,), p.over(axes)[inside]),)) for p in at)
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
    """Split axes that choose places along several modes into one for each, where they can be.

    Not where the length of a sum depends on both: it would be gathered for each element.
    """
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


def _fused(
    run: Run, env: dict[str, Field], one: Stored, shape: Sequence[int]
) -> tuple[dict[str, Field], tuple[Field, ...], bool]:
    """Make one axis of those that choose a place along one mode only, of places inside.

    Not where an operand is read along some of them alone: it would be gathered for each element.
    Returns also whether every element has one place.
    """
    at = _places(run, env, one)
    reads = _reads(run, env, one.term)
    owners: dict[Axis, set[int]] = {}
    for mode, place in enumerate(at):
        for axis in place.axes:
            owners.setdefault(axis, set()).add(mode)
    apart = True
    change: dict[Axis, tuple[Axis, Ints]] = {}
    for mode, place in enumerate(at):
        mine = tuple(axis for axis in place.axes if owners[axis] == {mode})
        if len(mine) < len(place.axes) or any(_spreads(read, mine) for read in reads):
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


SPREAD = 1 << 18
"""Elements from which on an operand is not gathered again for each element that is stored."""


def _reads(run: Run, env: dict[str, Field], term: Lifted) -> set[frozenset[Axis]]:
    """Return the axes along which each operand of a term is read, those of sums left out."""
    out: set[frozenset[Axis]] = set()
    met, pending = {term.number}, [term]
    while pending:
        one = pending.pop()
        new = [part for part in one.parts if part.number not in met]
        met.update(part.number for part in new)
        pending += new
        if one.kind is Leaf and one.places:
            names = frozenset[str]().union(*(place.names for place in one.places))
            ev = Evaluation(run, {**dict.fromkeys(names, Field()), **env})
            out.add(frozenset(a for place in one.places for a in ev.place(place).axes))
    return out


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


# ------------------------------------------------------------ planning


KEPT, ROOM = 4, 1 << 20
"""Sizes of which a plan remembers where its stores go, and how many numbers of each."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A kernel's stores as terms."""

    kernel: Kernel
    followed: Followed
    lifter: Lifter
    stores: tuple[Stored, ...]
    again: frozenset[tuple[str, str]]
    sized: dict[object, tuple[Written | None, ...]] = field(
        default_factory=dict["object", "tuple[Written | None, ...]"]
    )

    def at(self, run: Run) -> tuple[Written | None, ...]:
        """Return where each store of a sound run goes, which its sizes and look-ups tell.

        Raises `UndecidableError` where the run may fault, or its order matters.
        """
        looked = {x.operand for i in self.indices for x in i.looked_up}
        tables = tuple(sorted((x, run.memory[x].tobytes()) for x in looked))
        key = tuple(run.sizes.items()), tables
        if key not in self.sized:
            demand_sound(run, self.followed)
            shapes = (run.memory[one.write.statement.operand].shape for one in self.stores)
            places = tuple(map(partial(written, run), self.stores, shapes))
            if sum(f.room for one in places if one for f in (*one[0].values(), *one[1])) > ROOM:
                return places
            while len(self.sized) >= KEPT:
                del self.sized[next(iter(self.sized))]
            self.sized[key] = places
        return self.sized[key]

    @cached_property
    def indices(self) -> frozenset[Index]:
        """The indices of statements and of the grid."""
        counts = (count for _, count in self.kernel.grid)
        return frozenset(i for s in self.kernel.statements() for i in s.touched.indices).union(
            counts
        )


def plan(kernel: Kernel) -> Plan:
    """Return the plan of a kernel, remembered. Raises `UndecidableError` where it has none."""
    known = _known(kernel)
    if isinstance(known, UndecidableError):
        raise known
    return known


@lru_cache(maxsize=128)
def _known(kernel: Kernel) -> Plan | UndecidableError:
    try:
        return _planned(kernel)
    except UndecidableError as error:
        return error


def _planned(kernel: Kernel) -> Plan:
    followed, lifter = follow(kernel, form="recur"), Lifter(kernel.subgroups)
    stores = (stored(lifter, write, i) for i, write in enumerate(followed.writes))
    kept = tuple(one for one in stores if one is not None)
    return Plan(kernel, followed, lifter, kept, _again(lifter))


def _again(lifter: Lifter) -> frozenset[tuple[str, str]]:
    """Return the operands of which several terms are elements of the product."""
    pairs = [pair for term in lifter.terms.values() if (pair := product_of(term)) is not None]
    return frozenset(pair for pair in pairs if pairs.count(pair) > 1)


def run_on_arrays(problem: Problem) -> Mapping[str, Array]:
    """Return the outputs of a problem.

    Raises `UndecidableError` for what arrays do not tell: another machine has to run it.
    """
    if problem.empty:
        raise undecided("an extent is zero")
    if any("__" in name for name in _names(problem.kernel)):
        return _by_identities(problem)
    kernel = problem.kernel
    made, turns = plan(kernel), waits(kernel)
    out = {o.name: problem.blank(o.name) for o in kernel.operands if o.written}
    loaded = {s.operand for s in kernel.statements() if isinstance(s, Load)} & out.keys()
    memory = dict(problem.inputs)
    for name, array in out.items():
        if turns:  # what is loaded is what others have left there
            memory[name] = array
        else:
            memory.setdefault(name, array.copy() if name in loaded else array)
    types = {o.name: o.value_type for o in (*kernel.operands, *kernel.fragments, *kernel.shared)}
    again = frozenset[tuple[str, str]]() if turns else made.again
    run = Run(kernel, problem.sizes, memory, made.lifter, exits, types=types, again=again)
    places = made.at(run)
    counts = [one.write.statement.operand for one in made.stores]
    several = {name for name in out if counts.count(name) > 1 and not (turns and name in loaded)}
    touched = {name: np.zeros(out[name].shape, np.bool_) for name in several}
    for one, where in zip(made.stores, places, strict=True):
        name = one.write.statement.operand
        if where is None:
            continue
        with np.errstate(all="ignore"):
            store(run, one, where, out[name], touched.get(name), name in loaded and not turns)
    return {o.name: out[o.name] for o in kernel.outputs}


def _names(kernel: Kernel) -> list[str]:
    loops = [s.var for s in kernel.statements() if isinstance(s, Loop)]
    things = (*kernel.operands, *kernel.fragments, *kernel.shared)
    return [*kernel.sizes, *(name for name, _ in kernel.grid), *loops, *(x.name for x in things)]


def _by_identities(problem: Problem) -> Mapping[str, Array]:
    """Run a kernel with other names, where its own may be taken for those of variables of sums."""
    kernel, identities = identified(problem.kernel)
    names = identities.names
    own = {name: identity for identity, name in names.items()}
    sizes = {identities.sizes[name]: size for name, size in problem.sizes.items()}
    inputs = {own[name]: array for name, array in problem.inputs.items()}
    try:
        outputs = run_on_arrays(Problem(kernel, sizes, inputs))
    except UndecidableError as error:
        raise undecided(identities.text(error.condition)) from error
    return {names[identity]: array for identity, array in outputs.items()}
