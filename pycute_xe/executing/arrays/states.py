"""The registers that a recurrence carries over, by coordinates of operands.

Registers of which all that is ever computed is the same share a place: the row of a query, not the
lanes that hold it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pycute_xe.executing.arrays.terms import (
    Lifter,
    Space,
    apart_of,
    boxed,
    free_of,
    numbered,
    partition,
)
from pycute_xe.holding.contents import undecided
from pycute_xe.holding.nodes import Leaf, Node, Recurrence, State, mapped
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX

__all__ = ["coordinates_of", "needed_by", "nodes_of", "outside_of", "space_of"]


def coordinates_of(space: Space) -> list[Ints]:
    """Return for each coordinate which one each register has: (subgroup, position)."""
    out: list[Ints] = []
    index = space.index if space.again is None else space.again
    for axis, count in enumerate(index.shape[: len(space.names)]):
        numbers: Ints = np.zeros(space.shape[0] * space.shape[1], np.int64)
        shape = [1] * index.ndim
        shape[axis] = count
        line: Ints = np.arange(count, dtype=np.int64)
        numbers[index] = line.reshape(shape)
        out.append(numbers.reshape(space.shape))
    return out


def nodes_of(recurrence: Recurrence, name: str) -> tuple[Node, Node]:
    """Return what a fragment holds before a recurrence, and behind a trip."""
    found = tuple(content.single for content in recurrence.parts[name])
    if found[0] is None or found[1] is None:
        raise undecided(f"several statements fill {name}, which a loop carries over")
    return found[0], found[1]


def space_of(lifter: Lifter, recurrence: Recurrence, name: str) -> Space:
    """Return the coordinates of the registers of a fragment that a recurrence carries over.

    Registers of which all that is ever computed is the same share a place.
    """
    if (id(recurrence), name) in lifter.spaces:
        return lifter.spaces[id(recurrence), name]
    found = _toldapart_of(lifter, recurrence, name)
    for one, columns in found.items():
        if (id(recurrence), one) not in lifter.spaces:
            lifter.spaces[id(recurrence), one] = _space(lifter, recurrence, one, columns)
    return lifter.spaces[id(recurrence), name]


def _toldapart_of(lifter: Lifter, recurrence: Recurrence, name: str) -> dict[str, list[_Column]]:
    """Return what tells registers of a fragment apart, and of those whose state it needs."""
    needed = needed_by(recurrence, (name,))
    found = {one: _columns(lifter, recurrence, one) for one in needed}
    pairs = [(one, state) for one in needed for state in _states_in(recurrence, one)]
    for _ in range(len(needed) + 2):
        changed = [
            _add(found[one], column.label, _gathered(column.numbers, state))
            for one, state in pairs
            for column in tuple(found[state.name])
        ]
        if not any(changed):
            return found
    raise undecided(f"what {name} depends on goes round")


def _space(lifter: Lifter, recurrence: Recurrence, one: str, known: list[_Column]) -> Space:
    shape = lifter.subgroups, _count(recurrence, one)
    columns = _finest(known) or [_Column("", np.zeros(shape, np.int64))]
    groups, index = boxed([column.numbers.reshape(-1) for column in columns])
    again = index if index.ndim > len(groups) else None
    index = index if again is None else again[..., 0]
    own, who = f"{one}__{len(lifter.spaces)}_subgroup", np.arange(shape[0])
    names: tuple[str, ...] = ()
    for group in groups:
        label = " ".join(columns[i].label for i in group)
        values = tuple(np.unique(columns[i].numbers).tobytes() for i in group)
        names = (*names, lifter.name(recurrence, label, values, names))
    return Space(shape, names, index, own, who, again)


def _count(recurrence: Recurrence, name: str) -> int:
    return recurrence.parts[name][0].count


@dataclass(frozen=True, eq=False)
class _Column:
    """A number for each register, (subgroup, position), and what it is a place in."""

    label: str
    numbers: Ints


def _finest(columns: list[_Column]) -> list[_Column]:
    """Return columns without those that another one tells apart, too."""
    numbers = [partition(c.numbers.reshape(-1)) for c in columns]
    sizes = [int(n.max()) + 1 for n in numbers]
    kept: list[int] = []
    for i in sorted(range(len(columns)), key=lambda i: -sizes[i]):
        fine = (numbered([numbers[j], numbers[i]], numbers[i].size).max() + 1 for j in kept)
        if not any(int(n) == sizes[j] for j, n in zip(kept, fine, strict=True)):
            kept.append(i)
    return [columns[i] for i in sorted(kept)]


def _add(columns: list[_Column], label: str, column: Ints) -> bool:
    """Add a column unless one of them tells the same apart; return whether it was new."""
    number = partition(column.reshape(-1))
    if not number.any():
        return False
    if any(np.array_equal(partition(c.numbers.reshape(-1)), number) for c in columns):
        return False
    columns.append(_Column(label, column))
    return True


def _gathered(column: Ints, state: State) -> Ints:
    """Return what tells registers apart that read others, of which a column is known."""
    return _first(state.picked(column))


def _first(table: Ints) -> Ints:
    """Return a column: of more axes than two, a number for what all of them say."""
    if table.ndim == 2:
        return table
    rank = table.ndim - 2
    if apart_of(table, rank)[1] is not None:
        return table[(..., *(0,) * rank)]
    rows: Any = table.reshape(table.shape[0] * table.shape[1], -1)
    unique: Any = np.unique(rows, axis=0, return_inverse=True)
    number: Ints = np.asarray(unique[1], np.int64)
    return number.reshape(table.shape[:2])


def _columns(lifter: Lifter, recurrence: Recurrence, name: str) -> list[_Column]:
    shape = lifter.subgroups, _count(recurrence, name)
    out: list[_Column] = []
    for leaf in (x for x in _ends(nodes_of(recurrence, name)) if isinstance(x, Leaf)):
        for i in range(leaf.table.shape[-1]):
            column = _first(leaf.table[..., i])[:, leaf.select]
            _add(out, f"{leaf.operand}.{i}", np.broadcast_to(column, shape))
    if SUBGROUP_INDEX in free_of(lifter, nodes_of(recurrence, name)):
        _add(out, "subgroup", np.broadcast_to(np.arange(shape[0])[:, None], shape))
    for state in _ends(nodes_of(recurrence, name)):
        if isinstance(state, State) and state.recurrence not in (None, recurrence):
            space = space_of(lifter, state.recurrence, state.name)
            for column in coordinates_of(space):
                _add(out, state.name, np.broadcast_to(_gathered(column, state), shape))
    return out


def _ends(nodes: tuple[Node, ...]) -> list[Node]:
    out: list[Node] = []

    def leaf(x: Node) -> Node:
        out.append(x)
        return x

    for node in nodes:
        mapped(node, leaf)
    return out


def _states_in(recurrence: Recurrence, name: str) -> list[State]:
    ends = _ends(nodes_of(recurrence, name))
    return [x for x in ends if isinstance(x, State) and x.recurrence is recurrence]


def needed_by(recurrence: Recurrence, names: Iterable[str]) -> list[str]:
    """Return the fragments whose state those of some names need, themselves among them."""
    out = list(dict.fromkeys(names))
    for one in out:
        needs = dict.fromkeys(state.name for state in _states_in(recurrence, one))
        out += [other for other in needs if other not in out]
    return out


def outside_of(lifter: Lifter, recurrence: Recurrence, name: str) -> frozenset[str]:
    """Return the variables outside a recurrence on which a fragment's state depends."""
    loop = recurrence.loop
    found = set(loop.start.names | loop.stop.names)
    for one in needed_by(recurrence, (name,)):
        found |= free_of(lifter, nodes_of(recurrence, one))
    return frozenset(found - {loop.var, SUBGROUP_INDEX})
