"""Floor 9: which work-groups store an element, by the indices of stores alone: none is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from pycute_xe.errors import InputError
from pycute_xe.executing.anchors import anchors
from pycute_xe.executing.space import Space
from pycute_xe.kernel import AtomicStore, If, Kernel, Loop, Statement, Store
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index

__all__ = ["Group", "grid_space", "sample", "writers", "writing_subgroups"]

Group: TypeAlias = "dict[str, int]"
LookUp: TypeAlias = Callable[[str, tuple[Any, ...]], Any]

MOST_ROWS = 1 << 22
"""Combinations of variables that depend on one another, at most."""


def grid_space(kernel: Kernel, sizes: Mapping[str, int], look_up: LookUp) -> Space:
    """Return the work-groups and subgroups of a grid."""
    space = Space(sizes, (), look_up)
    for name, count in kernel.grid:
        space = _limited(space, count).bound(name, Index(), count)
    return space.bound(SUBGROUP_INDEX, Index(), Index(None, kernel.subgroups))


def writers(
    kernel: Kernel,
    sizes: Mapping[str, int],
    look_up: LookUp,
    output: str,
    element: Sequence[int],
    most: int,
) -> list[Group]:
    """Return the work-groups whose stores may reach an element, by tiles: some may miss it.

    Raises `InputError` for more than ``most``, and where indices depend on one another too much.
    """
    found: dict[tuple[int, ...], Group] = {}
    names = [name for name, _ in kernel.grid]
    for statement, space in _stores(kernel.body, grid_space(kernel, sizes, look_up)):
        if statement.operand == output:
            here = _reaching(space, statement, element)
            for group in groups_of(here, names, most):
                found[tuple(group.values())] = group
    if len(found) > most:
        raise _many(output, element, len(found), most)
    return [found[key] for key in sorted(found)]


def writing_subgroups(
    kernel: Kernel, sizes: Mapping[str, int], look_up: LookUp, output: str, element: Sequence[int]
) -> tuple[int, ...]:
    """Return the subgroups whose own messages may reach an element in some work-group."""
    found: set[int] = set()
    for statement, space in _stores(kernel.body, grid_space(kernel, sizes, look_up)):
        if statement.operand != output:
            continue
        here = _reaching(space, statement, element)
        for subgroup in sorted(set(range(kernel.subgroups)) - found):
            mine = _reaching(here.at(SUBGROUP_INDEX, subgroup), statement, element, subgroup)
            if mine.size:
                found.add(subgroup)
    return tuple(sorted(found))


def groups_of(space: Space, names: Sequence[str], most: int) -> list[Group]:
    """Return the work-groups of a space. Raises `InputError` for more than ``most``."""
    if _rows(space, names) > MOST_ROWS:
        raise _many("the grid", (), _rows(space, names), most)
    if any(next(iter(axis.values())).size == 0 for axis in space.axes):
        return []
    space, axis = space.joined(names)
    if not names:
        return [{}]
    rows = np.unique(np.stack([axis[name] for name in names], axis=1), axis=0)
    if len(rows) > most:
        raise _many("the grid", (), len(rows), most)
    return [dict(zip(names, map(int, row), strict=True)) for row in rows]


def sample(space: Space, names: Sequence[str]) -> Iterator[Group]:
    """Yield the first, the last and a middle work-group of a space, where there are any."""
    axes = [axis for axis in space.axes if axis.keys() & set(names)]
    if any(next(iter(axis.values())).size == 0 for axis in space.axes):
        return
    for part in (0.0, 1.0, 0.5):
        out: Group = {}
        for axis in axes:
            row = int((next(iter(axis.values())).size - 1) * part)
            out |= {name: int(axis[name][row]) for name in names if name in axis}
        yield out


def _stores(
    body: tuple[Statement, ...], space: Space
) -> Iterator[tuple[Store | AtomicStore, Space]]:
    """Yield the stores of a body, each with the points at which it is done."""
    for statement in body:
        if isinstance(statement, Loop):
            limited = _limited(space, statement.start, statement.stop)
            inner = limited.bound(statement.var, statement.start, statement.stop)
            yield from _stores(statement.body, inner)
        elif isinstance(statement, If):
            limited = _limited(space, statement.index, statement.below)
            yield from _stores(statement.body, limited.where(statement.index, statement.below))
        elif isinstance(statement, (Store, AtomicStore)):
            yield statement, space


def _reaching(
    space: Space,
    statement: Store | AtomicStore,
    element: Sequence[int],
    subgroup: int | None = None,
) -> Space:
    """Return the points at which the tile of a store, or a subgroup's part, may have an element."""
    copy, rank = statement.copy, len(statement.copy.tiler_mn)
    starts = (anchors(copy) if subgroup is None else anchors(copy)[subgroup]).reshape(-1, rank)
    wide = {copy.x_mode: copy.block.width, copy.y_mode: copy.block.height}
    low, high = dict.fromkeys(range(len(element)), 0), dict.fromkeys(range(len(element)), 1)
    for number, mode in enumerate(statement.modes):
        if mode is not None:
            low[mode] = int(starts[:, number].min())
            high[mode] = int(starts[:, number].max()) + wide.get(number, 1)
    for mode, (index, at) in enumerate(zip(statement.at, element, strict=True)):
        inside = at - index
        space = _limited(space, inside).where(inside, Index(None, high[mode]))
        space = space.where(Index(None, low[mode] - 1), inside)
    return space


def _limited(space: Space, *indices: Index) -> Space:
    rows = _rows(space, space.variables(*indices))
    if rows > MOST_ROWS:
        raise _many("an index", indices, rows, MOST_ROWS)
    return space


def _rows(space: Space, names: Any) -> int:
    axes = (axis for axis in space.axes if axis.keys() & set(names))
    return prod(next(iter(axis.values())).size for axis in axes)


def _many(what: str, where: Sequence[object], count: int, most: int) -> InputError:
    place = f"[{', '.join(map(str, where))}]" if where else ""
    return InputError(
        "replay",
        {"place": f"{what}{place}"},
        f"{count} work-groups would run, at most {most} do",
        "ask about smaller sizes",
    )
