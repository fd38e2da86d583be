"""Floor 8: loops closed for a run: sums where a trip only adds, recurrences where it does more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.contents import Content, carried
from pycute_xe.holding.entering import Entering, adds, carried_in
from pycute_xe.holding.follower import Around
from pycute_xe.holding.looping import Trial, arrays_at, behind, carried_over
from pycute_xe.holding.nodes import Carried, Node, Recurrence, State, mapped
from pycute_xe.holding.placing import substituted
from pycute_xe.kernel import Index, Kernel, Loop
from pycute_xe.kernel.ir.paths import at_least

__all__ = ["follow_recurrence"]

Ints: TypeAlias = NDArray[np.int64]
Contents: TypeAlias = "dict[str, Content]"


def follow_recurrence(
    kernel: Kernel,
    loop: Loop,
    around: tuple[Around, ...],
    written: tuple[str, ...],
    shared: Mapping[str, Ints],
    before: Contents,
    trial: Trial,
    fresh: Callable[[str], str],
) -> Contents:
    """Return what fragments hold behind a loop, of which nothing is claimed.

    ``shared`` are the elements of shared arrays that some trip stores to. What is neither a sum
    over the trips nor written anew is state, and so is what state needs.
    """
    entry = {name: carried_over(loop, name, before[name], shared) for name in written}
    out = trial(before | entry, False)
    arrays = arrays_at(loop, written, before, out, shared)
    if arrays:
        out = trial(before | entry | arrays, False) | {name: out[name] for name in arrays}
    rest = tuple(name for name in written if name not in arrays)
    states = _states(rest, out, loop.var)
    recurrence = Recurrence(loop, around)
    begun = {
        name: entry[name].each(_marker(recurrence, name, fresh(name), around, False))
        for name in states
    }
    entering = Entering(loop, before, out, fresh, known=arrays | begun)
    at_trip = entering.all(tuple(name for name in rest if name not in states))
    after = trial(before | at_trip, True)
    surely = at_least(loop.stop - loop.start, kernel) >= 1
    result = dict(before)
    for name in written:
        if name in states:
            recurrence.parts[name] = before[name], after[name]
            mark = _marker(recurrence, name, fresh(name), around, True)
            result[name] = carried(before[name].count, name, loop.var).each(mark)
        elif adds(out[name], name, loop.var):
            ended = {loop.var: loop.stop}
            result[name] = at_trip[name].each(lambda n, ended=ended: substituted(n, ended))
        else:
            result[name] = behind(loop, surely, before[name], after[name])
    return result


def _states(names: tuple[str, ...], out: Contents, loop: str) -> set[str]:
    """Return the fragments that are state."""
    needs = {name: carried_in(out[name], loop) & set(names) for name in names}
    found = {name for name in names if needs[name] and not adds(out[name], name, loop)}
    while True:
        more = {n for name in found for n in needs[name]}
        more |= {name for name in names if needs[name] & found}
        if more <= found:
            return found
        found |= more


def _marker(
    recurrence: Recurrence, name: str, own: str, around: tuple[Around, ...], behind: bool
) -> Callable[[Node], Node]:
    at = tuple((one.var, Index(one.var)) for one in around if isinstance(one, Loop))

    def leaf(node: Node) -> Node:
        if not isinstance(node, Carried) or not node.begins(name, recurrence.loop.var):
            return node
        where = node.which, node.subgroup, node.bound
        return State(own, "", *where, recurrence, name, at, behind)

    return lambda node: mapped(node, leaf)
