"""How an index moves with its variables: when it repeats, and how straight it runs.

An index is a sum of multiples of names and of quotients of indices by integers, so three things
follow from its parts, whatever values its other names have.

- *Span and growth.* Let ``f`` grow by exactly ``g`` over ``s`` steps of a variable. Over
  ``t = d/gcd(d, g)`` times as many it grows by ``t*g``, a multiple of ``d``, and ``f // d`` by
  exactly ``t*g/d``. A sum grows exactly over the least common multiple of its terms' spans. Hence
  every index without a look-up has a span over which its growth, or drift, is exact.
- *Period.* It repeats if and only if the drifts of its terms cancel.
- *Line.* ``f // d`` is at most ``f/d`` and at least ``(f - d + 1)/d``. So an index lies between
  two parallel lines, and how far they are apart bounds how far from a threshold its fractions
  still matter: its reach.

Whatever asks whether something repeats asks here. What an index shows is followed problem by
problem in `pycute_xe.holding.exploration`; below is the argument why few problems are enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from math import floor, gcd, lcm, prod

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.nodes import undecided
from pycute_xe.kernel import Index, Kernel, walk
from pycute_xe.kernel.index import SUBGROUP_INDEX, Quotient
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.program import chooses

__all__ = [
    "Line",
    "line",
    "period",
    "span",
    "values",
    "Shape",
    "demand_one_event",
    "is_event",
    "shape_of",
    "unordered",
]

MOST_VALUES = 4096
"""Combinations of turns of all variables of an index that are looked at one by one."""


@cache
def span(index: Index, var: str) -> tuple[int, int]:
    """Return after how many steps of a variable an index has grown by exactly how much.

    The growth is the same from every value on, of the other names too. Raises `UndecidableError`
    for what is looked up.

    >>> span(Index("k") // 16 % 4, "k"), span(3 * Index("k") // 2 + Index("m"), "k")
    ((64, 0), (2, 3))
    """
    steps, parts = 1, list[tuple[int, int]]()
    for atom, scale in index.terms:
        if isinstance(atom, str):
            parts.append((1, scale if atom == var else 0))
        elif isinstance(atom, Quotient):
            inner, grown = span(atom.index, var)
            more = atom.divisor // gcd(atom.divisor, grown)
            parts.append((inner * more, scale * (grown * more // atom.divisor)))
        else:
            raise _looked_up(index)
        steps = lcm(steps, parts[-1][0])
    return steps, sum(grown * (steps // own) for own, grown in parts)


@cache
def period(index: Index, var: str) -> int:
    """Return after how many steps of a variable an index repeats; 0 where it does not.

    >>> period(Index("k") % 3 * 64, "k"), period(Index("k") * 64, "k"), period(Index("m"), "k")
    (3, 0, 1)
    >>> period((Index("k") + Index("j")) % 6 // 2, "k"), period(Index("k") % 6 % 2, "k")
    (6, 2)
    """
    if index.looked_up:
        return 0
    steps, grown = span(index, var)
    if grown:
        return 0
    if index.names == frozenset({var}) and steps <= MOST_VALUES:
        turn_values = [index.at({var: turn}) for turn in range(steps)]
        return next(
            s
            for s in range(1, steps + 1)
            if steps % s == 0 and turn_values[s:] + turn_values[:s] == turn_values
        )
    return steps


def values(index: Index, known: Mapping[str, range] | None = None) -> tuple[int, ...]:
    """Return the values that an index takes, each once.

    Its variables repeat, or run through a range that is ``known``. Raises `UndecidableError` where
    neither is so, and for too many turns.

    >>> values((Index("k") // 2 + Index("j")) % 3 * 64), values(Index("k") * 8, {"k": range(2)})
    ((0, 64, 128), (0, 8))
    """
    names, turns = sorted(index.names), list[range]()
    for name in names:
        steps, run = period(index, name), (known or {}).get(name)
        if run is not None and not 0 < steps < len(run):
            turns.append(run)
        elif steps:
            turns.append(range(steps))
        else:
            raise _unclear(index, "does not repeat", "modulo the number of stages")
    count = prod(map(len, turns))
    if index.looked_up or count > MOST_VALUES:
        raise _unclear(index, f"has {count} turns, more than {MOST_VALUES}", "and fewer stages")
    turn_values = (index.at(dict(zip(names, turn, strict=True))) for turn in product(*turns))
    return tuple(sorted(set(turn_values)))


def _unclear(index: Index, why: str, fix: str) -> UndecidableError:
    words = f"where a statement finds a shared array depends on {index}, which {why}"
    return undecided(words, f"use a constant, or a loop's variable {fix}")


@dataclass(frozen=True)
class Line:
    """An index is its slopes times its names, plus something from ``low`` to ``high``."""

    slopes: tuple[tuple[str, Fraction], ...]
    low: Fraction
    high: Fraction

    def of(self, name: str) -> Fraction:
        """Return the slope along a name."""
        return dict(self.slopes).get(name, Fraction(0))

    @property
    def bound(self) -> Fraction:
        """How far from zero the rest may be."""
        return max(abs(self.low), abs(self.high))

    def within(self, most: Mapping[str, int]) -> Line:
        """Return the line over the other names, where some run from 0 up to a number."""
        low, high = self.low, self.high
        for name, slope in self.slopes:
            if name in most:
                ends = (Fraction(0), slope * most[name])
                low, high = low + min(ends), high + max(ends)
        return Line(tuple((n, s) for n, s in self.slopes if n not in most), low, high)


def line(index: Index) -> Line:
    """Return the two parallel lines between which an index lies.

    Raises `UndecidableError` for what is looked up.

    >>> found = line(Index("k") // 4 - Index("m") + 1)
    >>> found.of("k"), found.low, found.high
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 1))
    """
    slopes, low, high = dict[str, Fraction](), Fraction(index.offset), Fraction(index.offset)
    for atom, scale in index.terms:
        if isinstance(atom, str):
            inner = Line(((atom, Fraction(1)),), Fraction(0), Fraction(0))
        elif isinstance(atom, Quotient):
            inner = _divided(line(atom.index), atom.divisor)
        else:
            raise _looked_up(index)
        for name, slope in inner.slopes:
            slopes[name] = slopes.get(name, Fraction(0)) + scale * slope
        low += min(scale * inner.low, scale * inner.high)
        high += max(scale * inner.low, scale * inner.high)
    return Line(tuple((name, slope) for name, slope in slopes.items() if slope), low, high)


def _divided(inner: Line, divisor: int) -> Line:
    slopes = tuple((name, slope / divisor) for name, slope in inner.slopes)
    return Line(slopes, (inner.low - (divisor - 1)) / divisor, inner.high / divisor)


def _looked_up(index: Index) -> UndecidableError:
    looked = index.looked_up[0]
    return undecided(f"{looked} is known only in a run", "run it")


# ------------------------------------------------------------ problems
# The problems that show, for all sizes, how the subgroups of a work-group meet.
#
# What classes of subgroups do is followed event by event in explicit problems. This module says
# which of them are enough, and why.
#
# *Shape.* Loops count from 0: a start is put into the indices of the body. The trips of a *long*
# loop grow with the one free size; all other loops are short and are part of a word. An index
# inside is
#
# - by turns: it has no slope along a long loop's variable or the size, so that it repeats;
# - a condition that matters only within a reach of the loop's start, or of its end, or up to some
#   size: it runs along one of these straight up to a bound (`periods.line`).
#
# Whatever is neither is refused by name. Let ``period`` be a step of the size that is a multiple of
# all spans, and by which the trips of each long loop grow by a multiple of its turns. Then the
# events of a larger problem are those of a smaller one with a *cell*, ``period`` steps' worth of
# trips, inserted into each long loop at one depth, at any cut between the reaches; each event keeps
# what it does. Cuts are counted in ``units``, the parts of a cell that loops of different speed
# share.
#
# *Rounds.* The n-th arrival of a class at a barrier belongs to its n-th round; all rounds of a
# barrier have the same classes (else refused). Where these arrive as often in a cell, one loop
# after the other, a round joins trips at most ``shift`` cuts apart, whatever the size. A cut is
# *blocked* by a round that joins trips on both sides: by at most ``shift`` cuts.
#
# *Paths.* What is over for whom is a path along classes' events and rounds. All subgroups of a
# class arrive at its rounds, and are let pass by them: a path that comes back to a class has a
# shorter one with the same ends, unless it comes from one subgroup of a class to another one. So it
# takes no more than ``joins`` rounds, the number of classes. A cut that none of these blocks lets a
# cell be inserted into the path: it remains a path.
#
# *Races.* Two accesses without a path in a large problem: take out a cell before both, between, or
# behind. In each of the three the pair in the smaller problem is the same one for all cuts; if it
# had a path, this would block all cuts there. With more than ``joins * shift`` cuts in one of the
# three there is a cut that is not blocked, and the pair would have a path in the large problem,
# too. So ``3 * joins * shift`` cuts, and 3 cells that hold the two or reach across them, make a
# race of the large problem one of the smaller. Arrivals that may lap their round are such pairs as
# well.
#
# *Wrong order.* If one is over before the other, but written behind it, then so are the two in the
# smaller problem, or they race there: in the order that is written they would be in order in the
# large one, too.
#
# *Waiting for ever, wrong counts.* These are a cycle of at most ``joins`` rounds, or a round. A
# cell that touches none of them can be taken out: each excludes a cell and ``shift`` cuts.
#
# *Nesting.* Depth by depth, innermost first: with the trips further out as they are the argument is
# the one above, and what is shown of few trips inside is a word for the loops around.
#
# So problems are followed from the smallest on until, for a whole period, there are as many cuts as
# are needed: a larger problem with a fault then has a smaller one with a fault. `Problems` counts
# the work; what is too much is refused.


@dataclass(eq=False)
class Long:
    """A loop whose trips grow with the size.

    ``depth`` counts the long loops around it; conditions inside matter in the first ``start`` and
    the last ``end`` trips; what happens inside repeats after ``turns``. ``unit`` is how many trips
    lie between two cuts.
    """

    loop: ir.Loop
    var: str
    depth: int
    trips: Line
    slope: Fraction
    turns: int = 1
    start: int = 0
    end: int = 0
    unit: int = 1


@dataclass(eq=False)
class Shape:
    """How the meetings of a kernel's subgroups depend on one free size, or on none.

    From ``least`` on sizes decide no condition by themselves. ``odd`` is an index that is not
    followed to all sizes. ``parts`` are what sizes put into indices, or whether that is below zero:
    problems that agree on these are alike.
    """

    kernel: Kernel
    sizes: dict[str, int]
    free: str
    period: int = 1
    least: int = 0
    odd: str = ""
    longs: list[Long] = field(default_factory=list[Long])
    parts: dict[tuple[Index, bool], None] = field(default_factory=dict[tuple[Index, bool], None])
    short: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        """Look for the loops and conditions in which subgroups meet."""
        enclosing = (s for s in self.kernel.statements() if isinstance(s, (ir.Loop, ir.If)))
        self._met = {id(s) for s in enclosing if any(map(is_event, walk(s.body)))}

    def meets_in(self, block: ir.Loop | ir.If) -> bool:
        """Whether subgroups meet in a loop or a condition, or use shared memory."""
        return id(block) in self._met

    def alike(self, size: int) -> tuple[int, ...]:
        """Return what problems of sizes that do the same have in common."""
        at = {self.free: size}
        return tuple(int(part.at(at) < 0) if sign else part.at(at) for part, sign in self.parts)

    def depths(self) -> Iterator[tuple[list[Long], int, int]]:
        """Yield the long loops of a depth, their common start, and a cell, both in cuts."""
        for depth in range(1 + max((one.depth for one in self.longs), default=-1)):
            ones = [one for one in self.longs if one.depth == depth]
            cell = int(ones[0].slope * self.period) // ones[0].unit
            yield ones, max(-(-one.start // one.unit) for one in ones), cell


def is_event(statement: ir.Statement) -> bool:
    """Whether subgroups meet in a statement, or use shared memory."""
    touched = statement.touched
    return bool(touched.meets) or touched.shared is not None or touched.named is not None


def demand_one_event(statement: ir.Statement) -> None:
    """Raise `UndecidableError` for a statement of several events: their order is not declared."""
    touched = statement.touched
    if sum(map(bool, (touched.meets, touched.named, touched.shared))) > 1:
        raise unordered(statement)


def unordered(statement: ir.Statement) -> UndecidableError:
    """Return the refusal of a statement that meets others in an order that is not followed."""
    return undecided(f"what {type(statement).__name__} orders is not followed")


def shape_of(kernel: Kernel, fixed: dict[str, int]) -> Shape:
    """Return how a kernel's meetings depend on sizes.

    Raises `UndecidableError` where more than loops and one size decide what subgroups do.
    """
    used = {name for index in _asked(kernel) for name in index.names & set(kernel.sizes)}
    free = sorted(used - fixed.keys())
    if len(free) > 1:
        raise refused(" and ".join(free), "fix one of them")
    ones = dict.fromkeys(kernel.sizes, 1) | fixed
    shape = Shape(kernel, ones, free[0] if free else "")
    known = {n: Index(None, v) for n, v in ones.items() if n != shape.free}
    _Reading(shape).body(kernel.body, known, ())
    _into_units(shape)
    return shape


def _asked(kernel: Kernel) -> Iterator[Index]:
    """Yield the indices on which it depends whether and where subgroups meet."""
    for statement in kernel.statements():
        others = {name for name, _ in kernel.grid}
        if statement.touched.shared is None:
            others.add(SUBGROUP_INDEX)
        for index in _indices(statement):
            if index.names & others or index.looked_up:
                raise refused(str(index), "")
            yield index


def _indices(statement: ir.Statement) -> tuple[Index, ...]:
    match statement:
        case ir.Loop(_, start, stop, body):
            return (start, stop) if any(map(is_event, walk(body))) else ()
        case ir.If(index, below, body):
            met = not chooses(statement) and any(map(is_event, walk(body)))
            return (index - below,) if met else ()
        case _:
            named, shared = statement.touched.named, statement.touched.shared
            indices = () if named is None else (named.barrier.number,)
            return indices if shared is None else (*indices, shared.at)


class _Reading:
    """Reads the shape off the statements, loops counted from 0."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def body(
        self, body: tuple[ir.Statement, ...], known: dict[str, Index], longs: tuple[Long, ...]
    ) -> None:
        for statement in body:
            indices = [index.substitute(known) for index in _indices(statement)]
            if isinstance(statement, ir.If):
                indices = [_in_steps(index, self.shape.free) for index in indices]
            for index in indices:
                self.spans(index, longs, isinstance(statement, ir.If))
            match statement:
                case ir.Loop(var, _, _, inner):
                    if indices:
                        start, stop = indices
                        enclosing = self.loop(statement, stop - start, longs)
                        self.body(inner, {**known, var: Index(var) + start}, enclosing)
                case ir.If(_, _, inner):
                    for index in indices:
                        self.condition(index, longs)
                    self.body(inner, known, longs)
                case _:
                    for index in indices:
                        self.by_turns(index, longs)

    def spans(self, index: Index, longs: tuple[Long, ...], sign: bool) -> None:
        """Let a period be a multiple of an index's spans, and tell apart sizes that it does."""
        shape = self.shape
        for one in longs:
            one.turns = lcm(one.turns, span(index, one.var)[0])
        if shape.free in index.names:
            shape.period = lcm(shape.period, span(index, shape.free)[0])
            shape.parts |= dict.fromkeys(_of_size(index, shape.free, sign))

    def line(self, index: Index) -> Line:
        return line(index).within(self.shape.short)

    def loop(self, loop: ir.Loop, trips: Index, longs: tuple[Long, ...]) -> tuple[Long, ...]:
        linear, shape = self.line(trips), self.shape
        slope = linear.of(shape.free)
        if any(linear.of(one.var) for one in longs) or slope < 0:
            self.refuse(trips)
        elif slope:
            made = Long(loop, loop.var, len(longs), linear, slope)
            shape.longs.append(made)
            return (*longs, made)
        shape.short[loop.var] = max(floor(linear.high) - 1, 0)
        return longs

    def by_turns(self, index: Index, longs: tuple[Long, ...]) -> None:
        linear = self.line(index)
        if linear.of(self.shape.free) or any(linear.of(one.var) for one in longs):
            self.refuse(index)

    def condition(self, index: Index, longs: tuple[Long, ...]) -> None:
        """Note within which reach of a start or an end, or up to which size, it matters."""
        linear, shape = self.line(index), self.shape
        by_size = linear.of(shape.free)
        along = [(one, linear.of(one.var)) for one in longs if linear.of(one.var)]
        if not along:
            shape.least = max(shape.least, _reach(linear.bound, by_size))
        elif not by_size and len({slope > 0 for _, slope in along}) == 1:
            for one, slope in along:
                one.start = max(one.start, _reach(linear.bound, slope))
        elif len(along) == 1:
            self.with_end(index, linear, *along[0])
        else:
            self.refuse(index)

    def with_end(self, index: Index, linear: Line, one: Long, slope: Fraction) -> None:
        """Note the reach of a condition on a long loop's variable and the size."""
        by_size = linear.of(self.shape.free)
        at_end, bound = by_size + slope * one.slope, linear.bound + abs(slope) * one.trips.bound
        if not at_end:
            one.end = max(one.end, _reach(bound, slope))
        elif by_size * at_end > 0:  # it does not change between start and end
            least = _reach(bound, min(abs(by_size), abs(at_end)))
            self.shape.least = max(self.shape.least, least)
        else:
            self.refuse(index)

    def refuse(self, index: Index) -> None:
        self.shape.odd = self.shape.odd or str(index)


def _reach(bound: Fraction, slope: Fraction) -> int:
    """Return from where on a line is so far from zero that it decides; 0 where it is level."""
    return floor(bound / abs(slope)) + 1 if slope else 0


def _in_steps(index: Index, size: str) -> Index:
    """Return what is below zero where an index is, in steps: ``32*k - N`` is ``k + (-N)//32``."""
    own = {a: c for a, c in index.terms if size not in Index.of({a: 1}, 0).names}
    step = gcd(*own.values())
    if step < 2:
        return index
    mine = Index.of({a: c // step for a, c in own.items()}, 0)
    return mine + (index - Index.of(own, 0)) // step


def _of_size(index: Index, size: str, sign: bool) -> Iterator[tuple[Index, bool]]:
    """Yield what a size puts into an index: its own parts, or the size where they mix.

    Of an index of the size alone, only its ``sign`` may count.
    """
    if sign and index.names == frozenset({size}):
        yield index, True
        return
    for atom, scale in index.terms:
        part = Index.of({atom: scale}, 0)
        if size in part.names:
            plain = isinstance(atom, Quotient) and part.names == frozenset({size})
            yield (part if plain else Index(size)), False


def _into_units(shape: Shape) -> None:
    """Make the period one of all long loops' turns, and divide cells into common parts."""
    for one in shape.longs:
        grown = int(one.slope * shape.period)
        shape.period *= one.turns // gcd(one.turns, grown)
    cells: dict[int, int] = {}
    for one in shape.longs:
        cells[one.depth] = gcd(cells.get(one.depth, 0), int(one.slope * shape.period))
    for one in shape.longs:
        one.unit = int(one.slope * shape.period) // cells[one.depth]


def refused(by: str, fix: str) -> UndecidableError:
    """Return the refusal of what decides when subgroups meet and is not followed."""
    return undecided(f"when subgroups meet depends on {by}", fix, by=by)
