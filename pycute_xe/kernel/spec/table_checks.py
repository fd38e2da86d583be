"""Whether the tables of a run meet what is assumed of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import InputError
from pycute_xe.kernel.index import Index, Looked, Quotient
from pycute_xe.kernel.spec.tables import (
    Arrays,
    Assumption,
    AtMost,
    Bins,
    Distinct,
    InRange,
    Law,
    Modes,
    Permutation,
    Rising,
    Runs,
    Sorted,
    Tickets,
)

__all__ = ["broken", "demand_kept", "law_broken", "tickets_broken", "value_of"]

COUNTS = "how many entries name each"
"""The table of counts that a run's tables have where bins are assumed."""

MOST_PAIRS = 1 << 12
"""Pairs of places of a table at which laws are looked at one by one."""
AT_ONCE = 1 << 22
"""Combinations of places at which a law is looked at together."""

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
    match assumption:
        case Tickets(name, of):
            at = tickets_broken(_array(arrays[name]), _array(arrays[of]))
            return None if at is None else {f"i{mode}": i for mode, i in enumerate(at)}
        case Bins(name, of, to):
            counts = _counts(_array(arrays[of]), modes[name][0].at(sizes))
            runs = Runs(name, COUNTS, to)
            extents, counted = {**modes, COUNTS: modes[name]}, {**arrays, COUNTS: counts}
            return broken(runs, extents, counted, sizes)
        case InRange() | Rising() | AtMost() | Distinct() | Sorted() | Permutation() | Runs():
            pass  # its laws say all of it
    for law in assumption.laws(modes):
        place = law_broken(law, arrays, sizes)
        if place is not None:
            return place
    return None


def tickets_broken(tickets: NDArray[Any], of: NDArray[Any]) -> tuple[int, ...] | None:
    """Return a place at which tickets are none of entries; None where equal ones have 0, 1, 2, ….

    >>> tickets_broken(np.array([1, 0, 0]), np.array([5, 3, 5]))
    >>> tickets_broken(np.array([1, 0, 1]), np.array([5, 3, 5]))
    (0,)
    """
    flat, own = of.ravel(), tickets.ravel()
    order = np.lexsort((own, flat))
    begins = np.searchsorted(flat[order], flat[order])
    wrong = np.flatnonzero(own[order] != np.arange(own.size) - begins)
    if not wrong.size:
        return None
    return tuple(int(i) for i in np.unravel_index(order[wrong[0]], of.shape))


def _counts(of: NDArray[Any], extent: int) -> NDArray[np.int64]:
    """Return how many entries name each number below an extent."""
    inside = of[(of >= 0) & (of < extent)]
    return np.bincount(inside.ravel().astype(np.int64), minlength=extent)


def _array(table: Any) -> NDArray[Any]:
    return table.whole() if hasattr(table, "whole") else np.asarray(table)


def demand_kept(
    verb: str,
    kernel: str,
    assumed: Sequence[Assumption],
    modes: Modes,
    tables: Mapping[str, Any],
    sizes: Mapping[str, int],
) -> None:
    """Raise `InputError` in the name of a verb where tables break what is assumed of them.

    >>> from pycute_xe.kernel.spec.tables import Rising
    >>> assumed, modes = (Rising("starts", Index("T")),), {"starts": (Index("U"),)}
    >>> demand_kept("run", "pooled", assumed, modes, {"starts": [0, 1, 2]}, {"T": 2, "U": 3})
    """
    arrays = {name: _array(tables[name]) for one in assumed for name in one.tables}
    for one in assumed:
        place = broken(one, modes, arrays, sizes)
        if place is not None:
            at = ", ".join(f"{name} = {value}" for name, value in place.items())
            raise InputError(
                verb,
                {"kernel": kernel, "tables": ", ".join(sorted(one.tables))},
                f"{one} is assumed, and is not so" + (f" at {at}" if at else ""),
                "give tables that keep it",
            )


def law_broken(law: Law, arrays: Arrays, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """Return values of its variables at which tables break a law; None where they keep it."""
    names = [name for name, _ in law.over]
    extents = [max(0, extent.at(sizes)) for _, extent in law.over]
    if law.of_pairs and math.prod(extents) > MOST_PAIRS:
        return _broken_pairs(law, arrays, sizes, extents[0])
    if not names:
        return _broken_at(law, arrays, sizes, {})
    rows = max(1, AT_ONCE // max(1, math.prod(extents[1:])))
    for first in range(0, extents[0], rows):
        own = slice(first, min(first + rows, extents[0]))
        grids = np.ogrid[(own, *(slice(0, n) for n in extents[1:]))]
        place = _broken_at(law, arrays, sizes, dict(zip(names, grids, strict=True)))
        if place is not None:
            return place
    return None


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
    if not np.any(wrong):
        return None
    every = np.broadcast_arrays(wrong, *named.values())
    at = tuple(np.argwhere(every[0])[0])
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
    inside: Any = np.bool_(True)
    for place, extent in zip(at, table.shape, strict=True):
        inside = inside & (place >= 0) & (place < extent)
    if 0 in table.shape:
        return np.zeros(np.shape(inside), np.int64)
    if inside.all():
        return np.asarray(table[at], dtype=np.int64)
    kept = tuple(np.where(inside, place, 0) for place in at)
    return np.where(inside, np.asarray(table[kept], dtype=np.int64), 0)
