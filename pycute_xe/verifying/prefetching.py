"""Floor 9: whether prefetches bring what will be loaded, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.tables import anchors
from pycute_xe.kernel import If, Index, Kernel, Load, Loop, Prefetch, Statement, walk
from pycute_xe.signatures import typed
from pycute_xe.verifying.verdict import Proof

__all__ = ["verify_prefetches"]

Ints = NDArray[np.int64]
# Coordinates are digits of a number, of either sign; all of them together have so many bits.
_BITS = 60
_MOST = 3_000
"""Trips that are followed."""


class _Unfit(Exception):
    """Why the prefetches of an operand have no answer here."""


@typed
def verify_prefetches(kernel: Kernel) -> tuple[Proof, ...]:
    """Return a proof for each operand with prefetches: what is loaded was prefetched, no more is.

    Loops that run as often as a size says are followed for every count up to twice the largest
    distance between prefetch and load, blocks marked one by one. From there on one more trip adds
    one more tile to both at the same distance, so that the answer is one for all sizes. "needs" has
    the count of trips from which on nothing is prefetched in vain; "disproved" says
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
    answer, condition, reason, vain, last_vain, trips = "proved", "", "", "", 0, 0
    try:
        count = _count(kernel, operand)
        touching, tiles = _touching(kernel, operand), dict[int, Ints]()
        concerned: dict[int, bool] = {}
        units = _units(touching, {s.var for s in walk(kernel.body) if isinstance(s, Loop)})
        for trips in range(1, _limit(kernel, operand, count) + 1):
            run = _Run(touching, operand, count, trips, units, tiles=tiles, concerned=concerned)
            run.follow(kernel.body, {})
            if run.missing:
                answer, reason = "disproved", f"{run.missing}, where {count} is {trips}"
                break
            if vain := run.vain():
                last_vain = trips
        else:
            if last_vain == trips:
                answer, reason = "disproved", f"{vain}, where {count} is {trips}"
            elif last_vain:
                answer, condition = "needs", f"{count} >= {last_vain + 1}"
    except _Unfit as unfit:
        answer, reason = "undecided", str(unfit)
    seconds = time.perf_counter() - start
    return Proof(name, answer, words, (), seconds, condition=condition, reason=reason)


def _touching(kernel: Kernel, operand: str) -> list[Prefetch | Load]:
    moving = (s for s in walk(kernel.body) if isinstance(s, (Prefetch, Load)))
    return [s for s in moving if s.operand == operand]


def _count(kernel: Kernel, operand: str) -> Index:
    """Return the one count of trips that sizes decide; refuse what has two, or nests them."""
    counts: dict[Index, None] = {}
    for loop in (s for s in walk(kernel.body) if isinstance(s, Loop)):
        if not any(s in _touching(kernel, operand) for s in walk(loop.body)):
            continue
        if any(isinstance(inner, Loop) for inner in walk(loop.body)):
            raise _Unfit("its loops are nested")
        if not loop.start.is_constant:
            raise _Unfit(f"the loop over {loop.var} starts at {loop.start}")
        if not loop.stop.is_constant:
            counts[loop.stop] = None
    if len(counts) > 1:
        raise _Unfit(f"its loops run {' and '.join(map(str, counts))} times")
    return next(iter(counts), Index(None, 1))


def _limit(kernel: Kernel, operand: str, count: Index) -> int:
    """Twice the largest distance of a prefetch, in trips, and some more."""
    loops = [s for s in walk(kernel.body) if isinstance(s, Loop)]
    variables, far, longest = {s.var for s in loops}, [0], 1
    for loop in loops:
        far += [i.offset for i in (loop.start, loop.stop) if i.is_constant]
        longest = max(longest, loop.stop.offset if loop.stop.is_constant else 1)
    for condition in (s for s in walk(kernel.body) if isinstance(s, If)):
        if any(s in _touching(kernel, operand) for s in walk(condition.body)):
            _demand_plain(condition.index, variables)
            far += [condition.index.offset, condition.below.offset]
    for statement in _touching(kernel, operand):
        for index in statement.at:
            _demand_plain(index, variables)
            steps = [abs(c) for a, c in index.terms if a in variables]
            far += [-(-abs(index.offset) // step) for step in steps]
    limit = 1 if count.is_constant else 2 * max(map(abs, far)) + 3
    if limit * max(limit, longest) > _MOST:
        raise _Unfit("its prefetches are too many trips ahead to be followed")
    return limit


def _demand_plain(index: Index, variables: set[str]) -> None:
    """Refuse what goes by turns: small numbers of trips do not tell of larger ones."""
    for atom, _ in index.terms:
        if not isinstance(atom, str) and Index.of({atom: 1}, 0).names & variables:
            raise _Unfit(f"{index} goes by turns of a loop")


@dataclass
class _Run:
    """One count of trips: what has been prefetched, what has been loaded."""

    touching: list[Prefetch | Load]
    operand: str
    count: Index
    trips: int
    units: Ints
    fetched: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    loaded: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    tiles: dict[int, Ints] = field(default_factory=dict[int, Ints])
    concerned: dict[int, bool] = field(default_factory=dict[int, bool])
    missing: str = ""
    origin: tuple[Index, ...] | None = None

    def follow(self, body: tuple[Statement, ...], bound: Mapping[str, Index]) -> None:
        """Do the statements that touch the operand, in order."""
        for statement in body:
            if isinstance(statement, Loop):
                stop = statement.stop.offset if statement.stop.is_constant else self.trips
                if not self._concerns(statement):
                    continue
                for trip in range(statement.start.offset, stop):
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
        index = condition.index.substitute(bound)
        if not index.is_constant:
            raise _Unfit(f"a condition on {index} decides whether it is touched")
        below = condition.below
        if not below.is_constant and below != self.count:
            raise _Unfit(f"a condition compares with {below}")
        return index.offset < (below.offset if below.is_constant else self.trips)

    def _do(self, statement: Prefetch | Load, bound: Mapping[str, Index]) -> None:
        at = [index.substitute(bound) for index in statement.at]
        start = tuple(index.offset for index in at)
        groups = tuple(index - index.offset for index in at)
        if self.origin not in (None, groups):
            raise _Unfit("its tiles begin at places that differ by more than numbers")
        self.origin = groups
        if id(statement) not in self.tiles:
            self.tiles[id(statement)] = _tile(statement, self.units)
        here = self.tiles[id(statement)] + _code(np.array(start) // self.units)
        if isinstance(statement, Prefetch):
            self.fetched = np.union1d(self.fetched, here)
            return
        self.loaded = np.union1d(self.loaded, here)
        late = np.setdiff1d(here, self.fetched)
        if late.size and not self.missing:
            self.missing = f"{self._element(int(late[0]))} is loaded, not prefetched"

    def vain(self) -> str:
        """Say which element is prefetched and never loaded; empty where none is."""
        more = np.setdiff1d(self.fetched, self.loaded)
        return f"{self._element(int(more[0]))} is prefetched, never loaded" if more.size else ""

    def _element(self, code: int) -> str:
        whole: list[str] = []
        for index, unit in reversed(list(zip(self.origin or (), self.units.tolist(), strict=True))):
            base = 1 << _BITS // len(self.units)
            digit = (code + base // 2) % base - base // 2
            code = (code - digit) // base
            whole.append(str(index + digit * unit))
        return f"{self.operand}[{', '.join(reversed(whole))}]"


def _code(places: Ints) -> Any:
    """Return coordinates as one number, in the order of the coordinates."""
    rank = places.shape[-1]
    base = 1 << _BITS // rank
    if np.abs(places).max(initial=0) >= base // 8:  # sums of three of them stay digits
        raise _Unfit("its tiles are too far apart")
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
