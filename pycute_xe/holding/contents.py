"""What registers and memory hold, and the walk through statements that says so.

Nodes are taken at other positions, of other subgroups, and at other trips of a loop. A `Follower`
has what is known so far and what was found; `HOLDS` is its table of meanings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.nodes import Carried, Leaf, Node, Number, State, Undefined, mapped
from pycute_xe.holding.patience import charge
from pycute_xe.kernel import AtomicStore, If, Kernel, Loop, Statement, Store
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.program import Meanings
from pycute_xe.numeric import Numeric

__all__ = [
    "distinct",
    "expanded",
    "of_some",
    "relocated",
    "substituted",
    "taken",
    "Content",
    "Part",
    "carried",
    "combined",
    "loop_over",
    "loops_named_in",
    "nothing",
    "undecided",
    "whole",
    "HOLDS",
    "Around",
    "Followed",
    "Follower",
    "Form",
    "Promise",
    "Read",
    "Write",
    "situated",
]


ROW, ENTRY, MOVED = 50, 0.05, 0.01
"""Units for a table of which rows are compared, for each number of it, and for one that is moved.
"""
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

    return mapped(node, leaf)


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
        if not isinstance(x, Leaf):
            return x
        charge(MOVED * subgroups.size * (x.table.size // len(x.table)))
        return replace(x, table=x.table[subgroups])

    return mapped(node, leaf)


def _state_of(x: State, subgroups: Ints) -> State:
    """Return the state of some subgroups, each by its own number."""
    if x.subgroup is not None:
        return replace(x, which=x.which[subgroups], subgroup=x.subgroup[subgroups])
    which = np.broadcast_to(x.which, (subgroups.size, *x.which.shape)).copy()
    own = subgroups.reshape(-1, *(1,) * x.which.ndim)
    return replace(x, which=which, subgroup=np.broadcast_to(own, which.shape).copy())


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

    return mapped(node, leaf)


def _taken_apart(x: Leaf, positions: Ints, subgroups: Ints | None, bound: tuple[str, ...]) -> Leaf:
    """Return a leaf at other places: entries that are alike are kept once.

    A variable by which no place changes is left out: an element of A that a sum over columns takes
    is the same in all of them, so sums inside sums do not multiply the size of its table.
    """
    table = x.table if subgroups is None else x.table.reshape(1, -1, *x.table.shape[2:])
    slots = x.select[positions]
    if subgroups is not None:
        slots = subgroups * x.table.shape[1] + slots
    first, alike = distinct(np.swapaxes(table, 0, 1).reshape(table.shape[1], -1))
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
    return replace(x, table=table, select=select, bound=(*kept, *x.bound))


def distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Return where the different rows of a table are first, and which of these each row is.

    >>> distinct(np.array([[1, 2], [3, 4], [1, 2]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    charge(ROW + ENTRY * rows.size)
    random: Any = np.random.default_rng(0)
    keys: Ints = rows @ random.integers(1, 1 << 62, rows.shape[1])
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[number]], rows):  # two keys agree by chance
        _, first, number = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return first[order], place[number.reshape(-1)]


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
        raise undecided(f"what is held at trip {value} is not followed")
    if isinstance(x, Leaf):
        return replace(x, table=np.take(x.table, picked, axis=axis), bound=tuple(bound))
    whose = None if x.subgroup is None else np.take(x.subgroup, picked, axis=axis)
    which = np.take(x.which, picked, axis=axis)
    return replace(x, which=which, subgroup=whose, bound=tuple(bound))


# ------------------------------------------------------------ contents
# The contents of fragments, and what each kind of statement does to them.
#
# A content is a partition of a fragment's elements, a node for each part. The statements are
# followed once for all work-groups, subgroups and sizes; a loop is followed once for all its trips.


PART, NUMBER = 20, 0.005
"""Units for a part of contents that are combined, and for an element of them."""


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


def nothing(count: int) -> Content:
    """Return what a fragment holds before anything is written to it."""
    return whole(count, Undefined())


def carried(count: int, fragment: str, loop: str) -> Content:
    """Return the content that stands for what a fragment held when a trip of a loop began."""
    return whole(count, Carried(fragment, loop, np.arange(count)))


def number(count: int, value: float, numeric: Numeric) -> Content:
    """Return a content of one number, as a type holds it."""
    return whole(count, Number(value, numeric))


def combined(
    count: int, contents: tuple[Content, ...], make: Callable[[tuple[Node, ...]], Node]
) -> Content:
    """Return a content made element by element of others, part by part."""
    nodes = [content.single for content in contents]
    if all(node is not None for node in nodes):
        return whole(count, make(tuple(n for n in nodes if n is not None)))
    charge(PART * sum(len(content.parts) for content in contents) + NUMBER * count * len(contents))
    owner = np.zeros(count, dtype=np.int64)  # a number for which parts hold an element
    for content in contents:
        own = np.zeros(count, dtype=np.int64)
        for number_, part in enumerate(content.parts):
            own[part.elements] = number_
        owner = owner * len(content.parts) + own
    parts: list[Part] = []
    for combination in np.unique(owner):
        charge(PART + NUMBER * count * len(contents))
        mine = np.flatnonzero(owner == combination)
        picked = tuple(content.at(mine).single for content in contents)
        if any(node is None for node in picked):
            raise undecided("registers that several statements fill are combined")
        parts.append(Part(mine, make(tuple(n for n in picked if n is not None))))
    return Content(count, tuple(parts))


def undecided(what: str, fix: str = "", **given: object) -> UndecidableError:
    """Return the refusal of what holding has no map for."""
    return UndecidableError("holding", given, what, fix)


def loop_over(var: str) -> str:
    """Return how a refusal names the loop whose trips stand in the way, for `loops_named_in`."""
    return f"the loop over {var}"


def loops_named_in(reason: str) -> set[str]:
    """Return the variables of the loops that a refusal names.

    >>> sorted(loops_named_in(f"x is rescaled in {loop_over('k')} by what may be infinite"))
    ['k']
    """
    return set(re.findall(loop_over(r"(\w+)"), reason))


STATEMENT = 100
"""Units for a statement that is followed."""

Around: TypeAlias = "Loop | If"
Form: TypeAlias = Literal["proof", "recur"]
"""How loops are closed: to sums and claims, for proofs, or to sums and recurrences, for runs."""


@dataclass(frozen=True, eq=False)
class Write:
    """A store's writes: element ``i`` of an operand gets what a node's position holds.

    Position ``p`` of subgroup ``who[s]`` goes to ``base[i] + places[s, p, i]``, where that is
    inside; tables of the node count ``s`` too. ``elements[p]`` is the register element, ``around``
    the loops and conditions, outermost first.
    """

    statement: Store | AtomicStore
    around: tuple[Around, ...]
    base: tuple[Index, ...]
    places: Ints
    elements: Ints
    node: Node
    subgroups: Ints


@dataclass(frozen=True, eq=False)
class Read:
    """A statement that reads registers: which fragment, what it holds, under what."""

    statement: Statement
    around: tuple[Around, ...]
    fragment: str
    content: Content


@dataclass(frozen=True, eq=False)
class Promise:
    """What a fragment holds, and what it is claimed to hold, at a loop's start or after a trip."""

    loop: Loop
    around: tuple[Around, ...]
    fragment: str
    when: str
    actual: Content
    claimed: Content


@dataclass(eq=False)
class Followed:
    """What following a kernel found: writes and reads in the order of the statements.

    ``memory`` are the operands that are followed, each with its tile, or why it has no tile;
    ``left`` is what lies in each tile at the end.
    """

    memory: Mapping[str, object] = field(default_factory=dict[str, object])
    left: dict[str, Content] = field(default_factory=dict[str, Content])
    writes: list[Write] = field(default_factory=list[Write])
    reads: list[Read] = field(default_factory=list[Read])
    promises: list[Promise] = field(default_factory=list[Promise])


@dataclass(eq=False)
class Follower:
    """A walk through a kernel's statements with what every fragment holds so far."""

    kernel: Kernel
    state: dict[str, Content]
    followed: Followed
    names: Iterator[int]
    around: tuple[Around, ...] = ()
    active: tuple[bool, ...] = ()
    settled: dict[int, tuple[str, Content]] = field(default_factory=dict[int, tuple[str, Content]])
    """What a fragment is known to hold behind a statement, by the statement's identity."""
    form: Form = "proof"

    @property
    def doing(self) -> Ints:
        """The subgroups that do the statement at hand."""
        every: Ints = np.arange(self.kernel.subgroups, dtype=np.int64)
        return every[np.array(self.active)] if self.active else every

    def read(self, statement: Statement, name: str) -> Content:
        """Return what a fragment holds, and remember that it was read."""
        content = self.state[name]
        self.followed.reads.append(Read(statement, self.around, name, content))
        return content

    def run(self, body: tuple[Statement, ...]) -> None:
        """Follow statements one after the other."""
        for statement in body:
            charge(STATEMENT)
            HOLDS[statement](self, statement)
            if id(statement) in self.settled:
                name, content = self.settled[id(statement)]
                self.state[name] = content

    def fresh(self, name: str) -> str:
        """Return a name for a variable that no other has: no identity has two underscores."""
        return f"{name}__{next(self.names)}"


HOLDS: Meanings[Callable[[Follower, Statement], None]] = Meanings("holding")


def situated(
    body: tuple[Statement, ...], around: tuple[Around, ...] = ()
) -> Iterator[tuple[Statement, tuple[Around, ...]]]:
    """Yield every statement with the loops and conditions around it, outermost first."""
    for statement in body:
        yield statement, around
        if isinstance(statement, (Loop, If)):
            yield from situated(statement.body, (*around, statement))
