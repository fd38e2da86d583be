"""Floor 8: what barriers order of all that subgroups do, event by event, and what not.

Subgroups that take the same ways do the same; of each such class one is followed, event by event,
with a clock: of which events of the others it knows that they are over. A barrier that fires passes
on what all who arrived knew. Which problems are followed, and why these are enough, is said in
`pycute_xe.holding.problems`.
"""

from __future__ import annotations

from pycute_xe.errors import CuteError, UndecidableError
from pycute_xe.holding.events import Cut, Disorder, Event, Key, Mover
from pycute_xe.holding.patience import charge
from pycute_xe.holding.problems import Shape, is_event, refused, shape_of
from pycute_xe.holding.rounds import Common, Rounds
from pycute_xe.holding.steadiness import is_steady
from pycute_xe.holding.tables import by_subgroup
from pycute_xe.kernel import (
    If,
    Index,
    Kernel,
    Loop,
    NamedArrive,
    NamedWait,
    SharedLoad,
    SharedStore,
    Statement,
)
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.roles import chooses, classes

__all__ = ["disorder", "has_roles"]

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
    return any(isinstance(s, (NamedArrive, NamedWait)) or chooses(s) for s in kernel.statements())


def disorder(kernel: Kernel, fixed: dict[str, int]) -> Disorder | None:
    """Return the smallest problem in which barriers do not order what shared memory needs.

    Otherwise the smallest one in which their order is another than is written: ``turned``.
    Raises `UndecidableError` where what subgroups do depends on more than loops and their numbers.
    """
    indices = (index for s in kernel.statements() for index in s.touched.indices)
    looked = next((x for index in indices for x in index.looked_up), None)
    if looked is not None:
        raise UndecidableError("holding", {}, f"{looked} is known only in a run", "run it")
    return _Problems(shape_of(kernel, fixed)).first()


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
            raise UndecidableError(
                "holding", {}, f"{problems} problems are too many to follow", "use fewer turns"
            )

    def steady(self, sizes: dict[str, int]) -> bool:
        """Follow a problem; return whether a larger one that is like it does no other things."""
        movers: list[Mover] = []
        start = (0,) * len(self.groups)
        runs = self.runs
        runs.shortest.clear()
        for group in self.groups:
            movers.append(Mover(group, runs.events(sizes, group[0]), start, start))
            self.followed += len(movers[-1].events)
        found = Rounds(self.kernel, movers, sizes, self.common).found()
        if found is not None and not found.turned:
            self.wrong = found
            return False
        self.turned = self.turned or found
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
        self, body: tuple[Statement, ...], env: dict[str, int], key: Key, cuts: tuple[Cut, ...]
    ) -> None:
        for place, statement in enumerate(body):
            if isinstance(statement, Loop):
                if self.shape.meets_in(statement):
                    self._loop(statement, env, (*key, place), cuts)
            elif isinstance(statement, If):
                here = (*key, place)
                if self._holds(statement, env, here):
                    self._body(statement.body, env, here, cuts)
            elif is_event(statement):
                self._done.append(self._event(statement, env, (*key, place), cuts))

    def _loop(self, loop: Loop, env: dict[str, int], key: Key, cuts: tuple[Cut, ...]) -> None:
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
        return UndecidableError("holding", {}, f"{trips} trips are too many to follow", "")

    def _holds(self, condition: If, env: dict[str, int], key: Key) -> bool:
        if id(condition) in self._sized:
            return condition.index.at(env) < condition.below.at(env)
        found = self._true.get((self._subgroup, key))
        if found is None:
            found = condition.index.at(env) < condition.below.at(env)
            self._true[self._subgroup, key] = found
        return found

    def _event(
        self, statement: Statement, env: dict[str, int], key: Key, cuts: tuple[Cut, ...]
    ) -> Event:
        found = self._known.get((self._subgroup, key))
        if found is None or found.cuts != cuts or id(statement) in self._sized:
            found = self._made(statement, env, key, cuts)
            self._known[self._subgroup, key] = found
        return found

    def _made(
        self, statement: Statement, env: dict[str, int], key: Key, cuts: tuple[Cut, ...]
    ) -> Event:
        if isinstance(statement, (NamedArrive, NamedWait)):
            return Event(statement, key, statement.barrier.number.at(env), 0, cuts)
        if isinstance(statement, (SharedStore, SharedLoad)):
            if id(statement) not in self._places:
                self._places[id(statement)] = _place(statement)
            return Event(statement, key, 0, self._places[id(statement)].at(env), cuts)
        if statement.touched.meets == "both":
            name = type(statement).__name__
            raise UndecidableError("holding", {}, f"what {name} orders is not followed", "")
        return Event(statement, key, 0, 0, cuts)


def _place(statement: SharedStore | SharedLoad) -> Index:
    """Return what is added to the places of all subgroups."""
    try:
        return by_subgroup(statement.at, 1)[0]
    except CuteError as error:
        raise UndecidableError("holding", {}, error.condition, "") from error
