"""Stores of parts of a tile, taken together: one write, and one comparison for all of them.

Tiles of columns are stored one by one, by different subgroups perhaps, and rows before the end of a
request each under a condition on it. What they hold is the same but for the place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pycute_xe.holding.contents import Write
from pycute_xe.holding.likeness import joined, renamed as renamed_in, sums_within
from pycute_xe.holding.nodes import Node
from pycute_xe.holding.tables import as_digits
from pycute_xe.kernel import If, Index, Loop
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.program import mixes
from pycute_xe.verifying.guards import renamed
from pycute_xe.verifying.points import Space, View, view_of
from pycute_xe.verifying.regions import Region

__all__ = ["Together", "joined_writes"]


@dataclass(frozen=True)
class Together:
    """Writes taken together, and their points, of which ``texts`` are the constraints.

    ``alike`` tells whether the same subgroups do all of them.
    """

    write: Write
    view: View
    points: Region
    texts: tuple[str, ...]
    alike: bool

    def stored(self, space: Space, suffix: str) -> Region | None:
        """Return who stores to which element: sizes, work-group, subgroup ``s``, and its index.

        Names of all but sizes and index end in ``suffix``. None where it is not known who.
        """
        numbers = self.write.subgroups[self.view.subgroup].reshape(self.view.shape)
        digits = as_digits(numbers) if self.alike else None
        if digits is None:
            return None
        targets = space.targets(self.write, self.view)
        index = tuple(f"u_{mode}" for mode in range(len(targets)))
        texts = [*self.texts, f"s = {digits.text(self.view.names)}"]
        texts += [f"{u} = {t}" for u, t in zip(index, targets, strict=True)]
        grid = (*space.naming.grid, "s")
        ends = {name: f"{name}{suffix}" for name in (*grid, *self.view.names)}
        kept = (*space.naming.sizes, *(ends[name] for name in grid), *index)
        names = (*kept, *(ends[name] for name in self.view.names))
        where = " and ".join(f"({renamed(text, ends)})" for text in texts)
        return Region.where(names, where).to(kept)


def joined_writes(space: Space, writes: list[Write]) -> list[Together] | None:
    """Return writes taken together; None where some stand alone, or it is not known how.

    Raises `UndecidableError` as `view_of` does.
    """
    groups: dict[object, list[Write]] = {}
    for write in writes:
        if any(isinstance(one, Loop) for one in write.enclosing):
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
    last = write.enclosing[-1] if write.enclosing else None
    return last if isinstance(last, If) else None


def _key(write: Write) -> object:
    """Return what writes have in common that are taken together.

    Those of one subgroup each may be of different ones, where no condition tells these apart.
    """
    row = _row(write)
    outer = write.enclosing if row is None else write.enclosing[:-1]
    loose = tuple(index - index.offset for index in write.base)
    condition = None if row is None else (row.index - row.index.offset, row.below)
    alone = write.subgroups.size == 1 and not any(map(mixes, write.enclosing))
    writers = () if alone else tuple(write.subgroups.tolist())
    return write.access.operand, tuple(map(id, outer)), loose, condition, writers


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
        enclosing=first.enclosing if row is None else first.enclosing[:-1],
        base=tuple(index - index.offset for index in first.base),
        places=places,
        elements=np.concatenate([w.elements for w in group]),
        node=node,
    )
    view, alike = (
        view_of(write),
        all(w.subgroups.tolist() == first.subgroups.tolist() for w in group),
    )
    below = "" if row is None else _below(space, group, write, view, row)
    if below is None:
        return None
    points, texts = space.points(write, view), space.written_at(write, view)[1]
    if below:
        points, texts = points.within(below), (*texts, below)
    return Together(write, view, points, texts, alike)


def _below(space: Space, group: list[Write], write: Write, view: View, row: If) -> str | None:
    """Return that rows lie before an end, which each write has as a condition; None if unknown."""
    step = dict(row.index.terms).get(SUBGROUP_INDEX, 0)
    rest = row.index - row.index.offset - Index(SUBGROUP_INDEX) * step
    rows = (one for w in group if (one := _row(w)) is not None)
    own = np.repeat([one.index.offset for one in rows], [w.places.shape[1] for w in group])
    mine = step * write.subgroups[:, None] + own[None]
    apart = [write.places[..., mode] - mine for mode in range(write.places.shape[-1])]
    mode = next((m for m, a in enumerate(apart) if (a == a.flat[0]).all()), None)
    if mode is None or SUBGROUP_INDEX in rest.names:
        return None
    at = f"{space.naming.text(rest)} + {view.places[mode].text(view.names)}"
    return f"{at} < {space.naming.text(row.below + int(apart[mode].flat[0]))}"


def _named_alike(nodes: list[Node]) -> list[Node]:
    """Return nodes with the first one's names for the variables of their sums."""
    named = list(map(sums_within, nodes))
    if len(set(map(len, named))) > 1:
        return nodes
    return [
        node if own == named[0] else renamed_in(node, dict(zip(own, named[0], strict=True)))
        for node, own in zip(nodes, named, strict=True)
    ]
