"""What fragments hold when a trip of a loop begins: sums, maxima, what is written anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import TypeAlias

import numpy as np

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.adding import (
    NOTHING,
    Apart,
    carried_by,
    guarded,
    lowest_bits,
    taken_apart,
)
from pycute_xe.holding.contents import combined
from pycute_xe.holding.elements import Content, relocated, substituted, taken
from pycute_xe.holding.likeness import Turns, alike, period_of, pruned, sums_within
from pycute_xe.holding.nodes import (
    Accumulated,
    Call,
    Carried,
    Choice,
    Converted,
    Leaf,
    Lost,
    NoClosedFormError,
    Node,
    Number,
    Picked,
    Scalar,
    Summed,
    Undefined,
    contains,
    loops_in_the_way,
    mapped,
    undecided,
)
from pycute_xe.kernel import Index, Loop
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.spec.functions import EXPONENTIALS, MASKING, REDUCTION_OF, reduction
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Entering", "adds", "carried_in", "renewed", "unrolled", "scaled_apart"]

# ------------------------------------------------------------ scaling
# Sums of which a loop rescales what it has so far, as an online softmax does.
#
# A trip takes ``x`` to ``x·f(m - m') + a``, where ``m`` is what another fragment holds before it,
# ``m'`` what it holds after it, and ``f`` an exponential. With ``f(x + y) = f(x)·f(y)`` the factors
# of all later trips come to one: when trip ``k`` begins, ``x`` is ``x₀·f(m₀ - mₖ)`` plus the sum of
# ``aₜ·f(mₜ₊₁ - mₖ)`` over the trips ``t`` before. All ``m`` must be finite.


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
    for carried, rest in pairs:
        match rest:
            case Call("mul", (Number(-1.0), after) | (after, Number(-1.0))):
                pass
            case _:
                continue
        if not isinstance(carried, Carried) or carried.subgroup is not None or carried.bound:
            continue
        if carried.loop != loop:
            continue
        ratio = Ratio(function, carried.fragment, carried.which)
        if known is not None:
            return ratio if ratio.is_like(known) else None
        then = out.get(carried.fragment)
        if then is not None and alike(after, taken(then, carried.which)):
            return ratio
    return None


def _chosen(
    choice: Choice, name: str, loop: str, out: Mapping[str, Node], known: Ratio | None
) -> Scaled | None:
    """What is done where a condition holds; elsewhere a ratio is 1 where nothing changes."""
    sides: list[Scaled] = []
    outs = (_side(choice, out, True), _side(choice, out, False))
    for node, there in zip((choice.then, choice.otherwise), outs, strict=True):
        scaled = scaled_apart(node, name, loop, there, known)
        if scaled is None:
            return None
        sides.append(scaled)
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

    pair = then.terms, otherwise.terms
    terms = guarded(choice, pair, Number(0.0), lambda term: term.how == "sum")
    return Scaled(then.start, by, terms)


def _side(choice: Choice, out: Mapping[str, Node], holds: bool) -> dict[str, Node]:
    """Return what fragments hold where a condition holds, or where it does not."""
    nodes: dict[str, Node] = {}
    for name, node in out.items():
        if not isinstance(node, Choice):
            nodes[name] = node
        elif node.index == choice.index and node.below == choice.below:
            nodes[name] = node.then if holds else node.otherwise
    return nodes


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


# ------------------------------------------------------------ entering

State: TypeAlias = "dict[str, Content]"


class Entering:
    """What the fragments that a loop writes hold when its trip ``var`` begins.

    ``before`` is what they held before the loop, ``out`` what a trip makes of what is carried over,
    ``ratios`` what rescales which fragment, ``known`` what is known to be held.
    """

    def __init__(
        self,
        loop: Loop,
        before: State,
        out: State,
        fresh: Callable[[str], str],
        ratios: dict[str, Ratio] | None = None,
        known: State | None = None,
    ) -> None:
        self.loop, self.before, self.out = loop, before, out
        self.fresh, self.ratios = fresh, ratios or {}
        self.entries: State = dict(known or {})
        self.shared = ""

    def rescaled(self, written: tuple[str, ...]) -> dict[str, Ratio]:
        """Return what rescales which fragment, where it is known what that depends on."""
        ratios = _rescaled_by(written, self.out, self.loop.var)
        for ratio in ratios.values():
            name = ratio.fragment
            if name in self.entries or not carried_in(self.out[name], self.loop.var) <= {name}:
                continue
            with suppress(UndecidableError):
                self.entries[name] = self.one(name)
        return {name: ratio for name, ratio in ratios.items() if ratio.fragment in self.entries}

    def all(self, written: tuple[str, ...]) -> State:
        """Return what all those fragments hold."""
        waiting = [name for name in written if name not in self.entries]
        while waiting:
            known = self.entries.keys()
            ready = [n for n in waiting if carried_in(self.out[n], self.loop.var) - {n} <= known]
            for name in ready or waiting[:1]:
                try:
                    if not ready:
                        raise _entangled(self.loop, name)
                    self.entries[name] = self.one(name)
                except UndecidableError as error:
                    self.entries[name] = self.lost(name, error)
                waiting.remove(name)
        return self.entries

    def one(self, name: str) -> Content:
        """Return what a fragment holds. Raises `UndecidableError` where no form is known of it."""
        loop, before, out = self.loop, self.before[name], self.out[name]
        if name in self.ratios:
            return self.sum_of(name)
        content = out.each(self.resolved)
        if adds(content, name, loop.var):
            return _summed(loop, name, before, content, self.fresh)
        if name not in carried_in(content, loop.var):
            return renewed(loop, before, content)
        return unrolled(loop, name, before, content)

    def lost(self, name: str, error: UndecidableError) -> Content:
        """Return what stands for contents of which no form is known."""
        before = self.before[name]
        nodes = [part.node for part in (*before.parts, *self.out[name].parts)]
        written = not any(contains(node, Undefined, Lost) for node in nodes)
        return before.each(lambda _: Lost(name, error.condition, written, loops_in_the_way(error)))

    def resolved(self, node: Node) -> Node:
        """Put what a trip begins with for what is carried, as far as it is known."""
        return _resolved(node, self.entries, self.loop.var)

    def variable(self, name: str) -> str:
        """Return a name for the earlier trips, which sums that are not inside one another share.

        What is put into such a sum is known here, where no other loop's start stands in it.
        """
        needs = carried_in(self.out[name], self.loop.var) - {name} | {self.ratios[name].fragment}
        inside = [self.entries[one] for one in needs if one in self.entries]
        nodes = [part.node for content in inside for part in content.parts]
        enclosing = (self.out[name], self.before[name], *inside)
        if any(loops_carried_in(content) - {self.loop.var} for content in enclosing):
            return self.fresh(self.loop.var)
        self.shared = self.shared or self.fresh(self.loop.var)
        within = any(self.shared in sums_within(node) for node in nodes)
        return self.fresh(self.loop.var) if within else self.shared

    def sum_of(self, name: str) -> Content:
        """Return a sum that every trip rescales."""
        variable = self.variable(name)

        def make(nodes: tuple[Node, ...]) -> Node:
            apart = scaled_apart(nodes[1], name, self.loop.var, {}, self.ratios[name])
            made = apart and scaled_sum(
                self.loop, nodes[0], apart, self.entries, self.resolved, variable
            )
            if made is None:
                raise NoClosedFormError(
                    (self.loop.var,),
                    f"{name} is rescaled in the loop over {self.loop.var} by what may be infinite",
                    "start a running maximum with a finite number",
                )
            return made

        return combined(self.out[name].count, (self.before[name], self.out[name]), make)


def _rescaled_by(written: tuple[str, ...], out: State, loop: str) -> dict[str, Ratio]:
    """Return the fragments that come out as what they were, rescaled, plus something new."""
    nodes = {name: node for name in out if (node := out[name].single) is not None}
    ratios: dict[str, Ratio] = {}
    for name in written:
        apart = scaled_apart(nodes[name], name, loop, nodes) if name in nodes else None
        if apart is None or apart.by is None or not is_own(apart.start, name, loop):
            continue
        if not any(name in carried_by(term, loop) for term in apart.terms):
            ratios[name] = apart.by
    return ratios


def _entangled(loop: Loop, name: str) -> UndecidableError:
    return NoClosedFormError(
        (loop.var,),
        f"{name} after a trip of the loop over {loop.var} depends on what it was in "
        "a way that is neither a sum nor a maximum",
        "claim what it holds",
    )


def unrolled(loop: Loop, name: str, before: Content, out: Content) -> Content:
    """What is left of a shared array whose parts are written in turns, a few trips back.

    What is held when a trip begins is told by what was held some trips before; put into itself, it
    tells of twice as many.
    """
    own = [p.elements for p in out.parts if is_own(p.node, name, loop.var, p.elements)]
    kept = np.concatenate(own) if own else np.arange(0)
    turns = Turns.every(loop, period_of(out, loop.var))
    entry, trips = renewed(loop, before, out), 1
    while True:
        entry = entry.each(lambda n: pruned(n, turns)).over(kept, before.at(kept))
        if name not in carried_in(entry, loop.var):
            return entry
        if trips > turns.span:
            raise _entangled(loop, name)
        there = {loop.var: Index(loop.var) - trips}
        earlier = {name: entry.each(partial(substituted, values=there))}
        entry, trips = entry.each(partial(_put_in, loop.var, earlier, turns)), 2 * trips


def _put_in(var: str, earlier: State, turns: Turns, node: Node) -> Node:
    """Put what was held before for what is carried, each time what is left of it in those turns."""

    def put(x: Node, those: Turns) -> Node:
        return _resolved(x, earlier, var, lambda content: pruned(content, those))

    return pruned(node, turns, put)


def carried_in(content: Content, loop: str) -> set[str]:
    """Return the fragments of which a content holds something from before a trip of a loop."""
    return set[str]().union(*(carried_by(part.node, loop) for part in content.parts))


def loops_carried_in(content: Content) -> set[str]:
    """Return the loops of which a content holds something from before a trip."""
    loops: set[str] = set()

    def leaf(x: Node) -> Node:
        if isinstance(x, Carried):
            loops.add(x.loop)
        return x

    for part in content.parts:
        mapped(part.node, leaf)
    return loops


def _resolved(
    node: Node, entries: State, loop: str, made: Callable[[Node], Node] = lambda content: content
) -> Node:
    """Put what a trip begins with for what is carried, as far as it is known, and ``made`` fit."""

    def leaf(x: Node) -> Node:
        if not isinstance(x, Carried) or x.loop != loop or x.fragment not in entries:
            return x
        content = entries[x.fragment].at(x.which.reshape(-1)).single
        if content is None:
            raise undecided(f"several statements fill {x.fragment} before a loop reads it")
        places = np.arange(x.which.size).reshape(x.which.shape)
        return relocated(made(content), places, x.subgroup, x.bound)

    return mapped(node, leaf)


def renewed(loop: Loop, before: Content, out: Content) -> Content:
    """What a fragment that every trip writes anew holds when a trip begins."""
    earlier = out.each(lambda n: substituted(n, {loop.var: Index(loop.var) - 1}))
    return combined(
        out.count,
        (before, earlier),
        lambda nodes: _at_first(loop, nodes[0], nodes[1]),
    )


def _at_first(loop: Loop, before: Node, earlier: Node) -> Node:
    if isinstance(before, Undefined) and isinstance(earlier, Undefined):
        return before
    return Choice(Index(loop.var), loop.start + 1, before, earlier)


def adds(content: Content, name: str, loop: str) -> bool:
    """Whether every element comes out as what it was, plus (or at most) something new."""
    for part in content.parts:
        apart = taken_apart(part.node, name, loop)
        if apart is None or not is_own(apart.start, name, loop, part.elements):
            return False
        if any(name in carried_by(term, loop) for term in apart.terms):
            return False
    return True


def _summed(
    loop: Loop, name: str, before: Content, out: Content, fresh: Callable[[str], str]
) -> Content:
    """What an accumulator holds when trip ``var`` begins: what it was, and all earlier terms."""
    variable = fresh(loop.var)

    def over_trips(term: Node, how: str, kind: Numeric | None) -> Summed:
        moved_ = substituted(term, {loop.var: Index(variable)})
        span = (variable, loop.start, Index(loop.var))
        if isinstance(moved_, Summed) and moved_.how == how:
            return replace(moved_, over=(span, *moved_.over), type=moved_.type or kind)
        return Summed(how, (span,), moved_, kind)

    def make(nodes: tuple[Node, ...]) -> Node:
        start, node = nodes
        apart = taken_apart(node, name, loop.var)
        if apart is None:
            raise _entangled(loop, name)
        if not apart.terms:
            return start
        if apart.numeric is not None:
            added = tuple(over_trips(t, "sum", None) for t in apart.terms)
            return Accumulated(apart.numeric, start, added, apart.step)
        for term in apart.terms:
            start = _with_all(loop, apart, start, term, over_trips)
        return start if apart.wraps is None else lowest_bits(start, apart.wraps)

    return combined(out.count, (before, out), make)


def _with_all(
    loop: Loop,
    apart: Apart,
    start: Node,
    term: Node,
    over_trips: Callable[[Node, str, Numeric | None], Summed],
) -> Node:
    """Take in the terms of all trips, under a condition that all share where there is one."""
    function = apart.function
    how = REDUCTION_OF[function]
    if how != "sum" and isinstance(term, Choice):
        shared = loop.var not in term.index.names | term.below.names
        sides = (term.then, term.otherwise)
        none = [isinstance(side, Number) and side.value == NOTHING[function] for side in sides]
        if shared and any(none):
            then, otherwise = (
                start if nothing else _with_all(loop, apart, start, side, over_trips)
                for nothing, side in zip(none, sides, strict=True)
            )
            return Choice(term.index, term.below, then, otherwise)
    return Call(function, (start, over_trips(term, how, apart.type)), apart.type)
