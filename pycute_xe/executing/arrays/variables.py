"""The variables that nodes name, and those that sums bind."""

from __future__ import annotations

from collections.abc import Iterable

from pycute_xe.executing.arrays.terms import Lifter
from pycute_xe.holding.elements import State
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
)
from pycute_xe.kernel.index import Index

__all__ = ["bounds_of", "free_of", "names_of"]


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
