"""Floor 8: one problem, event by event: rounds of barriers, and what is over for whom."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.events import Access, Arrival, Disorder, Mover
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

__all__ = ["Rounds", "Seen"]

Ints = NDArray[np.int64]

EVENT, PAIR = 10, 1
"""Units for an event, and for two accesses that are compared."""


class Rounds:
    """One problem: the classes go on until all have ended, or none can."""

    def __init__(
        self, kernel: Kernel, movers: list[Mover], sizes: dict[str, int], seen: Seen
    ) -> None:
        self.kernel, self.movers, self.sizes, self.seen = kernel, movers, sizes, seen
        self.open: dict[int, dict[int, Arrival]] = {}
        self.counts: dict[int, tuple[int, int]] = {}
        self.fired: dict[int, list[dict[int, Arrival]]] = {}
        self.accesses: list[Access] = []

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
                known, fenced = mover.known.copy(), mover.fenced.copy()
                self.accesses.append(Access(number, mover.at, statement, event, known, fenced))
            case _:
                if event.statement.touched.meets == "arrive":
                    every = self.kernel.subgroups
                    return self.arrive(number, mover, 0, "both", (every, every))
                return self.wait(mover, 0)
        return ""

    def arrive(
        self, number: int, mover: Mover, barrier: int, role: str, counts: tuple[int, int]
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
        known, fenced = mover.known.copy(), mover.fenced.copy()
        known[number] = max(known[number], mover.at + 1)
        fenced[number] = max(fenced[number], mover.last_fence)
        arrivals[number] = Arrival(role, mover.at, known, fenced)
        if role != "producer":
            mover.owes[barrier] = len(before)
        present = [
            sum(len(self.movers[c].who) for c, x in arrivals.items() if x.role in (one, "both"))
            for one in ("producer", "consumer")
        ]
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
            mover.known = np.maximum(mover.known, arrival.known)
            mover.fenced = np.maximum(mover.fenced, arrival.fenced)
        return ""

    def clash(self) -> Disorder | None:
        """Return two accesses of different subgroups that nothing orders as the program does."""
        ordered = sorted(self.accesses, key=lambda access: access.event.key)
        turned = False
        for later, second in enumerate(ordered):
            charge(PAIR * later)
            for first in ordered[: later + 1]:
                if not (first.writes or second.writes):
                    continue
                over = second.fenced if first.writes else second.known
                if first is not second and over[first.mover] > first.at:
                    continue
                found = self.seen.both(first, second, self.movers)
                if found is None:
                    continue
                before = first.fenced if second.writes else first.known
                if before[second.mover] <= second.at:
                    return self.clashing(first, second, *found)
                turned = True
        if turned:
            words = "barriers order uses of shared memory the other way round than they are written"
            return Disorder(words, self.sizes, turned=True)
        return None

    def clashing(
        self, first: Access, second: Access, element: int, who: tuple[int, int]
    ) -> Disorder:
        """Say which accesses are in no order, and what is missing between them."""
        names = [type(a.statement).__name__ for a in (first, second)]
        array = first.statement.array
        unfenced = first.writes and bool(second.known[first.mover] > first.at)
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


class Seen:
    """Elements that two accesses of different subgroups share, remembered."""

    def __init__(self, kernel: Kernel) -> None:
        """Nothing has been asked."""
        self.kernel = kernel
        self._tables: dict[object, Ints] = {}
        self._found: dict[object, tuple[int, tuple[int, int]] | None] = {}

    def both(
        self, first: Access, second: Access, movers: list[Mover]
    ) -> tuple[int, tuple[int, int]] | None:
        """Return the least element that both use, and which subgroups do; or None."""
        if first.statement.array != second.statement.array:
            return None
        key = (_key(first), _key(second))
        if key not in self._found:
            tables = (self._places(x, movers[x.mover].who) for x in (first, second))
            self._found[key] = shared_element(*tables)
        return self._found[key]

    def _places(self, access: Access, who: tuple[int, ...]) -> Ints:
        """Return (subgroup, element) → place of an access, below zero for those left out."""
        key = _key(access)
        if key not in self._tables:
            flat = moved(access.statement.places).reshape(-1, self.kernel.subgroups).T
            out = np.full_like(flat, -1)
            _, own = by_subgroup(access.statement.at, self.kernel.subgroups)
            out[list(who)] = (flat + own[:, None])[list(who)] + access.event.first
            self._tables[key] = out
        return self._tables[key]


def _key(access: Access) -> tuple[int, int, int]:
    return id(access.statement), access.event.first, access.mover


def _named(number: int) -> str:
    return f"named barrier {number}" if number else "the barrier"
