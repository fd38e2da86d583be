"""Tables that meet what is assumed of them, at their edges: empty requests, keys that fill a page.

A trial runs a kernel on them. What an assumption leaves open is drawn; entries that are not used
are what no operand has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Looked
from pycute_xe.kernel.spec.arrivals import in_order
from pycute_xe.kernel.spec.table_checks import broken, value_of
from pycute_xe.kernel.spec.tables import (
    Assumption,
    AtMost,
    Bins,
    Distinct,
    InRange,
    Modes,
    Permutation,
    Rising,
    Runs,
    Sorted,
    Tickets,
)

__all__ = ["drawn_tables"]

Array = NDArray[np.int64]

TRIES = 24
"""Draws of tables that are made to meet what is assumed, one assumption at a time."""
BLIND = 60
"""Draws of small tables after them, of any entries: some assumptions are only met together."""
SMALL = 9
"""Entries of tables that are small, in all."""
S32 = (-(1 << 31), (1 << 31) - 1)
UNUSED = (1 << 20) + 1
"""An entry that is not used."""


def drawn_tables(
    assumed: tuple[Assumption, ...],
    names: frozenset[str],
    modes: Modes,
    sizes: Mapping[str, int],
    seed: int,
    ends: Mapping[str, tuple[int, int]] | None = None,
) -> dict[str, Array] | None:
    """Return tables by name that meet assumptions at some sizes; None where none are found.

    ``ends`` are the least and the greatest number of each table's type, those of s32 if not given.

    >>> modes = {"starts": (Index("U"),)}
    >>> sizes, assumed = {"T": 5, "U": 3}, (Rising("starts", Index("T")),)
    >>> drawn_tables(assumed, frozenset(modes), modes, sizes, 0)["starts"][[0, -1]].tolist()
    [0, 5]
    """
    own = {name: (ends or {}).get(name, S32) for name in names}
    for attempt in range(TRIES + BLIND):
        rng = np.random.default_rng([seed, attempt])
        draw = _Draw(assumed, modes, sizes, rng, own)
        try:
            made = draw.tables(names) if attempt < TRIES else draw.blindly(names)
        except ValueError:  # a type or a range without numbers
            continue
        if made is None:
            return None
        fits = all(((own[n][0] <= x) & (x <= own[n][1])).all() for n, x in made.items())
        if fits and all(broken(one, modes, made, sizes) is None for one in assumed):
            return made
    return None


class _Draw:
    def __init__(
        self,
        assumed: tuple[Assumption, ...],
        modes: Modes,
        sizes: Mapping[str, int],
        rng: np.random.Generator,
        ends: Mapping[str, tuple[int, int]],
    ) -> None:
        self.assumed, self.modes, self.sizes = _in_order_of_rows(assumed), modes, sizes
        self.rng, self.ends = rng, ends
        self.made: dict[str, Array] = {}

    def tables(self, names: frozenset[str]) -> dict[str, Array]:
        self.together()
        for name in sorted(names, key=lambda name: (not self.modes[name], name)):
            if self.modes[name] and name not in self.made:
                self.made[name] = self.table(name)
        for name in sorted(names):
            if not self.modes[name]:
                self.made[name] = np.array(self.scalar(name), np.int64)
        for one in self.assumed:
            if (spoil := MADE[type(one)].spoil) is not None:
                spoil(self, one)
        return self.made

    def together(self) -> None:
        """Make tables of which one says something of another, tickets last."""
        for one in self.assumed:
            if (make := MADE[type(one)].together) is not None:
                make(self, one)

    def blindly(self, names: frozenset[str]) -> dict[str, Array] | None:
        """Return small tables of any entries in range, or none that are used; None if large."""
        shapes = {n: tuple(mode.at(self.sizes) for mode in self.modes[n]) for n in sorted(names)}
        if sum(map(prod, shapes.values())) > SMALL:
            return None
        low = {name: max(-1, self.ends[name][0]) for name in names}
        return {n: self.rng.integers(low[n], self.limits(n)[1] + 1, s) for n, s in shapes.items()}

    def table(self, name: str) -> Array:
        shape = tuple(mode.at(self.sizes) for mode in self.modes[name])
        low, high = self.limits(name)
        out = self.numbers(shape, low, high)
        for one in self.assumed:
            if (make := MADE[type(one)].alone) is not None and name in one.tables:
                out = make(self, one, out)
        return out

    def numbers(self, shape: tuple[int, ...], low: int, high: int) -> Array:
        """Return numbers in a range, and at its ends."""
        out = self.rng.integers(low, high + 1, shape)
        ends = np.array([low, min(low + 1, high), high, max(high - 1, low)])
        chosen = self.rng.integers(0, len(ends), shape)
        return np.where(self.rng.random(shape) < 0.5, ends[chosen], out).astype(np.int64)

    def starts(self, one: Rising, out: Array) -> Array:
        """Make starts; different ones where that is assumed of them, too."""
        apart = any(isinstance(x, Distinct) and x.operand == one.operand for x in self.assumed)
        return (self.strictly if apart else self.rising)(len(out), one.to.at(self.sizes), one.whole)

    def rising(self, count: int, to: int, whole: bool) -> Array:
        """Return starts: some are empty, some have one row, one may have all."""
        end = to if whole else int(self.rng.integers(0, to + 1))
        style = self.rng.integers(0, 3)
        inner = self.rng.integers(0, end + 1, max(0, count - 2))
        if style == 0 and inner.size:
            inner[:] = self.rng.choice([0, end])
        if style == 1 and inner.size:
            inner = np.minimum(inner, self.rng.integers(0, 3))
        return np.concatenate([[0], np.sort(inner), [end]])[:count].astype(np.int64)

    def strictly(self, count: int, to: int, whole: bool) -> Array:
        """Return starts of which no two are equal. Raises `ValueError` where numbers run out."""
        inner = self.rng.choice(np.arange(1, to + 1 - whole), count - 1 - whole, replace=False)
        return np.concatenate([[0], np.sort(inner), [to] * whole])[:count].astype(np.int64)

    def runs(self, one: Runs) -> None:
        """Make runs one behind the other: some are empty, behind some are rows of no run."""
        count = self.modes[one.starts][0].at(self.sizes)
        ends = self.rising(count + 1, one.to.at(self.sizes), False)
        lengths = np.diff(ends)
        short = self.rng.integers(0, lengths + 1)
        self.made[one.starts] = ends[:-1]
        self.made[one.counts] = np.where(self.rng.random(count) < 0.3, short, lengths)

    def bins(self, one: Bins) -> None:
        """Make entries, and begins of bins that have room for them and a few gaps."""
        of = self.made.setdefault(one.of, self.table(one.of))
        extent, to = self.modes[one.operand][0].at(self.sizes), one.to.at(self.sizes)
        counts = np.bincount(
            of.ravel()[(of.ravel() >= 0) & (of.ravel() < extent)], minlength=extent
        )
        spare = to - int(counts.sum())
        if spare < 0:
            raise ValueError("no room for all entries")
        gaps = np.sort(self.rng.integers(0, spare + 1, extent))
        gaps = gaps if self.rng.random() < 0.5 else np.zeros_like(gaps)
        self.made[one.operand] = (np.cumsum(counts) - counts + gaps).astype(np.int64)

    def tickets(self, one: Tickets) -> None:
        """Make tickets, in any order of arrival."""
        of = self.made.setdefault(one.of, self.table(one.of)).ravel()
        order = self.rng.permutation(of.size)
        out = np.empty(of.size, np.int64)
        out[order] = in_order(of[order])
        self.made[one.operand] = out.reshape(self.made[one.of].shape)

    def distinct(self, one: Distinct, made: Array) -> Array:
        """Return different numbers, some of which are negative and skip if the type has such."""
        count, high = len(made), self.limits(one.operand)[1]
        none = -1 if self.ends[one.operand][0] < 0 else high
        some = self.rng.permutation(high + 1)[:count]
        out = np.full(count, none, np.int64)
        out[: some.size] = some
        if none < 0:
            out[self.rng.random(count) < 0.2] = none
        return self.rng.permutation(out)

    def permutation(self, _: Permutation, made: Array) -> Array:
        """Return each number below the length once."""
        return self.rng.permutation(len(made)).astype(np.int64)

    def below(self, one: InRange, name: str, _: list[int], highs: list[int]) -> None:
        """Add the greatest number that a range allows, where no table says it."""
        if one.operand == name and not one.below.looked_up:
            highs.append(one.below.at(self.sizes) - 1)

    def between(self, one: AtMost, name: str, lows: list[int], highs: list[int]) -> None:
        """Add the numbers that entries are at most, or at least, where no table says them."""
        if _is_entry(one.index, name) and self.is_known(one.most):
            highs.append(one.most.at(self.sizes))
        if _is_entry(one.most, name) and self.is_known(one.index):
            lows.append(one.index.at(self.sizes))

    def is_known(self, index: Index) -> bool:
        """Whether sizes alone tell an index."""
        return not index.looked_up and index.names <= self.sizes.keys()

    def reached(self, one: AtMost, name: str) -> int:
        """Return the greatest number that a scalar must reach; 0 where it says another thing."""
        if not _is_entry(one.most, name):
            return 0
        extents = tuple(range_.at(self.sizes) for _, range_ in one.over)
        grids: Any = np.ogrid[tuple(slice(0, n) for n in extents)] if extents else ()
        named = dict(zip((n for n, _ in one.over), grids, strict=True))
        return int(np.max(value_of(one.index, {**self.sizes, **named}, self.made), initial=0))

    def limits(self, name: str) -> tuple[int, int]:
        """Return between which numbers the entries of a table lie, by what is said of each."""
        lows, highs = [0], list[int]()
        for one in self.assumed:
            if (limit := MADE[type(one)].limits) is not None:
                limit(self, one, name, lows, highs)
        least, most = self.ends[name]
        high = min(highs, default=max((8, *self.sizes.values())))
        return max(*lows, least), min(high, most)

    def scalar(self, name: str) -> int:
        """Return the least number that is allowed, or a little more."""
        least, high = self.limits(name)
        for one in self.assumed:
            if (reach := MADE[type(one)].reach) is not None:
                least = max(least, reach(self, one, name))
        return min(least + int(self.rng.choice([0, 0, 3])), max(least, high))

    def spoil(self, one: InRange) -> None:
        """Put what no operand has where entries are not used."""
        table = self.made.get(one.operand)
        if table is None or not table.size or not one.when:
            return
        grids = np.ogrid[tuple(slice(0, n) for n in table.shape)]
        named = {**self.sizes, **dict(zip(one.at, grids, strict=True))}
        used: Any = True
        for left, right in one.when:
            sides = (value_of(side, named, self.made) for side in (left, right))
            used = used & np.less(*sides)
        self.made[one.operand] = np.where(used, table, min(UNUSED, self.ends[one.operand][1]))


def _is_entry(index: Index, name: str) -> bool:
    """Whether an index is an entry of a table and nothing else."""
    if index.offset or len(index.terms) != 1:
        return False
    (atom, scale), *_ = index.terms
    return isinstance(atom, Looked) and atom.operand == name and scale == 1


# ------------------------------------------------------------ what is made of each assumption


@dataclass(frozen=True)
class _Made:
    """What an assumption says to those who make tables; None where it says them nothing.

    ``together`` makes tables of which one says something of another, ``alone`` changes the one of
    which it speaks, ``limits`` adds between which numbers entries lie, ``reach`` is what a scalar
    must reach, and ``spoil`` changes entries that are not used.
    """

    together: Callable[[_Draw, Any], None] | None
    alone: Callable[[_Draw, Any, Array], Array] | None
    limits: Callable[[_Draw, Any, str, list[int], list[int]], None] | None
    reach: Callable[[_Draw, Any, str], int] | None
    spoil: Callable[[_Draw, Any], None] | None


def _sorted(_: _Draw, _one: Sorted, made: Array) -> Array:
    return np.sort(made)


MADE: Mapping[type[Assumption], _Made] = {
    InRange: _Made(None, None, _Draw.below, None, _Draw.spoil),
    AtMost: _Made(None, None, _Draw.between, _Draw.reached, None),
    Distinct: _Made(None, _Draw.distinct, None, None, None),
    Rising: _Made(None, _Draw.starts, None, None, None),
    Permutation: _Made(None, _Draw.permutation, None, None, None),
    Sorted: _Made(None, _sorted, None, None, None),
    Runs: _Made(_Draw.runs, None, None, None, None),
    Bins: _Made(_Draw.bins, None, None, None, None),
    Tickets: _Made(_Draw.tickets, None, None, None, None),
}
"""In the order in which tables are made by several."""


def _in_order_of_rows(assumed: tuple[Assumption, ...]) -> tuple[Assumption, ...]:
    """Return assumptions in the order in which tables are made by them."""
    for one in assumed:
        if type(one) not in MADE:
            wrong, fix = "no tables are known that meet it", "add what is made of it"
            raise KernelError("trial", {"assumption": type(one).__name__}, wrong, fix)
    return tuple(one for kind in MADE for one in assumed if type(one) is kind)
