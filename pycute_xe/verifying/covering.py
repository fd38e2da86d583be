"""Floor 9: stores that write a tile in pieces, taken together: what they cover, and what is left.

A tile stored in pieces is subtracted from an output as one box; piece by piece, each of them would
leave a set that needs more quotients to be described.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.follower import Write
from pycute_xe.kernel import Index
from pycute_xe.kernel.ir.roles import mixes
from pycute_xe.verifying.points import Space
from pycute_xe.verifying.views import View, view_of

__all__ = ["left_out", "united"]

MOST = 4096
"""Work-groups, and elements that are left out of a tile, that are looked at."""


def united(writes: list[Write]) -> list[Write]:
    """Return writes as few as there are tiles: those of one tile at one time are one write."""
    groups: dict[tuple[object, ...], list[Write]] = {}
    for write in writes:
        who = tuple(write.who.tolist()) if any(map(mixes, write.around)) else write.who.size
        groups.setdefault((write.around, _loose(write), who), []).append(write)
    out: list[Write] = []
    for group in groups.values():
        joined = _joined(group)
        fills = len(group) == 1 or _is_box(joined)
        out += [joined] if fills else group
    return out


def _loose(write: Write) -> tuple[Index, ...]:
    return tuple(index - index.offset for index in write.base)


def _joined(group: list[Write]) -> Write:
    """Return the writes of a group as one; what they hold is left to each of them."""
    if len(group) == 1:
        return group[0]
    places = [w.places + np.array([i.offset for i in w.base], dtype=np.int64) for w in group]
    elements = np.concatenate([w.elements for w in group])
    first = group[0]
    return replace(
        first, base=_loose(first), places=np.concatenate(places, axis=1), elements=elements
    )


def _is_box(write: Write) -> bool:
    """Whether the places fill a box, each once: then a view of them is told by the place."""
    try:
        view: View = view_of(write)
    except UndecidableError:
        return False
    return "p_s" not in view.names


def left_out(space: Space, output: str, writes: list[Write]) -> dict[str, int] | None:
    """Return sizes at which the last element of an output is one that no piece of a tile covers.

    Looks at the first tile alone, and at stores that neither loops nor conditions surround; None
    proves nothing. The element has the index of every extent less one.
    """
    kernel = space.kernel
    modes = [str(mode) for mode in kernel.operand(output).modes]
    if any(write.around for write in writes) or not set(modes) <= set(kernel.sizes):
        return None
    if len({_loose(write) for write in writes}) != 1 or len(set(modes)) != len(modes):
        return None
    covered = _joined(writes).places.reshape(-1, len(modes))
    high = covered.max(axis=0) + 1
    if np.prod(high, dtype=np.float64) > 1 << 22:
        return None
    inside = covered[(covered >= 0).all(axis=1)]
    tile = np.zeros(tuple(high), np.bool_)
    tile[tuple(inside.T)] = True
    holes = np.argwhere(~tile)
    for hole in holes[np.argsort(holes.sum(axis=1), kind="stable")][:MOST].tolist():
        sizes = {
            **dict.fromkeys(kernel.sizes, 1),
            **dict(zip(modes, (i + 1 for i in hole), strict=True)),
        }
        if any(sizes[name] != size for name, size in space.fixed.items()):
            continue
        if not _is_covered(space, _joined(writes), inside, np.array(hole), sizes):
            return sizes
    return None


def _is_covered(
    space: Space,
    write: Write,
    covered: NDArray[np.int64],
    element: NDArray[np.int64],
    sizes: dict[str, int],
) -> bool:
    """Whether some work-group of a problem stores an element."""
    counts = [range(count.at(sizes)) for _, count in space.kernel.grid]
    if np.prod([len(count) for count in counts]) > MOST:
        return True
    names = [name for name, _ in space.kernel.grid]
    for place in product(*counts):
        values = {**sizes, **dict(zip(names, place, strict=True))}
        base = np.array([index.at(values) for index in write.base])
        if (covered + base == element).all(axis=1).any():
            return True
    return False
