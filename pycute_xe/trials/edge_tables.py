"""The tables of a trial, at their edges, and sizes at which they have several entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import bounds
from pycute_xe.errors import InputError
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.ir.identities import extents_of
from pycute_xe.kernel.spec.drawn_tables import drawn_tables

__all__ = ["are_there_tables", "entry", "uneven_table_sizes", "table_sizes", "tables_at"]


def tables_at(kernel: Kernel, sizes: Mapping[str, int], seed: int) -> dict[str, NDArray[np.int64]]:
    """Return tables that meet what is assumed of them, by name; none where nothing is assumed.

    Raises `InputError` where none meet it at some sizes.
    """
    assumed = kernel.computes.tables if kernel.computes is not None else ()
    modes = {o.name: o.modes for o in kernel.operands}
    names = frozenset(name for one in assumed for name in one.tables)
    ends = {o.name: bounds(o.value_type) for o in kernel.operands if o.name in names}
    made = drawn_tables(assumed, names, modes, sizes, seed, ends)
    if made is None:
        words = " ".join(f"{name}={size}" for name, size in sizes.items())
        wrong = f"no tables were found that meet what is assumed of them at {words}"
        raise InputError("trial", {"kernel": kernel.name}, wrong, "give other sizes")
    return made


def entry(table: NDArray[np.int64], places: tuple[NDArray[np.int64], ...]) -> NDArray[Any]:
    """Return entries of a table at places, or a scalar."""
    return table[places] if table.ndim else table


TABLES = ((3, 21, 5), (2, 3, 3), (4, 40, 7))
"""Entries along a mode of a table, rows that a table shares out, and below what entries are."""


def table_sizes(kernel: Kernel, fixed: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield sizes at which tables have several entries: requests without rows, with one, with many.

    All other sizes are 1 or 2.
    """
    assumed = kernel.computes.tables if kernel.computes is not None else ()
    modes = {o.name: o.modes for o in kernel.operands}
    for entries, rows, below in TABLES if assumed else ():
        sizes = dict.fromkeys(extents_of(kernel), 2 if rows == TABLES[0][1] else 1)
        for one in assumed:
            for law in one.laws(modes):
                ends = (i for pair in law.then for i in pair[:2] if not i.looked_up)
                top = rows if "<=" in (sign for *_, sign in law.then) else below
                sizes |= {name: top for index in ends for name in index.names & {*sizes}}
        for name in (n for one in assumed for t in one.tables for i in modes[t] for n in i.names):
            sizes[name] = entries
        yield sizes | dict(fixed)


def uneven_table_sizes(kernel: Kernel) -> Iterator[dict[str, int]]:
    """Yield sizes at which tables have several entries and no two axes of the grid are alike.

    Each size that the grid counts by is once one more than it was, and once 1 beside tables that
    share out many rows: one entry has all of them, and goes through many tiles.
    """
    assumed = kernel.computes.tables if kernel.computes is not None else ()
    modes = {o.name: o.modes for o in kernel.operands}
    ends = (i for one in assumed for law in one.laws(modes) for pair in law.then for i in pair[:2])
    shared = {name for end in ends if not end.looked_up for name in end.names}
    for sizes in islice(table_sizes(kernel, {}), 1):
        counted = [name for _, count in kernel.grid for name in sorted(count.names & {*sizes})]
        long = {name: MANY_ROWS for name in sizes if name in shared - {*counted}}
        yield sizes
        for name in dict.fromkeys(counted):
            yield sizes | {name: sizes[name] + 1}
            yield sizes | long | {name: 1}


MANY_ROWS = 48
"""Rows that a table shares out: three pages of 16."""


def are_there_tables(kernel: Kernel, fixed: Mapping[str, int]) -> bool:
    """Whether some tables meet what is assumed of them, at few sizes: else a proof says nothing."""
    assumed = kernel.computes.tables if kernel.computes is not None else ()
    names = [name for name in extents_of(kernel) if name not in fixed]
    sides = (1, 2, 3, 5, 9) if len(names) <= 2 else (1, 3, 9) if len(names) <= 4 else (1,)
    small = (dict(zip(names, x, strict=True)) for x in product(sides, repeat=len(names)))
    equal = (dict.fromkeys(names, n) for n in (2, 3, 200))
    every = (sizes | dict(fixed) for sizes in (*equal, *small))
    for sizes in (*table_sizes(kernel, fixed), *every) if assumed else ():
        with suppress(InputError):
            tables_at(kernel, sizes, 0)
            return True
    return not assumed
