"""Floor 9: whether prefetches bring what will be loaded, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import gcd, inf
from operator import ge
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.tables import anchors
from pycute_xe.kernel import If, Index, Kernel, Load, Loop, Prefetch, Statement, walk
from pycute_xe.signatures import typed
from pycute_xe.verifying.fetching import Unfit, counted, told, touching
from pycute_xe.verifying.verdict import Answer, Proof

__all__ = ["verify_prefetches"]

Ints = NDArray[np.int64]
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
    fetched = dict.fromkeys(s.operand for s in walk(kernel.body) if isinstance(s, Prefetch))
    return tuple(_proof(kernel, operand) for operand in fetched)


def _proof(kernel: Kernel, operand: str) -> Proof:
    start = time.perf_counter()
    name, words = f"prefetch {operand}", f"{operand} is prefetched before it is loaded, no more"
    answer, condition, reason = "proved", "", ""
    try:
        answer, condition, reason = _Problems(kernel, operand).answer()
    except Unfit as unfit:
        answer, reason = "undecided", str(unfit)
    seconds = time.perf_counter() - start
    return Proof(name, answer, words, (), seconds, condition=condition, reason=reason)


class _Problems:
    """The problems that are followed, the smallest first: a step of each size."""

    def __init__(self, kernel: Kernel, operand: str) -> None:
        self.kernel, self.operand = kernel, operand
        self.sizes = counted(kernel, operand)
        self.last = tuple(len(size.steps) - 1 for size in self.sizes)

    def answer(self) -> tuple[Answer, str, str]:
        """Return the answer, the condition on sizes, and the reason."""
        moving, tiles = touching(self.kernel, self.operand), dict[int, Ints]()
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
            run = _Run(moving, names, self.operand, counts, units, ends, tiles, concerned)
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
        found = {
            Index(size.name): size.largest[step]
            for size, step in zip(self.sizes, chosen, strict=True)
            if size.name in self.kernel.sizes
        }
        return tuple(found.get(mode, inf) for mode in self.kernel.operand(self.operand).modes)

    def _where(self, chosen: Steps) -> str:
        steps = (size.told(step) for size, step in zip(self.sizes, chosen, strict=True))
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
        steps = (size.told(step) for size, step in zip(self.sizes, from_on, strict=True) if step)
        return " and ".join(f"{name} >= {value}" for name, value in steps)


@dataclass
class _Run:
    """One problem: what has been prefetched, what has been loaded."""

    touching: list[Prefetch | Load]
    sizes: frozenset[str]
    operand: str
    counts: Mapping[Index, int]
    units: Ints
    ends: tuple[float, ...]
    tiles: dict[int, Ints]
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
            elif isinstance(statement, (Prefetch, Load)) and statement.operand == self.operand:
                self._do(statement, bound)

    def _concerns(self, statement: Loop | If) -> bool:
        """Whether the operand is touched inside."""
        if id(statement) not in self.concerned:
            inside = any(s in self.touching for s in walk(statement.body))
            self.concerned[id(statement)] = inside
        return self.concerned[id(statement)]

    def _holds(self, condition: If, bound: Mapping[str, Index]) -> bool:
        if not self._concerns(condition):
            return False
        index, below = told(condition, self.sizes)
        index = index.substitute(bound)
        if not index.is_constant:
            raise Unfit(f"a condition on {index} decides whether it is touched")
        return index.offset < self._number(below)

    def _number(self, count: Index) -> int:
        return count.offset if count.is_constant else self.counts[count]

    def _do(self, statement: Prefetch | Load, bound: Mapping[str, Index]) -> None:
        at = [index.substitute(bound) for index in statement.at]
        start = tuple(index.offset for index in at)
        groups = tuple(index - index.offset for index in at)
        if self.origin not in (None, groups):
            raise Unfit("its tiles begin at places that differ by more than numbers")
        self.origin = groups
        if id(statement) not in self.tiles:
            self.tiles[id(statement)] = _tile(statement, self.units)
        tile = self.tiles[id(statement)] + _code(np.array(start) // self.units)
        here: set[int] = set(tile.tolist())
        if isinstance(statement, Prefetch):
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


def _tile(statement: Prefetch | Load, units: Ints) -> Ints:
    """Return the units that the messages of all subgroups touch, as numbers."""
    starts, extents = _blocks(statement)
    counts = (extents // units).tolist()
    inside = np.array(list(np.ndindex(*counts)), dtype=np.int64)
    return np.unique(_code(starts // units)[:, None] + _code(inside))


def _blocks(statement: Prefetch | Load) -> tuple[Ints, Ints]:
    """Return where messages start, by mode of the operand, and the extents of their blocks."""
    copy = statement.copy
    found = np.unique(anchors(copy).reshape(-1, len(copy.tiler_mn)), axis=0)
    height, width = copy.block.shape
    starts = np.zeros((found.shape[0], len(statement.at)), dtype=np.int64)
    extents = np.ones(len(statement.at), dtype=np.int64)
    for axis, mode in enumerate(statement.modes):
        if mode is not None:
            starts[:, mode] += found[:, axis]
            extents[mode] *= {copy.x_mode: width, copy.y_mode: height}.get(axis, 1)
    return starts, extents


def _units(touching: list[Prefetch | Load], variables: set[str]) -> Ints:
    """Return, by mode, the elements that all tiles and steps are multiples of."""
    out = [0] * len(touching[0].at)
    for statement in touching:
        starts, extents = _blocks(statement)
        for mode, index in enumerate(statement.at):
            moved = [c for a, c in index.terms if variables & Index.of({a: 1}, 0).names]
            out[mode] = gcd(out[mode], *starts[:, mode].tolist(), int(extents[mode]), *moved)
            out[mode] = gcd(out[mode], index.offset)
    return np.array(out, dtype=np.int64)
