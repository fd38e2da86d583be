"""What a register element holds: expressions whose leaves are elements of operands.

A node describes many elements at once: all subgroups and a row of positions. A leaf keeps where in
its operand each of them comes from as an index, the same for the whole work-group, plus a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import is_
from typing import TypeAlias

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.columns import written
from pycute_xe.holding.patience import charge, remembered
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import Index
from pycute_xe.numeric import Numeric

__all__ = [
    "BESIDE",
    "Accumulated",
    "Bound",
    "Call",
    "Carried",
    "Choice",
    "Converted",
    "Leaf",
    "Lost",
    "NoClosedFormError",
    "Node",
    "Number",
    "Picked",
    "Scalar",
    "Summed",
    "Undefined",
    "changes",
    "contains",
    "mapped",
    "once",
    "loops_in_the_way",
    "undecided",
]


NODE = 15
"""Units for a node that is changed."""


BESIDE = "what lies beside a row"
"""A function of nothing, which equals nothing that is known: bytes between rows of an operand."""


@dataclass(frozen=True, eq=False)
class Number:
    """The same number everywhere, as it is written; what its ``type`` holds of it is computed with.

    Without a type it is exact.
    """

    value: float
    type: Numeric | None = None


@dataclass(frozen=True, eq=False)
class Undefined:
    """Nothing that was ever written."""


@dataclass(frozen=True, eq=False)
class Carried:
    """What a fragment, or a shared array, held at the start of a trip of the loop over ``loop``.

    Position ``p`` holds element ``which[p, …]`` of the subgroup's own fragment; with ``subgroup``,
    both are (subgroup, position, …), and say whose. The axes behind are ``bound``.
    """

    fragment: str
    loop: str
    which: Ints
    subgroup: Ints | None = None
    bound: tuple[str, ...] = ()

    def begins(self, name: str, loop: str) -> bool:
        """Whether it is of a fragment, and of a trip of this loop, not of one around it."""
        return self.fragment == name and self.loop == loop

    def picked(self, table: Ints) -> Ints:
        """Return what a table, (subgroup, element), has for each position."""
        return table[slice(None) if self.subgroup is None else self.subgroup, self.which]


@dataclass(frozen=True, eq=False)
class Lost:
    """What a fragment holds when a loop's trip begins, where no form is known of it, and why.

    ``written`` tells whether each element was surely written before; ``loops`` are the variables
    of the loops whose trips stand in the way.
    """

    fragment: str
    why: str
    written: bool
    loops: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar operand."""

    operand: str


@dataclass(frozen=True, eq=False)
class Leaf:
    """Elements of an operand, zero where the place lies outside it.

    Position ``p`` of subgroup ``s`` holds the element at ``base[i] + table[s, select[p], …, i]``;
    the axes between are those of ``bound``, the variables of sums around it by which it changes.
    """

    operand: str
    base: tuple[Index, ...]
    table: Ints
    select: Ints
    bound: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Call:
    """A scalar function, and the type in which it is computed: every result is one of its numbers.

    A type of integers stands for 64-bit ones, and no type for what is exact.
    """

    function: str
    arguments: tuple[Node, ...]
    type: Numeric | None = None


@dataclass(frozen=True, eq=False)
class Converted:
    """A conversion to another element type."""

    to: Numeric
    body: Node


Bound: TypeAlias = "tuple[str, int] | tuple[str, Index, Index]"
"""A variable of a sum: inside a tile with its extent, or a loop's with its start and stop."""


@dataclass(frozen=True, eq=False)
class Summed:
    """A sum, or a maximum, over variables: some inside a tile, some of loops.

    ``type`` is what a sum is computed in, as of a `Call`.
    """

    how: str
    over: tuple[Bound, ...]
    body: Node
    type: Numeric | None = None


@dataclass(frozen=True, eq=False)
class Accumulated:
    """``start`` plus sums, accumulated in a type; one instruction sums ``step`` terms at once."""

    numeric: Numeric
    start: Node
    terms: tuple[Summed, ...]
    step: int = 0


@dataclass(frozen=True, eq=False)
class Choice:
    """``then`` where ``index < below``, else ``otherwise``; the same for the whole work-group."""

    index: Index
    below: Index
    then: Node
    otherwise: Node


@dataclass(frozen=True, eq=False)
class Picked:
    """``then`` where the one coordinate of ``test``, a leaf of no operand, is below zero."""

    test: Leaf
    then: Node
    otherwise: Node


Done: TypeAlias = "dict[int, tuple[Node, Node]]"
"""Nodes, by their identities, and what a change makes of them."""
Inner: TypeAlias = "Call | Converted | Summed | Accumulated | Choice | Picked"
Node: TypeAlias = "Number | Undefined | Carried | Lost | Scalar | Leaf | Inner"


def mapped(
    node: Node,
    leaf: Callable[[Node], Node],
    index: Callable[[Index], Index] | None = None,
    names: Mapping[str, str] | None = None,
    done: Done | None = None,
) -> Node:
    """Return a node with its leaves replaced: numbers, scalars, elements, what is carried.

    ``index`` changes indices of conditions and of bounds of sums; what is decided then is left out.
    ``names`` are other names for variables of sums. A node that stands in several places is changed
    once, and stands in as many afterwards; one in which nothing changes stays itself. ``done`` is
    what the same change made of nodes before.
    """
    made: Done = {} if done is None else done

    def inner(x: Node) -> Node:
        known = made.get(id(x))
        if known is None:
            known = made[id(x)] = x, once(_mapped(x, inner, leaf, index, names or {}))
        return known[1]

    return inner(node)


def once(node: Node) -> Node:
    """Return the node that was made of the same before, where there is one: it stands for this.

    What changed a node in several ways to the same, as subgroups that take all that others hold,
    is then looked at once.
    """
    key = _made_of(node)
    return node if key is None else remembered((type(node), *key), lambda: node)


def _made_of(node: Node) -> tuple[object, ...] | None:
    """Return what makes a node, its parts by their identities; None for one that stands alone."""
    match node:
        case Call(function, arguments):
            return function, node.type, *map(id, arguments)
        case Converted(to, body):
            return to, id(body)
        case Summed(how, over, body):
            return how, over, id(body), node.type
        case Accumulated(numeric, start, terms):
            return numeric, node.step, id(start), *map(id, terms)
        case Choice(index, below, then, otherwise):
            return index, below, id(then), id(otherwise)
        case Picked(test, then, otherwise):
            return id(test), id(then), id(otherwise)
        case Number() | Scalar() | Leaf() | Undefined() | Carried() | Lost():
            return _leaf_made_of(node)


def _leaf_made_of(
    node: Number | Scalar | Leaf | Undefined | Carried | Lost,
) -> tuple[object, ...] | None:
    match node:
        case Number(value, numeric):
            return repr(value), numeric
        case Scalar(operand):
            return (operand,)
        case Leaf(operand, base, table, select, bound):
            return operand, base, id(table), bound, written(select)
        case Undefined() | Carried() | Lost():
            return None


def changes(*key: object) -> Done:
    """Return what a change made of nodes so far; the key says all on which it depends."""
    return remembered(("changes", *key), dict[int, "tuple[Node, Node]"])


def _mapped(
    node: Node,
    inner: Callable[[Node], Node],
    leaf: Callable[[Node], Node],
    index: Callable[[Index], Index] | None,
    names: Mapping[str, str],
) -> Node:
    def summed(x: Summed) -> Summed:
        now = inner(x)
        return now if isinstance(now, Summed) else x

    charge(NODE)
    match node:
        case Call(function, arguments):
            now = tuple(map(inner, arguments))
            return node if _same(now, arguments) else Call(function, now, node.type)
        case Converted(to, body):
            one = inner(body)
            return node if one is body else Converted(to, one)
        case Summed(how, over, body):
            now, one = tuple(_bound(b, index, names) for b in over), inner(body)
            return node if one is body and now == over else Summed(how, now, one, node.type)
        case Accumulated(numeric, start, terms):
            first, sums = inner(start), tuple(map(summed, terms))
            same = first is start and _same(sums, terms)
            return node if same else Accumulated(numeric, first, sums, node.step)
        case Choice():
            return _chosen(node, inner, index)
        case Picked(test, then, otherwise):
            return Picked(_place(test, inner), inner(then), inner(otherwise))
        case Number() | Undefined() | Carried() | Lost() | Scalar() | Leaf():
            return leaf(node)


def _same(ones: tuple[Node, ...], others: tuple[Node, ...]) -> bool:
    return all(map(is_, ones, others))


def _chosen(
    node: Choice, inner: Callable[[Node], Node], index: Callable[[Index], Index] | None
) -> Node:
    left, right = _index(node.index, index), _index(node.below, index)
    if index is not None and (apart := left - right).is_constant:
        return inner(node.then if apart.offset < 0 else node.otherwise)
    return Choice(left, right, inner(node.then), inner(node.otherwise))


def _place(test: Leaf, inner: Callable[[Node], Node]) -> Leaf:
    return place if isinstance(place := inner(test), Leaf) else test


def _index(index: Index, change: Callable[[Index], Index] | None) -> Index:
    return index if change is None else change(index)


def _bound(bound: Bound, index: Callable[[Index], Index] | None, names: Mapping[str, str]) -> Bound:
    name = names.get(bound[0], bound[0])
    if len(bound) == 2:
        return name, bound[1]
    return name, _index(bound[1], index), _index(bound[2], index)


def contains(node: Node, *kinds: type) -> bool:
    """Whether a node of some kind occurs."""
    nodes: list[Node] = []

    def leaf(x: Node) -> Node:
        nodes.append(x)
        return x

    mapped(node, leaf)
    return any(isinstance(x, kinds) for x in nodes)


def undecided(what: str, fix: str = "", **given: object) -> UndecidableError:
    """Return the refusal of what holding has no map for."""
    return UndecidableError("holding", given, what, fix)


class NoClosedFormError(UndecidableError):
    """No closed form is known of what the trips of ``loops`` make, by their variables."""

    def __init__(self, loops: tuple[str, ...], what: str, fix: str = "", **given: object) -> None:
        """Keep the loops beside the sentence."""
        super().__init__("verify", given, what, fix)
        self.loops = loops


def loops_in_the_way(error: UndecidableError) -> tuple[str, ...]:
    """Return the loops of which a refusal says that no closed form is known; mostly none."""
    return error.loops if isinstance(error, NoClosedFormError) else ()
