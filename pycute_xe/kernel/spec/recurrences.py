"""What is defined step by step: a state that follows from the one before.

A specification may define a name that is not an operand, in two lines: what it is at first, and
what it is one step on. Claims, and what loops hold, speak of it as of an operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    Total,
    Where,
)
from pycute_xe.signatures import checked_fields

__all__ = ["Recurrence", "at_places", "unfolded"]


@checked_fields
@dataclass(frozen=True, slots=True)
class Recurrence:
    """``name[0, …] = start`` and ``name[t+1, …] = step``, of ``name[t, …]`` among others.

    The first of ``indices`` counts the steps; ``extents`` are how many there are, and how far the
    others run. The name has one element more along the first than there are steps.
    """

    name: str
    indices: tuple[str, ...]
    extents: tuple[Index, ...]
    start: Expression
    step: Expression

    @property
    def operand(self) -> Operand:
        """The operand that it would be if it lay in memory."""
        steps, *others = self.extents
        return Operand(self.name, "f32", (steps + 1, *others))

    def __str__(self) -> str:
        """The two lines."""
        time, *others = self.indices
        first, later = (",".join((i, *others)) for i in ("0", f"{time}+1"))
        return f"{self.name}[{first}] = {self.start}\n{self.name}[{later}] = {self.step}"


def at_places(value: Expression, names: Mapping[str, Index], inner: str = "") -> Expression:
    """Return an expression with other indices for names; ``inner`` marks what sums in it bind.

    >>> print(at_places(Element("A", (Index("m"),)), {"m": Index("m") + 1}))
    A[m+1]
    """
    match value:
        case Const() | Slot():
            return value
        case Element(operand, at):
            return Element(operand, tuple(i.substitute(names) for i in at))
        case Apply(function, arguments):
            return Apply(function, tuple(at_places(a, names, inner) for a in arguments))
        case Rounded(to, body):
            return Rounded(to, at_places(body, names, inner))
        case Where(index, below, then, otherwise):
            test = index.substitute(names), below.substitute(names)
            return Where(*test, *(at_places(x, names, inner) for x in (then, otherwise)))
        case Total(_, over, body):
            own = {name: Index(f"{name}{inner}") for name, _ in over}
            spans = tuple((f"{n}{inner}", extent.substitute(names)) for n, extent in over)
            return replace(value, over=spans, body=at_places(body, {**names, **own}, inner))


def unfolded(
    value: Expression, defines: Iterable[Recurrence], counters: frozenset[str]
) -> Expression:
    """Return an expression in which states are replaced by what they follow from, where it shows.

    The state at 0 is the first one; that at ``t + 1`` follows from the one at ``t``, for ``t``
    among the ``counters``, which are never negative.
    """
    known = {one.name: one for one in defines}
    return _unfolded(value, known, counters, 0) if known else value


def _unfolded(
    value: Expression, known: Mapping[str, Recurrence], counters: frozenset[str], depth: int
) -> Expression:
    def inside(part: Expression) -> Expression:
        return _unfolded(part, known, counters, depth)

    match value:
        case Element(name, at) if name in known:
            return _state(value, known[name], at, known, counters, depth)
        case Const() | Slot() | Element():
            return value
        case Apply(function, arguments):
            return Apply(function, tuple(map(inside, arguments)))
        case Where(then=then, otherwise=otherwise):
            return replace(value, then=inside(then), otherwise=inside(otherwise))
        case Total(body=body) | Rounded(body=body):
            return replace(value, body=inside(body))


def _state(
    value: Element,
    one: Recurrence,
    at: tuple[Index, ...],
    known: Mapping[str, Recurrence],
    counters: frozenset[str],
    depth: int,
) -> Expression:
    """Return a state by the one before, under names of their own for what sums bind."""
    time = at[0]
    steps = time.offset >= 1 and (time - time.offset).names <= counters
    plain = all(isinstance(atom, str) and scale > 0 for atom, scale in time.terms)
    places = dict(zip(one.indices, (time - 1, *at[1:]), strict=True))
    mark = f"_{one.name}{depth}"
    if time == Index():
        return at_places(one.start, places, mark)
    if not (steps and plain):
        return value
    return _unfolded(at_places(one.step, places, mark), known, counters, depth + 1)
