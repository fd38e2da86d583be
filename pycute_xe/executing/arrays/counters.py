"""Floor 9: work-groups that wait for one another: whether counters order what they do to memory.

Statements are done one after the other, each by all work-groups at once. That is what a machine
does where every tile is stored before others add to it, and loads come last; each of that has to be
in order by a counter: a wait that no sum of signals but that of the earlier one reaches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.arrays.evaluating import Run
from pycute_xe.executing.arrays.places import Axis, Field, index_field
from pycute_xe.executing.arrays.points import constants, joint, points_of
from pycute_xe.holding.contents import undecided
from pycute_xe.holding.follower import Around, situated
from pycute_xe.holding.tables import copied
from pycute_xe.kernel import AtomicStore, Await, Index, Kernel, Load, Loop, Signal, Store
from pycute_xe.kernel.index import SUBGROUP_INDEX

__all__ = ["demand_counted", "waits"]

Ints: TypeAlias = NDArray[np.int64]
Place: TypeAlias = tuple[str, tuple[int, ...]]
Doing: TypeAlias = Load | Store | AtomicStore | Await | Signal


def waits(kernel: Kernel) -> bool:
    """Whether work-groups wait for one another."""
    return any(isinstance(s, (Await, Signal)) for s in kernel.statements())


@dataclass(eq=False)
class _Event:
    """Something that a work-group does: where, and by how much counters change or must have."""

    kind: type
    place: Place
    amount: int
    group: tuple[int, ...]
    number: int = 0
    reached: dict[Place, int] = field(default_factory=dict[Place, int])
    signals: dict[Place, int] = field(default_factory=dict[Place, int])
    turn: int = 0  # how many waits and signals of the work-group came before


def demand_counted(run: Run) -> None:
    """Raise `UndecidableError` where counters do not order what work-groups do to memory."""
    kernel = run.kernel
    counters = {s.operand for s in kernel.statements() if isinstance(s, (Await, Signal))}
    moved = [s for s in kernel.statements() if isinstance(s, (Load, Store, AtomicStore))]
    if any(s.operand in counters for s in moved):
        raise undecided("a counter is loaded or stored, too")
    if any(kernel.operand(name).role != "scratch" for name in counters):
        raise undecided("a counter does not begin with zero")
    written = {s.operand for s in moved if not isinstance(s, Load)}
    shared = written & {s.operand for s in moved if isinstance(s, (Load, AtomicStore))}
    if any(kernel.operand(name).value_type.bits < 32 for name in shared):
        raise undecided("what lies beside the rows of what work-groups hand on is not kept")
    groups = _events(run, shared)
    totals: dict[Place, int] = {}
    for event in (e for one in groups for e in one if e.kind is Signal):
        totals[event.place] = totals.get(event.place, 0) + event.amount
    _demand_end(groups)
    for one in groups:
        _annotate(one)
    tiles: dict[Place, list[_Event]] = {}
    for event in (e for one in groups for e in one if e.kind not in (Await, Signal)):
        tiles.setdefault(event.place, []).append(event)
    for place, events in tiles.items():
        _demand_turns(place, events, totals)


def _events(run: Run, shared: set[str]) -> list[list[_Event]]:
    """Return what each work-group does, in its order."""
    kernel, found = run.kernel, dict[tuple[int, ...], list[tuple[tuple[int, ...], _Event]]]()
    loops: list[Loop] | None = None
    for number, (statement, around) in enumerate(situated(kernel.body)):
        if not isinstance(statement, (Load, Store, AtomicStore, Await, Signal)):
            continue
        if not isinstance(statement, (Await, Signal)) and statement.operand not in shared:
            continue
        mine = [one for one in around if isinstance(one, Loop)]
        if loops is not None and mine != loops:
            raise undecided("counters and what they order lie in different loops")
        loops = mine
        if any(SUBGROUP_INDEX in i.names for one in around for i in one.touched.indices):
            raise undecided("some subgroups alone wait or signal")
        own = tuple(name for name, _ in kernel.grid)
        variables = tuple(one.var for one in mine)
        if any(SUBGROUP_INDEX in i.names for i in statement.at):
            raise undecided("subgroups move tiles of their own")
        for names, at, amount in _points(run, statement, around):
            group = tuple(names[n] for n in own)
            key = (*(names[n] for n in variables), number)
            event = _Event(type(statement), (statement.operand, at), amount, group)
            found.setdefault(group, []).append((key, event))
    return [[e for _, e in sorted(x, key=lambda pair: pair[0])] for x in found.values()]


def _points(
    run: Run, statement: Doing, around: tuple[Around, ...]
) -> Iterator[tuple[dict[str, int], tuple[int, ...], int]]:
    """Yield the variables, the place and the amount of a statement, each time it is done."""
    points = joint(points_of(run.kernel, run.sizes, around, run.look_up))
    axis, env = Axis(points.size), constants(run.sizes)
    env |= {name: Field(0, (((axis,), x),)) for name, x in points.columns.items()}

    def numbers(index: Index) -> list[int]:
        return index_field(index, env, run.look_up).over((axis,)).tolist()

    at = [numbers(index) for index in statement.at]
    match statement:
        case Await():
            amounts = numbers(statement.least)
        case Signal():
            amounts = numbers(statement.by)
        case Load() | Store() | AtomicStore():
            amounts = [0] * points.size
            _demand_tiles(statement, at)
    names = list(points.columns)
    rows = zip(*(points.columns[n].tolist() for n in names), strict=True)
    for values, amount, *place in zip(rows, amounts, *at, strict=True):
        yield dict(zip(names, values, strict=True)), tuple(place), amount


def _demand_tiles(statement: Load | Store | AtomicStore, at: list[list[int]]) -> None:
    """Demand that tiles are those of one grid: two of them are one, or lie apart."""
    tables = copied(statement.copy)
    for axis, mode in enumerate(statement.modes):
        if mode is None:
            continue
        most = int(tables.places[..., axis].max()) + 1
        if any(x % most for x in at[mode]):
            raise undecided("tiles overlap that work-groups hand on")


def _demand_end(groups: list[list[_Event]]) -> None:
    """Demand that no work-group waits for ever."""
    counters: dict[Place, int] = {}
    going = [iter([*one]) for one in groups]
    heads = [next(one, None) for one in going]
    moved = True
    while moved:
        moved = False
        for i, one in enumerate(going):
            while (event := heads[i]) is not None:
                if event.kind is Await and counters.get(event.place, 0) < event.amount:
                    break
                if event.kind is Signal:
                    if event.amount < 0:
                        raise undecided("a signal takes back what others gave")
                    counters[event.place] = counters.get(event.place, 0) + event.amount
                heads[i], moved = next(one, None), True
    if any(head is not None for head in heads):
        raise undecided("work-groups wait for ever")


def _annotate(events: list[_Event]) -> None:
    """Note what each event comes after, and what is signalled behind it."""
    reached: dict[Place, int] = {}
    for number, event in enumerate(events):
        event.number, event.reached = number, dict(reached)
        if event.kind is Await:
            reached[event.place] = max(reached.get(event.place, 0), event.amount)
    signals: dict[Place, int] = {}
    turn = 0
    for event in reversed(events):
        event.signals, event.turn = dict(signals), turn
        if event.kind is Signal:
            signals[event.place] = event.amount  # the first one behind it
        turn -= event.kind in (Await, Signal)


def _demand_turns(place: Place, events: list[_Event], totals: dict[Place, int]) -> None:
    stores = [e for e in events if e.kind is Store]
    adds = [e for e in events if e.kind is AtomicStore]
    loads = [e for e in events if e.kind is Load]
    if len(stores) != 1:
        raise undecided(f"{place[0]} is not stored once before others use it")
    pairs = [(stores[0], e) for e in (*adds, *loads)] + [(e, load) for e in adds for load in loads]
    for one, other in pairs:
        if not _before(one, other, totals):
            raise undecided(f"no counter orders what work-groups do to {place[0]}")


def _before(one: _Event, other: _Event, totals: dict[Place, int]) -> bool:
    if one.group == other.group:
        return one.number < other.number and one.turn < other.turn
    return any(
        other.reached.get(counter, 0) > totals[counter] - by for counter, by in one.signals.items()
    )
