"""What barriers order of all that subgroups do, event by event, and what not.

Subgroups that take the same ways do the same; of each such class one is followed, event by event,
with a clock: of which events of the others it knows that they are over. A barrier that fires passes
on what all who arrived knew. Which problems are followed, and why these are enough, is said in
`pycute_xe.holding.periods`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TypeAlias

import numpy as np

from pycute_xe.errors import CuteError, UndecidableError
from pycute_xe.holding.events import Access, Arrival, Clock, Cut, Disorder, Event, Key, Mover
from pycute_xe.holding.nodes import undecided
from pycute_xe.holding.ordering import shared_element
from pycute_xe.holding.patience import charge
from pycute_xe.holding.periods import (
    Shape,
    demand_one_event,
    is_event,
    refused,
    shape_of,
    unordered,
)
from pycute_xe.holding.tables import by_subgroup, moved
from pycute_xe.kernel import Index, Kernel
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.barriers import ROLES, Role
from pycute_xe.kernel.ir.effects import SharedAccess
from pycute_xe.kernel.ir.program import chooses, classes

__all__ = ["disorder", "has_roles", "Rounds"]

# ------------------------------------------------------------ rounds
# One problem, event by event: rounds of barriers, and what is over for whom.

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

    def first_fault(self) -> Disorder | None:
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
                        return self.wrong(wrong, mover.subgroups[0])
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
                words = f"subgroup {mover.subgroups[0]} waits for ever at {_named(number)}"
                return self.wrong(words, mover.subgroups[0])
        for number, arrivals in self.open.items():
            for mover in arrivals:
                subgroup = self.movers[mover].subgroups[0]
                return self.wrong(
                    f"subgroup {subgroup} arrives at {_named(number)}, which never fires", subgroup
                )
        return None

    def step(self, number: int, mover: Mover) -> str:
        """Do one event; return what is wrong, "waits" where it has to wait, or nothing."""
        charge(EVENT)
        event = mover.events[mover.at]
        effects = event.effects
        if (shared := effects.shared) is not None:
            known, fenced = mover.known, mover.fenced
            mover.accesses.append(
                Access(number, mover.at, event.statement, shared, event, known, fenced)
            )
            return ""
        if (named := effects.named) is not None:
            if named.role is None:
                return self.wait(mover, event.number)
            if not 1 <= event.number <= 31:
                return f"barrier {event.number} does not exist, they are numbered 1 to 31"
            counts = (named.barrier.producers, named.barrier.consumers)
            return self.arrive(number, mover, event.number, named.role, counts)
        if effects.meets == "fence":
            mover.last_fence = mover.at + 1
            return ""
        if effects.meets == "arrive":
            every = self.kernel.subgroups
            return self.arrive(number, mover, 0, "both", (every, every))
        return self.wait(mover, 0)

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
                f"subgroup {mover.subgroups[0]} counts {counts[0]} producers and {counts[1]} "
                f"consumers at {_named(barrier)}, others count {counted[0]} and {counted[1]}"
            )
        if number in arrivals:
            words = f"subgroup {mover.subgroups[0]} arrives at {_named(barrier)}"
            return f"{words} again before it has fired"
        if before and any(
            mover.known[c] <= x.at for c, x in before[-1].items() if self.other(number, c)
        ):
            words = f"subgroup {mover.subgroups[0]} may arrive at {_named(barrier)}"
            return f"{words} again before it has fired"
        known = _at_least(mover.known, number, mover.at + 1)
        fenced = _at_least(mover.fenced, number, mover.last_fence)
        arrivals[number] = Arrival(role, mover.at, known, fenced)
        mover.arrivals.setdefault(barrier, []).append(mover.events[mover.at])
        if ROLES[role].consumes:
            mover.owes[barrier] = len(before)
        present = [0, 0]
        for c, arrival in arrivals.items():
            present[0] += len(self.movers[c].subgroups) * ROLES[arrival.role].produces
            present[1] += len(self.movers[c].subgroups) * ROLES[arrival.role].consumes
        if present[0] > counts[0] or present[1] > counts[1]:
            return (
                f"{present[0]} producers and {present[1]} consumers arrive at {_named(barrier)}, "
                f"which counts {counts[0]} and {counts[1]}"
            )
        if tuple(present) == counts:
            if before and before[-1].keys() != arrivals.keys():
                raise undecided(f"different subgroups meet at {_named(barrier)} in turn")
            before.append(dict(arrivals))
            arrivals.clear()
        return ""

    def other(self, one: int, two: int) -> bool:
        """Whether a subgroup of one class can meet another one of the other class."""
        return one != two or len(self.movers[one].subgroups) > 1

    def wait(self, mover: Mover, barrier: int) -> str:
        """Pass a barrier that has fired; return what is wrong, or "waits"."""
        rounds, mine = self.fired.get(barrier, []), mover.owes.get(barrier)
        if mine is None:
            return f"subgroup {mover.subgroups[0]} waits at {_named(barrier)} without arriving"
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
        element, users = self.common.element(first, second, self.movers)
        names = [type(a.statement).__name__ for a in (first, second)]
        array = first.shared.array
        unfenced = first.writes and second.known[first.mover] > first.at
        missing = (
            "no fence lies between the store and the barrier"
            if unfenced
            else "no barrier lies between"
        )
        words = (
            f"{names[0]} of subgroup {users[0]} and {names[1]} of subgroup {users[1]} use element "
            f"{element} of {array}, and {missing}"
        )
        return Disorder(words, self.sizes, users[1], array, unfenced)


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
        self._uses: dict[SharedAccess, int] = {}
        self._use_of: dict[int, tuple[int, SharedAccess]] = {}  # an identity, and whose it is
        self._shared_elements: dict[tuple[int, ...], tuple[int, tuple[int, int]] | None] = {}
        self._beside: dict[Kind, list[Kind]] = {}

    def pairs(self, movers: list[Mover]) -> Iterator[tuple[list[Access], list[Access]]]:
        """Yield the accesses of two kinds, in order, that share elements, one of them a store."""
        by_kind: dict[Kind, list[Access]] = {}
        for mover in movers:
            for access in mover.accesses:
                by_kind.setdefault(self._kind(access), []).append(access)
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
        shared = self._shared(first, second, movers)
        if shared is None:
            raise undecided("two accesses share no element")
        return shared[0] + first.event.first, shared[1]

    def _shared(
        self, first: Access, second: Access, movers: list[Mover]
    ) -> tuple[int, tuple[int, int]] | None:
        """Return the least shared element, from where the first begins, and who uses it."""
        one, two = first.shared, second.shared
        if one.array != two.array or not (first.writes or second.writes):
            return None
        apart = second.event.first - first.event.first
        key = (self._use(one), first.mover, self._use(two), second.mover, apart)
        if key not in self._shared_elements:
            left, right = (self._places(x, movers[x.mover].subgroups) for x in (first, second))
            right = right + apart
            base = int(min(left[left > NOWHERE // 2].min(), right[right > NOWHERE // 2].min()))
            shared = shared_element(left - base, right - base)
            self._shared_elements[key] = (
                (shared[0] + base, shared[1]) if shared is not None else None
            )
        return self._shared_elements[key]

    def _kind(self, access: Access) -> Kind:
        """Return what accesses have in common that do the same with the same elements."""
        return self._use(access.shared), access.event.first, access.mover

    def _use(self, shared: SharedAccess) -> int:
        """Return a number that statements share which do the same with the same elements."""
        if id(shared) not in self._use_of:
            self._use_of[id(shared)] = self._uses.setdefault(shared, len(self._uses)), shared
        return self._use_of[id(shared)][0]

    def _places(self, access: Access, subgroups: tuple[int, ...]) -> Ints:
        """Return (subgroup, element) → place of an access, nowhere for those left out."""
        key = (self._use(access.shared), access.mover)
        if key not in self._tables:
            flat = moved(access.shared.places).reshape(-1, self.kernel.subgroups).T
            out = np.full_like(flat, NOWHERE)
            _, own = by_subgroup(access.shared.at, self.kernel.subgroups)
            out[list(subgroups)] = (flat + own[:, None])[list(subgroups)]
            self._tables[key] = out
        return self._tables[key]


def _at_least(clock: Clock, place: int, value: int) -> Clock:
    return (*clock[:place], max(clock[place], value), *clock[place + 1 :])


def _named(number: int) -> str:
    return f"named barrier {number}" if number else "the barrier"


# ------------------------------------------------------------ steadiness
# Whether a problem that was followed is large enough to tell of larger ones.
#
# The argument is that of `pycute_xe.holding.periods`: how far apart the trips are that rounds of
# barriers join, and how many cuts lie between the reaches of starts and ends.


def is_steady(shape: Shape, movers: Sequence[Mover], trips: Mapping[int, int]) -> bool:
    """Whether a larger problem with a fault has a smaller one, where this one has none.

    ``trips`` are the fewest trips of each long loop, by the loop's identity.
    """
    joins = len(movers)
    for depth, (longs, start, cell) in enumerate(shape.depths()):
        done = [one for one in longs if id(one.loop) in trips]
        if not done:
            return False
        room = min((trips[id(one.loop)] - one.end) // one.unit for one in done) - start
        shift = _shift(movers, depth, range(start, start + room), cell)
        if shift is None:
            return False
        needed = max(
            3 * joins * shift + 3 * cell,  # an access, or an arrival, in no order
            joins * (cell + shift) + cell,  # a cycle of waits, or one round
        )
        if room < needed:
            return False
    return True


def _shift(movers: Sequence[Mover], depth: int, cuts: range, cell: int) -> int | None:
    """Return how many cuts the trips that rounds join are apart; None where they do not tell."""
    if len(cuts) < cell:
        return None
    first = cuts[(len(cuts) - cell) // 2]
    shift = 0
    for barrier in {number for mover in movers for number in mover.arrivals}:
        joined = [m.arrivals[barrier] for m in movers if barrier in m.arrivals]
        for mine, theirs in permutations(joined, 2):
            distance = _between(mine, theirs, depth, cuts, range(first, first + cell))
            if distance is None:
                return None
            shift = max(shift, distance)
    return shift


def _between(
    mine: list[Event], theirs: list[Event], depth: int, cuts: range, cell: range
) -> int | None:
    """Return how far the arrivals of two classes are apart in a cell of each run of a loop.

    None where one does not arrive as often as the other, or elsewhere.
    """
    ours, others = (_in_cell(events, depth, cell) for events in (mine, theirs))
    if list(map(len, ours)) != list(map(len, others)):
        return None
    shift = 0
    for numbers, paired in zip(ours, others, strict=True):
        run, _ = theirs[paired[0]].cuts[depth]
        for number in numbers:
            one, other = mine[number], theirs[number]
            if len(other.cuts) <= depth or other.cuts[depth][0] != run:
                return None
            if other.cuts[depth][1] not in cuts:
                return None
            shift = max(shift, abs(one.cuts[depth][1] - other.cuts[depth][1]))
    return shift


def _in_cell(events: list[Event], depth: int, cell: range) -> list[list[int]]:
    """Return the numbers of the arrivals in a cell, those of each run of a loop together."""
    arrivals: dict[Key, list[int]] = {}
    for number, event in enumerate(events):
        if len(event.cuts) > depth and event.cuts[depth][1] in cell:
            arrivals.setdefault(event.cuts[depth][0], []).append(number)
    return list(arrivals.values())


# ------------------------------------------------------------ meeting

MOST_EVENTS = 250_000
"""Events that are followed, those of all problems together."""
MOST_AT_ONCE = 40_000
"""Events of one problem."""
PROBLEM = 100
"""Units for a problem that is followed, beside those of its events."""
FEW = 32
"""Problems that are looked at where no number of them is enough: a fault is one all the same."""
FEW_EVENTS = 20_000


def has_roles(kernel: Kernel) -> bool:
    """Whether subgroups do different things, or meet at named barriers."""
    return any(s.touched.named is not None or chooses(s) for s in kernel.statements())


def disorder(kernel: Kernel, fixed: dict[str, int]) -> Disorder | None:
    """Return the smallest problem in which barriers do not order what shared memory needs.

    Otherwise the smallest one in which their order is another than is written: ``turned``.
    Raises `UndecidableError` where what subgroups do depends on more than loops and their numbers.
    """
    while len(kernel.body) == 1 and isinstance(all_ := kernel.body[0], ir.If) and _is_uniform(all_):
        kernel = replace(kernel, body=all_.body)  # where it does not hold, no thread meets
    return _Problems(shape_of(kernel, fixed)).first()


def _is_uniform(condition: ir.If) -> bool:
    """Whether all subgroups of a work-group are let through, or none."""
    return SUBGROUP_INDEX not in condition.index.names | condition.below.names


class _Problems:
    """Follows problems from the smallest on, one of those that are alike."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.kernel = shape, shape.kernel
        self.groups = classes(self.kernel.body, self.kernel.subgroups)
        self.common, self.runs = Common(self.kernel), Runs(shape)
        self.followed = 0
        self.turned: Disorder | None = None

    def first(self) -> Disorder | None:
        """Return what goes wrong in the smallest problem."""
        shape = self.shape
        if not shape.free:
            self.steady(shape.sizes)
            return self.turned if self.wrong is None else self.wrong
        steady: dict[tuple[int, ...], bool] = {}
        size = short = 0  # the last size that tells nothing of larger ones
        while size - short < shape.period or shape.odd:
            size += 1
            alike = shape.alike(size)
            if alike not in steady:
                self.demand_few(len(steady))
                steady[alike] = self.steady(shape.sizes | {shape.free: size})
                if self.wrong is not None:
                    return self.wrong
            if not steady[alike] or size < shape.least:
                short = size
        return self.turned

    wrong: Disorder | None = None

    def demand_few(self, problems: int) -> None:
        """Refuse what is too much, and what no number of problems decides."""
        charge(PROBLEM)
        odd = self.shape.odd
        if odd and (problems >= FEW or self.followed > FEW_EVENTS):
            raise refused(odd, "")
        if self.followed > MOST_EVENTS:
            raise undecided(f"{problems} problems are too many to follow", "use fewer turns")

    def steady(self, sizes: dict[str, int]) -> bool:
        """Follow a problem; return whether a larger one that is like it does no other things."""
        movers: list[Mover] = []
        start = (0,) * len(self.groups)
        runs = self.runs
        runs.shortest.clear()
        for group in self.groups:
            movers.append(Mover(group, runs.events(sizes, group[0]), start, start))
            self.followed += len(movers[-1].events)
        fault = Rounds(self.kernel, movers, sizes, self.common).first_fault()
        if fault is not None and not fault.turned:
            self.wrong = fault
            return False
        self.turned = self.turned or fault
        return is_steady(self.shape, movers, runs.shortest)


class Runs:
    """What subgroups do in problems, loops written out.

    What does not depend on the size is worked out once for every place in the program's order.
    """

    def __init__(self, shape: Shape) -> None:
        """Nothing has run; ``shortest`` are the fewest trips of each long loop in a problem."""
        self.shape, self.shortest = shape, dict[int, int]()
        self._most = FEW_EVENTS if shape.odd else MOST_AT_ONCE
        self._longs = {id(one.loop): one for one in shape.longs}
        self._places: dict[int, Index] = {}
        self._known: dict[tuple[int, Key], Event] = {}
        self._true: dict[tuple[int, Key], bool] = {}
        self._sized = {
            id(statement)
            for statement in shape.kernel.statements()
            if any(set(shape.kernel.sizes) & index.names for index in statement.touched.indices)
        }
        self._subgroup = 0
        self._done: list[Event] = []

    def events(self, sizes: dict[str, int], subgroup: int) -> list[Event]:
        """Return what a subgroup does in a problem of given sizes, in its first work-group.

        Raises `UndecidableError` where that is too much.
        """
        first = dict.fromkeys((name for name, _ in self.shape.kernel.grid), 0)
        self._subgroup, self._done = subgroup, []
        self._body(self.shape.kernel.body, {**sizes, **first, SUBGROUP_INDEX: subgroup}, (), ())
        return self._done

    def _body(
        self, body: tuple[ir.Statement, ...], env: dict[str, int], key: Key, cuts: tuple[Cut, ...]
    ) -> None:
        for place, statement in enumerate(body):
            if isinstance(statement, ir.Loop):
                if self.shape.meets_in(statement):
                    self._loop(statement, env, (*key, place), cuts)
            elif isinstance(statement, ir.If):
                here = (*key, place)
                if self.shape.meets_in(statement) and self._holds(statement, env, here):
                    self._body(statement.body, env, here, cuts)
            elif is_event(statement):
                self._done.append(self._event(statement, env, (*key, place), cuts))

    def _loop(self, loop: ir.Loop, env: dict[str, int], key: Key, cuts: tuple[Cut, ...]) -> None:
        start, stop = loop.start.at(env), loop.stop.at(env)
        if stop - start > self._most or len(self._done) > self._most:
            raise self._too_much(stop - start)
        long, inside, here = self._longs.get(id(loop)), cuts, env.copy()
        if long is not None:
            least = self.shortest.get(id(loop), stop - start)
            self.shortest[id(loop)] = min(least, max(stop - start, 0))
        for trip in range(start, stop):
            here[loop.var] = trip
            if long is not None:
                inside = (*cuts, (key, (trip - start) // long.unit))
            self._body(loop.body, here, (*key, trip), inside)

    def _too_much(self, trips: int) -> UndecidableError:
        if self.shape.odd:
            return refused(self.shape.odd, "")
        return undecided(f"{trips} trips are too many to follow")

    def _holds(self, condition: ir.If, env: dict[str, int], key: Key) -> bool:
        if id(condition) in self._sized:
            return condition.index.at(env) < condition.below.at(env)
        holds = self._true.get((self._subgroup, key))
        if holds is None:
            holds = condition.index.at(env) < condition.below.at(env)
            self._true[self._subgroup, key] = holds
        return holds

    def _event(
        self, statement: ir.Statement, env: dict[str, int], key: Key, cuts: tuple[Cut, ...]
    ) -> Event:
        event = self._known.get((self._subgroup, key))
        if event is None or event.cuts != cuts or id(statement) in self._sized:
            event = self._made(statement, env, key, cuts)
            self._known[self._subgroup, key] = event
        return event

    def _made(
        self, statement: ir.Statement, env: dict[str, int], key: Key, cuts: tuple[Cut, ...]
    ) -> Event:
        effects = statement.touched
        demand_one_event(statement)
        if effects.meets == "both":
            raise unordered(statement)
        if (named := effects.named) is not None:
            return Event(statement, effects, key, named.barrier.number.at(env), 0, cuts)
        if (shared := effects.shared) is not None:
            if id(statement) not in self._places:
                self._places[id(statement)] = _place(shared)
            return Event(statement, effects, key, 0, self._places[id(statement)].at(env), cuts)
        return Event(statement, effects, key, 0, 0, cuts)


def _place(shared: SharedAccess) -> Index:
    """Return what is added to the places of all subgroups."""
    try:
        return by_subgroup(shared.at, 1)[0]
    except CuteError as error:
        raise undecided(error.condition) from error
