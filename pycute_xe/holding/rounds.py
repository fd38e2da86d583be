"""Floor 8: one problem, event by event: rounds of barriers, and what is over for whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.events import Access, Arrival, Clock, Disorder, Mover
from pycute_xe.holding.ordering import shared_element
from pycute_xe.holding.patience import charge
from pycute_xe.holding.tables import by_subgroup, moved
from pycute_xe.kernel import (
    Fence,
    Kernel,
    NamedArrive,
    NamedWait,
    SharedLoad,
    SharedStore,
)
from pycute_xe.kernel.ir.named import ROLES, Role

__all__ = ["Common", "Rounds"]

Ints = NDArray[np.int64]
Kind: TypeAlias = tuple[int, int, int]

NOWHERE = -(1 << 40)
"""The place of subgroups that are left out."""

EVENT, PAIR = 10, 1
"""Units for an event, and for two accesses that are compared."""


class Rounds:
    """One problem: the classes go on until all have ended, or none can."""

    def __init__(
        self, kernel: Kernel, movers: list[Mover], sizes: dict[str, int], common: Common
    ) -> None:
        self.kernel, self.movers, self.sizes, self.common = kernel, movers, sizes, common
        self.open: dict[int, dict[int, Arrival]] = {}
        self.counts: dict[int, tuple[int, int]] = {}
        self.fired: dict[int, list[dict[int, Arrival]]] = {}

    def found(self) -> Disorder | None:
        """Return what goes wrong first."""
        going = True
        while going:
            going = False
            for number, mover in enumerate(self.movers):
                while mover.at < len(mover.events):
                    wrong = self.step(number, mover)
                    if wrong == "waits":
                        break
                    if wrong:
                        return self.wrong(wrong, mover.who[0])
                    mover.at += 1
                    going = True
        return self.stuck() or self.clash()

    def wrong(self, words: str, subgroup: int) -> Disorder:
        """Return what is wrong in this problem."""
        return Disorder(words, self.sizes, subgroup)

    def stuck(self) -> Disorder | None:
        """Say who waits for ever, or what never fires."""
        for mover in self.movers:
            if mover.at < len(mover.events):
                number = mover.events[mover.at].number
                words = f"subgroup {mover.who[0]} waits for ever at {_named(number)}"
                return self.wrong(words, mover.who[0])
        for number, arrivals in self.open.items():
            for mover in arrivals:
                who = self.movers[mover].who[0]
                return self.wrong(
                    f"subgroup {who} arrives at {_named(number)}, which never fires", who
                )
        return None

    def step(self, number: int, mover: Mover) -> str:
        """Do one event; return what is wrong, "waits" where it has to wait, or nothing."""
        charge(EVENT)
        event = mover.events[mover.at]
        match event.statement:
            case Fence():
                mover.last_fence = mover.at + 1
            case NamedArrive(barrier, role):
                if not 1 <= event.number <= 31:
                    return f"barrier {event.number} does not exist, they are numbered 1 to 31"
                return self.arrive(
                    number, mover, event.number, role, (barrier.producers, barrier.consumers)
                )
            case NamedWait():
                return self.wait(mover, event.number)
            case SharedStore() | SharedLoad() as statement:
                access = Access(number, mover.at, statement, event, mover.known, mover.fenced)
                mover.accesses.append(access)
            case _:
                if event.statement.touched.meets == "arrive":
                    every = self.kernel.subgroups
                    return self.arrive(number, mover, 0, "both", (every, every))
                return self.wait(mover, 0)
        return ""

    def arrive(
        self, number: int, mover: Mover, barrier: int, role: Role, counts: tuple[int, int]
    ) -> str:
        """Count an arrival, and fire the barrier if it was the last; return what is wrong."""
        arrivals = self.open.setdefault(barrier, {})
        before = self.fired.setdefault(barrier, [])
        counted = self.counts[barrier] if arrivals else counts
        self.counts[barrier] = counts
        if counted != counts:
            return (
                f"subgroup {mover.who[0]} counts {counts[0]} producers and {counts[1]} consumers "
                f"at {_named(barrier)}, others count {counted[0]} and {counted[1]}"
            )
        if number in arrivals:
            return f"subgroup {mover.who[0]} arrives at {_named(barrier)} again before it has fired"
        if before and any(
            mover.known[c] <= x.at for c, x in before[-1].items() if self.other(number, c)
        ):
            return (
                f"subgroup {mover.who[0]} may arrive at {_named(barrier)} again before it has fired"
            )
        known = _at_least(mover.known, number, mover.at + 1)
        fenced = _at_least(mover.fenced, number, mover.last_fence)
        arrivals[number] = Arrival(role, mover.at, known, fenced)
        mover.arrivals.setdefault(barrier, []).append(mover.events[mover.at])
        if ROLES[role].consumes:
            mover.owes[barrier] = len(before)
        present = [0, 0]
        for c, arrival in arrivals.items():
            present[0] += len(self.movers[c].who) * ROLES[arrival.role].produces
            present[1] += len(self.movers[c].who) * ROLES[arrival.role].consumes
        if present[0] > counts[0] or present[1] > counts[1]:
            return (
                f"{present[0]} producers and {present[1]} consumers arrive at {_named(barrier)}, "
                f"which counts {counts[0]} and {counts[1]}"
            )
        if tuple(present) == counts:
            if before and before[-1].keys() != arrivals.keys():
                raise UndecidableError(
                    "holding", {}, f"different subgroups meet at {_named(barrier)} in turn", ""
                )
            before.append(dict(arrivals))
            arrivals.clear()
        return ""

    def other(self, one: int, two: int) -> bool:
        """Whether a subgroup of one class can meet another one of the other class."""
        return one != two or len(self.movers[one].who) > 1

    def wait(self, mover: Mover, barrier: int) -> str:
        """Pass a barrier that has fired; return what is wrong, or "waits"."""
        rounds, mine = self.fired.get(barrier, []), mover.owes.get(barrier)
        if mine is None:
            return f"subgroup {mover.who[0]} waits at {_named(barrier)} without arriving"
        if len(rounds) <= mine:
            return "waits"
        del mover.owes[barrier]
        for arrival in rounds[mine].values():
            mover.known = tuple(map(max, mover.known, arrival.known))
            mover.fenced = tuple(map(max, mover.fenced, arrival.fenced))
        return ""

    def clash(self) -> Disorder | None:
        """Return two accesses of different subgroups that nothing orders as the program does.

        Of the accesses of a class, those that are over for a later one are the first, and those for
        which it is over the last: only the first that is not over is looked at.
        """
        unordered: list[tuple[Access, Access]] = []
        turned = False
        for ones, others in self.common.pairs(self.movers):
            over = 0
            charge(PAIR * (len(ones) + len(others)))
            for second in others:
                known = second.fenced if ones[0].writes else second.known
                while over < len(ones) and ones[over].at < known[ones[0].mover]:
                    over += 1
                turned = turned or (over > 0 and ones[over - 1].event.key > second.event.key)
                if over < len(ones) and _is_unordered(ones[over], second):
                    unordered.append((ones[over], second))
                    break
        if unordered:
            first, second = min(unordered, key=lambda x: (x[1].event.key, x[0].event.key))
            return self.clashing(first, second)
        if turned:
            words = "barriers order uses of shared memory the other way round than they are written"
            return Disorder(words, self.sizes, turned=True)
        return None

    def clashing(self, first: Access, second: Access) -> Disorder:
        """Say which accesses are in no order, and what is missing between them."""
        element, who = self.common.element(first, second, self.movers)
        names = [type(a.statement).__name__ for a in (first, second)]
        array = first.statement.array
        unfenced = first.writes and second.known[first.mover] > first.at
        missing = (
            "no fence lies between the store and the barrier"
            if unfenced
            else "no barrier lies between"
        )
        words = (
            f"{names[0]} of subgroup {who[0]} and {names[1]} of subgroup {who[1]} use element "
            f"{element} of {array}, and {missing}"
        )
        return Disorder(words, self.sizes, who[1], array, unfenced)


def _is_unordered(first: Access, second: Access) -> bool:
    """Whether an access that is not over for one that is written behind it comes at any time."""
    known = first.fenced if second.writes else first.known
    return first.event.key <= second.event.key and known[second.mover] <= second.at


class Common:
    """Elements that accesses of different subgroups share, remembered from problem to problem."""

    def __init__(self, kernel: Kernel) -> None:
        """Nothing has been asked."""
        self.kernel = kernel
        self._tables: dict[tuple[int, int], Ints] = {}
        self._found: dict[tuple[int, ...], tuple[int, tuple[int, int]] | None] = {}
        self._beside: dict[Kind, list[Kind]] = {}

    def pairs(self, movers: list[Mover]) -> Iterator[tuple[list[Access], list[Access]]]:
        """Yield the accesses of two kinds, in order, that share elements, one of them a store."""
        by_kind: dict[Kind, list[Access]] = {}
        for mover in movers:
            for access in mover.accesses:
                by_kind.setdefault(access.kind, []).append(access)
        for kind, (one, *_) in by_kind.items():
            if kind not in self._beside:
                self._beside[kind] = []
                for other, (two, *_) in by_kind.items():
                    if other in self._beside and self._shared(one, two, movers) is not None:
                        self._beside[kind].append(other)
                        self._beside[other] += [kind] if other != kind else []
        for kind, ones in by_kind.items():
            for other in self._beside[kind]:
                if other in by_kind:
                    yield ones, by_kind[other]

    def element(
        self, first: Access, second: Access, movers: list[Mover]
    ) -> tuple[int, tuple[int, int]]:
        """Return the least element that both use, and which subgroups do."""
        found = self._shared(first, second, movers)
        if found is None:
            raise UndecidableError("holding", {}, "two accesses share no element", "")
        return found[0] + first.event.first, found[1]

    def _shared(
        self, first: Access, second: Access, movers: list[Mover]
    ) -> tuple[int, tuple[int, int]] | None:
        """Return the least shared element, from where the first begins, and who uses it."""
        one, two = first.statement, second.statement
        if one.array != two.array or not (first.writes or second.writes):
            return None
        apart = second.event.first - first.event.first
        key = (id(one), first.mover, id(two), second.mover, apart)
        if key not in self._found:
            left, right = (self._places(x, movers[x.mover].who) for x in (first, second))
            right = right + apart
            base = int(min(left[left > NOWHERE // 2].min(), right[right > NOWHERE // 2].min()))
            found = shared_element(left - base, right - base)
            self._found[key] = (found[0] + base, found[1]) if found is not None else None
        return self._found[key]

    def _places(self, access: Access, who: tuple[int, ...]) -> Ints:
        """Return (subgroup, element) → place of an access, nowhere for those left out."""
        key = (id(access.statement), access.mover)
        if key not in self._tables:
            flat = moved(access.statement.places).reshape(-1, self.kernel.subgroups).T
            out = np.full_like(flat, NOWHERE)
            _, own = by_subgroup(access.statement.at, self.kernel.subgroups)
            out[list(who)] = (flat + own[:, None])[list(who)]
            self._tables[key] = out
        return self._tables[key]


def _at_least(clock: Clock, place: int, value: int) -> Clock:
    return (*clock[:place], max(clock[place], value), *clock[place + 1 :])


def _named(number: int) -> str:
    return f"named barrier {number}" if number else "the barrier"
