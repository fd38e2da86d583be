"""Whether prefetches bring what will be loaded, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from math import gcd, inf, prod
from operator import ge
from typing import Any, TypeAlias

import numpy as np

from pycute_xe.clock import stopwatch
from pycute_xe.holding.tables import anchors
from pycute_xe.kernel import If, Index, Kernel, Loop, Statement, walk
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import Quotient
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.signatures import typed
from pycute_xe.verifying.verdict import Answer, Proof

__all__ = ["verify_prefetches", "compared"]

# ------------------------------------------------------------ fetching
# How often loops around prefetches run: the sizes that decide it, and how far to follow.
#
# One more trip of a loop adds one more tile to what is prefetched and to what is loaded, at the
# same distance. So what holds for few and for some more trips holds for all, where conditions and
# places compare a loop's variable with numbers and with counts of its own size alone.

_MOST = 40_000
"""Prefetches and loads that are followed, those of all problems together."""


class Unfit(Exception):
    """Why the prefetches of an operand have no answer here."""


@dataclass(frozen=True)
class Counted:
    """Counts of trips that one size decides, from the smallest problem on: ``steps[i][count]``.

    ``sizes[i]`` is the least size of a step, ``largest[i]`` the largest. A count that sizes do not
    tell is a size of its own.
    """

    name: str
    sizes: tuple[int, ...]
    largest: tuple[int, ...]
    steps: tuple[Mapping[Index, int], ...]

    @cached_property
    def finest(self) -> Index | None:
        """The count that grows with every step, or None."""
        for count in self.steps[0]:
            values = [step[count] for step in self.steps]
            if all(y == x + 1 for x, y in pairwise(values)):
                return count
        return None

    def value_at(self, step: int) -> tuple[str, int]:
        """Return by what a step is compared, and its value there."""
        if self.finest is None:
            return self.name, self.sizes[step]
        return str(self.finest), self.steps[step][self.finest]


def touching(body: tuple[Statement, ...], operand: str) -> list[MemoryAccess]:
    """Return the prefetches and loads of an operand."""
    accesses = (_access(statement, operand) for statement in walk(body))
    return [access for access in accesses if access is not None]


def _access(statement: Statement, operand: str) -> MemoryAccess | None:
    """Return how a statement prefetches or loads an operand; None if it does neither."""
    access = statement.touched.memory
    if access is None or access.operand != operand:
        return None
    return access if access.prefetches or access.fills else None


def _demand_elements(kernel: Kernel, operand: str) -> None:
    """Raise `Unfit` for a statement that names an operand and not the elements that it uses."""
    for statement in kernel.statements():
        touched, access = statement.touched, _access(statement, operand)
        if operand in touched.unplaced or (operand in touched.prefetched and access is None):
            raise Unfit(f"which elements of it {type(statement).__name__} uses is not declared")


def counted(kernel: Kernel, operand: str) -> tuple[Counted, ...]:
    """Return what decides how often the loops around an operand run, and the steps to follow.

    Raises `Unfit` for loops, conditions and places of which few trips do not tell about many.
    """
    enclosing = _Around(kernel, operand)
    of_size = _by_size(kernel, enclosing.counts)
    size_of = {count: name for name, counts in of_size.items() for count in counts}
    enclosing.demand_apart(size_of)
    least = 2 * enclosing.farthest() + 3
    made = tuple(_of_size(kernel, name, tuple(counts), least) for name, counts in of_size.items())
    if prod(len(one.steps) for one in made) * enclosing.done(made) > _MOST:
        raise Unfit(_TOO_FAR)
    return made


_TOO_FAR = "its prefetches are too many trips ahead to be followed"


def compared(condition: If, sizes: frozenset[str]) -> tuple[Index, Index]:
    """Return what a condition compares, in tiles: ``32*k < N`` is ``k < ceil_div(N, 32)``.

    Variables on the right go to the left.
    """
    terms = condition.below.terms
    moved = Index.of({a: c for a, c in terms if not Index.of({a: 1}, 0).names <= sizes}, 0)
    index, below = condition.index - moved, condition.below - moved
    step = gcd(*(scale for _, scale in index.terms))
    if step < 2 or below.is_constant:
        return index, below
    return (index - index.offset) // step, (below - index.offset + (step - 1)) // step


class _Around:
    """The loops, conditions and statements that touch an operand."""

    def __init__(self, kernel: Kernel, operand: str) -> None:
        _demand_elements(kernel, operand)
        self.operand, self.touching = operand, touching(kernel.body, operand)
        every = (s for s in walk(kernel.body) if isinstance(s, (Loop, If)))
        inside = [s for s in every if touching(s.body, operand)]
        self.loops = [s for s in inside if isinstance(s, Loop)]
        self.conditions = [
            compared(s, frozenset(kernel.sizes)) for s in inside if isinstance(s, If)
        ]
        for loop in self.loops:
            if not loop.start.is_constant:
                raise Unfit(f"the loop over {loop.var} starts at {loop.start}")
        self.open = {loop.var: loop.stop for loop in self.loops if not loop.stop.is_constant}
        self.closed = {loop.var: loop for loop in self.loops if loop.stop.is_constant}

    @property
    def counts(self) -> tuple[Index, ...]:
        """What sizes decide: how often loops run, and what conditions compare with."""
        below = (below for _, below in self.conditions if not below.is_constant)
        return tuple(dict.fromkeys((*self.open.values(), *below)))

    def done(self, sizes: Iterable[Counted]) -> int:
        """Return how many statements the largest problem does."""
        last = {count: n for size in sizes for count, n in size.steps[-1].items()}
        trips = [last.get(x.stop, x.stop.offset) - x.start.offset for x in self.loops]
        inner = [touching(x.body, self.operand) for x in self.loops]
        spans = list(zip(inner, trips, strict=True))
        enclosing = ([n for some, n in spans if access in some] for access in self.touching)
        return sum(map(prod, enclosing))

    def demand_apart(self, size_of: Mapping[Index, str]) -> None:
        """Refuse what compares the trips of one size's loops with those of another's."""
        modes: dict[int, str] = {}
        for access in self.touching:
            for mode, index in enumerate(access.at):
                for name in (size_of[self.open[v]] for v in self._variables(index)):
                    if modes.setdefault(mode, name) != name:
                        raise Unfit(f"loops of {modes[mode]} and of {name} go over the same tiles")
        for index, below in self.conditions:
            for variable in self._variables(index):
                mine = size_of[self.open[variable]]
                if not below.is_constant and size_of[below] != mine:
                    raise Unfit(f"a condition compares a loop of {mine} with {below}")

    def _variables(self, index: Index) -> list[str]:
        """Return the variable of a loop that a size decides, of which there is one at most."""
        bound = self.open.keys() | self.closed.keys()
        for atom, _ in index.terms:  # small numbers of trips do not tell of turns of larger ones
            if not isinstance(atom, str) and Index.of({atom: 1}, 0).names & bound:
                raise Unfit(f"{index} goes by turns of a loop")
        variables = sorted(index.names & self.open.keys())
        if len(variables) > 1:
            raise Unfit(f"{index} goes by {len(variables)} loops at once")
        return variables

    def farthest(self) -> int:
        """Return the largest distance in trips at which statements and conditions are."""
        far = [abs(loop.start.offset) for loop in self.loops]
        far += [self._span(index) + abs(below.offset) for index, below in self.conditions]
        for indices in zip(*(access.at for access in self.touching), strict=True):
            steps = [abs(c) for index in indices for a, c in index.terms if a in self.open]
            far += [-(-self._span(index) // min(steps)) for index in indices if steps]
        return max(far, default=0)

    def _span(self, index: Index) -> int:
        """Return how far from zero an index gets by numbers and by loops that run so often."""
        inner = ((self.closed[str(a)], c) for a, c in index.terms if a in self.closed)
        ends = (max(abs(x.start.offset), abs(x.stop.offset - 1)) * abs(c) for x, c in inner)
        return abs(index.offset) + sum(ends)


def _by_size(kernel: Kernel, counts: Iterable[Index]) -> dict[str, list[Index]]:
    """Return counts by the size that decides them; others stand for themselves."""
    out: dict[str, list[Index]] = {}
    names: dict[str, Index] = {}
    for count in counts:
        name = _size(kernel, count) or str(count)
        out.setdefault(name, []).append(count)
        for used in count.names:
            before = names.setdefault(used, count)
            if before != count and {name, _size(kernel, before)} != {used}:
                raise Unfit(f"how {before} and {count} are related is not followed")
    return out


def _size(kernel: Kernel, count: Index) -> str:
    """Return the one size of which a count is a quotient, or a sum with a number; empty if not."""
    if len(count.terms) != 1 or count.terms[0][1] != 1 or len(count.names) != 1:
        return ""
    (name,), atom = count.names, count.terms[0][0]
    inner = atom.index if isinstance(atom, Quotient) else Index(name)
    plain = not count.looked_up and inner - inner.offset == Index(name)
    return name if plain and name in kernel.sizes else ""


def _of_size(kernel: Kernel, name: str, counts: tuple[Index, ...], least: int) -> Counted:
    """Return the steps of a size until every count has so many trips."""
    if name not in kernel.sizes or not all(_size(kernel, count) for count in counts):
        span = tuple(range(least + 1))
        return Counted(name, span, span, tuple(dict.fromkeys(counts, n) for n in span))
    grown = [_quotient(count) for count in counts]
    last = max(least * divisor for divisor, _ in grown)
    if last > _MOST * min(divisor for divisor, _ in grown):
        raise Unfit(_TOO_FAR)
    sizes = {1}
    for divisor, plus in grown:
        sizes |= {n for n in range(divisor - plus, last + divisor + 1, divisor) if n >= 1}
    *least_of, end = sorted(sizes)
    largest = tuple(n - 1 for n in (*least_of[1:], end))
    steps = tuple({count: count.at({name: size}) for count in counts} for size in least_of)
    return Counted(name, tuple(least_of), largest, steps)


def _quotient(count: Index) -> tuple[int, int]:
    """Return the divisor of a quotient and what is added before."""
    atom = count.terms[0][0]
    return (atom.divisor, atom.index.offset) if isinstance(atom, Quotient) else (1, 0)


# ------------------------------------------------------------ prefetching

Steps: TypeAlias = "tuple[int, ...]"
# Coordinates are digits of a number, of either sign; all of them together have so many bits.
_BITS = 60


@typed
def verify_prefetches(kernel: Kernel) -> tuple[Proof, ...]:
    """Return a proof for each operand with prefetches: what is loaded was prefetched, no more is.

    Loops that run as often as sizes say, nested ones too, are followed for every count up to twice
    the largest distance between prefetch and load, blocks marked one by one. From there on one more
    trip adds one more tile to both at the same distance, so that the answer is one for all sizes.
    "needs" has the counts of trips from which on nothing is prefetched in vain; "disproved" says
    in ``reason`` which element is loaded without a prefetch or prefetched without a load.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> [(p.property, p.answer, p.condition) for p in verify_prefetches(gemm)][0]
    ('prefetch A', 'needs', 'ceil_div(K, 32) >= 2')
    """
    fetched = dict.fromkeys(n for s in walk(kernel.body) for n in s.touched.prefetched)
    return tuple(_proof(kernel, operand) for operand in fetched)


def _proof(kernel: Kernel, operand: str) -> Proof:
    elapsed = stopwatch()
    name, words = f"prefetch {operand}", f"{operand} is prefetched before it is loaded, no more"
    answer, condition, reason = "proved", "", ""
    try:
        answer, condition, reason = _Problems(kernel, operand).answer()
    except Unfit as unfit:
        answer, reason = "undecided", str(unfit)
    seconds = elapsed()
    return Proof(name, answer, words, (), seconds, condition=condition, reason=reason)


class _Problems:
    """The problems that are followed, the smallest first: a step of each size."""

    def __init__(self, kernel: Kernel, operand: str) -> None:
        self.kernel, self.operand = kernel, operand
        self.sizes = counted(kernel, operand)
        self.last = tuple(len(size.steps) - 1 for size in self.sizes)

    def answer(self) -> tuple[Answer, str, str]:
        """Return the answer, the condition on sizes, and the reason."""
        moving, tiles = touching(self.kernel.body, self.operand), dict[int, Tile | None]()
        variables = {s.var for s in walk(self.kernel.body) if isinstance(s, Loop)}
        units, concerned = _units(moving, variables), dict[int, bool]()
        steps = product(*(range(last + 1) for last in self.last))
        vain: dict[Steps, str] = {}
        for chosen in sorted(steps, key=lambda one: (sum(one), one)):
            counts = {
                c: n for s, i in zip(self.sizes, chosen, strict=True) for c, n in s.steps[i].items()
            }
            ends = self._ends(chosen)
            names = frozenset(self.kernel.sizes)
            run = _Run(names, self.operand, counts, units, ends, tiles, concerned)
            run.follow(self.kernel.body, {})
            if run.missing:
                return "disproved", "", f"{run.missing}{self._where(chosen)}"
            if words := run.vain():
                vain[chosen] = words
        if self.last in vain:
            return "disproved", "", f"{vain[self.last]}{self._where(self.last)}"
        return ("needs", self._without(vain), "") if vain else ("proved", "", "")

    def _ends(self, chosen: Steps) -> tuple[float, ...]:
        """Return behind which coordinates of the operand there is nothing to load, by mode."""
        ends = {
            Index(size.name): size.largest[step]
            for size, step in zip(self.sizes, chosen, strict=True)
            if size.name in self.kernel.sizes
        }
        return tuple(ends.get(mode, inf) for mode in self.kernel.operand(self.operand).modes)

    def _where(self, chosen: Steps) -> str:
        steps = (size.value_at(step) for size, step in zip(self.sizes, chosen, strict=True))
        words = " and ".join(f"{name} is {value}" for name, value in steps)
        return f", where {words}" if words else ""

    def _without(self, vain: Iterable[Steps]) -> str:
        """Return from which counts on nothing is prefetched in vain."""
        from_on = [0] * len(self.last)
        for one in vain:
            short = [i for i, last in enumerate(self.last) if one[i] != last]
            if len(short) == 1:
                from_on[short[0]] = max(from_on[short[0]], one[short[0]] + 1)
        if any(all(map(ge, one, from_on)) for one in vain):
            raise Unfit("whether it is prefetched in vain depends on several sizes at once")
        steps = (
            size.value_at(step) for size, step in zip(self.sizes, from_on, strict=True) if step
        )
        return " and ".join(f"{name} >= {value}" for name, value in steps)


Tile: TypeAlias = tuple[MemoryAccess, Ints]
"""An access, and the units that it touches where its tile begins at zero."""


@dataclass
class _Run:
    """One problem: what has been prefetched, what has been loaded."""

    sizes: frozenset[str]
    operand: str
    counts: Mapping[Index, int]
    units: Ints
    ends: tuple[float, ...]
    tiles: dict[int, Tile | None]
    concerned: dict[int, bool]
    fetched: set[int] = field(default_factory=set[int])
    loaded: set[int] = field(default_factory=set[int])
    missing: str = ""
    origin: tuple[Index, ...] | None = None

    def follow(self, body: tuple[Statement, ...], bound: Mapping[str, Index]) -> None:
        """Do the statements that touch the operand, in order."""
        for statement in body:
            if isinstance(statement, Loop):
                if not self._concerns(statement):
                    continue
                for trip in range(statement.start.offset, self._number(statement.stop)):
                    self.follow(statement.body, {**bound, statement.var: Index(None, trip)})
            elif isinstance(statement, If):
                if self._holds(statement, bound):
                    self.follow(statement.body, bound)
            else:
                if id(statement) not in self.tiles:
                    access = _access(statement, self.operand)
                    self.tiles[id(statement)] = access and (access, _tile(access, self.units))
                if (tile := self.tiles[id(statement)]) is not None:
                    self._do(*tile, bound)

    def _concerns(self, statement: Loop | If) -> bool:
        """Whether the operand is touched inside."""
        if id(statement) not in self.concerned:
            self.concerned[id(statement)] = bool(touching(statement.body, self.operand))
        return self.concerned[id(statement)]

    def _holds(self, condition: If, bound: Mapping[str, Index]) -> bool:
        if not self._concerns(condition):
            return False
        index, below = compared(condition, self.sizes)
        index = index.substitute(bound)
        if not index.is_constant:
            raise Unfit(f"a condition on {index} decides whether it is touched")
        return index.offset < self._number(below)

    def _number(self, count: Index) -> int:
        return count.offset if count.is_constant else self.counts[count]

    def _do(self, access: MemoryAccess, units: Ints, bound: Mapping[str, Index]) -> None:
        """Mark what an access touches: ``units`` are those of a tile that begins at zero."""
        at = [index.substitute(bound) for index in access.at]
        start = tuple(index.offset for index in at)
        groups = tuple(index - index.offset for index in at)
        if self.origin not in (None, groups):
            raise Unfit("its tiles begin at places that differ by more than numbers")
        self.origin = groups
        tile = units + _code(np.array(start) // self.units)
        here: set[int] = set(tile.tolist())
        if access.prefetches:
            self.fetched |= here
            return
        self.loaded |= here
        if self.missing:
            return
        for code in sorted(here - self.fetched):
            if not self._is_outside(code):
                self.missing = f"{self._element(code)} is loaded, not prefetched"
                return

    def vain(self) -> str:
        """Say which element is prefetched and never loaded; empty where none is."""
        more = self.fetched - self.loaded
        return f"{self._element(min(more))} is prefetched, never loaded" if more else ""

    def _places(self, code: int) -> list[Index]:
        whole: list[Index] = []
        for index, unit in reversed(list(zip(self.origin or (), self.units.tolist(), strict=True))):
            base = 1 << _BITS // len(self.units)
            digit = (code + base // 2) % base - base // 2
            code = (code - digit) // base
            whole.append(index + digit * unit)
        return whole[::-1]

    def _is_outside(self, code: int) -> bool:
        """Whether a unit lies behind the end of the operand: no memory is read there."""
        places = zip(self._places(code), self.ends, strict=True)
        return any(place.is_constant and place.offset >= end for place, end in places)

    def _element(self, code: int) -> str:
        return f"{self.operand}[{', '.join(map(str, self._places(code)))}]"


def _code(places: Ints) -> Any:
    """Return coordinates as one number, in the order of the coordinates."""
    rank = places.shape[-1]
    base = 1 << _BITS // rank
    if np.abs(places).max(initial=0) >= base // 8:  # sums of three of them stay digits
        raise Unfit("its tiles are too far apart")
    powers = np.array([base**i for i in reversed(range(rank))], dtype=np.int64)
    return np.dot(places, powers)


def _tile(access: MemoryAccess, units: Ints) -> Ints:
    """Return the units that the messages of all subgroups touch, as numbers."""
    starts, extents = _blocks(access)
    counts = (extents // units).tolist()
    inside = np.array(list(np.ndindex(*counts)), dtype=np.int64)
    return np.unique(_code(starts // units)[:, None] + _code(inside))


def _blocks(access: MemoryAccess) -> tuple[Ints, Ints]:
    """Return where messages start, by mode of the operand, and the extents of their blocks."""
    copy = access.copy
    corners = np.unique(anchors(copy).reshape(-1, len(copy.tiler_mn)), axis=0)
    height, width = copy.block.shape
    starts = np.zeros((corners.shape[0], len(access.at)), dtype=np.int64)
    extents = np.ones(len(access.at), dtype=np.int64)
    for axis, mode in enumerate(access.modes):
        if mode is not None:
            starts[:, mode] += corners[:, axis]
            extents[mode] *= {copy.x_mode: width, copy.y_mode: height}.get(axis, 1)
    return starts, extents


def _units(touching: list[MemoryAccess], variables: set[str]) -> Ints:
    """Return, by mode, the elements that all tiles and steps are multiples of."""
    out = [0] * len(touching[0].at)
    for access in touching:
        starts, extents = _blocks(access)
        for mode, index in enumerate(access.at):
            moved = [c for a, c in index.terms if variables & Index.of({a: 1}, 0).names]
            out[mode] = gcd(out[mode], *starts[:, mode].tolist(), int(extents[mode]), *moved)
            out[mode] = gcd(out[mode], index.offset)
    return np.array(out, dtype=np.int64)
