"""Whether nodes are written alike, the same elements taken the same way; and nodes in a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.elements import Content, State, substituted
from pycute_xe.holding.nodes import (
    Accumulated,
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
    mapped,
)
from pycute_xe.holding.patience import charge
from pycute_xe.holding.periods import period
from pycute_xe.kernel import Index, Loop

__all__ = [
    "MOST_TURNS",
    "Turns",
    "alike",
    "apart_by",
    "joined",
    "period_of",
    "pruned",
    "renamed",
    "sums_within",
    "turn",
]

COMPARED, MET = 0.02, 1
"""Units for a number of a table that is compared, and for a node that is met."""


def alike(one: Node, other: Node) -> bool:
    """Whether two nodes hold the same at every position, as far as their forms tell.

    >>> from pycute_xe.holding.nodes import Number
    >>> alike(Number(1.0), Number(1.0)), alike(Number(1.0), Number(2.0))
    (True, False)
    """
    if one is other:
        return True
    match one, other:
        case (Undefined(), Undefined()):
            return True
        case (Number(x), Number(y)):
            return x == y and one.type == other.type
        case (Scalar(x), Scalar(y)):
            return x == y
        case (Leaf(), Leaf()):
            return _leaves(one, other)
        case (Carried(), Carried()):
            return _carried(one, other)
        case (Call(f, x), Call(g, y)):
            return f == g and one.type == other.type and _all(x, y)
        case (Converted(f, x), Converted(g, y)):
            return f == g and alike(x, y)
        case _:
            return _sums(one, other)


def _sums(one: Node, other: Node) -> bool:
    match one, other:
        case (Summed(f, over, x), Summed(g, beyond, y)):
            same = f == g and over == beyond and one.type == other.type
            return same and alike(x, y)
        case (Accumulated(f, x, terms), Accumulated(g, y, more)):
            return f == g and alike(x, y) and _all(terms, more)
        case (Choice(i, j, x, y), Choice(k, m, z, w)):
            return i == k and j == m and alike(x, z) and alike(y, w)
        case (Picked(test, x, y), Picked(place, z, w)):
            return _leaves(test, place) and alike(x, z) and alike(y, w)
        case _:
            return False


def _all(ones: Sequence[Node], others: Sequence[Node]) -> bool:
    return len(ones) == len(others) and all(map(alike, ones, others))


def _leaves(one: Leaf, other: Leaf) -> bool:
    """Whether the elements are the same; constants may stand in the base or in the table."""
    apart = apart_by(one, other)
    return apart is not None and not apart.any()


def apart_by(one: Leaf, other: Leaf) -> NDArray[np.int64] | None:
    """Return how far apart elements of one operand lie, each in every mode; None for others."""
    if one.operand != other.operand or one.bound != other.bound:
        return None
    if any(i - i.offset != j - j.offset for i, j in zip(one.base, other.base, strict=True)):
        return None
    if one.select.shape != other.select.shape:
        return None
    width = other.table.shape[1]
    mine, yours = np.divmod(np.unique(one.select * width + other.select), width)
    charge(COMPARED * (one.select.size + mine.size * one.table[:, 0].size))
    ours, theirs = one.table[:, mine], other.table[:, yours]
    return (
        theirs - ours + _offsets(other.base) - _offsets(one.base)
        if ours.shape == theirs.shape
        else None
    )


def _offsets(base: Sequence[Index]) -> NDArray[np.int64]:
    return np.array([index.offset for index in base], dtype=np.int64)


def _carried(one: Carried, other: Carried) -> bool:
    if not one.begins(other.fragment, other.loop) or one.bound != other.bound:
        return False
    if isinstance(one, State) and isinstance(other, State) and one.at != other.at:
        return False
    if one.subgroup is None or other.subgroup is None:
        whose = one.subgroup is other.subgroup
    else:
        whose = np.array_equal(one.subgroup, other.subgroup)
    return whose and np.array_equal(one.which, other.which)


# ------------------------------------------------------------ rows
# What several nodes of one form hold, one behind the other.


def joined(nodes: Sequence[Node]) -> Node | None:
    """Return what the positions of several nodes hold, in a row; None for nodes of other forms.

    >>> from pycute_xe.holding.nodes import Leaf
    >>> zeros = np.zeros(2, np.int64)
    >>> rows = [Leaf("A", (Index("m"),), np.array([[[row]]]), zeros) for row in range(2)]
    >>> row = joined(rows)
    >>> row.table[0, row.select, 0].tolist()
    [0, 0, 1, 1]
    """
    return _joined(nodes, {})


_Joined = dict[tuple[int, ...], "Node | None"]
"""What nodes became, by which they were: those that stand in several places are joined once."""


def _joined(nodes: Sequence[Node], done: _Joined) -> Node | None:
    key = tuple(map(id, nodes))
    if key not in done:
        done[key] = _in_a_row(nodes, done)
    return done[key]


def _in_a_row(nodes: Sequence[Node], done: _Joined) -> Node | None:
    first = nodes[0]
    if any(type(node) is not type(first) for node in nodes):
        return None
    match first:
        case Number() | Scalar() | Undefined():
            return first if all(alike(first, node) for node in nodes) else None
        case Leaf():
            return _leaves_in_a_row([node for node in nodes if isinstance(node, Leaf)])
        case State():
            return _states_in_a_row([node for node in nodes if isinstance(node, State)])
        case Call() | Converted() | Summed() | Accumulated() | Choice() | Picked():
            return _inner_in_a_row(nodes, done)
        case _:
            return None


def _leaves_in_a_row(leaves: list[Leaf]) -> Leaf | None:
    """Return leaves in a row, whose places may be constants apart."""
    leaves = _on_one_base(leaves)
    first = leaves[0]
    same = all(
        (x.operand, x.base, x.bound) == (first.operand, first.base, first.bound)
        and x.table.shape[0] == first.table.shape[0]
        and x.table.shape[2:] == first.table.shape[2:]
        for x in leaves
    )
    if not same:
        return None
    if all(x.table is first.table or np.array_equal(x.table, first.table) for x in leaves):
        return replace(first, select=np.concatenate([x.select for x in leaves]))
    starts = np.cumsum([0, *(x.table.shape[1] for x in leaves)])
    selects = [x.select + start for x, start in zip(leaves, starts[:-1], strict=True)]
    table = np.concatenate([x.table for x in leaves], axis=1)
    return replace(first, table=table, select=np.concatenate(selects))


def _on_one_base(leaves: list[Leaf]) -> list[Leaf]:
    """Return leaves with the constants of their bases in their tables, where they differ."""
    if all(x.base == leaves[0].base for x in leaves):
        return leaves
    out: list[Leaf] = []
    for x in leaves:
        base = tuple(index - index.offset for index in x.base)
        out.append(replace(x, base=base, table=x.table + _offsets(x.base)))
    return out


def _states_in_a_row(states: list[State]) -> State | None:
    first = states[0]
    for x in states:
        same = x.begins(first.fragment, first.loop) and (x.bound, x.at) == (first.bound, first.at)
        if not same or (x.subgroup is None) != (first.subgroup is None):
            return None
    if first.subgroup is None:
        return replace(first, which=np.concatenate([x.which for x in states]))
    whose = [x.subgroup for x in states if x.subgroup is not None]
    which = np.concatenate([x.which for x in states], axis=1)
    return replace(first, which=which, subgroup=np.concatenate(whose, axis=1))


def _inner_in_a_row(nodes: Sequence[Node], done: _Joined) -> Node | None:
    """Return a node of the same kind whose nodes are joined; everything else has to be the same."""
    changed: dict[str, Any] = {}
    for part in fields(nodes[0]):
        values: list[Any] = [getattr(node, part.name) for node in nodes]
        if isinstance(values[0], tuple) and values[0] and _is_node(values[0][0]):
            if len({len(value) for value in values}) > 1:
                return None
            row = tuple(_joined(each, done) for each in zip(*values, strict=True))
            if any(node is None for node in row):
                return None
            changed[part.name] = row
        elif _is_node(values[0]):
            node = _joined(values, done)
            if node is None:
                return None
            changed[part.name] = node
        elif any(value != values[0] for value in values):
            return None
    return replace(nodes[0], **changed)


def _is_node(value: Any) -> bool:
    kinds = (Number, Undefined, Scalar, Leaf, Carried)
    return isinstance(value, (*kinds, Call, Converted, Summed, Accumulated, Choice, Picked))


# ------------------------------------------------------------ names
# Nodes that are alike but for the names of the variables of their sums.


def sums_within(node: Node) -> tuple[str, ...]:
    """Return the variables of the sums in a node, in the order in which they are met."""
    names: dict[str, None] = {}
    done: set[int] = set()
    left: list[Node] = [node]
    while left:
        x = left.pop()
        if id(x) in done:
            continue
        done.add(id(x))
        charge(MET)
        match x:
            case Call(_, arguments):
                left += arguments
            case Converted(_, body):
                left.append(body)
            case Summed(_, over, body):
                names |= dict.fromkeys(bound[0] for bound in over)
                left.append(body)
            case Accumulated(_, start, terms):
                left += (start, *terms)
            case Choice(_, _, then, otherwise) | Picked(_, then, otherwise):
                left += (then, otherwise)
            case Number() | Undefined() | Carried() | Lost() | Scalar() | Leaf():
                pass
    return tuple(names)


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """Return a node with other names for the variables of its sums, each different."""
    values = {old: Index(new) for old, new in names.items()}

    def index(x: Index) -> Index:
        return x.substitute(values)

    def leaf(x: Node) -> Node:
        if not isinstance(x, (Leaf, Carried)):
            return x
        bound = tuple(names.get(name, name) for name in x.bound)
        if isinstance(x, Leaf):
            return replace(x, base=tuple(map(index, x.base)), bound=bound)
        return replace(x, bound=bound)

    return mapped(node, leaf, index, names)


# ------------------------------------------------------------ turns
# What depends on a loop's variable by turns, as the stages of a shared array do.

MOST_TURNS = 64
"""Turns that are told apart."""
TURN = 4
"""Units for a turn in which a condition is asked."""


def period_of(content: Content, var: str) -> int:
    """Return after how many steps of a variable the conditions of a content repeat.

    Conditions that do not repeat, or would make too many turns, are left out: no turn decides them
    (`Turns.split`), so that nothing is pruned there.
    """
    turns = 1

    def visit(node: Node) -> None:
        nonlocal turns
        if isinstance(node, Choice):
            joint = lcm(turns, period(node.index - node.below, var) or 1)
            turns = joint if joint <= MOST_TURNS else turns
            visit(node.then)
            visit(node.otherwise)

    for part in content.parts:
        visit(part.node)
    return turns


@dataclass(frozen=True)
class Turns:
    """A variable from ``least`` on, in some of ``span`` turns."""

    var: str
    span: int
    now: frozenset[int]
    least: float

    @classmethod
    def every(cls, loop: Loop, span: int) -> Turns:
        """Return all turns of a loop's variable."""
        least = float(loop.start.offset) if loop.start.is_constant else -inf
        return cls(loop.var, span, frozenset(range(span)), least)

    def first(self, difference: Index) -> tuple[int, ...] | None:
        """Return the values of the variable for which it is below a bound; None if not so few."""
        if self.least == -inf or difference != Index(self.var) + difference.offset:
            return None
        values = range(int(self.least), -difference.offset)
        if len(values) > MOST_TURNS * self.span:
            return None
        charge(TURN * len(values))
        return tuple(x for x in values if x % self.span in self.now)

    def split(self, difference: Index) -> tuple[Turns, Turns] | None:
        """Return the turns in which an index is below zero, and the others; None if unknown."""
        if difference == Index(self.var) + difference.offset and self.least > -inf:
            first = min(self.least + (turn - self.least) % self.span for turn in self.now)
            nowhere = replace(self, now=frozenset())
            return (nowhere, self) if first + difference.offset >= 0 else None
        charge(TURN * len(self.now))
        repeats = period(difference, self.var)
        if difference.names != frozenset({self.var}) or not repeats or self.span % repeats:
            return None
        below = frozenset(r for r in self.now if difference.at({self.var: r}) < 0)
        return replace(self, now=below), replace(self, now=self.now - below)


def pruned(
    node: Node, turns: Turns, put: Callable[[Node, Turns], Node] = lambda node, _: node
) -> Node:
    """Leave out of the outermost choices what no turn comes to, and choices between the same.

    What is held only in the first few turns may be what the formula for the later ones says, as
    tiles that are stored before a loop are. ``put`` tells what comes to where the choices lead.
    """
    if not isinstance(node, Choice):
        return put(node, turns)
    difference = node.index - node.below
    parts = turns.split(difference)
    below, above = parts if parts is not None else (turns, turns)
    if not below.now:
        return pruned(node.otherwise, turns, put)
    if not above.now:
        return pruned(node.then, turns, put)
    few = turns.first(difference)
    if few is not None:
        above = replace(above, least=max(above.least, -difference.offset))
    then, otherwise = pruned(node.then, below, put), pruned(node.otherwise, above, put)
    if few is not None and all(_alike_at(turns.var, x, then, otherwise) for x in few):
        return otherwise
    if alike(then, otherwise) or _goes_on(difference, then, otherwise):
        return otherwise
    return Choice(node.index, node.below, then, otherwise)


def _goes_on(difference: Index, then: Node, otherwise: Node) -> bool:
    """Whether what is held below a bound is held up to a larger bound as well."""
    if not isinstance(otherwise, Choice) or not alike(then, otherwise.then):
        return False
    further = difference - (otherwise.index - otherwise.below)
    return further.is_constant and further.offset >= 0


def _alike_at(var: str, value: int, one: Node, other: Node) -> bool:
    here = {var: Index(None, value)}
    return alike(substituted(one, here), substituted(other, here))


def turn(var: str, span: int, number: int) -> tuple[Index, Index]:
    """Return the condition, an index below another, that splits off a turn from the later ones.

    >>> [str(part) for part in turn("k", 2, 0)]
    ['k-2*(k/2)', '1']
    """
    return Index(var) % span, Index(None, number + 1)
