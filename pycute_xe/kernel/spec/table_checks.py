"""Whether what is assumed of tables can be said of operands, and the tables of a run meet it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel.index import Index, Looked, Quotient
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.spec.tables import (
    Arrays,
    Assumption,
    AtMost,
    Distinct,
    InRange,
    Law,
    Modes,
    Permutation,
    Rising,
    Runs,
    Sorted,
)

__all__ = ["broken", "check_assumption", "demand_kept", "law_broken", "value_of"]

MOST_PAIRS = 1 << 22
"""Combinations of places at which laws are looked at one by one."""

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
    arrays = {name: np.asarray(tables[name]) for one in assumed for name in one.tables}
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
    rows = max(1, MOST_PAIRS // max(1, math.prod(extents[1:])))
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


# ------------------------------------------------------------ construction


def check_assumption(assumption: Assumption, known: Mapping[str, Operand]) -> None:
    """Refuse an assumption on what is not a table of integers, or not one of its modes."""
    for name in sorted(assumption.tables):
        if name not in known or known[name].value_type.kind == "float":
            wrong = f"{name} is not an operand of integers"
            fix = "assume something of operands that are looked up"
            raise KernelError("computes", {"assuming": assumption}, wrong, fix)
        if known[name].role != "in":
            wrong = f"{name} is written by the kernel, so that it is not a table"
            fix = "assume something of inputs, and claim what is written"
            raise KernelError("computes", {"assuming": assumption}, wrong, fix)
    _check_indices_of(assumption, known)
    match assumption:
        case AtMost():
            return
        case Runs():
            modes, extents = 1, {known[name].modes for name in assumption.tables}
            if len(extents) > 1:
                wrong = f"{assumption.starts} and {assumption.counts} are not equally long"
                fix = "give both the extent of one mode"
                raise KernelError("computes", {"assuming": assumption}, wrong, fix)
        case InRange():
            modes = len(assumption.at)
        case Rising() | Sorted() | Distinct() | Permutation():
            modes = 1
    name = assumption.starts if isinstance(assumption, Runs) else assumption.operand
    if len(known[name].modes) != modes:
        count = len(known[name].modes)
        wrong = f"{name} has {count} modes, the assumption speaks of {modes}"
        raise KernelError("computes", {"assuming": assumption}, wrong, "give a table of as many")


def _check_indices_of(assumption: Assumption, known: Mapping[str, Operand]) -> None:
    """Refuse names that are neither sizes nor variables, and lookups with too few indices."""
    sizes = {n for x in known.values() for mode in x.modes for n in mode.names}
    match assumption:
        case InRange(below=below, at=own, when=when):
            indices = [below, *(index for pair in when for index in pair)]
        case AtMost(index, most, over):
            own = tuple(name for name, _ in over)
            indices = [index, most, *(extent for _, extent in over)]
        case Rising(to=to) | Runs(to=to):
            own, indices = (), [to]
        case Sorted() | Distinct() | Permutation():
            return
    for index in indices:
        for name in sorted(index.names - sizes - {*own}):
            wrong, fix = f"{name} is neither a size nor a variable", "say over=((name, extent),)"
            raise KernelError("computes", {"assuming": assumption}, wrong, fix)
        for one in index.looked_up:
            if len(one.at) != len(known[one.operand].modes):
                wrong = f"{one} does not look an element of {known[one.operand]} up"
                fix = "give an index for each mode"
                raise KernelError("computes", {"assuming": assumption}, wrong, fix)
