"""What a register element holds: expressions whose leaves are elements of operands.

A node describes many elements at once: all subgroups and a row of positions. A leaf keeps where in
its operand each of them comes from as an index, the same for the whole work-group, plus a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from pycute_xe.holding.patience import charge
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.statements import If, Loop
from pycute_xe.numeric import Numeric

if TYPE_CHECKING:
    from pycute_xe.holding.contents import Content

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
    "Node",
    "Number",
    "Picked",
    "Recurrence",
    "Scalar",
    "State",
    "Summed",
    "Undefined",
    "contains",
    "mapped",
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
class Recurrence:
    """A loop that does more than add: what each fragment holds before it, and behind one trip.

    In the second of ``parts[name]``, `State` of this recurrence stands for what a trip begins with.
    """

    loop: Loop
    around: tuple[Loop | If, ...]
    parts: dict[str, tuple[Content, Content]] = field(
        default_factory=dict["str", "tuple[Content, Content]"]
    )


@dataclass(frozen=True, eq=False)
class State(Carried):
    """What a fragment holds when a trip of a recurrence begins, or behind its loop.

    ``fragment`` is a name that no other state has; ``name`` is that in the recurrence, and ``at``
    gives the variables of the loops around it.
    """

    recurrence: Recurrence | None = None
    name: str = ""
    at: tuple[tuple[str, Index], ...] = ()
    behind: bool = False


@dataclass(frozen=True, eq=False)
class Lost:
    """What a fragment holds when a loop's trip begins, where no form is known of it, and why.

    ``written`` tells whether each element was surely written before.
    """

    fragment: str
    why: str
    written: bool


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


Inner: TypeAlias = "Call | Converted | Summed | Accumulated | Choice | Picked"
Node: TypeAlias = "Number | Undefined | Carried | Lost | Scalar | Leaf | Inner"


def mapped(
    node: Node, leaf: Callable[[Node], Node], index: Callable[[Index], Index] | None = None
) -> Node:
    """Return a node with its leaves replaced: numbers, scalars, elements, what is carried.

    ``index`` changes indices of conditions and of bounds of sums; what is decided then is left out.
    """

    def inner(x: Node) -> Node:
        return mapped(x, leaf, index)

    def total(x: Summed) -> Summed:
        return replace(x, over=tuple(_bound(b, index) for b in x.over), body=inner(x.body))

    charge(NODE)
    match node:
        case Call(_, arguments):
            return replace(node, arguments=tuple(map(inner, arguments)))
        case Converted(_, body):
            return replace(node, body=inner(body))
        case Summed():
            return total(node)
        case Accumulated(_, start, terms):
            return replace(node, start=inner(start), terms=tuple(map(total, terms)))
        case Choice():
            return _chosen(node, inner, index)
        case Picked(test, then, otherwise):
            return Picked(_place(test, leaf), inner(then), inner(otherwise))
        case Number() | Undefined() | Carried() | Lost() | Scalar() | Leaf():
            return leaf(node)


def _chosen(
    node: Choice, inner: Callable[[Node], Node], index: Callable[[Index], Index] | None
) -> Node:
    left, right = _index(node.index, index), _index(node.below, index)
    if index is not None and (apart := left - right).is_constant:
        return inner(node.then if apart.offset < 0 else node.otherwise)
    return Choice(left, right, inner(node.then), inner(node.otherwise))


def _place(test: Leaf, leaf: Callable[[Node], Node]) -> Leaf:
    return place if isinstance(place := leaf(test), Leaf) else test


def _index(index: Index, change: Callable[[Index], Index] | None) -> Index:
    return index if change is None else change(index)


def _bound(bound: Bound, index: Callable[[Index], Index] | None) -> Bound:
    own = tuple(_index(part, index) for part in bound[1:] if isinstance(part, Index))
    return (bound[0], own[0], own[1]) if own else bound


def contains(node: Node, *kinds: type) -> bool:
    """Whether a node of some kind occurs."""
    nodes: list[Node] = []

    def leaf(x: Node) -> Node:
        nodes.append(x)
        return x

    mapped(node, leaf)
    return any(isinstance(x, kinds) for x in nodes)
