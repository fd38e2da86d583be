"""Floor 8: what a register element holds: expressions whose leaves are elements of operands.

A node describes many elements at once: all subgroups and a row of positions. A leaf keeps where in
its operand each of them comes from as an index, the same for the whole work-group, plus a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.kernel.index import Index
from pycute_xe.numeric import Numeric

__all__ = [
    "Accumulated",
    "Bound",
    "Call",
    "Carried",
    "Choice",
    "Converted",
    "Leaf",
    "Node",
    "Number",
    "Scalar",
    "Summed",
    "Undefined",
    "contains",
    "expanded",
    "mapped",
    "of_first",
    "relocated",
    "substituted",
    "taken",
]

Ints: TypeAlias = NDArray[np.int64]

MOST_ELEMENTS = 1 << 24
"""Numbers of a table, 8 bytes each."""


@dataclass(frozen=True, eq=False)
class Number:
    """The same number everywhere."""

    value: float


@dataclass(frozen=True, eq=False)
class Undefined:
    """Nothing that was ever written."""


@dataclass(frozen=True, eq=False)
class Carried:
    """What a fragment, or a shared array, held at the start of a loop's trip.

    Position ``p`` holds element ``which[p, …]`` of the subgroup's own fragment; where ``subgroup``
    is given both are (subgroup, position, …), and say whose. The axes behind are ``bound``.
    """

    fragment: str
    which: Ints
    subgroup: Ints | None = None
    bound: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar operand."""

    operand: str


@dataclass(frozen=True, eq=False)
class Leaf:
    """Elements of an operand, zero where the place lies outside it.

    Position ``p`` of subgroup ``s`` holds the element at ``base[i] + table[s, select[p], …, i]``;
    the axes between are those of ``bound``, the variables of sums around it.
    """

    operand: str
    base: tuple[Index, ...]
    table: Ints
    select: Ints
    bound: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Call:
    """A scalar function."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Converted:
    """A conversion to another element type."""

    to: Numeric
    body: Node


Bound: TypeAlias = "tuple[str, int] | tuple[str, Index, Index]"
"""A variable of a sum: inside a tile with its extent, or a loop's with its start and stop."""


@dataclass(frozen=True, eq=False)
class Summed:
    """A sum, or a maximum, over variables: some inside a tile, some of loops."""

    how: str
    over: tuple[Bound, ...]
    body: Node


@dataclass(frozen=True, eq=False)
class Accumulated:
    """``start`` plus sums, accumulated in a type."""

    numeric: Numeric
    start: Node
    terms: tuple[Summed, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """``then`` where ``index < below``, else ``otherwise``; the same for the whole work-group."""

    index: Index
    below: Index
    then: Node
    otherwise: Node


Inner: TypeAlias = "Call | Converted | Summed | Accumulated | Choice"
Node: TypeAlias = "Number | Undefined | Carried | Scalar | Leaf | Inner"


def mapped(
    node: Node, leaf: Callable[[Node], Node], index: Callable[[Index], Index] | None = None
) -> Node:
    """Return a node with its leaves replaced: numbers, scalars, elements, what is carried.

    ``index`` changes the indices of conditions and of the bounds of sums.
    """

    def inner(x: Node) -> Node:
        return mapped(x, leaf, index)

    def total(x: Summed) -> Summed:
        return replace(x, over=tuple(_bound(b, index) for b in x.over), body=inner(x.body))

    match node:
        case Call(_, arguments):
            return replace(node, arguments=tuple(map(inner, arguments)))
        case Converted(_, body):
            return replace(node, body=inner(body))
        case Summed():
            return total(node)
        case Accumulated(_, start, terms):
            return replace(node, start=inner(start), terms=tuple(map(total, terms)))
        case Choice(left, right, then, otherwise):
            if index is not None:
                left, right = index(left), index(right)
            return Choice(left, right, inner(then), inner(otherwise))
        case Number() | Undefined() | Carried() | Scalar() | Leaf():
            return leaf(node)


def _bound(bound: Bound, index: Callable[[Index], Index] | None) -> Bound:
    if index is None or len(bound) == 2:
        return bound
    return bound[0], index(bound[1]), index(bound[2])


def taken(node: Node, positions: Ints) -> Node:
    """Return what other positions hold: position ``p`` becomes what ``positions[p]`` was."""

    def leaf(x: Node) -> Node:
        if isinstance(x, Leaf):
            return replace(x, select=x.select[positions])
        if isinstance(x, Carried) and x.subgroup is None:
            return replace(x, which=x.which[positions])
        if isinstance(x, Carried) and x.subgroup is not None:
            return replace(x, which=x.which[:, positions], subgroup=x.subgroup[:, positions])
        return x

    return mapped(node, leaf)


def of_first(node: Node, subgroups: int) -> Node:
    """Return what the first so many subgroups hold."""

    def leaf(x: Node) -> Node:
        if isinstance(x, Leaf) and x.table.shape[0] > subgroups:
            return replace(x, table=x.table[:subgroups])
        return x

    return mapped(node, leaf)


def expanded(node: Node, positions: Ints, name: str) -> Node:
    """Return a node with one more variable: position ``p`` at ``q`` is ``positions[p, q]``."""
    return relocated(node, positions, None, (name,))


def relocated(
    node: Node, positions: Ints, subgroups: Ints | None = None, bound: tuple[str, ...] = ()
) -> Node:
    """Return what other positions hold, of other subgroups, with more variables.

    Position ``p`` becomes what ``positions[p, …]`` was in the same subgroup; with ``subgroups``,
    position ``p`` of subgroup ``s`` what ``positions[s, p, …]`` of ``subgroups[s, p, …]`` was. The
    axes behind are those of ``bound``.
    """
    count = positions.shape[0 if subgroups is None else 1]

    def leaf(x: Node) -> Node:
        if isinstance(x, Leaf):
            picked = x.select[positions]
            _demand_room(x, picked if subgroups is None else subgroups)
            table = x.table[:, picked] if subgroups is None else x.table[subgroups, picked]
            return replace(x, table=table, select=np.arange(count), bound=(*bound, *x.bound))
        if not isinstance(x, Carried):
            return x
        own, which, whose = x.subgroup, x.which, subgroups
        if own is None:
            which = which[positions]
            if whose is not None:
                wide = whose.reshape(whose.shape + (1,) * len(x.bound))
                whose = np.array(np.broadcast_to(wide, which.shape))
        elif subgroups is None:
            which, whose = which[:, positions], own[:, positions]
        else:
            which, whose = which[subgroups, positions], own[subgroups, positions]
        return replace(x, which=which, subgroup=whose, bound=(*bound, *x.bound))

    return mapped(node, leaf)


def _demand_room(x: Leaf, positions: Ints) -> None:
    """Refuse tables beyond memory, as those of sums inside sums inside sums are."""
    elements = positions.size * x.table[0, 0].size
    if elements > MOST_ELEMENTS:
        raise UndecidableError(
            "holding",
            {"operand": x.operand},
            f"where the elements of {x.operand} come from, inside {len(x.bound) + 1} sums, takes a "
            f"table of {elements} numbers",
            "prove it for a smaller tile",
        )


def substituted(node: Node, values: dict[str, Index]) -> Node:
    """Return a node with variables of the program replaced by indices."""

    def index(x: Index) -> Index:
        return x.substitute(values)

    def leaf(x: Node) -> Node:
        if not isinstance(x, (Leaf, Carried)):
            return x
        for name in x.bound:
            if name in values:
                x = _bound_to(x, name, values[name])
        return replace(x, base=tuple(map(index, x.base))) if isinstance(x, Leaf) else x

    return mapped(node, leaf, index)


def _bound_to(x: Leaf | Carried, name: str, value: Index) -> Leaf | Carried:
    """Return a leaf with a loop's variable, which is an axis of it, replaced by an index."""
    number = x.bound.index(name)
    table = x.table if isinstance(x, Leaf) else x.which
    axis = number + (1 if isinstance(x, Carried) and x.subgroup is None else 2)
    trips = table.shape[axis]
    bound = list(x.bound)
    picked: Ints = np.arange(trips, dtype=np.int64)
    if value.is_constant and 0 <= value.offset < trips:
        picked = np.array(value.offset)
        del bound[number]
    elif value - value.offset == Index(name) and value.offset <= 0:
        # Before the first trip nothing is asked: conditions around it tell.
        picked = np.maximum(picked + value.offset, 0)
    elif len(value.terms) == 1 and value == Index(str(value.terms[0][0])):
        bound[number] = str(value.terms[0][0])
    else:
        raise UndecidableError("holding", {}, f"what is held at trip {value} is not followed", "")
    if isinstance(x, Leaf):
        return replace(x, table=np.take(x.table, picked, axis=axis), bound=tuple(bound))
    whose = None if x.subgroup is None else np.take(x.subgroup, picked, axis=axis)
    which = np.take(x.which, picked, axis=axis)
    return replace(x, which=which, subgroup=whose, bound=tuple(bound))


def contains(node: Node, *kinds: type) -> bool:
    """Whether a node of some kind occurs."""
    found = False

    def leaf(x: Node) -> Node:
        nonlocal found
        found = found or isinstance(x, kinds)
        return x

    mapped(node, leaf)
    return found
