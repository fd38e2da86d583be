"""Floor 6: which work-items hold an element of a tile."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pycute_xe.bulk import table
from pycute_xe.errors import CoordError, quoted
from pycute_xe.layout import Layout, size

__all__ = ["Owner", "owners_in"]

_SUBGROUP = 16


class Owner(NamedTuple):
    """One holder of an element: its subgroup, the work-item within, and which value it is."""

    subgroup: int
    work_item: int
    value: int


def owners_in(
    tv: Layout, tile: tuple[int, ...], place: tuple[Any, ...], what: object
) -> tuple[Owner, ...]:
    """Return who holds an element of a tile, by a (work-item, value) map to offsets in it.

    Raises `CoordError` for a place outside the tile, naming ``what``.

    >>> owners_in(Layout((32, 4), (4, 1)), (4, 32), (1, 20), "an example")
    (Owner(subgroup=1, work_item=4, value=1),)
    """
    inside = len(place) == len(tile) and all(
        type(p) is int and 0 <= p < extent for p, extent in zip(place, tile, strict=True)
    )
    if not inside:
        raise CoordError(
            "owner_of",
            {"in": what, "place": place},
            f"{quoted(place)} is not in a tile of {' x '.join(map(str, tile))}",
            "count from 0",
        )
    offset = sum(p * step for p, step in zip(place, Layout(tile).stride, strict=True))
    values, threads = np.divmod(np.flatnonzero(table(tv).reshape(-1) == offset), size(tv[0]))
    found = sorted(zip(threads.tolist(), values.tolist(), strict=True))
    return tuple(Owner(t // _SUBGROUP, t % _SUBGROUP, v) for t, v in found)
