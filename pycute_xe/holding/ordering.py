"""Accesses to shared arrays that no barrier orders, where all subgroups do the same.

Two accesses of different subgroups are in order exactly where a barrier is arrived at after the one
and waited for before the other, and a fence lies between a store and the arrival: a barrier alone
does not wait for stores. Statements are walked with the accesses that are still open.

A loop is walked until nothing new is open when a trip begins. What becomes of an open access in a
trip depends on the access alone, so that walking each kind of open access once is as good as
walking every trip. How many trips lie between is told up to `FAR`, from there on "so many or more";
which trips, turns and conditions go together is left to the regions of `Clash`, where indices are
what they are: no common period of two accesses is needed, however loops nest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import lcm
from typing import Literal, TypeAlias

import numpy as np

from pycute_xe.holding.patience import charge
from pycute_xe.holding.periods import MOST_VALUES, demand_one_event, period, values
from pycute_xe.holding.tables import by_subgroup, moved
from pycute_xe.kernel import If, Index, Kernel, Loop, Statement
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.effects import SharedAccess
from pycute_xe.kernel.ir.program import at_least
from pycute_xe.kernel.ir.visiting import Enclosing

__all__ = ["FAR", "Access", "Clash", "Trips", "clashes", "shared_element"]


FAR = 3
"""Trips that are told from one another: a barrier in every trip closes what is two trips back."""
COMPARED, USED = 100, 0.02
"""Units for two accesses that are compared, and for an element that one of them uses."""


@dataclass(frozen=True, eq=False)
class Access:
    """A use of a shared array by a statement, and what is around it.

    Elements lie at ``table + at``: ``table`` is (subgroup, element), ``at`` the same for all
    subgroups, one of ``values``.
    """

    statement: Statement
    shared: SharedAccess
    enclosing: tuple[Enclosing, ...]
    table: Ints
    at: Index
    values: tuple[int, ...]

    @property
    def writes(self) -> bool:
        """Whether it changes elements."""
        return self.shared.stores


@dataclass(frozen=True)
class Trips:
    """How many trips of a loop were begun since: ``FAR`` stands for so many or more.

    ``since`` the access itself ("here"), since the access, when the loop ended ("left"), or since
    the loop began, in which the access is not ("begun").
    """

    var: str
    count: int
    since: Literal["here", "left", "begun"]


@dataclass(frozen=True, eq=False)
class Clash:
    """Two accesses to an element by two subgroups, and no barrier between.

    They are at ``ats`` plus their tables; ``trips`` tell how many trips of loops lie between.
    ``sure`` tells that a run comes that way, ``unfenced`` that a barrier lies between, but no fence
    before it.
    """

    first: Access
    second: Access
    trips: tuple[Trips, ...]
    element: int
    subgroups: tuple[int, int]
    ats: tuple[int, int]
    sure: bool
    unfenced: bool = False


@dataclass(frozen=True, eq=False)
class _Open:
    """An access after which no barrier was done: at most an arrival at one.

    ``fenced`` is whether a fence came behind it, ``passed`` whether an arrival came without one.
    """

    access: Access
    arrived: bool = False
    fenced: bool = False
    passed: bool = False
    sure: bool = True
    trips: tuple[Trips, ...] = ()

    @property
    def state(self) -> tuple[object, ...]:
        return id(self.access), self.arrived, self.fenced, self.passed

    @property
    def key(self) -> tuple[object, ...]:
        return (*self.state, self.trips)

    @property
    def far(self) -> bool:
        return any(one.count == FAR for one in self.trips)

    def arrives(self) -> _Open:
        """Return the access behind an arrival, which counts for loads and for fenced stores."""
        if self.access.writes and not self.fenced:
            return replace(self, passed=True)
        return replace(self, arrived=True)

    def begins(self, loop: Loop) -> _Open:
        """Return the access, which is outside, when a loop begins."""
        return replace(self, trips=(*self.trips, Trips(loop.var, 0, "begun")))

    def goes_on(self, loop: Loop) -> _Open:
        """Return the access when another trip of a loop begins."""
        one = self._in(loop) or Trips(loop.var, 0, "here")
        return self._with(loop, replace(one, count=min(one.count + 1, FAR)))

    def ends(self, loop: Loop) -> _Open:
        """Return the access when a loop ends: in it, so many trips before the end."""
        one = self._in(loop)
        left = replace(one, since="left") if one is not None and one.since == "here" else None
        return self._with(loop, left)

    def _in(self, loop: Loop) -> Trips | None:
        counted = (t for t in self.trips if t.var == loop.var and t.since != "left")
        return next(counted, None)

    def _with(self, loop: Loop, trips: Trips | None) -> _Open:
        others = [t for t in self.trips if t.var != loop.var or t.since == "left"]
        return replace(self, trips=(*others, trips) if trips is not None else tuple(others))


def clashes(kernel: Kernel) -> list[Clash]:
    """Return the pairs of accesses to shared arrays that are in no order.

    Raises `UndecidableError` for places known only in a run, and for those that do not repeat.
    """
    walker = _Walker(kernel)
    walker.body(kernel.body, (), {})
    return list(walker.clashes.values())


Opened: TypeAlias = "dict[tuple[object, ...], _Open]"


class _Walker:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.clashes: dict[tuple[object, ...], Clash] = {}
        self.accesses: dict[tuple[int, tuple[int, ...]], Access] = {}
        self.common: dict[tuple[int, int, int], tuple[int, tuple[int, int]] | None] = {}

    def body(
        self, body: tuple[Statement, ...], enclosing: tuple[Enclosing, ...], opened: Opened
    ) -> Opened:
        for number, statement in enumerate(body):
            demand_one_event(statement)
            meets = statement.touched.meets
            if meets == "arrive":
                opened = _kept(one.arrives() for one in opened.values())
            elif meets == "fence":
                opened = _kept(replace(one, fenced=True) for one in opened.values())
            elif meets == "wait":
                opened = _kept(one for one in opened.values() if not one.arrived)
            elif (shared := statement.touched.shared) is not None:
                opened = self.access(statement, shared, number, enclosing, opened)
            elif isinstance(statement, If):
                inside = self.body(statement.body, (*enclosing, statement), opened)
                opened = _either(inside, opened)
            elif isinstance(statement, Loop):
                opened = self.loop(statement, enclosing, opened)
        return opened

    def loop(self, loop: Loop, enclosing: tuple[Enclosing, ...], opened: Opened) -> Opened:
        inner = (*enclosing, loop)
        new = _kept(one.begins(loop) for one in opened.values())
        begun, ended = dict(new), dict[tuple[object, ...], _Open]()
        while True:
            after = self.body(loop.body, inner, new).values()
            ended = _kept((*ended.values(), *after))
            later = _kept(one.goes_on(loop) for one in after)
            new = {k: x for k, x in later.items() if k not in begun or begun[k].sure > x.sure}
            begun |= new
            if not new:
                break
        ended = _behind(loop, opened, ended)
        if at_least(loop.stop - loop.start, self.kernel) >= 1:
            return ended
        return _either(ended, opened)

    def access(
        self,
        statement: Statement,
        shared: SharedAccess,
        number: int,
        enclosing: tuple[Enclosing, ...],
        opened: Opened,
    ) -> Opened:
        key = (number, tuple(map(id, enclosing)))
        if key not in self.accesses:
            self.accesses[key] = _access(self.kernel, statement, shared, enclosing)
        access = self.accesses[key]
        if access.writes:  # what the subgroups do in one statement
            self.meet(_Open(access), access)
        for one in opened.values():
            if one.access.shared.array == shared.array:
                self.meet(one, access)
        return _kept((*opened.values(), _Open(access)))

    def meet(self, one: _Open, second: Access) -> None:
        first = one.access
        if not (first.writes or second.writes):
            return
        both = (*first.enclosing, *second.enclosing)
        by = (x.index.names | x.below.names for x in both if isinstance(x, If))
        sure = one.sure and not any(SUBGROUP_INDEX in names for names in by)
        for ats in _together(one, second):
            key = (id(first), id(second), one.trips, ats, one.passed)
            if key in self.clashes and self.clashes[key].sure >= sure:
                continue
            shared = self.shared(first, second, *ats)
            if shared is not None:
                clash = Clash(first, second, one.trips, *shared, ats, sure, one.passed)
                self.clashes[key] = clash

    def shared(
        self, first: Access, second: Access, low: int, high: int
    ) -> tuple[int, tuple[int, int]] | None:
        """Return the least element that two subgroups use, with so much added to the tables."""
        key = (id(first), id(second), high - low)
        if key not in self.common:
            base = int(min(first.table.min(), second.table.min() + high - low))
            left, right = first.table - base, second.table + (high - low - base)
            shared = shared_element(left, right)
            self.common[key] = (shared[0] + base, shared[1]) if shared is not None else None
        shared = self.common[key]
        return (shared[0] + low, shared[1]) if shared is not None else None


def _access(
    kernel: Kernel, statement: Statement, shared: SharedAccess, enclosing: tuple[Enclosing, ...]
) -> Access:
    """Return an access. Raises `UndecidableError` where its places do not repeat."""
    table = moved(shared.places).reshape(-1, kernel.subgroups).T
    at, own = by_subgroup(shared.at, kernel.subgroups)
    loops = (one for one in enclosing if isinstance(one, Loop))
    known = {
        one.var: range(one.start.offset, one.stop.offset)
        for one in loops
        if one.start.is_constant and one.stop.is_constant
    }
    return Access(statement, shared, enclosing, table + own[:, None], at, values(at, known))


def _together(one: _Open, second: Access) -> Iterable[tuple[int, int]]:
    """Return what is added to the tables of two accesses, where one trip tells it of both."""
    first = one.access
    names = first.at.names | second.at.names
    loops = [x.var for x in first.enclosing if isinstance(x, Loop) and x in second.enclosing]
    every = [(a, b) for a in first.values for b in second.values]
    if len(every) < 2 or len(names) != 1 or not names <= set(loops):
        return every
    (var,) = names
    steps = lcm(period(first.at, var), period(second.at, var))
    between = {t.var: t for t in one.trips if t.since != "begun"}
    outer = loops[: loops.index(var)]
    later = between.get(var, Trips(var, 0, "here"))
    plain = later.since == "here" and later.count < FAR and not between.keys() & {*outer}
    if not plain or not 0 < steps <= MOST_VALUES:
        return every
    turns = ((first.at.at({var: t}), second.at.at({var: t + later.count})) for t in range(steps))
    return dict.fromkeys(turns)


def shared_element(left: Ints, right: Ints) -> tuple[int, tuple[int, int]] | None:
    """Return the least element that two different subgroups use, and who."""
    charge(COMPARED + USED * (left.size + right.size))
    room = int(max(left.max(), right.max(), 0)) + 1
    low, high = np.full(room, 1 << 30), np.full(room, -1)
    for subgroup, mine in enumerate(left):
        inside = mine[mine >= 0]
        low[inside] = np.minimum(low[inside], subgroup)
        high[inside] = np.maximum(high[inside], subgroup)
    best: tuple[int, tuple[int, int]] | None = None
    for subgroup, mine in enumerate(right):
        inside = mine[mine >= 0]
        used = inside[
            (high[inside] >= 0) & ((low[inside] != subgroup) | (high[inside] != subgroup))
        ]
        if used.size and (best is None or int(used.min()) < best[0]):
            element = int(used.min())
            other = int(low[element]) if low[element] != subgroup else int(high[element])
            best = element, (other, subgroup)
    return best


def _kept(ones: Iterable[_Open]) -> Opened:
    """Return accesses by what is known of them; where many trips are one, all must be sure."""
    out: Opened = {}
    for one in ones:
        known = out.get(one.key)
        if known is None or (one.sure != known.sure and one.sure != one.far):
            out[one.key] = one
    return out


def _behind(loop: Loop, before: Opened, after: Opened) -> Opened:
    """Return what is open behind a loop, after any number of trips.

    What was open before is surely so where no trip changes it, the last one included.
    """
    lasting = {
        one.state
        for one in after.values()
        if one.sure and any(t == Trips(loop.var, FAR, "begun") for t in one.trips)
    }
    out: list[_Open] = []
    for one in after.values():
        outside = any(t.var == loop.var and t.since == "begun" for t in one.trips)
        ended = one.ends(loop) if outside else one.goes_on(loop).ends(loop)
        if outside and not (one.state in lasting and ended.key in before):
            ended = replace(ended, sure=False)
        out.append(ended)
    return _kept(out)


def _either(inside: Opened, outside: Opened) -> Opened:
    """Join two ways; what only one of them leaves open is not sure."""
    every = {**outside, **inside}
    return {
        key: replace(one, sure=one.sure and key in inside and key in outside)
        if key in outside and key not in inside
        else one
        for key, one in every.items()
    }
