"""Whether the tables of a run meet what is assumed of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pycute_xe.kernel.index import Index, Looked, Quotient
from pycute_xe.kernel.spec.tables import Arrays, Assumption, Law, Modes

__all__ = ["broken", "law_broken", "value_of"]

MOST_PAIRS = 1 << 12
"""Pairs of places of a table at which laws are looked at one by one."""

_HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


def broken(
    assumption: Assumption, modes: Modes, arrays: Arrays, sizes: Mapping[str, int]
) -> dict[str, int] | None:
    """Return values of variables at which tables break an assumption; None where they keep it.

    >>> from pycute_xe.kernel.spec.tables import Rising
    >>> starts = {"starts": np.array([0, 3, 2])}
    >>> broken(Rising("starts", Index("T")), {"starts": (Index("U"),)}, starts, {"T": 2, "U": 3})
    {'i': 1, 'j': 2}
    """
    for law in assumption.laws(modes):
        place = law_broken(law, arrays, sizes)
        if place is not None:
            return place
    return None


def law_broken(law: Law, arrays: Arrays, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """Return values of its variables at which tables break a law; None where they keep it."""
    names = [name for name, _ in law.over]
    extents = [max(0, extent.at(sizes)) for _, extent in law.over]
    if _is_of_pairs(law) and extents[0] * extents[1] > MOST_PAIRS:
        return _broken_pairs(law, arrays, sizes, extents[0])
    grids: Any = np.ogrid[tuple(slice(0, n) for n in extents)] if names else ()
    return _broken_at(law, arrays, sizes, dict(zip(names, grids, strict=True)))


def _is_of_pairs(law: Law) -> bool:
    """Whether a law compares each two entries of one table with one mode."""
    looked = [x for one, other, _ in law.then for x in (*one.looked_up, *other.looked_up)]
    same = len({x.operand for x in looked}) == 1 and all(len(x.at) == 1 for x in looked)
    pair = tuple(Index(name) for name, _ in law.over)
    return len(looked) == len(pair) == 2 and same and (*pair, "<") in law.when


def _broken_pairs(
    law: Law, arrays: Arrays, sizes: Mapping[str, int], extent: int
) -> dict[str, int] | None:
    """Look at neighbours in the order of the entries: laws of pairs are of order or equality."""
    (one, _, sign) = law.then[0]
    (looked,) = one.looked_up
    entries = np.asarray(_entries(arrays, looked.operand, (np.arange(extent),)))
    order = np.arange(extent) if sign == "<=" else np.argsort(entries, kind="stable")
    named = {name: side for (name, _), side in zip(law.over, (order[:-1], order[1:]), strict=True)}
    return _broken_at(law, arrays, sizes, named)


def _broken_at(
    law: Law, arrays: Arrays, sizes: Mapping[str, int], named: Mapping[str, Any]
) -> dict[str, int] | None:
    def side(index: Index) -> Any:
        return value_of(index, {**sizes, **named}, arrays)

    wrong: Any = True
    for one, other, sign in law.when:
        wrong = wrong & _HOLDS[sign](side(one), side(other))
    met = [_HOLDS[sign](side(one), side(other)) for one, other, sign in law.then]
    kept: Any = met[0]
    for more in met[1:]:
        kept = kept & more if law.joined else kept | more
    wrong = wrong & np.logical_not(kept)
    every = np.broadcast_arrays(wrong, *named.values())
    places = np.argwhere(every[0])
    if not len(places):
        return None
    at = tuple(places[0])
    return {n: int(grid[at]) for n, grid in zip(named, every[1:], strict=True)}


def value_of(index: Index, names: Mapping[str, Any], arrays: Arrays) -> Any:
    """Return an index at arrays of values; entries outside a table are 0."""
    out: Any = index.offset
    for atom, scale in index.terms:
        match atom:
            case str():
                part = names[atom]
            case Quotient(inner, divisor):
                part = value_of(inner, names, arrays) // divisor
            case Looked(operand, at):
                part = _entries(arrays, operand, tuple(value_of(i, names, arrays) for i in at))
        out = out + scale * part
    return out


def _entries(arrays: Arrays, operand: str, at: tuple[Any, ...]) -> Any:
    table = arrays[operand]
    places: Any = np.broadcast_arrays(*map(np.asarray, at)) if at else ()
    inside: Any = np.bool_(True)
    for place, extent in zip(places, table.shape, strict=True):
        inside = inside & (place >= 0) & (place < extent)
    kept = tuple(np.where(inside, place, 0) for place in places)
    if 0 in table.shape:
        return np.zeros(np.shape(inside), np.int64)
    entries: Any = np.asarray(table[kept] if kept else table[()], dtype=np.int64)
    return np.where(inside, entries, 0)
