"""Floor 7: what is looked for in expressions: their depth, and the indices they depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.spec.expression import Element, Expression, Total, Where, parts
from pycute_xe.signatures import MOST_LEVELS

__all__ = ["TOO_DEEP", "check_depth", "indices_of"]

TOO_DEEP = (
    f"the expression nests more than {MOST_LEVELS} levels deep",
    f"nest at most {MOST_LEVELS} levels, each term of a sum is one",
)
"""What is wrong with an expression that nests too deep, and the way out."""


def check_depth(operation: str, given: Mapping[str, object], value: Expression) -> None:
    """Raise `KernelError` for an expression that nests deeper than tuples may.

    >>> from pycute_xe.kernel.spec.expression import Slot, apply
    >>> check_depth("Map", {}, apply("relu", Slot("acc")))
    """
    level, inner = 0, {id(value): value}  # what occurs twice is looked into once
    while inner:
        level += 1
        if level > MOST_LEVELS:
            raise KernelError(operation, given, *TOO_DEEP)
        inner = {id(part): part for one in inner.values() for part in parts(one)}


def indices_of(value: Expression) -> Iterator[tuple[Index, frozenset[str]]]:
    """Yield the indices of an expression, each with the names that sums around it bind.

    >>> from pycute_xe.kernel.spec.expression import total
    >>> row = total("k", "K", Element("A", (Index("m"), Index("k"))))
    >>> [(str(index), sorted(bound)) for index, bound in indices_of(row)]
    [('K', []), ('m', ['k']), ('k', ['k'])]
    """
    yield from _indices(value, frozenset())


def _indices(value: Expression, bound: frozenset[str]) -> Iterator[tuple[Index, frozenset[str]]]:
    found: tuple[Index, ...] = ()
    inside = bound
    if isinstance(value, Element):
        found = value.at
    elif isinstance(value, Where):
        found = (value.index, value.below)
    elif isinstance(value, Total):
        found = tuple(extent for _, extent in value.over)
        inside = bound | {name for name, _ in value.over}
    yield from ((index, bound) for index in found)
    for part in parts(value):
        yield from _indices(part, inside)
