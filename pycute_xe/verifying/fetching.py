"""Floor 9: how often loops around prefetches run: the sizes that decide it, and how far to follow.

One more trip of a loop adds one more tile to what is prefetched and to what is loaded, at the same
distance. So what holds for few and for some more trips holds for all, where conditions and places
compare a loop's variable with numbers and with counts of its own size alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import gcd, prod

from pycute_xe.kernel import If, Index, Kernel, Load, Loop, Prefetch, walk
from pycute_xe.kernel.index import Quotient

__all__ = ["Counted", "Unfit", "counted", "told", "touching"]

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

    def told(self, step: int) -> tuple[str, int]:
        """Return by what a step is told, and its value there."""
        if self.finest is None:
            return self.name, self.sizes[step]
        return str(self.finest), self.steps[step][self.finest]


def touching(kernel: Kernel, operand: str) -> list[Prefetch | Load]:
    """Return the prefetches and loads of an operand."""
    moving = (s for s in walk(kernel.body) if isinstance(s, (Prefetch, Load)))
    return [s for s in moving if s.operand == operand]


def counted(kernel: Kernel, operand: str) -> tuple[Counted, ...]:
    """Return what decides how often the loops around an operand run, and the steps to follow.

    Raises `Unfit` for loops, conditions and places of which few trips do not tell about many.
    """
    found = _Around(kernel, operand)
    of_size = _by_size(kernel, found.counts)
    size_of = {count: name for name, counts in of_size.items() for count in counts}
    found.demand_apart(size_of)
    least = 2 * found.farthest() + 3
    made = tuple(_of_size(kernel, name, tuple(counts), least) for name, counts in of_size.items())
    if prod(len(one.steps) for one in made) * found.done(made) > _MOST:
        raise _too_far()
    return made


def _too_far() -> Unfit:
    return Unfit("its prefetches are too many trips ahead to be followed")


def told(condition: If, sizes: frozenset[str]) -> tuple[Index, Index]:
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
        self.touching = touching(kernel, operand)
        every = (s for s in walk(kernel.body) if isinstance(s, (Loop, If)))
        inside = [s for s in every if any(x in self.touching for x in walk(s.body))]
        self.loops = [s for s in inside if isinstance(s, Loop)]
        self.conditions = [told(s, frozenset(kernel.sizes)) for s in inside if isinstance(s, If)]
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
        spans = [(x, last.get(x.stop, x.stop.offset) - x.start.offset) for x in self.loops]
        around = ([n for x, n in spans if s in walk(x.body)] for s in self.touching)
        return sum(map(prod, around))

    def demand_apart(self, size_of: Mapping[Index, str]) -> None:
        """Refuse what compares the trips of one size's loops with those of another's."""
        modes: dict[int, str] = {}
        for statement in self.touching:
            for mode, index in enumerate(statement.at):
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
        found = sorted(index.names & self.open.keys())
        if len(found) > 1:
            raise Unfit(f"{index} goes by {len(found)} loops at once")
        return found

    def farthest(self) -> int:
        """Return the largest distance in trips at which statements and conditions are."""
        far = [abs(loop.start.offset) for loop in self.loops]
        far += [self._span(index) + abs(below.offset) for index, below in self.conditions]
        for indices in zip(*(statement.at for statement in self.touching), strict=True):
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
        raise _too_far()
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
