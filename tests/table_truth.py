"""What programs that look up tables do, for all small tables at once: indices and assumptions.

Nothing here is taken from what proves: indices are evaluated by their parts, and each assumption
is what its documentation says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from pycute_xe.kernel import Index, Kernel
from pycute_xe.kernel.index import Looked, Quotient
from pycute_xe.kernel.spec.tables import (
    Assumption,
    AtMost,
    Distinct,
    InRange,
    Permutation,
    Rising,
    Runs,
    Sorted,
)

__all__ = ["Program", "column", "count", "is_right", "keeps", "looked", "truth", "value"]

Array = Any
Names = Mapping[str, Any]
Tables = Mapping[str, Array]


@dataclass(frozen=True)
class Program:
    """A kernel, and its truth: given sizes and all tables, is it right for each of them?"""

    kernel: Kernel
    kind: str
    told: str
    right: Callable[[Mapping[str, int], Tables], Array]
    tables: tuple[str, ...]
    sizes: tuple[dict[str, int], ...]
    least: int = -1


def looked(operand: str, at: Index) -> Index:
    """Return an entry of a table."""
    return Index.element(operand, at)


# ------------------------------------------------------------ indices at all tables


def value(index: Index, names: Names, tables: Tables) -> tuple[Array, Array]:
    """Return an index for all tables at once, and whether all lookups are inside: (value, ok)."""
    out: Array = index.offset
    ok: Array = True
    for atom, scale in index.terms:
        match atom:
            case str():
                part, fine = names[atom], True
            case Quotient(inner, divisor):
                part, fine = value(inner, names, tables)
                part = part // divisor
            case Looked(operand, ()):
                part, fine = tables[operand], True
            case Looked(operand, (at,)):
                part, fine = _entries(tables[operand], *value(at, names, tables))
            case _:
                raise AssertionError(atom)
        out, ok = out + scale * part, ok & fine
    return out, ok


def _entries(table: Array, place: Array, ok: Array) -> tuple[Array, Array]:
    place = np.atleast_2d(place)
    inside = (place >= 0) & (place < table.shape[1])
    shape = (table.shape[0], *np.shape(place)[1:])
    kept = np.broadcast_to(np.where(inside, place, 0), shape)
    flat = kept.reshape(table.shape[0], -1)
    return np.take_along_axis(table, flat, axis=1).reshape(kept.shape), ok & inside


def column(index: Index, names: Names, tables: Tables) -> tuple[Array, Array]:
    """Return an index at one place for each of all tables, and whether its lookups are inside."""
    own = {name: np.array([[at]]) if np.isscalar(at) else at for name, at in names.items()}
    pair = value(index, own, tables)
    found, fine = (np.broadcast_to(x, (count(tables), 1))[:, 0] for x in pair)
    return found, fine


def count(tables: Tables) -> int:
    """Return how many tables lie side by side."""
    return next((table.shape[0] for table in tables.values()), 1)


# ------------------------------------------------------------ assumptions


def keeps(one: Assumption, tables: Tables, sizes: Mapping[str, int]) -> Array:
    """Return which of many tables keep an assumption."""
    match one:
        case InRange(name, below, (variable,), when):
            return _in_range((tables, sizes), name, below, variable, when)
        case AtMost(index, most, over):
            out = np.ones(count(tables), bool)
            for place in product(*(range(extent.at(sizes)) for _, extent in over)):
                names = {**sizes, **dict(zip((n for n, _ in over), place, strict=True))}
                out &= column(index, names, tables)[0] <= column(most, names, tables)[0]
            return out
        case Rising(name, to, whole):
            table, end = tables[name], to.at(sizes)
            out = _is_sorted(table) & ((table >= 0) & (table <= end)).all(axis=1)
            ends = (table[:, 0] == 0) & ((table[:, -1] == end) | (not whole))
            return out & ends
        case Sorted(name):
            return _is_sorted(tables[name])
        case Distinct(name):
            return _differ(tables[name], -1)
        case Permutation(name):
            inside = (tables[name] >= 0) & (tables[name] < tables[name].shape[1])
            return inside.all(axis=1) & _differ(tables[name], -99)
        case Runs(starts, counts, to):
            return _apart(tables[starts], tables[counts], to.at(sizes))
        case _:
            raise AssertionError(one)


def _in_range(
    given: tuple[Tables, Mapping[str, int]], name: str, below: Index, variable: str, when: Any
) -> Array:
    tables, sizes = given
    out = np.ones(count(tables), bool)
    for i in range(tables[name].shape[1]):
        names = {**sizes, variable: i}
        used = np.ones(count(tables), bool)
        for left, right in when:
            used &= column(left, names, tables)[0] < column(right, names, tables)[0]
        entry, limit = tables[name][:, i], column(below, names, tables)[0]
        out &= ~used | ((entry >= 0) & (entry < limit))
    return out


def _is_sorted(table: Array) -> Array:
    return (np.diff(table, axis=1) >= 0).all(axis=1)


def _apart(starts: Array, counts: Array, end: int) -> Array:
    ends = starts + counts
    out = ((starts >= 0) & (counts >= 0) & (ends <= end)).all(axis=1)
    for i, j in _pairs(starts.shape[1]):
        out &= ends[:, i] <= starts[:, j]
    return out


def _pairs(length: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for j in range(length) for i in range(j))


def _differ(table: Array, above: int) -> Array:
    """Whether entries above a number are different."""
    out = np.ones(table.shape[0], bool)
    for i, j in _pairs(table.shape[1]):
        out &= (table[:, i] != table[:, j]) | (table[:, i] <= above)
    return out


# ------------------------------------------------------------ truth

MOST = 6
"""Below what entries are."""
ALL, DRAWN, SOME = 1 << 15, 1 << 12, 1 << 12
"""Up to how many tables all are looked at; of more so many are drawn; so many are one array."""


def truth(one: Program) -> bool | None:
    """Whether a program is right for all small sizes and all small tables that are allowed.

    None where none are allowed. Of tables that together have more than four entries some are drawn,
    where they are too many.
    """
    modes = {o.name: o.modes for o in one.kernel.operands}
    assert one.kernel.computes is not None
    some = False
    for sizes in one.sizes:
        known = [t for t in one.tables if t in modes]
        shapes = {t: modes[t][0].at(sizes) if modes[t] else 1 for t in known}
        tables = _tables(one, shapes, sizes)
        some = some or count(tables) > 0
        for first in range(0, count(tables), SOME):
            part = {name: table[first : first + SOME] for name, table in tables.items()}
            if not one.right(sizes, part).all():
                return False
    return True if some else None


def is_right(one: Program, sizes: Mapping[str, int], tables: Tables) -> bool:
    """Whether a program is right for some sizes and tables, which have to keep what is assumed."""
    assert one.kernel.computes is not None
    each = {name: np.asarray(table, np.int64).reshape(1, -1) for name, table in tables.items()}
    assert all(keeps(x, each, sizes).all() for x in one.kernel.computes.tables), tables
    return bool(one.right(sizes, each).all())


def _tables(one: Program, shapes: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, Array]:
    """Return the tables that are allowed: of each those that are allowed alone, beside others."""
    assert one.kernel.computes is not None
    assumed, rng = one.kernel.computes.tables, np.random.default_rng(0)
    each: dict[str, Array] = {}
    for name, length in shapes.items():
        values = np.arange(one.least, MOST)
        total = len(values) ** length
        numbers = np.arange(total) if total <= ALL else rng.integers(0, total, ALL)
        digits = numbers[:, None] // len(values) ** np.arange(length)
        table = values[digits % len(values)].reshape(-1, length)
        for assumption in assumed:
            if assumption.tables == {name}:
                table = table[keeps(assumption, {name: table}, sizes)]
        each[name] = table
    if not each:
        return {"": np.zeros((1, 1), np.int64)}
    counts = [len(table) for table in each.values()]
    total = math.prod(counts)
    few = total <= ALL or sum(shapes.values()) <= 4
    numbers = np.arange(total) if few else rng.integers(0, total, DRAWN)
    out: dict[str, Array] = {}
    for (name, table), length in zip(each.items(), counts, strict=True):
        out[name] = table[numbers % max(length, 1)] if length else table
        numbers = numbers // max(length, 1)
    kept = np.ones(total if few else DRAWN, bool) if total else np.zeros(0, bool)
    out = {name: table[: len(kept)] for name, table in out.items()}
    for assumption in assumed if total else ():
        if len(assumption.tables) != 1:
            kept &= keeps(assumption, out, sizes)
    return {name: table[kept] for name, table in out.items()}
