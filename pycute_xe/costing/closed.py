"""The work of a kernel as formulas of its sizes: statements counted at a size without their points.

What is alike at every size is worked out once: where messages start, which variables an index and
a condition depend on. `executing.counting.work_of` lists points instead; both count the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np

from pycute_xe.arch import Surface, Target
from pycute_xe.executing.counting import Work, work_done
from pycute_xe.executing.space import anchors
from pycute_xe.executing.surfaces import plan
from pycute_xe.kernel import If, Kernel, Loop, Statement
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.kernel.ir.operands import shape_of

__all__ = ["Closed", "closed_work"]

Interval: TypeAlias = "tuple[int, int]"
Intervals: TypeAlias = "dict[str, Interval]"


@dataclass(frozen=True, slots=True)
class Linear:
    """An index as multiples of variables, and the rest, which sizes alone decide."""

    terms: tuple[tuple[str, int], ...]
    rest: Index

    @property
    def names(self) -> frozenset[str]:
        """Its variables."""
        return frozenset(name for name, _ in self.terms)


def _linear(index: Index, variables: frozenset[str]) -> Linear | None:
    """Return an index as multiples of variables; None where it is not."""
    terms: list[tuple[str, int]] = []
    rest = index
    for atom, scale in index.terms:
        if isinstance(atom, str) and atom in variables:
            terms.append((atom, scale))
            rest = rest - scale * Index(atom)
    known = not rest.names & variables and not rest.looked_up
    return Linear(tuple(terms), rest) if known else None


@dataclass(frozen=True, slots=True)
class Bounded:
    """A variable of a loop or of the grid, and where it starts and stops."""

    name: str
    start: Index
    stop: Index


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be above 0: a multiple of one variable at most, beside the rest."""

    room: Linear


@dataclass(frozen=True, eq=False)
class Copied:
    """Where the messages of a copy start along one mode: each place once, and whose it is."""

    places: Ints
    which: Ints
    extent: int
    bits: int
    index: Linear

    def inside(self, intervals: Intervals, sizes: Mapping[str, int], limit: int) -> Ints:
        """Return for each message how much is inside, summed over the points of its index."""
        rest = self.index.rest.at(sizes)
        nbytes = self.extent * self.bits // 8
        points, whole = np.array([rest], dtype=np.int64), 0
        if len(self.index.terms) == 1:
            ((name, scale),) = self.index.terms
            first, last = intervals[name]
            whole = self._whole(rest, scale, first, last, limit)
            points = rest + scale * np.arange(first + whole, last, dtype=np.int64)
        else:
            for name, scale in self.index.terms:
                values = scale * np.arange(*intervals[name], dtype=np.int64)
                points = (points[:, None] + values).reshape(-1)
        starts = (self.places[:, None] + points) * self.bits // 8
        ends = np.minimum(starts + nbytes, limit).clip(0)
        inside = (ends - np.minimum(starts, limit).clip(0)).sum(axis=1)
        out: Ints = (inside + whole * nbytes)[self.which]
        return out

    def _whole(self, rest: int, scale: int, first: int, last: int, limit: int) -> int:
        """Return at how many of the first points every message is inside."""
        low, high = int(self.places[0]), int(self.places[-1])
        if scale <= 0 or low + rest + scale * first < 0 or (scale * self.bits) % 8:
            return 0
        room = limit - (self.extent * self.bits // 8) - (high + rest) * self.bits // 8
        if (self.extent * self.bits) % 8 or (high + rest) * self.bits % 8:
            return 0
        return min(max(room // (scale * self.bits // 8) + 1 - first, 0), last - first)


@dataclass(frozen=True, eq=False)
class Counted:
    """A statement: what encloses it, what ``many.times`` of it take, where its copy reaches."""

    statement: Statement
    enclosing: tuple[Bounded | Condition, ...]
    many: Work
    reach: tuple[Copied, Copied] | None

    def intervals(self, grid: Intervals, sizes: Mapping[str, int]) -> Intervals | None:
        """Return between what its variables run; None where it is never executed."""
        out = dict(grid)
        for one in self.enclosing:
            if isinstance(one, Bounded):
                out[one.name] = (one.start.at(sizes), one.stop.at(sizes))
            else:
                _narrow(out, one.room, sizes)
        return None if any(last <= first for first, last in out.values()) else out


def _narrow(intervals: Intervals, room: Linear, sizes: Mapping[str, int]) -> None:
    """Leave of an interval what gives room above 0."""
    rest = room.rest.at(sizes)
    if not room.terms:
        if rest <= 0:
            intervals[""] = (0, 0)
        return
    ((name, scale),) = room.terms
    first, last = intervals[name]
    if scale > 0:
        first = max(first, -rest // scale + 1)
    else:
        last = min(last, -(rest // scale))
    intervals[name] = (first, last)


@dataclass(frozen=True, eq=False)
class Closed:
    """The work of a kernel by formulas of its sizes. Law: `at` counts what `work_of` counts."""

    kernel: Kernel
    target: Target
    counted: tuple[Counted, ...]

    def at(self, sizes: Mapping[str, int]) -> Iterator[tuple[int, Work]]:
        """Yield the number of each statement that is executed, and its work."""
        grid = {name: (0, count.at(sizes)) for name, count in self.kernel.grid}
        grid[SUBGROUP_INDEX] = (0, self.kernel.subgroups)
        surfaces = self._surfaces(sizes)
        for number, one in enumerate(self.counted):
            intervals = one.intervals(grid, sizes)
            if intervals is None:
                continue
            times = prod(last - first for first, last in intervals.values())
            nbytes = self._bytes(one, intervals, sizes, surfaces, times)
            yield number, _times(one.many, times, nbytes)

    def _surfaces(self, sizes: Mapping[str, int]) -> dict[tuple[str, int | None], Surface]:
        out: dict[tuple[str, int | None], Surface] = {}
        for operand, y_mode in self._reached:
            placed = plan(self.kernel.operand(operand), self._shapes(operand, sizes), self.target)
            out[operand, y_mode] = placed.surface(y_mode, [0] * len(placed.shape))
        return out

    def _shapes(self, operand: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return shape_of(self.kernel.operand(operand), sizes)

    @cached_property
    def _reached(self) -> tuple[tuple[str, int | None], ...]:
        accesses = (one.statement.touched.memory for one in self.counted)
        reached = ((m.operand, m.modes[m.copy.y_mode]) for m in accesses if m is not None)
        return tuple(dict.fromkeys(reached))

    def _bytes(
        self,
        one: Counted,
        intervals: Intervals,
        sizes: Mapping[str, int],
        surfaces: Mapping[tuple[str, int | None], Surface],
        times: int,
    ) -> int:
        """Return the bytes inside the surfaces, those of shared memory as they are."""
        memory = one.statement.touched.memory
        if one.reach is None or memory is None:
            return one.many.nbytes * times // one.many.times
        surface = surfaces[memory.operand, memory.modes[memory.copy.y_mode]]
        x, y = one.reach
        wide = x.inside(intervals, sizes, surface.width)
        high = y.inside(intervals, sizes, surface.height)
        apart = {SUBGROUP_INDEX, *x.index.names, *y.index.names}
        others = prod(b - a for name, (a, b) in intervals.items() if name not in apart)
        messages = (wide * high).reshape(self.kernel.subgroups, -1)
        first, last = intervals[SUBGROUP_INDEX]
        return int(messages[first:last].sum()) * others


def _times(many: Work, times: int, nbytes: int) -> Work:
    """Return the work of a statement that is executed so often by all subgroups."""
    counts = (many.messages, many.dpas, many.barriers)
    messages, dpas, barriers = (count * times // many.times for count in counts)
    return Work(many.statement, times, many.sent, messages, nbytes, dpas, barriers)


# ------------------------------------------------------------ making one


def closed_work(kernel: Kernel, target: Target) -> Closed | None:
    """Return the work of a kernel by formulas; None where points have to be listed.

    A loop must start and stop where sizes alone say, a condition depend on one variable, and the
    two indices of a copy on different ones, the subgroup's number not among them.
    """
    variables = frozenset((SUBGROUP_INDEX, *(name for name, _ in kernel.grid)))
    if any(count.names & variables or count.looked_up for _, count in kernel.grid):
        return None
    every = list(_counted(kernel, kernel.body, (), variables))
    known = [one for one in every if one is not None]
    return Closed(kernel, target, tuple(known)) if len(known) == len(every) else None


def _counted(
    kernel: Kernel,
    body: tuple[Statement, ...],
    enclosing: tuple[Bounded | Condition, ...],
    variables: frozenset[str],
) -> Iterator[Counted | None]:
    for statement in body:
        yield _one(kernel, statement, enclosing, variables)
        if isinstance(statement, Loop):
            ends = (statement.start, statement.stop)
            closed = all(not end.names & variables and not end.looked_up for end in ends)
            inner = (*enclosing, Bounded(statement.var, *ends))
            known = variables | {statement.var}
            yield from _counted(kernel, statement.body, inner, known) if closed else (None,)
        if isinstance(statement, If):
            room = _linear(statement.below - statement.index, variables)
            if room is None or len(room.terms) > 1:
                yield None
                continue
            yield from _counted(kernel, statement.body, (*enclosing, Condition(room)), variables)


def _one(
    kernel: Kernel,
    statement: Statement,
    enclosing: tuple[Bounded | Condition, ...],
    variables: frozenset[str],
) -> Counted | None:
    many, touched = kernel.subgroups, statement.touched
    if (named := touched.named) is not None and named.waits:
        many *= named.barrier.consumers
    work = work_done(kernel, statement, many)
    if touched.memory is None:
        return Counted(statement, enclosing, work, None)
    reach = _reach(touched.memory, kernel, variables)
    return None if reach is None else Counted(statement, enclosing, work, reach)


def _reach(
    memory: MemoryAccess, kernel: Kernel, variables: frozenset[str]
) -> tuple[Copied, Copied] | None:
    copy, y_mode = memory.copy, memory.modes[memory.copy.y_mode]
    x = _linear(memory.at[kernel.operand(memory.operand).contiguous], variables)
    y = _linear(Index() if y_mode is None else memory.at[y_mode], variables)
    if x is None or y is None or x.names & y.names or SUBGROUP_INDEX in x.names | y.names:
        return None
    starts = anchors(copy).reshape(-1, len(copy.tiler_mn))
    wide = _copied(starts[:, copy.x_mode], copy.block.width, copy.value_type.bits, x)
    return wide, _copied(starts[:, copy.y_mode], copy.block.height, 8, y)


def _copied(starts: Ints, extent: int, bits: int, index: Linear) -> Copied:
    places, which = np.unique(starts, return_inverse=True)
    return Copied(places, which.reshape(-1), extent, bits, index)
