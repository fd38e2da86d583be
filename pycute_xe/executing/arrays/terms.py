"""Terms whose places are integers over axes, and the coordinates of registers.

A field is a sum of parts, each over the axes by which it changes, so that the place of an element
in a large matrix takes a row of numbers for its row and one for its column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import count as counted
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import InputError
from pycute_xe.executing.arrays.recording import recorded, shaped
from pycute_xe.executing.space import Space
from pycute_xe.holding.elements import Recurrence, State
from pycute_xe.holding.nodes import (
    Accumulated,
    Bound,
    Call,
    Carried,
    Choice,
    Converted,
    Leaf,
    Lost,
    Node,
    Number,
    Picked,
    Scalar,
    Summed,
    Undefined,
    undecided,
)
from pycute_xe.kernel import If, Kernel, Loop
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index, Looked, Quotient
from pycute_xe.kernel.ir.kernel import launches

__all__ = [
    "Axis",
    "arranged",
    "Env",
    "Field",
    "LookUp",
    "index_field",
    "joined",
    "run_of",
    "separated",
    "spread",
    "whole",
    "Points",
    "constants",
    "points_of",
    "Lifted",
    "Lifter",
    "Place",
    "Registers",
    "bounds_of",
    "free_of",
    "names_of",
]


LookUp: TypeAlias = Callable[[str, tuple["Field", ...]], "Field"]


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis of arrays, the only one of its kind, of so many points."""

    size: int

    @property
    def points(self) -> Field:
        """The number of each of its points."""
        return Field(0, (((self,), np.arange(self.size)),))


@dataclass(frozen=True, eq=False)
class Field:
    """An integer for each point of some axes: ``offset`` plus parts over axes."""

    offset: int = 0
    parts: tuple[tuple[tuple[Axis, ...], Ints], ...] = ()

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes by which it changes, those that reach furthest first if each has a part."""
        parts = self.parts
        if len(parts) > 1 and all(len(axes) == 1 for axes, _ in parts):
            parts = sorted(parts, key=lambda part: -int(np.ptp(part[1])) if part[1].size else 0)
        return tuple(dict.fromkeys(axis for axes, _ in parts for axis in axes))

    def __add__(self, other: Field) -> Field:
        """The sum; parts over the same axes become one."""
        if not self.parts or not other.parts:
            return Field(self.offset + other.offset, self.parts or other.parts)
        parts = dict(self.parts)
        for axes, numbers in other.parts:
            parts[axes] = parts[axes] + numbers if axes in parts else numbers
        return Field(self.offset + other.offset, tuple(parts.items()))

    def __mul__(self, scale: int) -> Field:
        """A multiple."""
        if scale == 1:
            return self
        if not scale:
            return Field()
        return Field(self.offset * scale, tuple((a, x * scale) for a, x in self.parts))

    def divided(self, divisor: int) -> Field:
        """Return the quotient, rounded down; multiples of the divisor stay parts of their own.

        >>> k, q = Axis(2), Axis(4)
        >>> place = Field(0, (((k,), np.array([0, 4])), ((q,), np.arange(4))))
        >>> place.divided(4).parts[0][1].tolist()
        [0, 1]
        """
        whole = [(a, x // divisor) for a, x in self.parts if not (x % divisor).any()]
        rest = [(a, x) for a, x in self.parts if (x % divisor).any()]
        first, offset = divmod(self.offset, divisor)
        out = Field(first, tuple(whole))
        if rest:
            inner = Field(offset, tuple(rest))
            out = out + Field(0, ((inner.axes, inner.over(inner.axes) // divisor),))
        return out

    def over(self, axes: Sequence[Axis]) -> Ints:
        """Return the numbers as an array with these axes, which it must not go beyond."""
        return whole(self.compact(axes), axes)

    def compact(self, axes: Sequence[Axis]) -> Ints:
        """Return the same with an extent of 1 along axes that do not matter."""
        out: Any = None if self.parts else np.full((1,) * len(axes), 0, np.int64)
        for own, numbers in self.parts:
            part = spread(numbers, own, axes)
            out = part if out is None else out + part
        return out + self.offset if self.offset else out

    def negative(self, axes: Sequence[Axis]) -> NDArray[np.bool_]:
        """Tell where it is below zero, as `compact`; no array but the answer has all its axes."""
        rest, (own, numbers) = self.parts[:-1], (self.parts or (((), np.zeros((), np.int64)),))[-1]
        return Field(self.offset, rest).compact(axes) < -spread(numbers, own, axes)

    def moved(self, change: Mapping[Axis, tuple[Axis, Ints]]) -> Field:
        """Return the field where points of axes are points of others: ``change[old]``."""
        if not any(axis in change for axes, _ in self.parts for axis in axes):
            return self
        out = Field(self.offset)
        for axes, numbers in self.parts:
            out = out + Field(0, (_moved(axes, numbers, change),))
        return out

    def folded(self) -> Field:
        """Return the field with parts that are the same everywhere in its offset."""
        same = [bool(x.size) and not (x != x.flat[0]).any() for _, x in self.parts]
        more = sum(int(x.flat[0]) for (_, x), one in zip(self.parts, same, strict=True) if one)
        rest = (part for part, one in zip(self.parts, same, strict=True) if not one)
        return Field(self.offset + more, tuple(rest))

    @cached_property
    def line(self) -> tuple[Ints, int | None]:
        """The numbers one after the other; the first of them, where they follow on one another."""
        flat = self.over(self.axes).reshape(-1)
        return flat, run_of(flat)

    def surely(self, holds: bool) -> bool:
        """Whether it is below zero at every point, or at none; of no points both are so."""
        if not self.has_points:
            return True
        return self.range[1] < 0 if holds else self.range[0] >= 0

    def inside(self, extent: int) -> bool:
        """Whether it has points, and every one is of so many from 0 on."""
        return self.has_points and self.range[0] >= 0 and self.range[1] < extent

    @property
    def has_points(self) -> bool:
        """Whether no axis of it is empty."""
        return all(axis.size for axis in self.axes)

    @cached_property
    def range(self) -> tuple[int, int]:
        """The least and the greatest number it may have, where no axis is empty."""
        lows = [int(x.min()) for _, x in self.parts]
        highs = [int(x.max()) for _, x in self.parts]
        return self.offset + sum(lows), self.offset + sum(highs)


def _moved(
    axes: tuple[Axis, ...], numbers: Ints, change: Mapping[Axis, tuple[Axis, Ints]]
) -> tuple[tuple[Axis, ...], Ints]:
    new = tuple(dict.fromkeys(change[axis][0] if axis in change else axis for axis in axes))
    places: list[Ints] = []
    for axis in axes:
        to, which = change.get(axis, (axis, np.arange(axis.size)))
        shape = [1] * len(new)
        shape[new.index(to)] = to.size
        places.append(which.reshape(shape))
    return new, numbers[tuple(places)]


def spread(array: Array, own: Sequence[Axis], axes: Sequence[Axis]) -> Array:
    """Return an array over some axes as one over more of them, of extent 1 where it has none."""
    if own == axes:
        return array
    return arranged(array, *_spreading(tuple(own), tuple(axes)))


def arranged(array: Array, order: Sequence[int] | None, shape: tuple[int, ...]) -> Array:
    """Return an array with its axes in an order, None for its own, and a shape."""
    if order is not None and list(order) != sorted(order):
        return _arranged(array, order, shape)
    return shaped(array, shape)


@recorded
def _arranged(array: Array, order: Sequence[int], shape: tuple[int, ...]) -> Array:
    return array.transpose(order).reshape(shape)


@lru_cache(maxsize=1 << 12)
def _spreading(
    own: tuple[Axis, ...], axes: tuple[Axis, ...]
) -> tuple[list[int] | None, tuple[int, ...]]:
    order = [own.index(axis) for axis in axes if axis in own]
    shape = tuple(axis.size if axis in own else 1 for axis in axes)
    return None if order == sorted(order) else order, shape


def whole(array: Array, axes: Sequence[Axis]) -> Array:
    """Return an array over axes at every point of them, where it has an extent of 1, too."""
    shape = tuple(axis.size for axis in axes)
    return array if array.shape == shape else _broadcast(array, shape)


_broadcast = recorded(np.broadcast_to)


def joined(groups: Iterable[Iterable[Axis]]) -> tuple[Axis, ...]:
    """Return the axes of several, each once, in the order in which they come."""
    return tuple(dict.fromkeys(axis for axes in groups for axis in axes))


def run_of(numbers: Ints) -> int | None:
    """Return the first of numbers that follow on one another, None where they do not."""
    if not numbers.size:
        return 0
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first != numbers.size - 1:
        return None
    return first if numbers.size < 3 or bool((numbers[1:] - numbers[:-1] == 1).all()) else None


Env: TypeAlias = Mapping[str, Field]


def index_field(index: Index, env: Env, look_up: LookUp) -> Field:
    """Return an index at the points of the axes of its variables.

    >>> m, q = Axis(2), Axis(3)
    >>> env = {"m": Field(0, (((m,), np.arange(2)),)), "q": Field(0, (((q,), np.arange(3)),))}
    >>> place = index_field(Index("m") * 3 + Index("q"), env, lambda name, at: Field())
    >>> place.over((m, q)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    out = Field(index.offset)
    for atom, scale in index.terms:
        match atom:
            case str():
                part = env[atom]
            case Quotient(inner, divisor):
                part = index_field(inner, env, look_up).divided(divisor)
            case Looked(operand, at):
                part = look_up(operand, tuple(index_field(i, env, look_up) for i in at))
        out = out + part * scale
    return out


def separated(numbers: Ints) -> tuple[int, list[tuple[tuple[int, ...], Ints]]]:
    """Return an array as an offset and parts over few axes each: one axis each where that is so.

    Law: the parts, spread over all axes, and the offset add up to the array.

    >>> separated(np.array([[0, 1], [4, 5]]))[1]
    [((0,), array([0, 4])), ((1,), array([0, 1]))]
    """
    if not numbers.size:
        return 0, []
    corner = (0,) * numbers.ndim
    offset = int(numbers[corner])
    lines: list[tuple[tuple[int, ...], Ints]] = []
    total: Any = np.full((1,) * numbers.ndim, offset, np.int64)
    changing: list[int] = []
    for axis, count in enumerate(numbers.shape):
        line = np.moveaxis(numbers, axis, 0)[(slice(None), *corner[1:])] - offset
        if line.any():
            lines.append(((axis,), np.ascontiguousarray(line)))
            total = total + line.reshape([count if i == axis else 1 for i in range(numbers.ndim)])
        if count > 1:
            changing.append(axis)
    if np.array_equal(np.broadcast_to(total, numbers.shape), numbers):
        return offset, lines
    depends = [a for a in changing if (numbers != numbers.take([0], a)).any()]
    index = tuple(slice(None) if a in depends else 0 for a in range(numbers.ndim))
    return 0, [(tuple(depends), np.ascontiguousarray(numbers[index]))]


# ------------------------------------------------------------ points
# The points at which a statement is done: work-groups, and trips of loops around it.


ROOM = 1 << 22
"""Points that are told one by one."""


@dataclass(frozen=True, eq=False)
class Points:
    """Values that some variables take together: a column for each."""

    columns: Mapping[str, Ints]

    @property
    def size(self) -> int:
        """How many points there are."""
        return next((column.size for column in self.columns.values()), 1)

    def with_axis(self, axis: Axis) -> dict[str, Field]:
        """Return the variables as fields over an axis of these points."""
        columns = self.columns.items()
        return {name: Field(0, (((axis,), numbers),)).folded() for name, numbers in columns}

    def some(self, which: Ints) -> Points:
        """Return some of the points."""
        return Points({name: column[which] for name, column in self.columns.items()})

    def within(self, block: Points) -> Points:
        """Return the points at which variables take values that they take together in a block."""
        names = [name for name in self.columns if name in block.columns]
        if not names:
            return self
        rows = [np.stack([x.columns[name] for name in names], axis=1) for x in (block, self)]
        _, number = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
        number = number.reshape(-1)
        return self.some(np.flatnonzero(np.isin(number[block.size :], number[: block.size])))

    @classmethod
    def product(cls, groups: Iterable[Points]) -> Points:
        """Return every combination of points, the last ones fastest."""
        columns: dict[str, Ints] = {}
        size = 1
        for group in groups:
            columns = {name: np.repeat(column, group.size) for name, column in columns.items()}
            columns |= {name: np.tile(column, size) for name, column in group.columns.items()}
            size *= group.size
        return cls(columns)


def constants(sizes: Mapping[str, int]) -> dict[str, Field]:
    """Return sizes as fields."""
    return {name: Field(size) for name, size in sizes.items()}


def points_of(
    kernel: Kernel,
    sizes: Mapping[str, int],
    enclosing: Iterable[Loop | If],
    look_up: LookUp,
    wanted: frozenset[str] | None = None,
    together: bool = False,
) -> list[Points]:
    """Return the points of a statement: groups of variables that do not depend on one another.

    Of variables that are not ``wanted``, and on which none of these depend, nothing is said.
    Conditions on subgroups are left out. One group of all where they are asked for ``together``.
    """
    enclosing = tuple(enclosing)
    needed = _needed(kernel, enclosing, wanted)
    env = constants(sizes)
    counts = [max(0, index_field(count, env, look_up).offset) for _, count in kernel.grid]
    launches(kernel, counts)

    def elements(operand: str, at: tuple[Any, ...]) -> Ints:
        columns = np.broadcast_arrays(*map(np.atleast_1d, at)) if at else ()
        axes = (Axis(columns[0].size),) if columns else ()
        return look_up(operand, tuple(Field(0, ((axes, x),)) for x in columns)).over(axes)

    space = Space(sizes, (), elements, ROOM)
    try:
        for (name, _), count in zip(kernel.grid, counts, strict=True):
            if name in needed:
                space = space.bound(name, Index(), Index(None, count))
        for one in enclosing:
            if isinstance(one, Loop):
                space = space.bound(one.var, one.start, one.stop) if one.var in needed else space
            elif SUBGROUP_INDEX not in (one.index - one.below).names:
                # Conditions that mix subgroups with others are left to who asks.
                space = space.where(one.index, one.below)
        if together:
            space, _ = space.joined(name for axis in space.axes for name in axis)
    except InputError as error:
        raise undecided(error.condition) from error
    return [Points(axis) for axis in space.axes] or [Points({})] * together


def _needed(
    kernel: Kernel, enclosing: tuple[Loop | If, ...], wanted: frozenset[str] | None
) -> frozenset[str]:
    every = {name for name, _ in kernel.grid} | {x.var for x in enclosing if isinstance(x, Loop)}
    if wanted is None:
        return frozenset(every)
    needed = set(wanted)
    for one in enclosing:
        if isinstance(one, If) and SUBGROUP_INDEX not in (one.index - one.below).names:
            needed |= (one.index - one.below).names
    for one in reversed(enclosing):
        if isinstance(one, Loop) and one.var in needed:
            needed |= one.start.names | one.stop.names
    return frozenset(needed & every)


@dataclass(frozen=True, eq=False)
class Place:
    """Where something lies: an index plus tables over variables."""

    base: Index
    parts: tuple[tuple[tuple[str, ...], Ints], ...]

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables on which it depends."""
        return self.base.names.union(*(names for names, _ in self.parts))


@dataclass(frozen=True, eq=False)
class Lifted:
    """A term whose places are functions of variables: its kind, its parts, and what it names.

    ``given`` is what the kind needs besides; equal terms are one object.
    """

    kind: type
    given: tuple[Any, ...]
    parts: tuple[Lifted, ...]
    places: tuple[Place, ...]
    names: frozenset[str]
    number: int

    def every(self) -> Iterator[Lifted]:
        """Yield the term and all of which it is made, each once."""
        met, pending = {self.number}, [self]
        while pending:
            one = pending.pop()
            yield one
            new = [part for part in dict.fromkeys(one.parts) if part.number not in met]
            met.update(part.number for part in new)
            pending += new


@dataclass(frozen=True, eq=False)
class Registers:
    """Registers by coordinates: ``index`` is (coordinate, …) → subgroup * positions + position.

    There is a name for each coordinate, and one for the number of the subgroup: ``who[s]``.
    ``again`` is the index with one more axis where several registers share a place.
    """

    shape: tuple[int, int]
    names: tuple[str, ...]
    index: Ints
    subgroup: str
    subgroups: Ints
    again: Ints | None = None

    def of(self, column: Ints) -> tuple[int, list[tuple[tuple[str, ...], Ints]]]:
        """Return a number for each register as a function of the coordinates."""
        offset, parts = separated(column.reshape(-1)[self.index])
        return offset, [(tuple(self.names[a] for a in axes), x) for axes, x in parts]

    def own(self, index: Index) -> Index:
        """Return an index in which a subgroup's number is that of the space."""
        if SUBGROUP_INDEX not in index.names:
            return index
        return index.substitute({SUBGROUP_INDEX: Index(self.subgroup)})

    def env(self, axes: tuple[Axis, ...]) -> dict[str, Field]:
        """Return the coordinates as fields, each over its axis."""
        out = {name: axis.points for name, axis in zip(self.names, axes, strict=True)}
        subgroups = np.broadcast_to(self.subgroups[:, None], self.shape)
        offset, parts = separated(subgroups.reshape(-1)[self.index])
        named = tuple((tuple(axes[a] for a in which), x) for which, x in parts)
        return {**out, self.subgroup: Field(offset, named)}


@dataclass(eq=False)
class Lifter:
    """Makes terms in coordinates; ``spaces`` are those of the recurrences met so far.

    ``states`` are the terms of state in what is stored, and in what recurrences do, ``few`` nodes
    of state with what their positions hold once each.
    """

    subgroups: int
    numbers: Iterator[int] = field(default_factory=counted)
    terms: dict[Any, Lifted] = field(default_factory=dict[Any, Lifted])
    spaces: dict[tuple[int, str], Registers] = field(
        default_factory=dict["tuple[int, str]", Registers]
    )
    free: dict[int, tuple[Node, frozenset[str]]] = field(
        default_factory=dict["int", "tuple[Node, frozenset[str]]"]
    )
    names: dict[object, str] = field(default_factory=dict[object, str])
    states: tuple[Lifted, ...] = ()
    few: dict[int, tuple[State, State, Ints | slice]] = field(
        default_factory=dict["int", "tuple[State, State, Ints | slice]"]
    )
    stepped: dict[tuple[int, str], tuple[Lifted, Lifted]] = field(
        default_factory=dict["tuple[int, str]", "tuple[Lifted, Lifted]"]
    )

    def make(
        self,
        kind: type,
        given: tuple[Any, ...],
        parts: tuple[Lifted, ...] = (),
        places: tuple[Place, ...] = (),
        bound: frozenset[str] = frozenset(),
        more: frozenset[str] = frozenset(),
    ) -> Lifted:
        """Return a term, the same for the same."""
        keys = tuple(
            (p.base, tuple((names, x.shape, x.tobytes()) for names, x in p.parts)) for p in places
        )
        key = (kind, given, tuple(p.number for p in parts), keys)
        if key not in self.terms:
            names = frozenset[str]().union(*(p.names for p in parts), *(p.names for p in places))
            names = (names - bound) | more
            self.terms[key] = Lifted(kind, given, parts, places, names, len(self.terms))
        return self.terms[key]

    def name(
        self, recurrence: Recurrence, label: str, values: object, others: tuple[str, ...]
    ) -> str:
        """Return the name of a coordinate, which fragments share whose places are alike."""
        for again in range(len(others) + 1):
            key = id(recurrence), label, values, again
            name = self.names.setdefault(key, f"state__{len(self.names)}")
            if name not in others:
                return name
        raise undecided(f"{label} tells too much apart")


def bounds_of(over: tuple[Bound, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the variables of a sum, and those on which their bounds depend."""
    names = frozenset(bound[0] for bound in over)
    indices = [part for bound in over for part in bound[1:] if isinstance(part, Index)]
    return names, frozenset[str]().union(*(i.names for i in indices))


def free_of(lifter: Lifter, nodes: Iterable[Node]) -> frozenset[str]:
    """Return the variables that some nodes name and do not bind."""
    return frozenset[str]().union(*(names_of(lifter, node) for node in nodes))


def names_of(lifter: Lifter, node: Node) -> frozenset[str]:
    """Return the variables that a node names and does not bind."""
    known = lifter.free.get(id(node))
    if known is None:
        known = lifter.free[id(node)] = node, _names(lifter, node)
    return known[1]


def _names(lifter: Lifter, node: Node) -> frozenset[str]:
    match node:
        case Leaf():
            return frozenset(node.bound).union(*(index.names for index in node.base))
        case Call():
            return free_of(lifter, node.arguments)
        case Converted():
            return names_of(lifter, node.body)
        case Summed():
            names, more = bounds_of(node.over)
            return (names_of(lifter, node.body) | more) - names
        case Accumulated():
            return free_of(lifter, (node.start, *node.terms))
        case Choice():
            own = node.index.names | node.below.names
            return own | free_of(lifter, (node.then, node.otherwise))
        case Picked():
            return free_of(lifter, (node.test, node.then, node.otherwise))
        case State():
            return frozenset(node.bound).union(*(value.names for _, value in node.at))
        case Number() | Undefined() | Lost() | Carried() | Scalar():
            return frozenset()
