"""Floor 8: a loop followed once for all its trips: what it adds up, and what it writes anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.contents import Content, carried, combined, undecided, whole
from pycute_xe.holding.nodes import (
    Accumulated,
    Call,
    Carried,
    Choice,
    Node,
    Summed,
    Undefined,
    contains,
    mapped,
    substituted,
    taken,
)
from pycute_xe.kernel import If, Index, Kernel, Loop, walk
from pycute_xe.kernel.ir.paths import at_least

__all__ = ["follow_loop"]

Ints: TypeAlias = NDArray[np.int64]
State: TypeAlias = "dict[str, Content]"


def follow_loop(
    kernel: Kernel,
    loop: Loop,
    written: tuple[str, ...],
    before: State,
    trial: Callable[[State, bool], State],
    fresh: Callable[[str], str],
) -> State:
    """Return what fragments hold behind a loop.

    The body is followed once with what it writes marked as carried over; a fragment that comes out
    as what it held plus a term is a sum over the trips, one that comes out without anything carried
    is written anew. With these forms the body is followed once more, as it is at trip ``var``.
    """
    entry = before | {name: _carried_over(loop, name, before[name]) for name in written}
    out = trial(entry, False)
    at_trip = _entries(loop, written, before, out, fresh)
    after = trial(before | at_trip, True)
    surely = at_least(loop.stop - loop.start, kernel) >= 1
    result = dict(before)
    for name in written:
        begun = at_trip[name]
        if _adds(out[name], name):
            result[name] = begun.each(lambda n: substituted(n, {loop.var: loop.stop}))
            continue
        ended = after[name].each(lambda n: substituted(n, {loop.var: loop.stop - 1}))
        if surely:
            result[name] = ended
        else:
            result[name] = combined(
                ended.count,
                (ended, before[name]),
                lambda nodes: Choice(loop.start, loop.stop, nodes[0], nodes[1]),
            )
    return result


def _carried_over(loop: Loop, name: str, before: Content) -> Content:
    """Return what stands for a fragment when a trip begins.

    Elements never written before the loop stay so, where no condition keeps the first trip from
    reading what it reads: then that trip faults, whatever later ones carry over.
    """
    out = carried(before.count, name)
    conditions = (s for s in walk(loop.body) if isinstance(s, If))
    touched = [inner.touched for s in conditions for inner in walk(s.body)]
    if any(t.reads or t.updates for t in touched):
        return out
    for part in before.parts:
        if isinstance(part.node, Undefined):
            out = out.over(part.elements, whole(len(part.elements), Undefined()))
    return out


def _entries(
    loop: Loop, written: tuple[str, ...], before: State, out: State, fresh: Callable[[str], str]
) -> State:
    """Return what each written fragment holds at the start of trip ``var``."""
    entries: State = {}
    waiting: list[str] = []
    for name in written:
        if _adds(out[name], name):
            entries[name] = _summed(loop, name, before[name], out[name], fresh)
        elif _touches_nothing_carried(out[name]):
            entries[name] = _renewed(loop, before[name], out[name])
        else:
            waiting.append(name)
    while waiting:
        ready = [n for n in waiting if _carried_in(out[n]) <= entries.keys()]
        if not ready:
            raise undecided(
                f"{waiting[0]} after a trip of the loop over {loop.var} depends on what it was in "
                "a way that is neither a sum nor a maximum",
                "claim what it holds",
            )
        for name in ready:
            resolved = out[name].each(lambda n: _resolved(n, entries))
            entries[name] = _renewed(loop, before[name], resolved)
            waiting.remove(name)
    return entries


def _carried_in(content: Content) -> set[str]:
    names: set[str] = set()

    def leaf(x: Node) -> Node:
        if isinstance(x, Carried):
            names.add(x.fragment)
        return x

    for part in content.parts:
        mapped(part.node, leaf)
    return names


def _touches_nothing_carried(content: Content) -> bool:
    return not any(contains(part.node, Carried) for part in content.parts)


def _resolved(node: Node, entries: State) -> Node:
    def leaf(x: Node) -> Node:
        if not isinstance(x, Carried):
            return x
        held = entries[x.fragment].single
        if held is None:
            raise undecided(f"several statements fill {x.fragment} before a loop reads it")
        return taken(held, x.which)

    return mapped(node, leaf)


def _renewed(loop: Loop, before: Content, out: Content) -> Content:
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


def _is_own(node: Node, name: str, elements: Ints) -> bool:
    """Whether a node is what the fragment held, each element its own."""
    if not isinstance(node, Carried) or node.fragment != name:
        return False
    return np.array_equal(node.which, elements)


def _adds(content: Content, name: str) -> bool:
    """Whether every element comes out as what it was, plus (or at most) something new."""
    for part in content.parts:
        start, terms = _taken_apart(part.node, name)
        if start is None or not _is_own(start, name, part.elements):
            return False
        if any(contains(term, Carried) for term in terms):
            return False
    return True


def _taken_apart(node: Node, name: str) -> tuple[Node | None, tuple[Node, ...]]:
    """Split a node into what was carried and what is added to it; None where it is neither."""
    match node:
        case Carried():
            return node, ()
        case Accumulated(_, start, terms):
            inner, more = _taken_apart(start, name)
            return inner, (*more, *terms)
        case Call("add" | "max" | "min", (left, right)):
            for first, second in ((left, right), (right, left)):
                inner, more = _taken_apart(first, name)
                if inner is not None and not contains(second, Carried):
                    if more and isinstance(first, Call) and first.function != node.function:
                        return None, ()
                    return inner, (*more, second)
            return None, ()
        case _:
            return None, ()


def _summed(
    loop: Loop, name: str, before: Content, out: Content, fresh: Callable[[str], str]
) -> Content:
    """What an accumulator holds when trip ``var`` begins: what it was, and all earlier terms."""
    variable = fresh(loop.var)

    def over_trips(term: Node, how: str) -> Summed:
        moved_ = substituted(term, {loop.var: Index(variable)})
        span = (variable, loop.start, Index(loop.var))
        if isinstance(moved_, Summed) and moved_.how == how:
            return replace(moved_, over=(span, *moved_.over))
        return Summed(how, (span,), moved_)

    def make(nodes: tuple[Node, ...]) -> Node:
        start, node = nodes
        _, terms = _taken_apart(node, name)
        if not terms:
            return start
        if isinstance(node, Accumulated):
            return Accumulated(node.numeric, start, tuple(over_trips(t, "sum") for t in terms))
        function = node.function if isinstance(node, Call) else "add"
        how = {"add": "sum", "max": "max", "min": "min"}[function]
        for term in terms:
            start = Call(function, (start, over_trips(term, how)))
        return start

    return combined(out.count, (before, out), make)
