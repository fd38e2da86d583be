"""Floor 9: work-groups one by one: such as look up what they do, or wait for one another.

Each goes on until it ends or waits. Of two that could go on, the one that waited does so first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pycute_xe.errors import MachineError
from pycute_xe.executing.counters import Counters
from pycute_xe.executing.groups.fetching import Fetching
from pycute_xe.executing.groups.late import Late
from pycute_xe.executing.groups.registers import Groups
from pycute_xe.executing.groups.statements import STATEMENTS
from pycute_xe.executing.groups.tiles import moves_tile
from pycute_xe.executing.groups.windows import Windows
from pycute_xe.executing.waiting import launched
from pycute_xe.kernel import (
    AtomicStore,
    Await,
    Fill,
    If,
    Kernel,
    Load,
    Loop,
    Map,
    Prefetch,
    Signal,
    Statement,
    Store,
    walk,
)
from pycute_xe.kernel.amounts import trips
from pycute_xe.kernel.spec.expression import Apply, Slot

__all__ = ["done_apart", "goes_apart"]


def goes_apart(kernel: Kernel) -> bool:
    """Whether a kernel's work-groups wait, or look up how often they do something."""
    return any(
        isinstance(s, (Await, Signal))
        or (isinstance(s, Loop) and (s.start.looked_up or s.stop.looked_up))
        for s in walk(kernel.body)
    )


def done_apart(groups: Iterable[tuple[str, Groups]], windows: Windows) -> Iterator[str]:
    """Run work-groups, each alone in its `Groups`; yield the name of each that ends.

    Raises `DeadlockFault` where all that are left wait, and as statements do.
    """
    run = _Run(Counters(), windows, Fetching())
    going = ((name, run.steps(group, group.kernel.body)) for name, group in groups)
    yield from launched(going, run.counters)


def _adds_late(groups: Groups, statement: Map) -> bool:
    """Add two fragments that are sums of products; return whether they are."""
    value, kernel = statement.value, groups.kernel
    if groups.active is not None or statement.gathers or not isinstance(value, Apply):
        return False
    names = [x.fragment for x in value.arguments if isinstance(x, Slot)]
    if value.function != "add" or len(names) != 2 or len(value.arguments) != 2:
        return False
    one, other = (groups.late.get(name) for name in names)
    if one is None or other is None:
        return False
    alike = {kernel.fragment(n).value_type for n in (statement.destination, *names)}
    whole = kernel.fragment(statement.destination).elements
    both = one.plus(other) if len(alike) == 1 and one.count == whole else None
    if both is None or both.total is None or both.total.numeric not in alike:
        return False
    groups.late[statement.destination] = both
    return True


@dataclass(frozen=True, eq=False)
class _Run:
    """What the work-groups share."""

    counters: Counters
    windows: Windows
    fetching: Fetching

    def steps(self, groups: Groups, body: tuple[Statement, ...]) -> Iterator[list[str]]:
        """Do the statements of a body; yield what is waited for."""
        for statement in body:
            groups.doing = type(statement).__name__.lower()
            if isinstance(statement, Loop):
                yield from self.loop(groups, statement)
            elif isinstance(statement, If):
                below = groups.number(statement.index) < groups.number(statement.below)
                with groups.where(below) as anyone:
                    if anyone:
                        yield from self.steps(groups, statement.body)
            elif isinstance(statement, (Await, Signal)):
                yield from self.meet(groups, statement)
            elif isinstance(statement, Fill) and not statement.value and groups.active is None:
                count = groups.kernel.fragment(statement.fragment).elements
                groups.late[statement.fragment] = Late(count)
            elif not (isinstance(statement, Map) and _adds_late(groups, statement)) and not (
                isinstance(statement, (Prefetch, Load, Store, AtomicStore))
                and moves_tile(groups, statement)
            ):
                STATEMENTS[statement](groups, statement)

    def loop(self, groups: Groups, loop: Loop) -> Iterator[list[str]]:
        """Do the trips of a loop, at once where they only add a product."""
        start, stop = groups.number(loop.start), groups.number(loop.stop)
        first, last, alike = start, stop, isinstance(start, int) and isinstance(stop, int)
        if not alike:
            chosen = groups.mask()
            starts, stops = (np.broadcast_to(x, groups.shape)[chosen] for x in (start, stop))
            if not starts.size:
                return
            first, last = int(starts.min()), int(stops.max())
            alike = bool((starts == first).all() and (stops == last).all())
        if last <= first or not groups.anyone():
            return
        values = trips(loop, first, last)
        if alike and (
            self.fetching.harmless(groups, loop)
            or self.windows.multiplies(groups, loop, first, last)
        ):
            return
        for value in values:
            with groups.where(True if alike else (start <= value) & (value < stop)) as anyone:
                if anyone:
                    groups.names[loop.var] = value
                    if groups.known is not None:
                        groups.known.clear()
                    yield from self.steps(groups, loop.body)
        groups.names.pop(loop.var, None)

    def meet(self, groups: Groups, statement: Await | Signal) -> Iterator[list[str]]:
        """Wait at a counter, or add to one and let those go on first who waited for it."""
        numbers = (groups.number(index) for index in statement.at)
        at = tuple(int(np.asarray(x).reshape(-1)[0]) for x in numbers)
        array = groups.memory[statement.operand]
        if any(not 0 <= x < extent for x, extent in zip(at, array.shape, strict=True)):
            raise MachineError(
                "run",
                {"operand": statement.operand, "at": at},
                f"the counter {statement.operand}{list(at)} is outside: the shape is {array.shape}",
                "bound the index by the extent",
            )
        label = f"{statement.operand}{list(at)}"
        amount = statement.least if isinstance(statement, Await) else statement.by
        number = int(np.asarray(groups.number(amount)).reshape(-1)[0])
        if isinstance(statement, Signal):
            array[at] += number
            yield [f"{label} = {array[at]} ({self.counters.turn})"]
            return
        while array[at] < number:
            yield [f"{label} >= {number}"]
