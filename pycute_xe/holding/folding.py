"""Floor 8: two sums over sets that are one set moved on, put together: what halves of a row are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pycute_xe.holding.likeness import alike
from pycute_xe.holding.nodes import (
    Accumulated,
    Call,
    Choice,
    Converted,
    Leaf,
    Node,
    Picked,
    Summed,
)
from pycute_xe.kernel.spec.reductions import REDUCTION_OF

__all__ = ["folded"]


def folded(node: Node, fresh: Callable[[], str]) -> Node:
    """Return ``sum(x) + sum(y)``, or so of maxima, as one over a variable more; else the node.

    Every element of ``y`` must lie as far from that of ``x`` as all others do. The halves of the
    halves of a row come to one sum in this way, and not to a term for each lane.

    >>> from pycute_xe.kernel import Index
    >>> def row(start):
    ...     places = start + np.arange(4).reshape(1, 1, 4, 1)
    ...     leaf = Leaf("A", (Index("k"),), places, np.array([0]), ("r",))
    ...     return Summed("max", (("r", 4),), leaf)
    >>> found = folded(Call("max", (row(0), row(4))), lambda: "f")
    >>> found.over, found.body.table.ravel().tolist()
    ((('f', 2), ('r', 4)), [0, 1, 2, 3, 4, 5, 6, 7])
    """
    match node:
        case Call(function, (Summed(how, over, x) as first, Summed(other, beyond, y) as second)):
            if REDUCTION_OF.get(function) != how or how != other or over != beyond:
                return node
            if how == "sum" and not first.type == second.type == node.type:
                return node
        case _:
            return node
    if alike(x, y):
        return node
    name = fresh()
    body = _moved_on(x, y, name)
    if body is None:
        return node
    return replace(first, over=((name, 2), *over), body=body)


def _moved_on(x: Node, y: Node, name: str) -> Node | None:
    """Return a node that is one where a variable is 0 and the other where it is 1."""
    match x, y:
        case (Leaf(), Leaf()):
            return _leaf(x, y, name)
        case (Call(f, a), Call(g, b)) if f == g and x.type == y.type:
            parts = _all(a, b, name)
            return None if parts is None else replace(x, arguments=parts)
        case (Converted(f, a), Converted(g, b)) if f == g:
            body = _moved_on(a, b, name)
            return None if body is None else Converted(f, body)
        case (Summed(f, over, a), Summed(g, beyond, b)) if (f, over, x.type) == (g, beyond, y.type):
            body = _moved_on(a, b, name)
            return None if body is None else replace(x, body=body)
        case (Accumulated(f, a, terms), Accumulated(g, b, more)) if f == g:
            parts = _all((a, *terms), (b, *more), name)
            return None if parts is None else _accumulated(x, parts)
        case (Choice(i, j), Choice(k, m)) if i == k and j == m:
            sides = _all((x.then, x.otherwise), (y.then, y.otherwise), name)
            return None if sides is None else Choice(i, j, *sides)
        case (Picked(), Picked()):
            test = _leaf(x.test, y.test, name)
            sides = _all((x.then, x.otherwise), (y.then, y.otherwise), name)
            return None if test is None or sides is None else Picked(test, *sides)
        case _:
            return x if alike(x, y) else None


def _accumulated(x: Accumulated, parts: tuple[Node, ...]) -> Node | None:
    terms = tuple(part for part in parts[1:] if isinstance(part, Summed))
    return replace(x, start=parts[0], terms=terms) if len(terms) == len(x.terms) else None


def _all(xs: Sequence[Node], ys: Sequence[Node], name: str) -> tuple[Node, ...] | None:
    if len(xs) != len(ys):
        return None
    parts = [_moved_on(x, y, name) for x, y in zip(xs, ys, strict=True)]
    found = tuple(part for part in parts if part is not None)
    return found if len(found) == len(parts) else None


def _leaf(x: Leaf, y: Leaf, name: str) -> Leaf | None:
    """Return elements of one operand and, a variable on, those at one distance from them."""
    if x.operand != y.operand or x.bound != y.bound:
        return None
    if any(i - i.offset != j - j.offset for i, j in zip(x.base, y.base, strict=True)):
        return None
    ours, theirs = x.table[:, x.select], y.table[:, y.select]
    if ours.shape != theirs.shape:
        return None
    offsets = [j.offset - i.offset for i, j in zip(x.base, y.base, strict=True)]
    apart = (theirs - ours + np.array(offsets, dtype=np.int64)).reshape(-1, len(offsets))
    if not apart.size or (apart != apart[0]).any():
        return None
    if not apart[0].any():
        return x
    table = np.stack((x.table, x.table + apart[0]), axis=2)
    return replace(x, table=table, bound=(name, *x.bound))
