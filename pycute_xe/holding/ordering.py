"""Floor 8: accesses to shared arrays that no barrier orders.

All subgroups do the same statements. Two accesses of different subgroups are in order exactly where
a barrier is arrived at after the one and waited for before the other, and a fence lies between a
store and the arrival: a barrier alone does not wait for stores. Statements are walked with
the accesses that are still open; a loop is walked as often as its accesses take turns, and once
more, so that those of later trips meet those of earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.follower import Around
from pycute_xe.holding.patience import charge
from pycute_xe.holding.sharing import Places, places_of
from pycute_xe.kernel import If, Kernel, Loop, SharedLoad, SharedStore, Statement
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.paths import at_least

__all__ = ["Access", "Clash", "clashes", "shared_element"]

Ints: TypeAlias = NDArray[np.int64]

COMPARED, USED = 100, 0.02
"""Units for two accesses that are compared, and for an element that one of them uses."""


@dataclass(frozen=True, eq=False)
class Access:
    """A store to a shared array or a load from one, and what is around it."""

    statement: SharedStore | SharedLoad
    around: tuple[Around, ...]
    places: Places

    @property
    def writes(self) -> bool:
        """Whether it is a store."""
        return isinstance(self.statement, SharedStore)


@dataclass(frozen=True, eq=False)
class Clash:
    """Two accesses to an element by two subgroups, and no barrier between.

    The second is ``later[var]`` trips of a loop behind the first. ``turn`` is the variable by which
    they take turns, the first one's turn, and how many there are. ``sure`` tells that a run comes
    that way, ``unfenced`` that a barrier lies between, but no fence before it.
    """

    first: Access
    second: Access
    later: tuple[tuple[str, int], ...]
    element: int
    subgroups: tuple[int, int]
    turn: tuple[str, int, int]
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
    later: tuple[tuple[str, int], ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        return id(self.access), self.arrived, self.fenced, self.passed, self.later

    def arrives(self) -> _Open:
        """Return the access behind an arrival, which counts for loads and for fenced stores."""
        if self.access.writes and not self.fenced:
            return replace(self, passed=True)
        return replace(self, arrived=True)


def clashes(kernel: Kernel) -> list[Clash]:
    """Return the pairs of accesses to shared arrays that are in no order.

    Raises `UndecidableError` for places known only in a run.
    """
    walker = _Walker(kernel)
    walker.body(kernel.body, (), {})
    return walker.found


Opened: TypeAlias = "dict[tuple[object, ...], _Open]"


class _Walker:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.found: list[Clash] = []
        self.accesses: dict[tuple[int, tuple[int, ...]], Access] = {}

    def body(
        self, body: tuple[Statement, ...], around: tuple[Around, ...], opened: Opened
    ) -> Opened:
        for number, statement in enumerate(body):
            meets = statement.touched.meets
            if meets == "arrive":
                opened = _kept(one.arrives() for one in opened.values())
            elif meets == "fence":
                opened = _kept(replace(one, fenced=True) for one in opened.values())
            elif meets == "wait":
                opened = _kept(one for one in opened.values() if not one.arrived)
            elif isinstance(statement, (SharedStore, SharedLoad)):
                opened = self.access(statement, number, around, opened)
            elif isinstance(statement, If):
                inside = self.body(statement.body, (*around, statement), opened)
                opened = _either(inside, opened)
            elif isinstance(statement, Loop):
                opened = self.loop(statement, around, opened)
        return opened

    def loop(self, loop: Loop, around: tuple[Around, ...], opened: Opened) -> Opened:
        inner = (*around, loop)
        before, trips = opened, 2
        for trip in range(64):
            if trip >= trips:
                break
            opened = self.body(loop.body, inner, opened)
            mine = [one for one in self.accesses.values() if loop in one.around]
            trips = 1 + max([1, *(len(one.places.at) for one in mine)])
            opened = _kept(_a_trip_later(one, loop) for one in opened.values())
        if at_least(loop.stop - loop.start, self.kernel) >= 1:
            return opened
        return _either(opened, before)

    def access(
        self,
        statement: SharedStore | SharedLoad,
        number: int,
        around: tuple[Around, ...],
        opened: Opened,
    ) -> Opened:
        key = (number, tuple(map(id, around)))
        if key not in self.accesses:
            places = places_of(self.kernel, statement, around)
            self.accesses[key] = Access(statement, around, places)
        access = self.accesses[key]
        self.within(access)
        for one in opened.values():
            if one.access.statement.array == statement.array:
                self.meet(one, access)
        return _kept((*opened.values(), _Open(access)))

    def within(self, access: Access) -> None:
        """Compare what the subgroups do in one statement."""
        if access.writes and not any(c.first is access is c.second for c in self.found):
            self.meet(_Open(access), access)

    def meet(self, one: _Open, second: Access) -> None:
        first = one.access
        if not (first.writes or second.writes):
            return
        var = first.places.var or second.places.var
        if first.places.var and second.places.var not in ("", first.places.var):
            raise UndecidableError("holding", {}, "two loops' variables choose the stage", "")
        by = (x.index.names | x.below.names for x in (*first.around, *second.around) if _is_if(x))
        sure = one.sure and not any(SUBGROUP_INDEX in names for names in by)
        span = max(len(first.places.at), len(second.places.at))
        for turn in range(span):
            left = first.places.in_turn(turn % len(first.places.at))
            for other in _turns(one, var, turn, span):
                right = second.places.in_turn(other % len(second.places.at))
                found = shared_element(left, right)
                if found is not None:
                    known = sure and len(_turns(one, var, turn, span)) == 1
                    where = (var, turn, span)
                    clash = Clash(first, second, one.later, *found, where, known, one.passed)
                    self.found.append(clash)


def _is_if(around: Around) -> TypeGuard[If]:
    return isinstance(around, If)


def _turns(one: _Open, var: str, turn: int, span: int) -> tuple[int, ...]:
    """Return the turns of a later access: every one where a loop further out went on."""
    for around in one.access.around:
        if isinstance(around, Loop) and around.var == var:
            return ((turn + dict(one.later).get(var, 0)) % span,)
        if isinstance(around, Loop) and dict(one.later).get(around.var, 0):
            return tuple(range(span))
    return (turn,)


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
    out: Opened = {}
    for one in ones:
        known = out.get(one.key)
        if known is None or (one.sure and not known.sure):
            out[one.key] = one
    return out


def _either(inside: Opened, outside: Opened) -> Opened:
    """Join two ways; what only one of them leaves open is not sure."""
    every = {**outside, **inside}
    return {
        key: replace(one, sure=one.sure and key in inside and key in outside)
        if key in outside and key not in inside
        else one
        for key, one in every.items()
    }


def _a_trip_later(one: _Open, loop: Loop) -> _Open:
    if loop not in one.access.around:
        return one
    later = dict(one.later)
    later[loop.var] = later.get(loop.var, 0) + 1
    return replace(one, later=tuple(sorted(later.items())))
