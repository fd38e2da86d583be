"""The elements of nodes: at other positions, of other subgroups, and at other trips of a loop.

A content is a partition of a fragment's elements, a node for each part. The statements are followed
once for all work-groups, subgroups and sizes; a loop is followed once for all its trips.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np

from pycute_xe.holding.columns import columns, distinct, known_apart, table_once, written
from pycute_xe.holding.nodes import (
    Carried,
    Leaf,
    Node,
    changes,
    mapped,
    undecided,
)
from pycute_xe.holding.patience import charge, remembered
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.statements import If, Loop

__all__ = [
    "Content",
    "Part",
    "Recurrence",
    "State",
    "expanded",
    "of_some",
    "relocated",
    "substituted",
    "taken",
    "whole",
]


@dataclass(frozen=True, eq=False)
class Recurrence:
    """A loop that does more than add: what each fragment holds before it, and behind one trip.

    In the second of ``parts[name]``, `State` of this recurrence stands for what a trip begins with.
    """

    loop: Loop
    enclosing: tuple[Loop | If, ...]
    parts: dict[str, tuple[Content, Content]] = field(
        default_factory=dict["str", "tuple[Content, Content]"]
    )


@dataclass(frozen=True, eq=False)
class State(Carried):
    """What a fragment holds when a trip of a recurrence begins, or behind its loop.

    ``fragment`` is a name that no other state has; ``name`` is that in the recurrence, and ``at``
    gives the variables of the loops around it; and its own, where that is not the trip at hand.
    """

    recurrence: Recurrence | None = None
    name: str = ""
    at: tuple[tuple[str, Index], ...] = ()
    behind: bool = False


MOVED = 0.01
"""Units for a number of a table that is moved."""
MOST_ELEMENTS = 1 << 24
"""Numbers of a table, 8 bytes each."""


def taken(node: Node, positions: Ints) -> Node:
    """Return what other positions hold: position ``p`` becomes what ``positions[p]`` was."""

    def leaf(x: Node) -> Node:
        charge(MOVED * positions.size)
        if isinstance(x, Leaf):
            return replace(x, select=x.select[positions])
        if not isinstance(x, Carried):
            return x
        if x.subgroup is None:
            return replace(x, which=x.which[positions])
        return replace(x, which=x.which[:, positions], subgroup=x.subgroup[:, positions])

    return mapped(node, leaf, done=changes("taken", written(positions)))


def of_some(node: Node, subgroups: Ints) -> Node:
    """Return what some subgroups hold, in the order given.

    Raises `UndecidableError` for what is carried, where they are not the first ones: it is put in
    later, by the subgroups' own numbers.
    """
    first = np.array_equal(subgroups, np.arange(subgroups.size))

    def leaf(x: Node) -> Node:
        if isinstance(x, State):
            return _state_of(x, subgroups)
        if isinstance(x, Carried) and not first:
            raise undecided(
                f"{x.fragment} is stored inside a loop that changes it, by some subgroups",
                "store it behind the loop, or by the first subgroups",
                fragment=x.fragment,
            )
        if not isinstance(x, Leaf) or (first and subgroups.size == len(x.table)):
            return x  # all of them, in a table that others have too
        charge(MOVED * subgroups.size * (x.table.size // len(x.table)))
        return replace(x, table=x.table[subgroups])

    return mapped(node, leaf, done=changes("of some", written(subgroups)))


def _state_of(x: State, subgroups: Ints) -> State:
    """Return the state of some subgroups, each by its own number."""
    if x.subgroup is not None:
        return replace(x, which=x.which[subgroups], subgroup=x.subgroup[subgroups])
    which = np.broadcast_to(x.which, (subgroups.size, *x.which.shape))
    own = subgroups.reshape(-1, *(1,) * x.which.ndim)
    return replace(x, which=which, subgroup=np.broadcast_to(own, which.shape))


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

    def leaf(x: Node) -> Node:
        charge(MOVED * (positions if subgroups is None else subgroups).size)
        if isinstance(x, Leaf):
            return _taken_apart(x, positions, subgroups, bound)
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

    key = written(positions), written(subgroups), bound
    return mapped(node, leaf, done=changes("relocated", *key))


def _taken_apart(x: Leaf, positions: Ints, subgroups: Ints | None, bound: tuple[str, ...]) -> Leaf:
    """Return a leaf at other places: entries that are alike are kept once.

    A variable by which no place changes is left out: an element of A that a sum over columns takes
    is the same in all of them, so sums inside sums do not multiply the size of its table.
    """

    def moved() -> tuple[Ints, Ints, Ints, tuple[str, ...]]:
        return x.table, *_moved_table(x, positions, subgroups, bound)

    key = id(x.table), written(x.select), written(positions), written(subgroups), bound
    _, table, select, kept = remembered(("taken apart", *key), moved)
    return replace(x, table=table, select=select, bound=(*kept, *x.bound))


def _moved_table(
    x: Leaf, positions: Ints, subgroups: Ints | None, bound: tuple[str, ...]
) -> tuple[Ints, Ints, tuple[str, ...]]:
    """Return the table of a leaf at other places, what is selected of it, and its variables."""
    table = x.table if subgroups is None else x.table.reshape(1, -1, *x.table.shape[2:])
    slots = x.select[positions]
    if subgroups is not None:
        slots = subgroups * x.table.shape[1] + slots
    first, alike = columns(x.table, subgroups is None)
    slots = alike[slots]
    front = 1 if subgroups is None else 2  # axes that are not those of variables
    kept: list[str] = []
    for axis, name in reversed([*enumerate(bound, front)]):
        start = slots.take([0], axis)
        if (slots == start).all():
            slots = start.squeeze(axis)
        else:
            kept.insert(0, name)
    places = np.moveaxis(slots, front - 1, 0)
    one, select = distinct(places.reshape(places.shape[0], -1))
    slots = first[slots.take(one, front - 1)]
    _demand_room(x, slots, table.shape[0] if subgroups is None else 1)
    table = table[:, slots] if subgroups is None else table[0, slots]
    return known_apart(table_once(table)), select, tuple(kept)


def _demand_room(x: Leaf, slots: Ints, subgroups: int) -> None:
    """Refuse tables beyond memory, which sums inside sums may need."""
    elements = subgroups * slots.size * x.table[0, 0].size
    if elements > MOST_ELEMENTS:
        raise undecided(
            f"where the elements of {x.operand} come from, inside {len(x.bound) + 1} sums, takes a "
            f"table of {elements} numbers",
            "prove it for a smaller tile",
            operand=x.operand,
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
        if isinstance(x, State):
            return replace(x, at=tuple((var, index(value)) for var, value in x.at))
        return replace(x, base=tuple(map(index, x.base))) if isinstance(x, Leaf) else x

    done = changes("substituted", *sorted(values.items(), key=itemgetter(0)))
    return mapped(node, leaf, index, done=done)


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
        raise undecided(f"what is held at trip {value} is not followed")
    if isinstance(x, Leaf):
        return replace(x, table=np.take(x.table, picked, axis=axis), bound=tuple(bound))
    whose = None if x.subgroup is None else np.take(x.subgroup, picked, axis=axis)
    which = np.take(x.which, picked, axis=axis)
    return replace(x, which=which, subgroup=whose, bound=tuple(bound))


# ------------------------------------------------------------ contents
# What the elements of a fragment hold.


@dataclass(frozen=True, eq=False)
class Part:
    """Some elements of a fragment, and what they hold: element ``elements[p]`` position ``p``."""

    elements: Ints
    node: Node


@dataclass(frozen=True, eq=False)
class Content:
    """What the elements of a fragment hold: parts that are disjoint and together all of it."""

    count: int
    parts: tuple[Part, ...]

    @property
    def single(self) -> Node | None:
        """The node of a content that is one part in the order of the elements."""
        if len(self.parts) != 1:
            return None
        part = self.parts[0]
        if np.array_equal(part.elements, np.arange(self.count)):
            return part.node
        order = np.empty_like(part.elements)
        order[part.elements] = np.arange(self.count)
        return taken(part.node, order)

    def at(self, elements: Ints) -> Content:
        """Return a content whose element ``i`` is this one's ``elements[i]``."""
        if np.array_equal(elements, np.arange(self.count)):
            return self
        if len(self.parts) == 1:
            node = self.single
            if node is not None:
                return whole(len(elements), taken(node, elements))
        owner, place = self.owners()
        parts: list[Part] = []
        for number, part in enumerate(self.parts):
            mine = np.flatnonzero(owner[elements] == number)
            if mine.size:
                parts.append(Part(mine, taken(part.node, place[elements[mine]])))
        return Content(len(elements), tuple(parts))

    def owners(self, more: int = 0) -> tuple[Ints, Ints]:
        """Return the part of each element, and its position there; ``more`` elements have none."""
        owner = np.full(self.count + more, len(self.parts), dtype=np.int64)
        place = np.zeros(self.count + more, dtype=np.int64)
        for number, part in enumerate(self.parts):
            owner[part.elements], place[part.elements] = number, np.arange(part.elements.size)
        return owner, place

    def over(self, elements: Ints, new: Content) -> Content:
        """Return this content with ``elements[i]`` replaced by element ``i`` of another."""
        gone = np.zeros(self.count, dtype=bool)
        gone[elements] = True
        parts: list[Part] = []
        for part in self.parts:
            kept = np.flatnonzero(~gone[part.elements])
            if kept.size == len(part.elements):
                parts.append(part)
            elif kept.size:
                parts.append(Part(part.elements[kept], taken(part.node, kept)))
        parts += [Part(elements[p.elements], p.node) for p in new.parts if p.elements.size]
        return Content(self.count, tuple(parts))

    def each(self, change: Callable[[Node], Node]) -> Content:
        """Return the content with every node changed."""
        return replace(self, parts=tuple(Part(p.elements, change(p.node)) for p in self.parts))


def whole(count: int, node: Node) -> Content:
    """Return a content of one part."""
    return Content(count, (Part(np.arange(count), node),))
