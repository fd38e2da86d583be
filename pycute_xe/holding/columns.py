"""Which columns of a table are alike, and some of them: asked once for what many leaves have."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycute_xe.holding.patience import charge, remembered
from pycute_xe.kernel.arrays import Ints

__all__ = ["columns", "distinct", "known_apart", "some_columns", "table_once", "written"]

SMALL = 1 << 14
"""Numbers of a table that is compared with others."""
ROW, ENTRY = 50, 0.05
"""Units for a table of which rows are compared, and for each number of it."""


def columns(table: Ints, together: bool) -> tuple[Ints, Ints]:
    """Return what `distinct` says of the columns of a table: of all subgroups, or of each."""

    def first() -> tuple[Ints, tuple[Ints, Ints]]:
        wide = table if together else table.reshape(1, -1, *table.shape[2:])
        return table, distinct(np.swapaxes(wide, 0, 1).reshape(wide.shape[1], -1))

    return remembered(("columns", id(table), together), first)[1]  # the table is kept, and its id


def written(numbers: Ints | None) -> object:
    """Return what two tables have in common that are the same."""
    return None if numbers is None else (numbers.shape, numbers.dtype.str, numbers.tobytes())


def table_once(table: Ints) -> Ints:
    """Return the table that has the same numbers, where there is one and it is not large."""
    if table.size > SMALL:
        return table
    return remembered(("table", written(table)), lambda: table)


def known_apart(table: Ints) -> Ints:
    """Return a table of which it is known that its columns, of all subgroups, are different."""
    each: Ints = np.arange(table.shape[1], dtype=np.int64)
    known: tuple[Ints, tuple[Ints, Ints]] = table, (each, each)
    return remembered(("columns", id(table), True), lambda: known)[0]


def some_columns(table: Ints, which: Ints) -> Ints:
    """Return some columns of a table: the same table for the same ones, all of them itself."""
    if which.size == table.shape[1] and (which == np.arange(which.size)).all():
        return table
    key = "some columns", id(table), which.tobytes()
    return remembered(key, lambda: (table, table[:, which]))[1]


def distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Return where the different rows of a table are first, and which of these each row is.

    >>> distinct(np.array([[1, 2], [3, 4], [1, 2]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    charge(ROW + ENTRY * rows.size)
    random: Any = np.random.default_rng(0)
    keys: Ints = rows @ random.integers(1, 1 << 62, rows.shape[1])
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[number]], rows):  # two keys agree by chance
        _, first, number = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return first[order], place[number.reshape(-1)]
