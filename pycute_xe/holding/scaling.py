"""Floor 8: sums of which a loop rescales what it has so far, as an online softmax does.

A trip takes ``x`` to ``x·f(m - m') + a``, where ``m`` is what another fragment holds before it,
``m'`` what it holds after it, and ``f`` an exponential. With ``f(x + y) = f(x)·f(y)`` the factors
of all later trips come to one: when trip ``k`` begins, ``x`` is ``x₀·f(m₀ - mₖ)`` plus the sum of
``aₜ·f(mₜ₊₁ - mₖ)`` over the trips ``t`` before. All ``m`` must be finite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.adding import carried_by
from pycute_xe.holding.contents import Content
from pycute_xe.holding.likeness import alike
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
    Summed,
)
from pycute_xe.holding.placing import substituted, taken
from pycute_xe.kernel import Index, Loop
from pycute_xe.kernel.spec.functions import EXPONENTIALS, MASKING
from pycute_xe.kernel.spec.reductions import reduction
from pycute_xe.numeric import as_numeric

__all__ = ["Scaled", "is_own", "scaled_apart", "scaled_sum"]

Ints: TypeAlias = NDArray[np.int64]

REAL = as_numeric("f32")
"""What a rescaled sum is computed in: a law of real numbers puts it together."""


@dataclass(frozen=True, eq=False)
class Ratio:
    """``f(m - m')`` of what a fragment holds before and after a trip, at some of its elements."""

    function: str
    fragment: str
    which: Ints

    def is_like(self, other: Ratio) -> bool:
        """Whether it is the same number at every position."""
        same = self.function == other.function and self.fragment == other.fragment
        return same and np.array_equal(self.which, other.which)


@dataclass(frozen=True, eq=False)
class Scaled:
    """What was carried, what it is multiplied by if anything, and the terms that come to it."""

    start: Carried
    by: Ratio | None = None
    terms: tuple[Node, ...] = ()


def is_own(node: Node | None, name: str, loop: str, elements: Ints | None = None) -> bool:
    """Whether a node is what the fragment held when a trip began, each element its own."""
    if not isinstance(node, Carried) or not node.begins(name, loop) or node.subgroup is not None:
        return False
    own = np.arange(node.which.size) if elements is None else elements
    return not node.bound and np.array_equal(node.which, own)


def scaled_apart(
    node: Node, name: str, loop: str, out: Mapping[str, Node], known: Ratio | None = None
) -> Scaled | None:
    """Split a node into what was carried, times a ratio, and terms; None where it is not that.

    ``out`` is what fragments hold after the trip; a ratio that is ``known`` is not held against it.
    """
    match node:
        case Carried() if node.begins(name, loop):
            return Scaled(node)
        case Accumulated(numeric, start, terms) if numeric.bits >= 32:
            return _with(scaled_apart(start, name, loop, out, known), terms)
        case Call("add", (left, right)):
            for first, second in ((left, right), (right, left)):
                inner = scaled_apart(first, name, loop, out, known)
                if inner is not None and name not in carried_by(second, loop):
                    return _with(inner, (second,))
            return None
        case Call("mul", (left, right)):
            for first, second in ((left, right), (right, left)):
                inner, by = (
                    scaled_apart(first, name, loop, out, known),
                    _ratio(second, loop, out, known),
                )
                if inner is not None and inner.by is None and by is not None:
                    return Scaled(inner.start, by, tuple(_times(t, second) for t in inner.terms))
            return None
        case Choice():
            return _chosen(node, name, loop, out, known)
        case _:
            return None


def _with(scaled: Scaled | None, terms: tuple[Node, ...]) -> Scaled | None:
    return scaled and replace(scaled, terms=(*scaled.terms, *terms))


def _times(term: Node, factor: Node) -> Node:
    if isinstance(term, Summed) and term.how == "sum":
        return replace(term, body=Call("mul", (term.body, factor), REAL), type=REAL)
    return Call("mul", (term, factor), REAL)


def _ratio(node: Node, loop: str, out: Mapping[str, Node], known: Ratio | None) -> Ratio | None:
    match node:
        case Call(function, (Call("add", (left, right)),)) if function in EXPONENTIALS:
            pairs = ((left, right), (right, left))
        case _:
            return None
    for held, rest in pairs:
        match rest:
            case Call("mul", (Number(-1.0), after) | (after, Number(-1.0))):
                pass
            case _:
                continue
        if not isinstance(held, Carried) or held.subgroup is not None or held.bound:
            continue
        if held.loop != loop:
            continue
        found = Ratio(function, held.fragment, held.which)
        if known is not None:
            return found if found.is_like(known) else None
        then = out.get(held.fragment)
        if then is not None and alike(after, taken(then, held.which)):
            return found
    return None


def _chosen(
    choice: Choice, name: str, loop: str, out: Mapping[str, Node], known: Ratio | None
) -> Scaled | None:
    """What is done where a condition holds; elsewhere a ratio is 1 where nothing changes."""
    sides: list[Scaled] = []
    outs = (_side(choice, out, True), _side(choice, out, False))
    for node, there in zip((choice.then, choice.otherwise), outs, strict=True):
        found = scaled_apart(node, name, loop, there, known)
        if found is None:
            return None
        sides.append(found)
    then, otherwise = sides
    if not np.array_equal(then.start.which, otherwise.start.which):
        return None
    by = then.by or otherwise.by
    if by is None:
        return None
    for side, there in zip(sides, outs, strict=True):
        still = known is not None or is_own(there.get(by.fragment), by.fragment, loop)
        if side.by is None and not still:
            return None
        if side.by is not None and not side.by.is_like(by):
            return None

    def where(term: Node, holds: bool) -> Node:
        if isinstance(term, Summed) and term.how == "sum":
            return replace(term, body=where(term.body, holds))
        pair = (term, Number(0.0)) if holds else (Number(0.0), term)
        return Choice(choice.index, choice.below, *pair)

    terms = (*(where(t, True) for t in then.terms), *(where(t, False) for t in otherwise.terms))
    return Scaled(then.start, by, terms)


def _side(choice: Choice, out: Mapping[str, Node], holds: bool) -> dict[str, Node]:
    """Return what fragments hold where a condition holds, or where it does not."""
    found: dict[str, Node] = {}
    for name, node in out.items():
        if not isinstance(node, Choice):
            found[name] = node
        elif node.index == choice.index and node.below == choice.below:
            found[name] = node.then if holds else node.otherwise
    return found


def scaled_sum(
    loop: Loop,
    start: Node,
    apart: Scaled,
    entries: Mapping[str, Content],
    resolved: Callable[[Node], Node],
    variable: str,
) -> Node | None:
    """Return what is held when a trip begins; None where the exponents may be infinite.

    ``entries`` is what fragments hold then, ``resolved`` puts it for what is carried.
    """
    if apart.by is None:
        return None
    function, now = apart.by.function, entries[apart.by.fragment].at(apart.by.which).single
    if now is None or not _is_finite(now):
        return None

    def since(trip: Index) -> Node:
        then = substituted(now, {loop.var: trip})
        less = Call("mul", (Number(-1.0), now), REAL)
        return Call(function, (Call("add", (then, less), REAL),), REAL)

    after = since(Index(variable) + 1)
    out: Node = Call("mul", (start, since(loop.start)), REAL)
    if isinstance(start, Number) and start.value == 0:
        out = start
    for term in apart.terms:
        there = _times(substituted(resolved(term), {loop.var: Index(variable)}), after)
        span = (variable, loop.start, Index(loop.var))
        if isinstance(there, Summed):
            total = replace(there, over=(span, *there.over), type=REAL)
        else:
            total = Summed("sum", (span,), there, REAL)
        out = Call("add", (out, total), REAL)
    return out


def _is_finite(node: Node) -> bool:
    """Whether a node is finite where the elements of operands and all that is computed are.

    A maximum is if one of its arguments is, for the others are minus infinity at worst.
    """
    match node:
        case Number(value):
            return isfinite(value)
        case Scalar() | Leaf():
            return True
        case Call("max", arguments):
            return any(map(_is_finite, arguments)) and all(map(_is_below, arguments))
        case Call(function, _) if function in MASKING:
            return False
        case Call(_, arguments):
            return all(map(_is_finite, arguments))
        case Converted(_, body):
            return _is_finite(body)
        case Summed("sum", _, body):
            return _is_finite(body)
        case Accumulated(_, start, terms):
            return _is_finite(start) and all(map(_is_finite, terms))
        case Choice(_, _, then, otherwise) | Picked(_, then, otherwise):
            return _is_finite(then) and _is_finite(otherwise)
        case _:
            return False


def _is_below(node: Node) -> bool:
    """Whether a node is finite or minus infinity."""
    match node:
        case Number(value):
            return value < float("inf")
        case Call("max", arguments):
            return all(map(_is_below, arguments))
        case Call(function, arguments) if function in MASKING:
            return all(map(_is_finite, arguments))
        case Summed(how, _, body) if reduction(how).law == "greatest":
            return _is_below(body)
        case Choice(_, _, then, otherwise) | Picked(_, then, otherwise):
            return _is_below(then) and _is_below(otherwise)
        case _:
            return _is_finite(node)
