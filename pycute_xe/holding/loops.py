"""A loop followed once for all its trips: what it adds up, and what it writes anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from pycute_xe.holding.arithmetic import computed_in, tested
from pycute_xe.holding.contents import carried, combined
from pycute_xe.holding.elements import Content, substituted, whole
from pycute_xe.holding.nodes import (
    Accumulated,
    Bound,
    Call,
    Choice,
    Converted,
    Leaf,
    Node,
    Number,
    Picked,
    Scalar,
    Summed,
    Undefined,
    undecided,
)
from pycute_xe.holding.recurrences import Entering, adds, carried_in, renewed, unrolled
from pycute_xe.kernel import Element, If, Index, Kernel, Loop, Slot, Statement, walk
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX
from pycute_xe.kernel.ir.program import at_least, chooses
from pycute_xe.kernel.ir.visiting import Enclosing, visit
from pycute_xe.kernel.spec.expression import Apply, Const, Expression, Rounded, Total, Where
from pycute_xe.kernel.spec.recurrences import at_places, unfolded
from pycute_xe.numeric import Numeric

__all__ = [
    "Trial",
    "arrays_at",
    "behind",
    "carried_over",
    "follow_loop",
    "last_writers",
    "written_by",
]

# ------------------------------------------------------------ claiming
# What a loop claims to hold, as contents: an expression for each element of a fragment.
#
# In a claim ``subgroup`` and ``element`` stand for the subgroup and the register element; a `Slot`
# is the same element of a fragment that the loop does not write.


def claims_of(
    kernel: Kernel,
    loop: Loop,
    known: dict[str, Content],
    trip: Index | None = None,
    follows: bool = False,
) -> dict[str, Content]:
    """Return what a loop claims fragments to hold when a trip begins, the one at hand or ``trip``.

    A state that a specification defines is one of its own, or what it ``follows`` from: the first
    one at 0, and one or several steps on the one before. ``known`` is what the fragments hold that
    the loop does not write. Raises `UndecidableError` for claims about others, and for places that
    have no map.
    """
    out: dict[str, Content] = {}
    for name, value in loop.holds:
        if trip is not None:
            value = at_places(value, {loop.var: trip})
        if follows and kernel.computes is not None:
            value = unfolded(value, kernel.computes.rules, _counters(kernel))
        count = kernel.fragment(name).elements
        computed = computed_in(kernel.fragment(name).value_type)
        out[name] = whole(count, _Claimed(kernel, known, count, computed).node(value, {}))
    return out


def _counters(kernel: Kernel) -> frozenset[str]:
    """Return the names that are never negative."""
    loops = [s for s in kernel.statements() if isinstance(s, Loop)]
    below = {s.var for s in loops if not s.start.is_constant or s.start.offset < 0}
    names = {name for name, _ in kernel.grid} | {s.var for s in loops}
    return frozenset((names - below) | {SUBGROUP_INDEX, ELEMENT_INDEX})


@dataclass(frozen=True)
class _Claimed:
    kernel: Kernel
    known: dict[str, Content]
    count: int
    compute: Numeric

    def node(self, value: Expression, names: dict[str, Index]) -> Node:
        match value:
            case Const(number):
                return Number(number, self.compute)
            case Slot(fragment):
                return self.slot(fragment)
            case Element(operand, ()):
                return Scalar(operand)
            case Element():
                return self.leaf(value, names)
            case Apply(function, arguments):
                parts = tuple(self.node(a, names) for a in arguments)
                return Call(function, parts, self.compute)
            case Rounded(to, body):
                return Converted(to, self.node(body, names))
            case Total():
                return self.total(value, names)
            case Where(index, below, then, otherwise):
                left, right = (i.substitute(names) for i in (index, below))
                sides = (self.node(then, names), self.node(otherwise, names))
                if not (left.names | right.names) & {SUBGROUP_INDEX, ELEMENT_INDEX}:
                    return Choice(left, right, *sides)
                shape = (self.kernel.subgroups, self.count)
                return Picked(tested(left - right, shape), *sides)

    def slot(self, fragment: str) -> Node:
        content = self.known.get(fragment)
        node = content.single if content is not None and content.count == self.count else None
        if node is None:
            raise undecided(
                f"a loop claims something of {fragment}, which it writes, or several statements do",
                "claim it in terms of operands",
            )
        return node

    def total(self, value: Total, names: dict[str, Index]) -> Node:
        over: list[Bound] = []
        inner = dict(names)
        for name, extent in value.over:
            own = f"{name}_claimed"
            over.append((own, Index(), self.uniform(extent.substitute(names))))
            inner[name] = Index(own)
        summed = Summed(value.how, tuple(over), self.node(value.body, inner), self.compute)
        if value.accumulator is None or value.how != "sum":
            return summed
        return Accumulated(value.accumulator, Number(0.0), (summed,))

    def uniform(self, index: Index) -> Index:
        if index.names & {SUBGROUP_INDEX, ELEMENT_INDEX}:
            raise undecided(f"{index} differs from element to element", "claim it without")
        return index

    def leaf(self, value: Element, names: dict[str, Index]) -> Leaf:
        base: list[Index] = []
        shape = (self.kernel.subgroups, self.count)
        table = np.zeros((*shape, len(value.at)), dtype=np.int64)
        for mode, index in enumerate(value.at):
            place = tested(index.substitute(names), shape)
            table[..., mode] = place.table[..., 0]
            base += place.base
        return Leaf(value.operand, tuple(base), table, np.arange(self.count))


# ------------------------------------------------------------ looping

State: TypeAlias = "dict[str, Content]"


class Trial(Protocol):
    """Follows the body once, from what fragments hold when it begins; they hold what it returns.

    ``keep`` tells whether reads and writes are remembered. ``settled`` is what fragments are known
    to hold behind the last statement that writes them.
    """

    def __call__(self, entry: State, keep: bool, settled: State | None = None) -> State:
        """Return what fragments hold at the end of a trip."""
        ...


def follow_loop(
    kernel: Kernel,
    loop: Loop,
    written: tuple[str, ...],
    arrays: Mapping[str, Ints],
    before: State,
    trial: Trial,
    fresh: Callable[[str], str],
    promised: Callable[[str, str, Content, tuple[Content, ...]], None],
) -> State:
    """Return what fragments hold behind a loop; ``arrays`` are arrays, and what it stores there.

    The body is followed once with what it writes marked as carried over; a fragment that comes out
    as what it held plus a term is a sum over the trips, one that comes out without anything carried
    is written anew. With these forms the body is followed once more, as it is at trip ``var``. What
    the loop claims is taken for what a trip begins with, and ``promised`` is told what must agree.
    """
    unwritten = {n: c for n, c in before.items() if n not in written}
    claims = claims_of(kernel, loop, unwritten)
    others = tuple(name for name in written if name not in claims)
    entry = before | {name: carried_over(loop, name, before[name], arrays) for name in others}
    out = trial(entry | claims, False)
    early = arrays_at(loop, others, before, out, arrays)
    if early:  # with what arrays hold, what is read of them at this trip is told apart
        out = trial(entry | early | claims, False) | {name: out[name] for name in early}
    rest = tuple(name for name in others if name not in early)
    entering = Entering(loop, before, out, fresh)
    if ratios := entering.rescaled(rest):  # what rescales is known then, also behind a trip's end
        later = {n: _at(c, loop, Index(loop.var) + 1) for n, c in entering.entries.items()}
        again = trial(entry | early | claims, False, later) | {name: out[name] for name in early}
        entering = Entering(loop, before, again, fresh, ratios, entering.entries)
    at_trip = early | entering.all(rest) | claims
    after = trial(before | at_trip, True)
    for when, trip, state in (("start", loop.start, before), ("step", Index(loop.var) + 1, after)):
        forms = [claims_of(kernel, loop, unwritten, trip, follows) for follows in (True, False)]
        for name, begun in claims.items():
            promised(name, when, state[name], (*(form[name] for form in forms), begun))
    surely = at_least(loop.stop - loop.start, kernel) >= 1
    result = dict(before)
    result |= _claimed_behind(kernel, loop, before, claims)
    for name in others:
        entry_form = at_trip[name]
        if adds(out[name], name, loop.var) or name in ratios:
            result[name] = entry_form.each(lambda n: substituted(n, {loop.var: loop.stop}))
            continue
        result[name] = behind(loop, surely, before[name], after[name])
    return result


def behind(loop: Loop, surely: bool, before: Content, after: Content) -> Content:
    """Return what a fragment that every trip writes anew holds behind a loop."""
    ended = after.each(lambda n: substituted(n, {loop.var: loop.stop - 1}))
    if surely:
        return ended
    return combined(
        ended.count,
        (ended, before),
        lambda nodes: Choice(loop.start, loop.stop, nodes[0], nodes[1]),
    )


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


def carried_over(loop: Loop, name: str, before: Content, arrays: Mapping[str, Ints]) -> Content:
    """Return what stands for a fragment when a trip begins.

    Elements never written before the loop stay so, where no condition keeps the first trip from
    reading what it reads: then that trip faults, whatever later ones carry over. Parts of shared
    arrays may be used by turns; those that are never stored to stay as they are.
    """
    out = carried(before.count, name, loop.var)
    if name in arrays:
        never = np.setdiff1d(np.arange(before.count), arrays[name])
        return out.over(never, before.at(never)) if never.size else out
    conditions = (s for s in walk(loop.body) if isinstance(s, If))
    touched = [inner.touched for s in conditions for inner in walk(s.body)]
    if any(t.reads or t.updates for t in touched):
        return out
    for part in before.parts:
        if isinstance(part.node, Undefined):
            out = out.over(part.elements, whole(len(part.elements), Undefined()))
    return out


def arrays_at(
    loop: Loop, others: tuple[str, ...], before: State, out: State, arrays: Mapping[str, Ints]
) -> State:
    """Return what arrays hold when trip ``var`` starts, of those that only loads fill."""
    contents: State = {}
    for name in others:
        inside = carried_in(out[name], loop.var) if name in arrays else {""}
        if inside and adds(out[name], name, loop.var):
            continue  # as a fragment that is added to
        if inside == {name}:
            contents[name] = unrolled(loop, name, before[name], out[name])
        elif not inside:
            contents[name] = renewed(loop, before[name], out[name])
    return contents


def last_writers(loop: Loop, known: dict[str, Content]) -> dict[int, tuple[str, Content]]:
    """Return the last statements of a trip that write fragments, where all subgroups do them once.

    Those inside loops are left out, and what occurs twice.
    """
    last: dict[str, tuple[Statement, tuple[Enclosing, ...]]] = {}
    times: dict[int, int] = {}
    for statement, enclosing, _ in visit(loop.body):
        times[id(statement)] = times.get(id(statement), 0) + 1
        if not isinstance(statement, (Loop, If)):
            last |= dict.fromkeys(written_by((statement,)), (statement, enclosing))
    out: dict[int, tuple[str, Content]] = {}
    for name, content in known.items():
        statement, enclosing = last[name]
        plain = all(isinstance(one, If) and not chooses(one) for one in enclosing)
        if plain and times[id(statement)] == 1:
            out[id(statement)] = (name, content)
    return out


def written_by(body: tuple[Statement, ...]) -> tuple[str, ...]:
    """Return the fragments, shared arrays and operands that statements write."""
    touched = (s.touched for s in walk(body))
    names = (n for t in touched for n in (*t.writes, *t.updates, *t.to_shared, *t.to_memory))
    return tuple(dict.fromkeys(names))
