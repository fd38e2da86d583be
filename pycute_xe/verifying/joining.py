"""Stores of rows, each under a condition on its row, taken together: one write with one condition.

Rows before the end of a request are stored one by one. What each holds is the same but for the row,
so that one comparison does for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pycute_xe.holding.contents import Write
from pycute_xe.holding.nodes import (
    Accumulated,
    Call,
    Choice,
    Converted,
    Leaf,
    Node,
    Number,
    Picked,
    Scalar,
    Summed,
)
from pycute_xe.kernel import If, Index, Loop
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.verifying.points import Space, View, view_of
from pycute_xe.verifying.regions import Region

__all__ = ["Together", "joined_rows"]


@dataclass(frozen=True)
class Together:
    """Writes taken together, and their points."""

    write: Write
    view: View
    points: Region


def joined_rows(space: Space, writes: list[Write]) -> list[Together] | None:
    """Return writes taken together; None where some stand alone, or it is not known how.

    Raises `UndecidableError` as `view_of` does.
    """
    groups: dict[object, list[Write]] = {}
    for write in writes:
        key = _key(write)
        if key is None:
            return None
        groups.setdefault(key, []).append(write)
    if len(groups) == len(writes):
        return None
    out: list[Together] = []
    for part in (part for group in groups.values() for part in _by_columns(group)):
        made = _together(space, part)
        if made is None:
            return None
        out.append(made)
    return out


def _key(write: Write) -> object | None:
    """Return what writes have in common that are taken together."""
    if not write.around or any(isinstance(one, Loop) for one in write.around):
        return None
    *outer, last = write.around
    if not isinstance(last, If):
        return None
    loose = tuple(index - index.offset for index in write.base)
    condition = (last.index - last.index.offset, last.below)
    writers = tuple(write.subgroups.tolist())
    return write.statement.operand, tuple(map(id, outer)), loose, condition, writers


def _by_columns(group: list[Write]) -> list[list[Write]]:
    """Part writes by where they begin along the modes that no row moves."""
    starts = np.array([[index.offset for index in write.base] for write in group])
    rows = np.array([_offset(write) for write in group])
    apart = starts - rows[:, None]
    moved = (apart == apart[0]).all(axis=0)
    parts: dict[tuple[int, ...], list[Write]] = {}
    for write, start in zip(group, starts[:, ~moved].tolist(), strict=True):
        parts.setdefault(tuple(start), []).append(write)
    return list(parts.values())


def _offset(write: Write) -> int:
    last = write.around[-1]
    return last.index.offset if isinstance(last, If) else 0


def _together(space: Space, group: list[Write]) -> Together | None:
    first = group[0]
    offsets, last = list(map(_offset, group)), first.around[-1]
    if not isinstance(last, If):
        return None
    row = last.index - last.index.offset
    step = dict(row.terms).get(SUBGROUP_INDEX, 0)
    rest = row - Index(SUBGROUP_INDEX) * step
    node = _Joining().of([write.node for write in group])
    if node is None or SUBGROUP_INDEX in rest.names:
        return None
    places = np.concatenate(
        [w.places + np.array([i.offset for i in w.base], dtype=np.int64) for w in group], axis=1
    )
    own = np.repeat(offsets, [w.places.shape[1] for w in group])
    rows = step * first.subgroups[:, None] + own[None]
    apart = [places[..., mode] - rows for mode in range(places.shape[-1])]
    mode = next((m for m, a in enumerate(apart) if (a == a.flat[0]).all()), None)
    if mode is None:
        return None
    write = replace(
        first,
        around=first.around[:-1],
        base=tuple(index - index.offset for index in first.base),
        places=places,
        elements=np.concatenate([w.elements for w in group]),
        node=node,
    )
    view = view_of(write)
    at = f"{space.naming.text(rest)} + {view.places[mode].text(view.names)}"
    below = space.naming.text(last.below + int(apart[mode].flat[0]))
    return Together(write, view, space.points(write, view).within(f"{at} < {below}"))


class _Joining:
    """Nodes put in a row; those that stand in several places are put together once."""

    def __init__(self) -> None:
        self.done: dict[tuple[int, ...], Node | None] = {}

    def of(self, nodes: list[Node]) -> Node | None:
        """Return what the positions of several nodes hold, in a row; None for other forms."""
        key = tuple(map(id, nodes))
        if key not in self.done:
            self.done[key] = self.made(nodes)
        return self.done[key]

    def made(self, nodes: list[Node]) -> Node | None:
        first = nodes[0]
        if any(type(node) is not type(first) for node in nodes):
            return None
        match first:
            case Number() | Scalar():
                return first if all(_same_fields(first, node) for node in nodes) else None
            case Leaf():
                return _leaves([node for node in nodes if isinstance(node, Leaf)])
            case Call() | Converted() | Summed() | Accumulated() | Choice() | Picked():
                return self.inner(nodes)
            case _:
                return None

    def inner(self, nodes: list[Node]) -> Node | None:
        """Return a node of the same kind whose nodes are joined; all else has to be the same."""
        changed: dict[str, object] = {}
        for part in fields(nodes[0]):
            values: list[Any] = [getattr(node, part.name) for node in nodes]
            if isinstance(values[0], tuple) and values[0] and _is_node(values[0][0]):
                if len({len(value) for value in values}) > 1:
                    return None
                joined = tuple(self.of(list(each)) for each in zip(*values, strict=True))
                if any(node is None for node in joined):
                    return None
                changed[part.name] = joined
            elif _is_node(values[0]):
                node = self.of(values)
                if node is None:
                    return None
                changed[part.name] = node
            elif any(value != values[0] for value in values):
                return None
        return replace(nodes[0], **changed)  # pyright: ignore[reportArgumentType]


def _same_fields(one: Node, other: Node) -> bool:
    return all(getattr(one, f.name) == getattr(other, f.name) for f in fields(one))


def _leaves(leaves: list[Leaf]) -> Leaf | None:
    first = leaves[0]
    alike = all(
        (x.operand, x.base, x.bound) == (first.operand, first.base, first.bound)
        and x.table.shape[0] == first.table.shape[0]
        and x.table.shape[2:] == first.table.shape[2:]
        for x in leaves
    )
    if not alike:
        return None
    if all(x.table is first.table for x in leaves):
        return replace(first, select=np.concatenate([x.select for x in leaves]))
    starts = np.cumsum([0, *(x.table.shape[1] for x in leaves)])
    selects = [x.select + start for x, start in zip(leaves, starts[:-1], strict=True)]
    table = np.concatenate([x.table for x in leaves], axis=1)
    return replace(first, table=table, select=np.concatenate(selects))


def _is_node(value: Any) -> bool:
    kinds = (Number, Scalar, Leaf, Call, Converted, Summed, Accumulated, Choice, Picked)
    return isinstance(value, kinds)
