"""Floor 8: whether two nodes are written alike: the same elements, taken the same way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.nodes import (
    Accumulated,
    Call,
    Carried,
    Choice,
    Converted,
    Leaf,
    Node,
    Number,
    Picked,
    Scalar,
    State,
    Summed,
    Undefined,
)
from pycute_xe.holding.patience import charge
from pycute_xe.kernel import Index

__all__ = ["alike"]

COMPARED = 0.02
"""Units for a number of a table that is compared."""


def alike(one: Node, other: Node) -> bool:
    """Whether two nodes hold the same at every position, as far as their forms tell.

    >>> from pycute_xe.holding.nodes import Number
    >>> alike(Number(1.0), Number(1.0)), alike(Number(1.0), Number(2.0))
    (True, False)
    """
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
    if one.operand != other.operand or one.bound != other.bound:
        return False
    if any(i - i.offset != j - j.offset for i, j in zip(one.base, other.base, strict=True)):
        return False
    if one.select.shape != other.select.shape:
        return False
    width = other.table.shape[1]
    mine, yours = np.divmod(np.unique(one.select * width + other.select), width)
    charge(COMPARED * (one.select.size + mine.size * one.table[:, 0].size))
    ours, theirs = one.table[:, mine], other.table[:, yours]
    apart = _offsets(other.base) - _offsets(one.base)
    return ours.shape == theirs.shape and np.array_equal(ours, theirs + apart)


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
