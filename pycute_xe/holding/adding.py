"""Floor 8: what a trip of a loop adds to a fragment: a sum, or a maximum, and never both."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pycute_xe.holding.nodes import (
    Accumulated,
    Call,
    Carried,
    Choice,
    Node,
    Number,
    Summed,
    mapped,
)
from pycute_xe.kernel.spec.functions import CHOOSING
from pycute_xe.kernel.spec.reductions import REDUCTION_OF, REDUCTIONS
from pycute_xe.numeric import Numeric

__all__ = ["NOTHING", "Apart", "carried_by", "taken_apart"]

NOTHING = {row.combine: float(row.nothing) for row in REDUCTIONS.values()}
"""The number that a function of two leaves the other one by."""


def carried_by(node: Node, loop: str) -> set[str]:
    """Return the fragments of which a node holds something from before a trip of a loop."""
    names: set[str] = set()

    def leaf(x: Node) -> Node:
        if isinstance(x, Carried) and x.loop == loop:
            names.add(x.fragment)
        return x

    mapped(node, leaf)
    return names


@dataclass(frozen=True, eq=False)
class Apart:
    """What was carried, the terms that come to it, and by which function: one for all of them.

    ``numeric`` is the type of the accumulator where products are added up; None for functions.
    ``type`` is what the function is computed in.
    """

    start: Node
    terms: tuple[Node, ...] = ()
    function: str = ""
    numeric: Numeric | None = None
    type: Numeric | None = None
    step: int = 0

    def then(
        self,
        function: str,
        terms: tuple[Node, ...],
        numeric: Numeric | None,
        type: Numeric | None = None,
        step: int = 0,
    ) -> Apart | None:
        """Take more terms in; None where they are of another kind, as a maximum of a sum is."""
        if self.function not in ("", function):
            return None
        if type is not None and self.type not in (None, type):
            return None
        if self.terms and self.numeric != numeric:
            narrow = (n for n in (self.numeric, numeric) if n is not None and n.bits < 32)
            if any(narrow) or (self.numeric and numeric):
                return None  # each rounds in its own way
        every = (*self.terms, *terms)
        numeric, type = numeric or self.numeric, type or self.type
        return Apart(self.start, every, function, numeric, type, step or self.step)


def taken_apart(node: Node, name: str, loop: str) -> Apart | None:
    """Split a node into what was carried and what is added to it; None where it is neither."""
    match node:
        case Carried() if node.begins(name, loop):
            return Apart(node)
        case Accumulated(numeric, start, terms):
            inner = taken_apart(start, name, loop)
            return inner and inner.then("add", terms, numeric, step=node.step)
        case Call("mul", (inner, Number(1.0)) | (Number(1.0), inner)):
            return taken_apart(inner, name, loop)
        case Call(function, (left, right)) if function in CHOOSING and _is_same(left, right):
            return taken_apart(left, name, loop)
        case Call(function, (left, right)) if function in REDUCTION_OF:
            for first, second in ((left, right), (right, left)):
                inner = taken_apart(first, name, loop)
                if inner is not None and name not in carried_by(second, loop):
                    return inner.then(node.function, (second,), None, node.type)
            return None
        case Choice(_, _, then, otherwise):
            sides = (taken_apart(side, name, loop) for side in (then, otherwise))
            return _chosen(node, *sides)
        case _:
            return None


def _chosen(choice: Choice, then: Apart | None, otherwise: Apart | None) -> Apart | None:
    """What is added where a condition holds, and what elsewhere: there it is what adds nothing."""
    if then is None or otherwise is None or not _is_same(then.start, otherwise.start):
        return None
    functions = {then.function, otherwise.function} - {""}
    if len(functions) > 1:
        return None
    function = "".join(functions)
    nothing = Number(NOTHING[function] if function else 0.0)
    if then.terms and otherwise.terms and then.numeric != otherwise.numeric:
        return None
    if then.type and otherwise.type and then.type != otherwise.type:
        return None

    def where(term: Node, holds: bool) -> Node:
        if isinstance(term, Summed) and function == "add":
            return replace(term, body=where(term.body, holds))
        pair = (term, nothing) if holds else (nothing, term)
        return Choice(choice.index, choice.below, *pair)

    terms = (*(where(t, True) for t in then.terms), *(where(t, False) for t in otherwise.terms))
    numeric = then.numeric or otherwise.numeric
    type, step = then.type or otherwise.type, then.step or otherwise.step
    return Apart(then.start, terms, function, numeric, type, step)


def _is_same(one: Node, other: Node) -> bool:
    """Whether two nodes are the same elements of what was carried."""
    if not isinstance(one, Carried) or not isinstance(other, Carried):
        return False
    own = one.subgroup is None and other.subgroup is None and not one.bound and not other.bound
    return own and one.begins(other.fragment, other.loop) and np.array_equal(one.which, other.which)
