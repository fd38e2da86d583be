"""Rows that end anywhere: a tile of which only the rows before an end are stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pycute_xe.algebra.compose import index_at
from pycute_xe.bulk import layout_of
from pycute_xe.errors import KernelError
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.ir.statements import Part
from pycute_xe.layout import Layout

__all__ = ["store_rows", "take_row"]


def store_rows(
    k: KernelBuilder,
    operand: Operand,
    name: str,
    at: tuple[Index, ...],
    rows: Index,
) -> None:
    """Store the first ``rows`` rows of a tile, each row by a message of its own.

    A message clips to an operand, not to a part of it: behind these rows lie those of another
    request or expert. Raises `KernelError` where no layout takes a row out of a fragment.
    """
    spread = k.spread_of(name)
    firsts = layout_of(spread.starts[:, 0].tolist()) or Layout()
    start = index_at(firsts, k.subgroup)
    fragment = k.fragment_of(name)
    for row in range(int(spread.places[:, 0].max()) + 1):
        mine, slots = _row(k, name, row)
        places = spread.places[mine] * np.array([0, 1])
        tiling = replace(spread, places=places, share=None)
        k.fragment(f"{name}_row", fragment.value_type, -(-len(mine) // 16), tiling)
        k.add(Part(name, f"{name}_row", slots, int(mine[0])))
        *before, first, column = at
        with k.when(start + row < rows):
            k.store(operand, f"{name}_row", at=(*before, first + row, column))


def take_row(k: KernelBuilder, name: str, row: int, into: str) -> None:
    """Fill a fragment, a vector along the columns of another one, with a row of that."""
    mine, slots = _row(k, name, row)
    k.add(Part(name, into, slots, int(mine[0])))


def _row(k: KernelBuilder, name: str, row: int) -> tuple[Ints, Layout]:
    """Return the elements of a row of a fragment, by columns, and where they lie from the first."""
    places = k.spread_of(name).places
    mine = np.flatnonzero(places[:, 0] == row)
    mine = mine[np.argsort(places[mine, 1])]
    slots = layout_of((mine - mine[0]).tolist())
    if slots is None:
        wrong = f"no layout takes a row out of {name}"
        raise KernelError(k.name, {"fragment": name}, wrong, "use a tile of 16 columns")
    return mine, Layout(slots.shape, slots.stride)
