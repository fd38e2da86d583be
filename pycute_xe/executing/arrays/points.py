"""Floor 9: the points at which a statement is done: work-groups, and trips of loops around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.arrays.places import Axis, Field, LookUp, index_field
from pycute_xe.holding.contents import undecided
from pycute_xe.kernel import If, Index, Kernel, Loop
from pycute_xe.kernel.amounts import launches
from pycute_xe.kernel.index import SUBGROUP_INDEX

__all__ = ["Points", "constants", "joint", "points_of"]

Ints: TypeAlias = NDArray[np.int64]

ROOM = 1 << 22
"""Points that are told one by one."""


@dataclass(frozen=True, eq=False)
class Points:
    """Values that some variables take together: a column for each."""

    columns: Mapping[str, Ints]
    size: int

    def with_axis(self, axis: Axis) -> dict[str, Field]:
        """Return the variables as fields over an axis of these points."""
        return {name: _on(axis, numbers) for name, numbers in self.columns.items()}

    def some(self, which: Ints | NDArray[np.bool_]) -> Points:
        """Return some of the points."""
        columns = {name: numbers[which] for name, numbers in self.columns.items()}
        count = int(which.sum()) if which.dtype == np.bool_ else which.size
        return Points(columns, count)


def _on(axis: Axis, numbers: Ints) -> Field:
    if numbers.size and not (numbers != numbers[0]).any():
        return Field(int(numbers[0]))
    return Field(0, (((axis,), numbers),))


def constants(sizes: Mapping[str, int]) -> dict[str, Field]:
    """Return sizes as fields."""
    return {name: Field(size) for name, size in sizes.items()}


def points_of(
    kernel: Kernel,
    sizes: Mapping[str, int],
    around: Iterable[Loop | If],
    look_up: LookUp,
    wanted: frozenset[str] | None = None,
) -> list[Points]:
    """Return the points of a statement: groups of variables that do not depend on one another.

    Of variables that are not ``wanted``, and on which none of these depend, nothing is said.
    Conditions on subgroups are left out.
    """
    around = tuple(around)
    needed = _needed(kernel, around, wanted)
    env, groups = constants(sizes), list[Points]()
    counts = [max(0, index_field(count, env, look_up).offset) for _, count in kernel.grid]
    launches(kernel, counts)
    for (name, _), count in zip(kernel.grid, counts, strict=True):
        if name in needed:
            groups.append(Points({name: np.arange(count)}, count))
    for one in around:
        match one:
            case Loop(var, start, stop):
                if var in needed:
                    groups = _with_loop(groups, env, var, start, stop, look_up)
            case If(index, below):
                # Conditions that mix subgroups with others are left to who asks.
                if SUBGROUP_INDEX not in (index - below).names:
                    groups = _with_condition(groups, env, index - below, look_up)
    return groups


def _needed(
    kernel: Kernel, around: tuple[Loop | If, ...], wanted: frozenset[str] | None
) -> frozenset[str]:
    every = {name for name, _ in kernel.grid} | {x.var for x in around if isinstance(x, Loop)}
    if wanted is None:
        return frozenset(every)
    found = set(wanted)
    for one in around:
        if isinstance(one, If) and SUBGROUP_INDEX not in (one.index - one.below).names:
            found |= (one.index - one.below).names
    for one in reversed(around):
        if isinstance(one, Loop) and one.var in found:
            found |= one.start.names | one.stop.names
    return frozenset(found & every)


def joint(groups: list[Points]) -> Points:
    """Return the points of several groups as one."""
    names = frozenset(name for group in groups for name in group.columns)
    return _joined(groups, names)[0]


def _joined(groups: list[Points], names: frozenset[str]) -> tuple[Points, list[Points]]:
    """Return the groups of some variables as one, and the others."""
    mine = [g for g in groups if g.columns.keys() & names]
    rest = [g for g in groups if not g.columns.keys() & names]
    if len(mine) == 1:
        return mine[0], rest
    counts = [g.size for g in mine]
    size = int(np.prod(counts, dtype=np.int64))
    if size > ROOM:
        raise undecided("conditions depend on too many work-groups together")
    at = np.indices(counts).reshape(len(counts), size) if counts else np.zeros((0, 1), np.int64)
    columns = {
        name: numbers[row]
        for g, row in zip(mine, at, strict=True)
        for name, numbers in g.columns.items()
    }
    return Points(columns, size if mine else 1), rest


def _numbers(index: Index, group: Points, env: Mapping[str, Field], look_up: LookUp) -> Ints:
    axis = Axis(group.size)
    own = {name: Field(0, (((axis,), x),)) for name, x in group.columns.items()}
    if SUBGROUP_INDEX in index.names:
        raise undecided(f"{index} mixes a subgroup's number with other variables")
    return index_field(index, {**env, **own}, look_up).over((axis,))


def _with_loop(
    groups: list[Points],
    env: Mapping[str, Field],
    var: str,
    start: Index,
    stop: Index,
    look_up: LookUp,
) -> list[Points]:
    group, rest = _joined(groups, start.names | stop.names)
    first, last = (_numbers(i, group, env, look_up) for i in (start, stop))
    if not group.columns:
        lone = np.arange(int(first[0]), int(last[0])) if first.size else np.arange(0)
        return [*rest, Points({var: lone}, lone.size)]
    counts = np.maximum(last - first, 0)
    total = int(counts.sum())
    if total > ROOM:
        raise undecided(f"the loop {var} takes too many trips")
    which = np.repeat(np.arange(group.size), counts)
    offset = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = {name: numbers[which] for name, numbers in group.columns.items()}
    return [*rest, Points({**columns, var: first[which] + offset}, total)]


def _with_condition(
    groups: list[Points], env: Mapping[str, Field], difference: Index, look_up: LookUp
) -> list[Points]:
    group, rest = _joined(groups, difference.names)
    holds = _numbers(difference, group, env, look_up) < 0
    if holds.all():
        return [*rest, group] if group.columns else rest
    if not group.columns:
        return [*(g.some(np.arange(0)) for g in rest), Points({}, 0)]
    return [*rest, group.some(holds)]
