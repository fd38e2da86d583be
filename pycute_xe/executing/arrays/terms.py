"""Terms whose places are functions of variables, and the coordinates of registers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pycute_xe.executing.arrays.places import Axis, Field, separated
from pycute_xe.holding.contents import undecided
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
    Recurrence,
    Scalar,
    State,
    Summed,
    Undefined,
)
from pycute_xe.kernel import Index
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX

__all__ = [
    "Lifted",
    "Lifter",
    "Place",
    "Space",
    "apart_of",
    "bounds_of",
    "boxed",
    "free_of",
    "names_of",
    "numbered",
    "partition",
]


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


@dataclass(frozen=True, eq=False)
class Space:
    """Registers by coordinates: ``index`` is (coordinate, …) → subgroup * positions + position.

    There is a name for each coordinate, and one for the number of the subgroup: ``who[s]``.
    ``again`` is the index with one more axis where several registers share a place.
    """

    shape: tuple[int, int]
    names: tuple[str, ...]
    index: Ints
    subgroup: str
    who: Ints
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
        out = {
            name: Field(0, (((axis,), np.arange(axis.size)),))
            for name, axis in zip(self.names, axes, strict=True)
        }
        subgroups = np.broadcast_to(self.who[:, None], self.shape)
        offset, parts = separated(subgroups.reshape(-1)[self.index])
        named = tuple((tuple(axes[a] for a in which), x) for which, x in parts)
        return {**out, self.subgroup: Field(offset, named)}


def partition(column: Ints) -> Ints:
    """Return numbers, from 0 up in the order of the values, for what is equal."""
    return np.unique(column, return_inverse=True)[1].reshape(-1)


def boxed(columns: Sequence[Ints]) -> tuple[list[list[int]], Ints]:
    """Return what columns together tell apart, as coordinates, and which entries are where.

    Each coordinate is a list of columns. Entries that all columns tell nothing apart of share a
    place; where there are as many everywhere, a last axis tells them apart.

    >>> rows, columns = np.repeat(np.arange(2), 3), np.tile(np.arange(3), 2)
    >>> boxed([rows, columns])
    ([[0], [1]], array([[0, 1, 2],
           [3, 4, 5]]))
    """
    numbers = [partition(column) for column in columns]
    sizes = [int(n.max()) + 1 if n.size else 0 for n in numbers]
    groups = [[i] for i, size in enumerate(sizes) if size > 1]
    whole = numbered([numbers[g[0]] for g in groups], columns[0].size)
    distinct = int(whole.max()) + 1 if whole.size else 0
    if groups and distinct != int(np.prod([sizes[g[0]] for g in groups])):
        groups = [[g[0] for g in groups]]
        keys, shape = [whole], [distinct]
    else:
        keys, shape = [numbers[g[0]] for g in groups], [sizes[g[0]] for g in groups]
    flat: Ints = np.zeros(columns[0].size, np.int64)
    for key, size in zip(keys, shape, strict=True):
        flat = flat * size + key
    order = np.argsort(flat, kind="stable")
    counts = np.bincount(flat, minlength=distinct)
    if counts.size and (counts != counts[0]).any():
        raise undecided("some places are written by more registers than others")
    rank = int(counts[0]) if counts.size else 0
    return groups, order.reshape(*shape, rank) if rank != 1 else order.reshape(shape)


def numbered(numbers: Sequence[Ints], size: int) -> Ints:
    """Return numbers, from 0 up, for what several columns together tell apart."""
    flat: Ints = np.zeros(size, np.int64)
    for one in numbers:
        flat = partition(flat * (int(one.max()) + 1) + one)
    return flat


@dataclass(eq=False)
class Lifter:
    """Makes terms in coordinates; ``states`` are those of the recurrences met so far."""

    subgroups: int
    terms: dict[Any, Lifted] = field(default_factory=dict[Any, Lifted])
    spaces: dict[tuple[int, str], Space] = field(default_factory=dict["tuple[int, str]", Space])
    free: dict[int, tuple[Node, frozenset[str]]] = field(
        default_factory=dict["int", "tuple[Node, frozenset[str]]"]
    )
    names: dict[object, str] = field(default_factory=dict[object, str])
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


def apart_of(table: Ints, rank: int) -> tuple[int, list[tuple[tuple[int, ...], Ints]] | None]:
    """Return what the last axes add to the first two, None where they do not only add."""
    if not rank:
        return 0, []
    along = table[0, 0] - table[0, 0].reshape(-1)[0]
    corner = (0,) * rank
    own = table[(..., *corner)]
    if not np.array_equal(own.reshape(own.shape + (1,) * rank) + along, table):
        return 0, None
    return separated(along)


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
