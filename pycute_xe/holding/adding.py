"""What a trip of a loop adds to a fragment, and the integers that keep their lowest bits."""

from __future__ import annotations

from collections.abc import Callable
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
from pycute_xe.kernel.spec.functions import CHOOSING, REDUCTION_OF, REDUCTIONS
from pycute_xe.numeric import Numeric, as_numeric

__all__ = [
    "LOWEST_BITS",
    "NOTHING",
    "Apart",
    "carried_by",
    "guarded",
    "lowest_bits",
    "taken_apart",
]

LOWEST_BITS = "lowest bits of "
"""What names of functions begin with that take an integer into a type."""


def lowest_bits(node: Node, to: Numeric) -> Node:
    """Return the integer of a type that has the lowest bits of a node."""
    return Call(f"{LOWEST_BITS}{to}", (node,))


# What a trip of a loop adds to a fragment: a sum, or a maximum, and never both.

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
    ``type`` is what the function is computed in. ``wraps`` is the type of integers whose lowest
    bits every trip keeps of a sum: those of the whole sum are the same.
    """

    start: Node
    terms: tuple[Node, ...] = ()
    function: str = ""
    numeric: Numeric | None = None
    type: Numeric | None = None
    step: int = 0
    wraps: Numeric | None = None

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
        return Apart(self.start, every, function, numeric, type, step or self.step, self.wraps)

    def wrapped(self, to: Numeric) -> Apart | None:
        """Keep the lowest bits; None where these are not told by those of what is added."""
        known = self.function in ("", "add") and self.wraps in (None, to)
        floats = self.type is not None and self.type.kind == "float"
        return replace(self, wraps=to) if known and not floats and self.numeric is None else None


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
        case Call(function, (inner,)) if function.startswith(LOWEST_BITS):
            apart = taken_apart(inner, name, loop)
            return apart and apart.wrapped(as_numeric(function.removeprefix(LOWEST_BITS)))
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

    sides = then.terms, otherwise.terms
    terms = guarded(choice, sides, nothing, lambda _: function == "add")
    numeric = then.numeric or otherwise.numeric
    if then.wraps != otherwise.wraps and then.terms and otherwise.terms:
        return None
    type, step = then.type or otherwise.type, then.step or otherwise.step
    wraps = then.wraps or otherwise.wraps
    return Apart(then.start, terms, function, numeric, type, step, wraps)


def guarded(
    choice: Choice,
    sides: tuple[tuple[Node, ...], tuple[Node, ...]],
    nothing: Number,
    inside: Callable[[Summed], bool],
) -> tuple[Node, ...]:
    """Return the terms of both sides of a choice, each with ``nothing`` on the other side.

    Sums have the condition around their summands where ``inside`` says so.
    """

    def where(term: Node, holds: bool) -> Node:
        if isinstance(term, Summed) and inside(term):
            return replace(term, body=where(term.body, holds))
        pair = (term, nothing) if holds else (nothing, term)
        return Choice(choice.index, choice.below, *pair)

    return (*(where(t, True) for t in sides[0]), *(where(t, False) for t in sides[1]))


def _is_same(one: Node, other: Node) -> bool:
    """Whether two nodes are the same elements of what was carried."""
    if not isinstance(one, Carried) or not isinstance(other, Carried):
        return False
    own = one.subgroup is None and other.subgroup is None and not one.bound and not other.bound
    return own and one.begins(other.fragment, other.loop) and np.array_equal(one.which, other.which)
