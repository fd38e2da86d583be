"""Floor 8: what a trip of a loop adds to a fragment: a sum, or a maximum, and never both."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.holding.nodes import Accumulated, Call, Carried, Node, mapped
from pycute_xe.numeric import Numeric

__all__ = ["Apart", "carried_by", "taken_apart"]


def carried_by(node: Node) -> set[str]:
    """Return the fragments of which a node holds something from before the trip of a loop."""
    names: set[str] = set()

    def leaf(x: Node) -> Node:
        if isinstance(x, Carried):
            names.add(x.fragment)
        return x

    mapped(node, leaf)
    return names


@dataclass(frozen=True, eq=False)
class Apart:
    """What was carried, the terms that come to it, and by which function: one for all of them.

    ``numeric`` is the type of the accumulator where products are added up; None for functions.
    """

    start: Node
    terms: tuple[Node, ...] = ()
    function: str = ""
    numeric: Numeric | None = None

    def then(self, function: str, terms: tuple[Node, ...], numeric: Numeric | None) -> Apart | None:
        """Take more terms in; None where they are of another kind, as a maximum of a sum is."""
        if self.function not in ("", function):
            return None
        if self.terms and self.numeric != numeric:
            narrow = (n for n in (self.numeric, numeric) if n is not None and n.bits < 32)
            if any(narrow) or (self.numeric and numeric):
                return None  # each rounds in its own way
        return Apart(self.start, (*self.terms, *terms), function, numeric or self.numeric)


def taken_apart(node: Node, name: str) -> Apart | None:
    """Split a node into what was carried and what is added to it; None where it is neither."""
    match node:
        case Carried() if node.fragment == name:
            return Apart(node)
        case Accumulated(numeric, start, terms):
            inner = taken_apart(start, name)
            return inner and inner.then("add", terms, numeric)
        case Call("add" | "max" | "min", (left, right)):
            for first, second in ((left, right), (right, left)):
                inner = taken_apart(first, name)
                if inner is not None and name not in carried_by(second):
                    return inner.then(node.function, (second,), None)
            return None
        case _:
            return None
