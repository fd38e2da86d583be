"""Sets of integer points with named coordinates, decided by isl."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

import islpy as isl

from pycute_xe.holding.patience import charge, remembered, time_left, too_hard, work_left
from pycute_xe.verifying.guards import Guard
from pycute_xe.verifying.lookups import current, has_lookups, is_lookup, variables_of
from pycute_xe.verifying.refusing import undecided

__all__ = ["Names", "Region", "session", "answered_apart", "asked", "conjunction", "read"]

# ------------------------------------------------------------ calls
# Calls of isl: their steps are counted and charged, and long ones can be stopped.
#
# isl counts the steps of a call and gives up where it is told to, but no call can be interrupted:
# one that takes many steps is asked again in a process of its own, which a deadline may stop.

_context: ContextVar[isl.Context | None] = ContextVar("_context", default=None)


@contextmanager
def session() -> Generator[None]:
    """Count the steps of the regions of a proof; they must not be mixed with those of others."""
    token = _context.set(isl.Context())
    try:
        yield
    finally:
        _context.reset(token)


@dataclass(frozen=True)
class _Pace:
    """What a step of isl costs, up to so many steps, and beyond, where steps are slow.

    They are counted by what they are fewer than: ``few``, four times as many, and so on.
    """

    few: int
    units: float
    steps: int
    beyond: float


READS = _Pace(8_000, 0.13, 1_000_000, inf)
SETS = _Pace(500, 1.0, 10_000, 5)
POINTS = _Pace(500, 1.0, 4_000, 100)
"""Searches for points: a step of a long one takes a hundred times as long as one of a short one."""

PACES: Mapping[str, _Pace] = {
    "apply": SETS,
    "intersect": SETS,
    "union": SETS,
    "subtract": SETS,
    "coalesce": SETS,
    "gist": SETS,
    "detect_equalities": SETS,
    "is_single_valued": SETS,
    "is_empty": POINTS,
    "is_bounded": POINTS,
    "lexmin": POINTS,
    "lexmax": POINTS,
    "sample_point": POINTS,
}

CALL = 20
"""Units that a call takes besides its steps."""
TIMES = 4
"""How many times as many steps are asked for next."""
APART = 300_000
"""Units that it takes to begin another process."""

_CHILD = f"""
import json, sys, islpy as isl
kinds, texts, call, most = json.load(sys.stdin)
context = isl.Context()
sets = [getattr(isl, kind)(text, context) for kind, text in zip(kinds, texts)]
context.reset_operations()
context.set_max_operations(most)
try:
    answer, few = getattr(sets[0], call)(*sets[1:]), {SETS.few}
    while few < most:
        context.set_max_operations(few)
        try:
            isl.Val(1, context)
            break
        except isl.Error:
            few *= {TIMES}
    context.set_max_operations(0)  # what is written within a limit may lack pieces
    print(json.dumps([str(answer), min(few, most)]))
except isl.Error:
    print(json.dumps(["", most]))
"""
"""Answers one call, of sets that are written out, in a process that can be stopped."""


class _LongError(Exception):
    """A call of isl takes more steps than it may in this process."""


def read(kind: type[isl.Set | isl.Map], text: str) -> Any:
    """Return a set or a map that is written as text, and charge for the first time it is read."""
    context = _context.get()

    def first() -> Any:
        try:
            return _counted(READS, lambda: kind(text, context))
        except _LongError as error:
            raise too_hard("the question is too long for isl") from error

    return remembered((id(context), kind, text), first)  # what is kept keeps its context


def asked(call: str, *of: Any) -> Any:
    """Return what isl answers, and charge for it. Raises `TooHardError` where it is too much.

    A call cannot be interrupted: one that is long is asked again where it can be stopped.
    """
    first, *others = of
    try:
        return _counted(PACES[call], lambda: getattr(first, call)(*others))
    except _LongError:
        return _asked_apart(call, of, PACES[call])


def _counted(pace: _Pace, ask: Callable[[], Any]) -> Any:
    """Return what a call of isl answers within the steps that it may take, and charge for it."""
    charge(CALL)
    context, left = _context.get(), work_left()
    if context is None or left == inf:
        return ask()
    most = max(1, int(min(pace.steps, left / pace.units)))
    context.reset_operations()
    context.set_max_operations(most)
    try:
        answer = ask()
        charge(pace.units * _fewer_than(context, pace.few, most) / 2)
    except isl.Error as error:
        if "operations" not in str(error):
            raise too_hard("isl does not answer the question") from error
        charge(pace.units * most if most == pace.steps else left + 1)
        raise _LongError from error
    finally:
        context.set_max_operations(0)
    return answer


def _fewer_than(context: isl.Context, few: int, most: int) -> int:
    """Return a number of steps, of those that are asked for, than which fewer have been taken."""
    while few < most:
        context.set_max_operations(few)
        try:
            isl.Val(1, context)
        except isl.Error:
            few *= TIMES
        else:
            return few
    return most


def _asked_apart(call: str, of: tuple[Any, ...], pace: _Pace) -> Any:
    """Return what isl answers in a process that gives up where the work is used up."""
    charge(APART)
    most = max(1, int(work_left() / pace.beyond))
    kinds, texts = [type(x).__name__ for x in of], list(map(str, of))
    printed = answered_apart(_CHILD, json.dumps([kinds, texts, call, most]), time_left())
    charge(0)  # a deadline may have stopped it
    try:
        answer, steps = json.loads(printed)
    except (TypeError, ValueError) as error:  # it was stopped, or is not an interpreter of Python
        raise too_hard("isl does not answer the question") from error
    charge(steps * pace.beyond / 2 if answer else work_left() + 1)
    if answer in ("True", "False"):
        return answer == "True"
    if not answer.strip("{ }"):  # a set without pieces is written without its coordinates
        if call not in ("intersect", "subtract", "union", "coalesce", "gist"):
            raise too_hard("isl does not answer the question")
        first: Any = of[0]
        return first.empty(first.get_space())
    return type(of[0])(answer, _context.get())


# The longest time, in seconds, that the system's clocks count in milliseconds.
LONGEST = 2.0**31 / 1000


def answered_apart(program: str, question: str, seconds: float | None = None) -> str:
    """Return what a program prints that reads a question; nothing where it is stopped or fails.

    It imports what this process does; where no interpreter is known it is not run. ``seconds`` is
    what is left until a deadline, after which it is stopped; None lets it end by itself.
    """
    if not sys.executable:
        return ""
    same = f"import sys\nsys.path[:] = {sys.path!r}\n"
    try:
        done = subprocess.run(
            [sys.executable, "-c", same + program],
            input=question,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=None if seconds is None else min(max(0.0, seconds), LONGEST),
            check=True,
            text=True,
        )
    except (subprocess.SubprocessError, OSError, UnicodeError):
        return ""
    return done.stdout


# ------------------------------------------------------------ regions

Names = tuple[str, ...]


def conjunction(*constraints: tuple[str | Guard, ...]) -> str:
    """Return constraints that all hold, as isl reads them.

    >>> conjunction(("0 <= x < 3",), (Guard("x", ">=", "y"),))
    '(0 <= x < 3) and (x >= y)'
    """
    return " and ".join(f"({_text(one)})" for group in constraints for one in group) or "true"


def _text(constraint: str | Guard) -> str:
    return constraint if isinstance(constraint, str) else constraint.text


def _resolved(constraints: str) -> tuple[str, Names]:
    """Return constraints with coordinates in the place of lookups."""
    return current().resolved(constraints) if has_lookups(constraints) else (constraints, ())


def _is_before(one: dict[str, int], other: dict[str, int], end: str) -> bool:
    ours, theirs = (*one.values(),), (*other.values(),)
    return ours < theirs if end == "lexmin" else ours > theirs


def _quotients(piece: isl.BasicSet) -> int:
    return piece.dim(isl.dim_type.div)


@dataclass(frozen=True, eq=False)
class Region:
    """A set of integer points whose coordinates have names, decided exactly by isl.

    A map is a region too: the coordinates of its graph. Constraints are isl text: affine in the
    names, with constant multiples, ``mod`` and ``floor``.

    >>> small = Region.where(("x", "y"), "0 <= x and 0 <= y and x + y < 4")
    >>> small.least(), small.within("x > y").least()
    ({'x': 0, 'y': 0}, {'x': 1, 'y': 0})
    """

    names: Names
    points: isl.Set
    wide: bool = False

    def __post_init__(self) -> None:
        """Refuse one name for two coordinates: isl takes these for equal."""
        if len({*self.names}) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise undecided(f"two coordinates are called {twice}", "report this kernel")

    @classmethod
    def where(cls, names: Names, constraints: str) -> Region:
        """Return the points that satisfy constraints."""
        if not has_lookups(constraints) and not any(map(is_lookup, names)):
            return cls._plain(names, constraints)
        text, used = _resolved(constraints)
        own = tuple(name for name in names if not is_lookup(name))
        every = current().ordered({*used, *(n for n in names if is_lookup(n))})
        axioms = (f"({axiom})" for axiom in current().axioms(every, ()))
        return cls._plain((*own, *every), " and ".join([f"({text or 'true'})", *axioms]))

    @classmethod
    def _plain(cls, names: Names, constraints: str) -> Region:
        text = f"{{ [{','.join(names)}] : {constraints or 'true'} }}"
        return cls(names, read(isl.Set, text))

    @property
    def lookups(self) -> Names:
        """The coordinates that are elements of tables."""
        return tuple(name for name in self.names if is_lookup(name))

    def _own(self) -> Names:
        return tuple(name for name in self.names if not is_lookup(name))

    def having(self, lookups: Iterable[str], constraints: str = "") -> Region:
        """Return the region with coordinates for more lookups, where constraints on them hold.

        Those come first: what is so of lookups has cases, of which few are left then.
        """
        old = self.lookups
        new = tuple(name for name in current().ordered(lookups) if name not in old)
        if not new:
            return self._met(constraints)
        out = self._moved((*self._own(), *current().ordered((*old, *new))))._met(constraints)
        axioms = current().axioms(new, old)
        plain = [axiom for axiom in axioms if " or " not in axiom]
        out = out._met(" and ".join(f"({axiom})" for axiom in plain))
        for axiom in axioms:
            if " or " in axiom:
                out = out._met(axiom)._filled()
        return out

    def _filled(self) -> Region:
        """Return the same points without pieces that have none."""
        pieces = self.points.get_basic_sets()
        if len(pieces) < 2:
            return self
        kept = [isl.Set(piece) for piece in pieces if not asked("is_empty", isl.Set(piece))]
        if len(kept) == len(pieces):
            return self
        points = self.points.empty(self.points.get_space())
        for piece in kept:
            points = asked("union", points, piece)
        return Region(self.names, points, self.wide)

    def completed(self) -> Region:
        """Return the region with all that is so of its lookups, also what proofs do without.

        Of elements that are not ordinary only where there are no others.
        """
        if not self.lookups:
            return self
        axioms = current().axioms(self.lookups, (), all_laws=True)
        return self._met(" and ".join(f"({axiom})" for axiom in axioms))._ordinary()

    def closed(self) -> Region:
        """Return the region with elements of which laws speak together with its own, `completed`.

        Only with those that lie inside of their tables at all points: others need not exist.
        """
        out, tables = self, current()
        for name in tables.beside(self.lookups):
            outside = tables.outside(name)
            if variables_of(outside) <= {*out.names} and out._met(outside).is_empty:
                out = out.having((name,))
        known = tables.axioms(out.lookups, ())
        for axiom in tables.axioms(out.lookups, (), all_laws=True):
            if axiom not in known:
                out = out._met(axiom)._filled()
        return out._ordinary()

    def _ordinary(self) -> Region:
        few = self._met(current().ordinary(self.lookups))
        return self._met(current().possible(self.lookups)) if few.is_empty else few

    def _met(self, constraints: str) -> Region:
        """Return the points that meet constraints without lookups."""
        if not constraints:
            return self
        other = Region._plain(self.names, constraints)
        return Region(self.names, asked("intersect", self.points, other.points), self.wide)

    def _moved(self, names: Names) -> Region:
        """Return the points over other names, as they are written."""
        if names == self.names:
            return self
        old, new = ",".join(self.names), ",".join(names)
        link = read(isl.Map, f"{{ [{old}] -> [{new}] }}")
        return Region(names, asked("apply", self.points, link), self.wide)

    def _beside(self, other: Region) -> tuple[Region, Region]:
        """Return two regions with the same coordinates."""
        if self.names == other.names:
            return self, other
        both = current().ordered({*self.lookups, *other.lookups})
        names = (*self._own(), *both)
        return self.having(other.lookups)._moved(names), other._moved(names)

    @classmethod
    def nothing(cls, names: Names) -> Region:
        """Return the empty set of points."""
        return cls.where(names, "false")

    def to(self, names: Names, constraints: str = "") -> Region:
        """Return the points over other names that some point of this region is linked to.

        Names on both sides are equal; ``constraints`` link the rest. Names that are left out are
        projected away.

        >>> Region.where(("x",), "0 <= x < 3").to(("y",), "y = 2*x + 1").least()
        {'y': 1}
        """
        if has_lookups(constraints):
            own = tuple(n for n in self.names if n not in names)
            return self.to((*own, *names)).within(constraints).to(names)
        wide = self.wide
        if self.lookups or any(map(is_lookup, names)):
            own = tuple(name for name in names if not is_lookup(name))
            asked_for = [name for name in names if is_lookup(name)]
            kept = [name for name in self.lookups if current().needs(name) <= {*own}]
            wide = wide or not {*self.lookups} <= {*kept, *asked_for}
            names = (*own, *current().ordered((*asked_for, *kept)))
            new = tuple(name for name in asked_for if name not in self.lookups)
            if new:
                old_own = {*self._own()}
                if all(current().needs(name) <= old_own for name in new):
                    return self.having(new).to(names, constraints)
                there = tuple(name for name in names if name not in new)
                return self.to(there, constraints).having(new)
        old, new_names = ",".join(self.names), ",".join(names)
        link = read(isl.Map, f"{{ [{old}] -> [{new_names}] : {constraints or 'true'} }}")
        return Region(names, asked("apply", self.points, link), wide)

    def within(self, *conditions: str | Guard) -> Region:
        """Return the points that satisfy conditions too; a text stands alone, it may have cases."""
        constraints = " and ".join(map(_text, conditions))
        if not has_lookups(constraints):
            return self._met(constraints)
        text, used = _resolved(constraints)
        return self.having(used, text)

    def __and__(self, other: Region) -> Region:
        """Return the common points of two regions over the same names."""
        one, two = self._beside(other)
        points = asked("intersect", one.points, two.points)
        return Region(one.names, points, self.wide or other.wide)

    def __or__(self, other: Region) -> Region:
        """Return the points of either of two regions over the same names."""
        one, two = self._beside(other)
        points = asked("union", one.points, two.points)
        return Region(one.names, points, self.wide or other.wide)

    def __sub__(self, other: Region) -> Region:
        """Return the points that are not in another region over the same names.

        >>> box = Region.where(("x",), "0 <= x < 4")
        >>> (box - Region.where(("x",), "exists (d : x = 2*d)")).least()
        {'x': 1}
        """
        if other.wide:
            raise undecided(
                "elements of tables are looked up at places of which there are many",
                "look them up at places that the output's element tells",
            )
        one, two = self._beside(other)
        return Region(one.names, asked("subtract", one.points, two.points), self.wide)

    def coalesced(self) -> Region:
        """Return the same points in fewer convex pieces, where these are found."""
        return Region(self.names, asked("coalesce", self.points), self.wide)

    @property
    def divisions(self) -> int:
        """How many quotients its description needs, over all its convex pieces."""
        pieces = asked("coalesce", self.points).get_basic_sets()
        return sum(map(_quotients, pieces))

    @property
    def is_empty(self) -> bool:
        """Whether there is no point at all."""
        return asked("is_empty", self.points)

    @property
    def is_bounded(self) -> bool:
        """Whether there are only finitely many points.

        >>> Region.where(("x",), "0 <= x").is_bounded, Region.where(("x",), "0 <= x < 9").is_bounded
        (False, True)
        """
        return asked("is_bounded", self.points)

    def beyond(self, given: Region) -> Region:
        """Return the points by fewer constraints: those that ``given`` has already are left out.

        >>> even = Region.where(("x",), "x >= 1 and x mod 2 = 0")
        >>> even.beyond(Region.where(("x",), "x >= 1")).text
        '(x) mod 2 = 0'
        """
        simple = asked("coalesce", asked("gist", self.points, given.points))
        return Region(self.names, simple, self.wide)

    def with_names(self, names: Names) -> Region:
        """Return the same points under other names of the coordinates.

        >>> Region.where(("S_M", "S_N"), "S_M < S_N").with_names(("M", "N")).text
        'N > M'
        """
        points = self.points
        for number, name in enumerate(names):
            points = points.set_dim_name(isl.dim_type.set, number, name)
        return Region(names, points, self.wide)

    @property
    def text(self) -> str:
        """The constraints as isl writes them; empty where every point meets them."""
        return str(self.points).partition(":")[2].rpartition("}")[0].strip()

    def least(self, order: Names = ()) -> dict[str, int] | None:
        """Return the lexicographically least point, ``None`` of an empty region.

        ``order`` names the coordinates that count, first things first; the others follow.
        """
        return self._ordered(order)._end("lexmin", ">=")

    def greatest(self, order: Names = ()) -> dict[str, int] | None:
        """Return the lexicographically greatest point, as `least`."""
        return self._ordered(order)._end("lexmax", "<=")

    def _end(self, end: Literal["lexmin", "lexmax"], sign: str) -> dict[str, int] | None:
        """Return the first or the last point; what is behind the best of a piece is left out.

        Piece by piece: isl compares the pieces' first points for minutes where there are many.
        """
        best: dict[str, int] | None = None
        for piece in sorted(self.points.get_basic_sets(), key=_quotients):
            rest = Region(self.names, isl.Set(piece))
            if best is not None:
                rest = rest.within(f"{best[self.names[0]]} {sign} {self.names[0]}")
            point = None if rest.is_empty else rest._first(end)
            if point is not None and (best is None or _is_before(point, best, end)):
                best = point
        return best

    def _ordered(self, order: Names) -> Region:
        return self.to((*order, *(n for n in self.names if n not in order))) if order else self

    def _first(self, end: Literal["lexmin", "lexmax"]) -> dict[str, int]:
        """Return the first or the last point of a region that is not empty."""
        point = asked("sample_point", asked(end, self.points))
        if point.is_void():  # isl loses all points of some sets with quotients
            point = asked("sample_point", asked(end, asked("detect_equalities", self.points)))
        if point.is_void():
            raise too_hard("isl finds no first point of a set that it does not call empty")
        values = (point.get_coordinate_val(isl.dim_type.set, i) for i in range(len(self.names)))
        return {name: int(v.to_python()) for name, v in zip(self.names, values, strict=True)}

    def _split(self, domain: Names) -> tuple[Names, isl.Map]:
        """Return the region as a map from some of its coordinates to the others."""
        codomain = tuple(name for name in self.names if name not in domain)
        names, inside = ",".join(self.names), ",".join(domain)
        text = f"{{ [{names}] -> [[{inside}] -> [{','.join(codomain)}]] }}"
        return codomain, asked("apply", self.points, read(isl.Map, text)).unwrap()

    def decides(self, domain: Names) -> bool:
        """Tell whether some coordinates fix all others: whether a map is single valued.

        >>> pairs = Region.where(("x", "y"), "0 <= x < 4 and y = 2*x")
        >>> pairs.decides(("y",)), pairs.to(("x", "z"), "0 <= z < 2").decides(("x",))
        (True, False)
        """
        determined = self._determined(domain)
        return asked("is_single_valued", determined._split((*domain, *determined._more(domain)))[1])

    def _determined(self, by: Names) -> Region:
        """Return the region without lookups that other coordinates than those of ``by`` tell."""
        mine = self.lookups
        if not mine:
            return self
        kept = (n for n in mine if n in by or current().needs(n) <= {*by})
        return self._moved((*self._own(), *current().ordered(kept)))

    def _more(self, by: Names) -> Names:
        """Return the lookups that are not among the names that tell them."""
        return tuple(name for name in self.lookups if name not in by)

    def repeats(self, by: Names, within: str = "true") -> Region:
        """Return the points that share some coordinates with an earlier point.

        Earlier means lexicographically, in the other coordinates; the earlier point's have an
        ``x`` after their names. ``within`` is a constraint on all points.

        >>> pairs = Region.where(("x", "y"), "0 <= y < 4 and y <= 2*x <= y + 1")
        >>> pairs.repeats(("x",)).least()
        {'x': 1, 'y': 2, 'yx': 1}
        """
        points = self.within(within)._determined(by)
        by = (*by, *points._more(by))
        others = tuple(name for name in points.names if name not in by)
        names = (*by, *others, *(f"{name}x" for name in others))
        same = " and ".join(f"{name}x = {name}" for name in others)
        earlier = points.to((*by, *(f"{name}x" for name in others)), same)
        before = " or ".join(
            " and ".join([*(f"{n}x = {n}" for n in others[:i]), f"{name}x < {name}"])
            for i, name in enumerate(others)
        )
        return (points.to(names) & earlier.to(names)).within(before)
