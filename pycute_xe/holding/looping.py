"""Floor 8: a loop followed once for all its trips: what it adds up, and what it writes anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.adding import NOTHING, carried_by, taken_apart
from pycute_xe.holding.claiming import claims_of
from pycute_xe.holding.contents import Content, carried, combined, undecided, whole
from pycute_xe.holding.nodes import (
    Accumulated,
    Call,
    Carried,
    Choice,
    Node,
    Number,
    Summed,
    Undefined,
    mapped,
)
from pycute_xe.holding.placing import relocated, substituted
from pycute_xe.holding.sharing import ever_stored
from pycute_xe.holding.turns import Turns, period_of, pruned
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
    promised: Callable[[str, str, Content, Content], None],
) -> State:
    """Return what fragments hold behind a loop.

    The body is followed once with what it writes marked as carried over; a fragment that comes out
    as what it held plus a term is a sum over the trips, one that comes out without anything carried
    is written anew. With these forms the body is followed once more, as it is at trip ``var``. What
    the loop claims is taken for what a trip begins with, and ``promised`` is told what must agree.
    """
    claims = claims_of(kernel, loop, {n: c for n, c in before.items() if n not in written})
    others = tuple(name for name in written if name not in claims)
    entry = before | {name: _carried_over(kernel, loop, name, before[name]) for name in others}
    out = trial(entry | claims, False)
    early = _arrays(kernel, loop, others, before, out)
    if early:  # with what arrays hold, what is read of them at this trip is told apart
        out = trial(entry | early | claims, False) | {name: out[name] for name in early}
    rest = tuple(name for name in others if name not in early)
    at_trip = early | _entries(loop, rest, before, out, fresh) | claims
    after = trial(before | at_trip, True)
    for name, claim in claims.items():
        promised(name, "start", before[name], _at(claim, loop, loop.start))
        promised(name, "step", after[name], _at(claim, loop, Index(loop.var) + 1))
    surely = at_least(loop.stop - loop.start, kernel) >= 1
    result = dict(before)
    result |= _claimed_behind(kernel, loop, before, claims)
    for name in others:
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


def _claimed_behind(kernel: Kernel, loop: Loop, before: State, claims: State) -> State:
    """Return what is claimed behind a loop: what would be if one more trip began."""
    ended = {name: _at(claim, loop, loop.stop) for name, claim in claims.items()}
    if at_least(loop.stop - loop.start, kernel) >= 0:
        return ended
    return {
        name: combined(
            content.count,
            (content, before[name]),
            lambda nodes: Choice(loop.start, loop.stop + 1, nodes[0], nodes[1]),
        )
        for name, content in ended.items()
    }


def _at(content: Content, loop: Loop, trip: Index) -> Content:
    return content.each(lambda n: substituted(n, {loop.var: trip}))


def _carried_over(kernel: Kernel, loop: Loop, name: str, before: Content) -> Content:
    """Return what stands for a fragment when a trip begins.

    Elements never written before the loop stay so, where no condition keeps the first trip from
    reading what it reads: then that trip faults, whatever later ones carry over. Parts of shared
    arrays may be used by turns; those that are never stored to stay as they are.
    """
    out = carried(before.count, name)
    if name in {array.name for array in kernel.shared}:
        never = np.setdiff1d(np.arange(before.count), ever_stored(kernel, loop, name))
        return out.over(never, before.at(never)) if never.size else out
    conditions = (s for s in walk(loop.body) if isinstance(s, If))
    touched = [inner.touched for s in conditions for inner in walk(s.body)]
    if any(t.reads or t.updates for t in touched):
        return out
    for part in before.parts:
        if isinstance(part.node, Undefined):
            out = out.over(part.elements, whole(len(part.elements), Undefined()))
    return out


def _arrays(
    kernel: Kernel, loop: Loop, others: tuple[str, ...], before: State, out: State
) -> State:
    """Return what shared arrays hold when trip ``var`` starts, of those that only loads fill."""
    shared = {array.name for array in kernel.shared}
    found: State = {}
    for name in others:
        carried_in = _carried_in(out[name]) if name in shared else {""}
        if name in carried_in and carried_in == {name}:
            found[name] = _unrolled(loop, name, before[name], out[name])
        elif not carried_in:
            found[name] = _renewed(loop, before[name], out[name])
    return found


def _entries(
    loop: Loop, written: tuple[str, ...], before: State, out: State, fresh: Callable[[str], str]
) -> State:
    """Return what each written fragment holds at the start of trip ``var``."""
    entries: State = {}
    waiting = list(written)
    while waiting:
        ready = [n for n in waiting if _carried_in(out[n]) - {n} <= entries.keys()]
        for name in ready:
            content = out[name].each(lambda n: _resolved(n, entries))
            if _adds(content, name):
                entries[name] = _summed(loop, name, before[name], content, fresh)
            elif name not in _carried_in(content):
                entries[name] = _renewed(loop, before[name], content)
            else:
                entries[name] = _unrolled(loop, name, before[name], content)
            waiting.remove(name)
        if waiting and not ready:
            raise _entangled(loop, waiting[0])
    return entries


def _entangled(loop: Loop, name: str) -> UndecidableError:
    return undecided(
        f"{name} after a trip of the loop over {loop.var} depends on what it was in "
        "a way that is neither a sum nor a maximum",
        "claim what it holds",
    )


def _unrolled(loop: Loop, name: str, before: Content, out: Content) -> Content:
    """What is left of a shared array whose parts are written in turns, a few trips back."""
    own = [p.elements for p in out.parts if _is_own(p.node, name, p.elements)]
    kept = np.concatenate(own) if own else np.arange(0)
    entry = carried(before.count, name).over(kept, before.at(kept))
    turns = Turns.every(loop, period_of(out, loop.var))
    for _ in range(turns.span + 1):
        known = {name: entry}
        earlier = out.each(partial(_resolved, entries=known))
        entry = _renewed(loop, before, earlier).each(lambda n: pruned(n, turns))
        entry = entry.over(kept, before.at(kept))
        if name not in _carried_in(entry):
            return entry
    raise _entangled(loop, name)


def _carried_in(content: Content) -> set[str]:
    return set[str]().union(*(carried_by(part.node) for part in content.parts))


def _resolved(node: Node, entries: State) -> Node:
    """Put what a trip begins with for what is carried, as far as it is known."""

    def leaf(x: Node) -> Node:
        if not isinstance(x, Carried) or x.fragment not in entries:
            return x
        held = entries[x.fragment].at(x.which.reshape(-1)).single
        if held is None:
            raise undecided(f"several statements fill {x.fragment} before a loop reads it")
        places = np.arange(x.which.size).reshape(x.which.shape)
        return relocated(held, places, x.subgroup, x.bound)

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
    if not isinstance(node, Carried) or node.fragment != name or node.subgroup is not None:
        return False
    return not node.bound and np.array_equal(node.which, elements)


def _adds(content: Content, name: str) -> bool:
    """Whether every element comes out as what it was, plus (or at most) something new."""
    for part in content.parts:
        apart = taken_apart(part.node, name)
        if apart is None or not _is_own(apart.start, name, part.elements):
            return False
        if any(name in carried_by(term) for term in apart.terms):
            return False
    return True


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
        apart = taken_apart(node, name)
        if apart is None:
            raise _entangled(loop, name)
        if not apart.terms:
            return start
        if apart.numeric is not None:
            added = tuple(over_trips(t, "sum") for t in apart.terms)
            return Accumulated(apart.numeric, start, added)
        for term in apart.terms:
            start = _with_all(loop, apart.function, start, term, over_trips)
        return start

    return combined(out.count, (before, out), make)


def _with_all(
    loop: Loop,
    function: str,
    start: Node,
    term: Node,
    over_trips: Callable[[Node, str], Summed],
) -> Node:
    """Take in the terms of all trips, under a condition that all share where there is one."""
    how = {"add": "sum", "max": "max", "min": "min"}[function]
    if how != "sum" and isinstance(term, Choice):
        shared = loop.var not in term.index.names | term.below.names
        sides = (term.then, term.otherwise)
        none = [isinstance(side, Number) and side.value == NOTHING[function] for side in sides]
        if shared and any(none):
            then, otherwise = (
                start if nothing else _with_all(loop, function, start, side, over_trips)
                for nothing, side in zip(none, sides, strict=True)
            )
            return Choice(term.index, term.below, then, otherwise)
    return Call(function, (start, over_trips(term, how)))
