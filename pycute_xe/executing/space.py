"""The points at which a statement is executed, kept as a product of small tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np

from pycute_xe.atom import TiledCopy
from pycute_xe.bulk import table
from pycute_xe.errors import InputError, KernelError, MachineError
from pycute_xe.kernel import If, Kernel, Loop, Statement
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.effects import MemoryAccess, Touched
from pycute_xe.kernel.ir.reach import farthest_entry

__all__ = [
    "Space",
    "anchors",
    "column_of",
    "given",
    "Group",
    "LookUp",
    "grid_space",
    "performed",
    "sample",
    "undeclared_operands",
    "writers",
    "writing_subgroups",
]

# ------------------------------------------------------------ anchors
# Where each message of a tiled copy starts. The machine asks this, so that it is not what
# `pycute_xe.holding.tables` says of it: a proof and its judge share no formula.


@lru_cache(maxsize=256)
def anchors(copy: TiledCopy) -> Ints:
    """Return the tile coordinate of each message's first value: (subgroups, messages, modes)."""
    flat = np.atleast_2d(table(copy.anchors))
    if flat.shape[0] == 1 and flat.shape[1] == copy.num_subgroups * copy.messages:
        flat = flat.T
    rank = len(copy.tiler_mn)
    padded = np.zeros((copy.num_subgroups * copy.messages, rank), dtype=np.int64)
    padded[:, : flat.shape[1]] = flat
    # The table runs subgroups first.
    return padded.reshape(copy.messages, copy.num_subgroups, rank).transpose(1, 0, 2)


def column_of(copy: TiledCopy, x: int) -> int:
    """Return a column counted in values as the message counts it.

    Raises `MachineError` when the column falls between two elements of the message.
    """
    column, rest = divmod(x * copy.value_type.bits, copy.op.bits)
    if rest:
        raise MachineError(
            "copy",
            {"op": copy.op, "x": x},
            f"x is not a multiple of the message's {copy.op.bits}-bit elements",
            "align the blocks",
        )
    return column


# ------------------------------------------------------------ space

MOST_ROWS = 1 << 24
"""Rows of a table, at most."""

Axis = Mapping[str, Ints]


@dataclass(frozen=True, eq=False)
class Space:
    """Values of variables: every combination of a row of each axis.

    An axis is a table of variables that depend on one another, with a row for each combination of
    theirs; most have one variable. ``look_up`` gives elements of operands for tables of places,
    ``most`` is the rows that a table may have.

    >>> space = Space({"M": 70}, ({"m": np.arange(3)}, {"n": np.arange(4)}))
    >>> space.size, space.where(Index("m") * 32, Index("M") - 32).size
    (12, 8)
    """

    sizes: Mapping[str, int]
    axes: tuple[Axis, ...]
    look_up: Callable[[str, tuple[Any, ...]], Any] | None = None
    most: int = MOST_ROWS

    @property
    def size(self) -> int:
        """How many points there are."""
        return prod(_rows(axis) for axis in self.axes)

    def _of(self, axes: tuple[Axis, ...]) -> Space:
        return replace(self, axes=axes)

    def _check_rows(self, names: str, rows: int) -> None:
        if rows > self.most:
            raise InputError(
                "count",
                {"variables": names, "values": rows},
                f"{names} has {rows:,} values, must be at most {self.most:,}",
                "take smaller sizes",
            )

    def joined(self, names: Iterable[str]) -> tuple[Space, Axis]:
        """Return the space with the axes of some variables made one, and that axis.

        Raises `InputError` where its points are too many to be listed.
        """
        wanted = set(names)
        mine = [axis for axis in self.axes if wanted & axis.keys()]
        names_of = " x ".join(name for axis in mine for name in axis)
        self._check_rows(names_of, prod(map(_rows, mine)))
        rest = self.without(wanted).axes
        out: dict[str, Ints] = {}
        rows = 1
        for axis in mine:
            count = _rows(axis)
            out = {name: np.repeat(values, count) for name, values in out.items()}
            out |= {name: np.tile(values, rows) for name, values in axis.items()}
            rows *= count
        return self._of((*rest, out) if out else rest), out

    def without(self, names: Iterable[str]) -> Space:
        """Return the space without the axes of some variables."""
        gone = set(names)
        return self._of(tuple(axis for axis in self.axes if not gone & axis.keys()))

    def points(self, names: Iterable[str], index: Index) -> Ints:
        """Return an index at every row of the axis that some variables have together."""
        space, axis = self.joined(names)
        return space.values(index, axis)

    def values(self, index: Index, axis: Axis) -> Ints:
        """Return an index at every row of an axis that has all its variables."""
        names: dict[str, Any] = {**self.sizes, **axis}
        values = np.asarray(index.at(names, self.look_up))
        return np.broadcast_to(values, (_rows(axis) if axis else 1,))

    def variables(self, *indices: Index) -> frozenset[str]:
        """The variables of the space that indices depend on."""
        known = frozenset(name for axis in self.axes for name in axis)
        return known & frozenset[str]().union(*(index.names for index in indices))

    def where(self, index: Index, below: Index) -> Space:
        """Return the points at which one index is below another."""
        space, axis = self.joined(self.variables(index, below))
        kept = space.values(index, axis) < space.values(below, axis)
        if not axis:
            return self if kept.all() else self._of(({"": np.arange(0)},))
        picked = {name: values[kept] for name, values in axis.items()}
        return self._of((*space.axes[:-1], picked))

    def bound(self, name: str, start: Index, stop: Index) -> Space:
        """Return the points with one more variable, ``start <= name < stop``.

        Raises `InputError` where those are too many to be listed.
        """
        space, axis = self.joined(self.variables(start, stop))
        first, last = space.values(start, axis), space.values(stop, axis)
        self._check_rows(name, int(np.maximum(last - first, 0).sum()))
        if not axis:
            new: Axis = {name: np.arange(int(first[0]), int(last[0]), dtype=np.int64)}
            return self._of((*self.axes, new))
        count = np.maximum(last - first, 0)
        rows = np.repeat(np.arange(count.size), count)
        inside = np.arange(rows.size) - np.repeat(np.cumsum(count) - count, count)
        grown = {n: values[rows] for n, values in axis.items()} | {name: first[rows] + inside}
        return self._of((*space.axes[:-1], grown))

    def at(self, name: str, value: int) -> Space:
        """Return the points at which a variable has a value."""
        return self.where(Index(name), Index(None, value + 1)).where(
            Index(None, value) - Index(name), Index(None, 1)
        )


def _rows(axis: Axis) -> int:
    return next(iter(axis.values())).size


# ------------------------------------------------------------ reaching
# Which work-groups store an element, by the indices of stores alone: none is run.

Group: TypeAlias = "dict[str, int]"
LookUp: TypeAlias = Callable[[str, tuple[Any, ...]], Any]

MOST_REACHED = 1 << 22
"""Combinations of variables that depend on one another, at most."""


def given(operation: str, kernel: Kernel, inputs: Mapping[str, Any]) -> LookUp:
    """Return how elements of inputs are looked up.

    Raises `KernelError` for what the kernel writes, and for what is not given; `InputError` for
    entries so far from zero that 64 bits do not hold what indices make of them; `MachineError` for
    places outside, as a run does.
    """
    farthest = farthest_entry(kernel)

    def look_up(name: str, at: tuple[Any, ...]) -> Any:
        written, wrong = kernel.operand(name).written, f"what is done depends on elements of {name}"
        if written:
            fix = 'run it with executor="reference"'
            raise KernelError(operation, {"operand": name}, f"{wrong}, which it writes", fix)
        if name not in inputs:
            fix = "count it in a run: run(kernel, …, report=True)"
            raise KernelError(operation, {"operand": name}, f"{wrong}, which are not given", fix)
        columns = tuple(map(np.asarray, at))
        for mode, (column, extent) in enumerate(zip(columns, inputs[name].shape, strict=True)):
            _demand_inside(operation, kernel, (name, mode), column, extent)
        entries = inputs[name][columns]
        ends = (int(entries.min()), int(entries.max())) if entries.size else (0, 0)
        if not -farthest <= ends[0] <= ends[1] <= farthest:
            wrong = f"an entry of {name}, {max(ends, key=abs)}, is beyond any size"
            raise InputError(operation, {"operand": name}, wrong, "use smaller entries")
        return entries.astype(np.int64)

    return look_up


def _demand_inside(
    operation: str, kernel: Kernel, of: tuple[str, int], column: Ints, extent: int
) -> None:
    """Raise `MachineError` for an index outside of a mode of an operand, a negative one, too."""
    outside = column[(column < 0) | (column >= extent)]
    if outside.size:
        (name, mode), index = of, int(outside.flat[0])
        raise MachineError(
            operation,
            {"operand": name, "mode": str(kernel.operand(name).modes[mode])},
            f"index {index} is outside: {name} has {extent} there",
            "bound the index by the extent",
        )


def grid_space(kernel: Kernel, sizes: Mapping[str, int], look_up: LookUp) -> Space:
    """Return the work-groups and subgroups of a grid."""
    space = Space(sizes, (), look_up)
    for name, count in kernel.grid:
        space = space.bound(name, Index(), count)
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

    Raises `InputError` for more than ``most``, and where indices depend on one another too much,
    `KernelError` where a statement does not declare which elements it stores.
    """
    groups: dict[tuple[int, ...], Group] = {}
    names = [name for name, _ in kernel.grid]
    for memory, space in _stores(kernel, sizes, look_up, output):
        for group in groups_of(_reaching(space, memory, element), names, most):
            groups[tuple(group.values())] = group
    if len(groups) > most:
        raise _many(output, element, len(groups), most)
    return [groups[key] for key in sorted(groups)]


def writing_subgroups(
    kernel: Kernel, sizes: Mapping[str, int], look_up: LookUp, output: str, element: Sequence[int]
) -> tuple[int, ...]:
    """Return the subgroups whose own messages may reach an element in some work-group."""
    writing: set[int] = set()
    for memory, space in _stores(kernel, sizes, look_up, output):
        here = _reaching(space, memory, element)
        for subgroup in sorted(set(range(kernel.subgroups)) - writing):
            mine = _reaching(here.at(SUBGROUP_INDEX, subgroup), memory, element, subgroup)
            if mine.size:
                writing.add(subgroup)
    return tuple(sorted(writing))


def groups_of(space: Space, names: Sequence[str], most: int) -> list[Group]:
    """Return the work-groups of a space. Raises `InputError` for more than ``most``."""
    if not space.size:
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
    if not space.size:
        return
    for part in (0.0, 1.0, 0.5):
        out: Group = {}
        for axis in axes:
            row = int((_rows(axis) - 1) * part)
            out |= {name: int(axis[name][row]) for name in names if name in axis}
        yield out


def performed(body: tuple[Statement, ...], space: Space) -> Iterator[tuple[Statement, Space]]:
    """Yield every statement of a body with the points at which it is executed.

    Raises `InputError` where these are too many to be listed.
    """
    for statement in body:
        yield statement, space
        if isinstance(statement, Loop):
            inside = space.bound(statement.var, statement.start, statement.stop)
            yield from performed(statement.body, inside)
        elif isinstance(statement, If):
            yield from performed(statement.body, space.where(statement.index, statement.below))


def undeclared_operands(touched: Touched) -> tuple[str, ...]:
    """Return the operands of which a statement declares no elements, prefetched ones included."""
    memory = touched.memory
    prefetched = memory.operand if memory is not None and memory.prefetches else ""
    return (*touched.unplaced, *(name for name in touched.prefetched if name != prefetched))


def _stores(
    kernel: Kernel, sizes: Mapping[str, int], look_up: LookUp, output: str
) -> Iterator[tuple[MemoryAccess, Space]]:
    """Yield the tiles of an output that are stored, each with the points at which it is done.

    Raises `KernelError` for a statement that stores there and declares no tile.
    """
    space = replace(grid_space(kernel, sizes, look_up), most=MOST_REACHED)
    for statement, here in performed(kernel.body, space):
        if output not in statement.touched.to_memory:
            continue
        memory = statement.touched.memory
        if memory is None or not memory.stores or memory.operand != output:
            raise KernelError(
                "replay",
                {"statement": type(statement).__name__, "operand": output},
                f"which elements of {output} it stores is not declared",
                "let the statement declare a memory access",
            )
        yield memory, here


def _reaching(
    space: Space, memory: MemoryAccess, element: Sequence[int], subgroup: int | None = None
) -> Space:
    """Return the points at which the tile of a store, or a subgroup's part, may have an element."""
    copy, rank = memory.copy, len(memory.copy.tiler_mn)
    starts = (anchors(copy) if subgroup is None else anchors(copy)[subgroup]).reshape(-1, rank)
    wide = {copy.x_mode: copy.block.width, copy.y_mode: copy.block.height}
    low, high = dict.fromkeys(range(len(element)), 0), dict.fromkeys(range(len(element)), 1)
    for number, mode in enumerate(memory.modes):
        if mode is not None:
            low[mode] = int(starts[:, number].min())
            high[mode] = int(starts[:, number].max()) + wide.get(number, 1)
    for mode, (index, at) in enumerate(zip(memory.at, element, strict=True)):
        inside = at - index
        space = space.where(inside, Index(None, high[mode]))
        space = space.where(Index(None, low[mode] - 1), inside)
    return space


def _many(what: str, where: Sequence[object], count: int, most: int) -> InputError:
    place = f"[{', '.join(map(str, where))}]" if where else ""
    return InputError(
        "replay",
        {"place": f"{what}{place}"},
        f"{count} work-groups would run, at most {most} do",
        "ask about smaller sizes",
    )
