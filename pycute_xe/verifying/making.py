"""Tables made of a point: its lookups have the values they have there, the rest meets all laws.

A disproof names a place and the few elements of tables that matter there. It is run with whole
tables: where none is found that meets what is assumed, nothing is disproved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.patience import charge
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.spec.table_checks import law_broken, value_of
from pycute_xe.kernel.spec.tables import Law
from pycute_xe.verifying.lookups import Tables, as_index, current, is_lookup, table_name
from pycute_xe.verifying.refusing import undecided

__all__ = ["MADE", "element_at", "tables_at", "tables_of", "with_tables"]

Array = NDArray[Any]

MADE = "#"
"""The name under which a point has the number of its tables."""
MAKING = 400
"""Units for tables that are made."""
MOST = 1 << 20
"""Entries of a table that is made, and combinations of three places or more."""


def with_tables(point: dict[str, int]) -> dict[str, int]:
    """Return a point with tables, as `tables_at`.

    Raises `UndecidableError` where none are found that meet what is assumed of them.
    """
    made = tables_at(point)
    if made is None:
        raise undecided("no tables were found that show it and meet what is assumed", "run it")
    return made


def tables_at(point: dict[str, int]) -> dict[str, int] | None:
    """Return a point with tables, where there are any lookups at all in the kernel.

    None where none are found that meet what is assumed of them.
    """
    tables = current()
    if not tables.operands:
        return point
    charge(MAKING)
    made = _made(tables, point)
    if made is None:
        return None
    key = tuple((name, array.shape, array.tobytes()) for name, array in made.items())
    if key not in tables.numbers:
        tables.numbers[key] = len(tables.made)
        tables.made.append(made)
    return {**point, MADE: tables.numbers[key]}


def tables_of(point: Mapping[str, int]) -> dict[str, Array]:
    """Return the tables of a point by the names of operands."""
    if MADE not in point:
        return {}
    tables = current()
    made = tables.made[point[MADE]]
    return {name: made[table_name(i)] for i, name in tables.operands.items()}


def element_at(number: int | None, table: int, at: tuple[int, ...]) -> int:
    """Return an element of a table that was made. Raises `UndecidableError` outside of it."""
    if number is None:
        raise undecided("a table is looked up where none was made", "run it")
    array = current().made[number][table_name(table)]
    if not all(0 <= i < n for i, n in zip(at, array.shape, strict=True)):
        raise undecided("an element outside a table is asked for", "look up inside")
    return int(array[at])


def _made(tables: Tables, point: Mapping[str, int]) -> dict[str, Array] | None:
    known = _known(tables, point)
    if known is None:
        return None
    shapes = {
        i: tuple(_value(text, point) for text in texts) for i, texts in tables.extents.items()
    }
    several = (law for law in tables.laws if len(law.over) > 2)
    combined = [prod(max(0, n.at(point)) for _, n in law.over) for law in several]
    if max((*combined, *map(prod, shapes.values())), default=0) > MOST:
        return None
    for style in STYLES:
        made: dict[str, Array] = {}
        for i, shape in sorted(shapes.items(), key=lambda one: _follows(tables, one[0])):
            made[table_name(i)] = _filled(tables, point, i, shape, known.get(i, {}), style, made)
        for i, shape in shapes.items():
            if not shape and () not in known.get(i, {}):
                _raise(tables, point, made, table_name(i))
        if all(law_broken(law, made, point) is None for law in tables.laws):
            return made
    return None


def _known(
    tables: Tables, point: Mapping[str, int]
) -> dict[int, dict[tuple[int, ...], int]] | None:
    """Return the elements that a point tells, by table; None where two of them disagree."""
    out: dict[int, dict[tuple[int, ...], int]] = {}
    for name in point:
        if not is_lookup(name):
            continue
        one = tables.by_name[name]
        at = tuple(_value(text, point) for text in one.arguments)
        if out.setdefault(one.table, {}).setdefault(at, point[name]) != point[name]:
            return None
    return out


def _value(text: str, point: Mapping[str, int]) -> int:
    index = as_index(text)
    if index is None:
        raise undecided("an index has an unknown form", form=text)
    return index.at(point)


STYLES = ("different", "zero", "last", "alike")
"""How entries are filled of which nothing is known."""


def _filled(
    tables: Tables,
    point: Mapping[str, int],
    number: int,
    shape: tuple[int, ...],
    known: Mapping[tuple[int, ...], int],
    style: str,
    made: Mapping[str, Array],
) -> Array:
    """Return a table with the entries that are known."""
    name = table_name(number)
    mine = [law for law in tables.laws if any(x.operand == name for x in law.looked)]
    array = np.zeros(shape, np.int64)
    fixed = {at: value for at, value in known.items() if _inside(at, shape)}
    steps = [step for law in mine if (step := _step(law, name)) is not None]
    if len(shape) == 1 and steps:
        return _rising(array, fixed, mine, point, (steps, made))
    if style == "different" and array.size:
        below = _below(mine, name, point)
        taken = set(fixed.values())
        free = (n for n in range(array.size + len(taken)) if n not in taken)
        numbers = [next(free) for _ in range(array.size)]
        open_ = np.ones(shape, np.bool_)
        for at in fixed:
            open_[at] = False
        flat = np.array(numbers[: np.count_nonzero(open_)], np.int64)
        array[open_] = flat if below is None else flat % max(1, below)
    if style == "last" and (below := _below(mine, name, point)) is not None:
        array = np.full(shape, max(0, below - 1), np.int64)
    if style == "alike" and fixed:
        array = np.full(shape, max(fixed.values()), np.int64)
    for at, value in fixed.items():
        array[at] = value
    return array


def _inside(at: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(0 <= i < n for i, n in zip(at, shape, strict=True))


def _follows(tables: Tables, number: int) -> bool:
    """Whether entries of a table lie as far apart as another table says."""
    steps = (_step(law, table_name(number)) for law in tables.laws)
    return any(step is not None and bool(step.looked_up) for step in steps)


def _step(law: Law, name: str) -> Index | None:
    """Return how far behind an entry at i the next one lies at least; None where no law says it."""
    (one, other, sign), *_ = law.then
    if len(law.over) != 2 or sign != "<=" or other.offset or len(other.terms) != 1:
        return None
    (i, _), (j, _) = law.over
    behind = Index.element(name, Index(j))
    step = one - Index.element(name, Index(i))
    known = all(x.operand != name and x.at == (Index(i),) for x in step.looked_up)
    here = {i: Index("i"), j: Index("i") + 1}
    return step.substitute(here) if other == behind and known else None


def _rising(
    array: Array,
    fixed: Mapping[tuple[int, ...], int],
    laws: list[Law],
    point: Mapping[str, int],
    by: tuple[list[Index], Mapping[str, Array]],
) -> Array:
    """Fill a table that rises: each entry lies a step behind the last, where it is not known."""
    steps, made = by
    ends = [law.then[0][1] for law in laws if law.late and law.then[0][2] == "="]
    last = max((to.at(point) for to in ends if not to.looked_up), default=None)
    so_far = 0
    for i in range(len(array)):
        so_far = fixed.get((i,), so_far)
        array[i] = so_far
        so_far += max(int(value_of(step, {"i": i}, made)) for step in steps)
    if len(array) > 1 and last is not None and (len(array) - 1,) not in fixed:
        array[-1] = max(int(array[-1]), last)
    return array


def _below(laws: list[Law], name: str, point: Mapping[str, int]) -> int | None:
    """Return below what the entries of a table are; None where no law says it alone."""
    for law in laws:
        for one, other, sign in law.then:
            mine = len(one.looked_up) == 1 and str(one).startswith(f"{name}[")
            if sign == "<" and mine and not other.looked_up and other.names <= point.keys():
                return other.at(point)
    return None


def _raise(tables: Tables, point: Mapping[str, int], made: dict[str, Array], name: str) -> None:
    """Give a scalar the least value that breaks no law, of a few that are tried."""
    for value in _values(point, made):
        made[name] = np.array(value, np.int64)
        if all(law_broken(law, made, point) is None for law in tables.laws):
            return


def _values(point: Mapping[str, int], made: Mapping[str, Array]) -> Iterator[int]:
    yield from range(9)
    sizes = {value for name, value in point.items() if name.startswith("S_")}
    entries = {
        int(n) for array in made.values() if array.size for n in (array.max(), np.ptp(array))
    }
    steps = {int(np.diff(a).max()) for a in made.values() if a.ndim == 1 and a.size > 1}
    yield from sorted(n for n in sizes | entries | steps if n >= 9)
