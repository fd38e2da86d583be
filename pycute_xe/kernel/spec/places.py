"""Where the elements lie that claims name: inside of their operands, whatever the sizes.

An element that a claim names must lie inside its operand for all sizes >= 1. An index is bounded
from below by a linear form: a quotient lies between two such forms. What is not shown that way is
tried at small sizes: a claim that names a place outside at all of them is refused. `verify` decides
the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, product
from typing import TypeAlias

from pycute_xe.kernel.index import Index, Quotient
from pycute_xe.kernel.spec.expression import Element, Expression, Total, Where, parts

__all__ = [
    "Guard",
    "Situated",
    "is_inside",
    "is_positive",
    "never_negative",
    "outside",
    "situated_elements",
]


Guard: TypeAlias = "tuple[Index, Index]"
"""``index < below``."""

MOST_PROBLEMS, MOST_POINTS = 256, 256
"""Sizes, and points of each, that are tried."""


@dataclass(frozen=True)
class Situated:
    """An element with the ranges of the variables around it, and the conditions it is under.

    ``ranges`` are the variables with their extents, outermost first; of ``guards`` each holds.
    """

    element: Element
    ranges: tuple[tuple[str, Index], ...]
    guards: tuple[Guard, ...] = ()

    def __str__(self) -> str:
        """The element."""
        return str(self.element)


def situated_elements(value: Expression, ranges: tuple[tuple[str, Index], ...]) -> list[Situated]:
    """Return the elements that an expression names, operands that are looked up among them.

    >>> m = Index("m")
    >>> value = Where(m + 1, Index("M"), Element("A", (m + 1,)), Element("A", (m,)))
    >>> [(str(one), len(one.guards)) for one in situated_elements(value, (("m", Index("M")),))]
    [('A[m+1]', 1), ('A[m]', 1)]
    """
    return list(_situated(value, Situated(Element(""), ranges)))


def _situated(value: Expression, around: Situated) -> Iterator[Situated]:
    indices: tuple[Index, ...] = ()
    match value:
        case Element(_, at):
            indices = at
            if at:
                yield replace(around, element=value)
        case Total(_, over, body):
            indices = tuple(extent for _, extent in over)
            yield from _situated(body, replace(around, ranges=(*around.ranges, *over)))
        case Where(index, below, then, otherwise):
            indices = (index, below)
            sides = ((then, (index, below)), (otherwise, (below, index + 1)))
            for side, guard in sides:
                yield from _situated(side, replace(around, guards=(*around.guards, guard)))
        case _:
            for part in parts(value):
                yield from _situated(part, around)
    for index in indices:
        for looked in index.looked_up:
            yield replace(around, element=Element(looked.operand, looked.at))


def is_inside(one: Situated, extents: tuple[Index, ...]) -> bool:
    """Whether bounds show that an element lies inside, whatever the sizes.

    >>> m, inside = Index("m"), (("m", Index("M")),)
    >>> is_inside(Situated(Element("A", (m // 8,)), inside), (Index("M", 7) // 8,))
    True
    >>> is_inside(Situated(Element("A", (m + 1,)), inside), (Index("M"),))
    False
    """
    return all(
        is_positive(index, one) and is_positive(extent - index - 1, one)
        for index, extent in zip(one.element.at, extents, strict=True)
    )


def is_positive(index: Index, one: Situated) -> bool:
    """Whether an index is 0 or more, alone or because a guard's difference is."""
    spare = [index, *(index - (below - guard - 1) for guard, below in one.guards)]
    return any(never_negative(i, one.ranges) for i in spare)


def never_negative(index: Index, ranges: tuple[tuple[str, Index], ...]) -> bool:
    """Whether bounds show that an index is 0 or more, where variables run from 0 to extents.

    >>> never_negative(Index("M") - 1 - Index("m"), (("m", Index("M")),))
    True
    """
    if index.looked_up:
        return False
    bound = frozenset(name for name, _ in ranges)
    form = _linear(index, Fraction(1), bound)
    for name, extent in reversed(ranges):
        scale = form.pop(name, Fraction(0))
        if scale < 0:
            if extent.looked_up:
                return False
            _add(form, _linear(extent - 1, scale, bound))
    while quotients := [atom for atom in form if isinstance(atom, Quotient)]:
        for atom in quotients:
            _add(form, _quotient(atom, form.pop(atom), frozenset()))
    offset = form.pop("", Fraction(0))
    # An integer above -1 is 0 or more.
    return all(scale >= 0 for scale in form.values()) and offset + sum(form.values()) > -1


Form: TypeAlias = "dict[str | Quotient, Fraction]"
"""Multiples of names and of quotients of sizes; the constant has no name."""


def _linear(index: Index, scale: Fraction, bound: frozenset[str]) -> Form:
    """Return a form that is at most ``scale * index``, quotients of variables resolved."""
    form: Form = {"": scale * index.offset}
    for atom, times in index.terms:
        own = scale * times
        if isinstance(atom, Quotient):
            inner = atom.index.names & bound
            _add(form, _quotient(atom, own, bound) if inner else {atom: own})
        elif isinstance(atom, str):
            _add(form, {atom: own})
    return form


def _quotient(atom: Quotient, scale: Fraction, bound: frozenset[str]) -> Form:
    """Return a form that is at most a multiple of a quotient, between two exact ones."""
    form = _linear(atom.index, scale / atom.divisor, bound)
    if scale > 0:
        _add(form, {"": -scale * (atom.divisor - 1) / atom.divisor})
    return form


def _add(form: Form, more: Form) -> None:
    for name, scale in more.items():
        form[name] = form.get(name, Fraction(0)) + scale


def outside(one: Situated, extents: tuple[Index, ...]) -> dict[str, int] | None:
    """Return sizes and variables at which an element lies outside, if it does at all small sizes.

    At sizes of 1 indices agree that differ elsewhere: those are left out where others are tried.
    What has a value at some sizes may be asked for those alone, and `verify` says where it has not.

    >>> m = Index("m")
    >>> outside(Situated(Element("A", (m + 1,)), (("m", Index("M")),)), (Index("M"),))
    {'M': 2, 'm': 1}
    """
    pairs = zip(one.element.at, extents, strict=True)
    points = (_outside_mode(one, index, extent) for index, extent in pairs)
    return next((point for point in points if point is not None), None)


def _outside_mode(one: Situated, index: Index, extent: Index) -> dict[str, int] | None:
    guards = [part for guard in one.guards for part in guard]
    needed = set[str]().union(*(part.names for part in (index, extent, *guards)))
    ranges: list[tuple[str, Index]] = []
    for name, count in reversed(one.ranges):
        if name in needed:
            ranges.insert(0, (name, count))
            needed |= count.names
    every = (index, extent, *guards, *(count for _, count in ranges))
    if any(part.looked_up for part in every):
        return None
    sizes = sorted(needed - {name for name, _ in ranges})
    steps = sorted({1, *(d for part in every for d in _steps(part))})
    some = sorted({n for step in steps for n in (step - 1, step, step + 1, 2 * step + 1) if n > 1})
    first: dict[str, int] | None = None
    for problem in islice(product(some, repeat=len(sizes)), MOST_PROBLEMS):
        env = dict(zip(sizes, problem, strict=True))
        points = islice(_points(tuple(ranges), env, steps), MOST_POINTS)
        wrong = (
            point
            for point in points
            if all(left.at(point) < right.at(point) for left, right in one.guards)
            and not 0 <= index.at(point) < extent.at(point)
        )
        witness = next(wrong, None)
        if witness is None:
            return None
        first = first or witness
    return first


def _steps(index: Index) -> Iterator[int]:
    """Yield the constants by which an index changes its way: divisors and offsets."""
    yield abs(index.offset)
    for atom, _ in index.terms:
        if isinstance(atom, Quotient):
            yield atom.divisor
            yield from _steps(atom.index)


def _points(
    ranges: tuple[tuple[str, Index], ...], env: dict[str, int], steps: list[int]
) -> Iterator[dict[str, int]]:
    """Yield points of nested ranges: the first and the last of each, and those around steps."""
    if not ranges:
        yield env
        return
    (name, extent), rest = ranges[0], ranges[1:]
    count = extent.at(env)
    near = {n + d for n in (0, *steps) for d in (-1, 0, 1)} | {count - 1, count - 2}
    for value in sorted(n for n in near if 0 <= n < count):
        yield from _points(rest, {**env, name: value}, steps)
