"""Floor 8: how an index moves with its variables: when it repeats, and how straight it runs.

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
problem in `pycute_xe.holding.problems`, which has the argument why few problems are enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import gcd, lcm, prod

from pycute_xe.errors import UndecidableError
from pycute_xe.kernel import Index
from pycute_xe.kernel.index import Quotient

__all__ = ["Line", "line", "period", "span", "values"]

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
        found = [index.at({var: turn}) for turn in range(steps)]
        return next(
            s for s in range(1, steps + 1) if steps % s == 0 and found[s:] + found[:s] == found
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
    found = (index.at(dict(zip(names, turn, strict=True))) for turn in product(*turns))
    return tuple(sorted(set(found)))


def _unclear(index: Index, why: str, fix: str) -> UndecidableError:
    words = f"where a statement finds a shared array depends on {index}, which {why}"
    return UndecidableError("holding", {}, words, f"use a constant, or a loop's variable {fix}")


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
    return Line(_some(slopes.items()), low, high)


def _some(slopes: Iterable[tuple[str, Fraction]]) -> tuple[tuple[str, Fraction], ...]:
    return tuple((name, slope) for name, slope in slopes if slope)


def _divided(inner: Line, divisor: int) -> Line:
    slopes = tuple((name, slope / divisor) for name, slope in inner.slopes)
    return Line(slopes, (inner.low - (divisor - 1)) / divisor, inner.high / divisor)


def _looked_up(index: Index) -> UndecidableError:
    looked = index.looked_up[0]
    return UndecidableError("holding", {}, f"{looked} is known only in a run", "run it")
