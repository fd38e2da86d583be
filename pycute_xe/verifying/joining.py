"""Stores of parts of a tile, taken together: one write, and one comparison for all of them.

Tiles of columns are stored one by one, by different subgroups perhaps, and rows before the end of a
request each under a condition on it. What they hold is the same but for the place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pycute_xe.holding.contents import Write
from pycute_xe.holding.likeness import joined, renamed, sums_within
from pycute_xe.holding.nodes import Node
from pycute_xe.kernel import If, Index, Loop
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.program import mixes
from pycute_xe.verifying.points import Space, View, view_of
from pycute_xe.verifying.regions import Region

__all__ = ["Together", "joined_writes"]


@dataclass(frozen=True)
class Together:
    """Writes taken together, and their points."""

    write: Write
    view: View
    points: Region


def joined_writes(space: Space, writes: list[Write]) -> list[Together] | None:
    """Return writes taken together; None where some stand alone, or it is not known how.

    Raises `UndecidableError` as `view_of` does.
    """
    groups: dict[object, list[Write]] = {}
    for write in writes:
        if any(isinstance(one, Loop) for one in write.around):
            return None
        groups.setdefault(_key(write), []).append(write)
    if len(groups) == len(writes):
        return None
    out: list[Together] = []
    for group in groups.values():
        made = _together(space, group)
        if made is None:
            return None
        out.append(made)
    return out


def _row(write: Write) -> If | None:
    """Return the innermost condition around a write: it may be on its row."""
    last = write.around[-1] if write.around else None
    return last if isinstance(last, If) else None


def _key(write: Write) -> object:
    """Return what writes have in common that are taken together.

    Those of one subgroup each may be of different ones, where no condition tells these apart.
    """
    row = _row(write)
    outer = write.around if row is None else write.around[:-1]
    loose = tuple(index - index.offset for index in write.base)
    condition = None if row is None else (row.index - row.index.offset, row.below)
    alone = write.subgroups.size == 1 and not any(map(mixes, write.around))
    writers = () if alone else tuple(write.subgroups.tolist())
    return write.statement.operand, tuple(map(id, outer)), loose, condition, writers


def _together(space: Space, group: list[Write]) -> Together | None:
    first, row = group[0], _row(group[0])
    rows = [one for one in map(_row, group) if one is not None]
    if row is None or all(one.index == row.index for one in rows):
        row = None  # it is the same for all
    node = joined(_named_alike([write.node for write in group]))
    if node is None:
        return None
    places = np.concatenate(
        [w.places + np.array([i.offset for i in w.base], dtype=np.int64) for w in group], axis=1
    )
    write = replace(
        first,
        around=first.around if row is None else first.around[:-1],
        base=tuple(index - index.offset for index in first.base),
        places=places,
        elements=np.concatenate([w.elements for w in group]),
        node=node,
    )
    if row is None:
        view = view_of(write)
        return Together(write, view, space.points(write, view))
    return _below(space, group, write, row)


def _below(space: Space, group: list[Write], write: Write, row: If) -> Together | None:
    """Return writes whose rows lie before an end, each under a condition that says so."""
    step = dict(row.index.terms).get(SUBGROUP_INDEX, 0)
    rest = row.index - row.index.offset - Index(SUBGROUP_INDEX) * step
    rows = (one for w in group if (one := _row(w)) is not None)
    own = np.repeat([one.index.offset for one in rows], [w.places.shape[1] for w in group])
    mine = step * write.subgroups[:, None] + own[None]
    apart = [write.places[..., mode] - mine for mode in range(write.places.shape[-1])]
    mode = next((m for m, a in enumerate(apart) if (a == a.flat[0]).all()), None)
    if mode is None or SUBGROUP_INDEX in rest.names:
        return None
    view = view_of(write)
    at = f"{space.naming.text(rest)} + {view.places[mode].text(view.names)}"
    below = space.naming.text(row.below + int(apart[mode].flat[0]))
    return Together(write, view, space.points(write, view).within(f"{at} < {below}"))


def _named_alike(nodes: list[Node]) -> list[Node]:
    """Return nodes with the first one's names for the variables of their sums."""
    named = list(map(sums_within, nodes))
    if len(set(map(len, named))) > 1:
        return nodes
    return [
        node if own == named[0] else renamed(node, dict(zip(own, named[0], strict=True)))
        for node, own in zip(nodes, named, strict=True)
    ]
