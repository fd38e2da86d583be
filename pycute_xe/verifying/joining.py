"""Stores of rows, each under a condition on its row, taken together: one write with one condition.

Rows before the end of a request are stored one by one. What each holds is the same but for the row,
so that one comparison does for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pycute_xe.holding.contents import Write
from pycute_xe.holding.likeness import joined
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
    node = joined([write.node for write in group])
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
