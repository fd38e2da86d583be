"""Floor 9: tiles of one work-group moved whole between registers and an operand.

Where the subgroups of a work-group hold every element of a tile once, a load or a store is a
permutation of the tile and a copy of a window.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.atom import TiledCopy
from pycute_xe.executing.groups.late import Where
from pycute_xe.executing.groups.racing import ADD, READ, WRITE, Touches
from pycute_xe.executing.groups.registers import Groups
from pycute_xe.holding.tables import copied, demand_whole_registers
from pycute_xe.kernel import AtomicStore, Load, Prefetch, Store

__all__ = ["moves_tile"]

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Whole:
    """Which place in a tile each register element has: (subgroups, elements)."""

    shape: tuple[int, int]
    places: Ints
    count: int
    where: Where


def moves_tile(groups: Groups, statement: Prefetch | Load | Store | AtomicStore) -> bool:
    """Do a copy of one work-group at once where its tile is held whole; return whether it did."""
    copy, modes = statement.copy, statement.modes
    if groups.active is not None or len(modes) != 2 or None in modes:
        return False
    watched = groups.watched
    if watched is not None and not isinstance(watched, Touches):
        return False
    if isinstance(statement, Prefetch) and len(statement.at) == 2:
        return True  # nothing is outside of both modes
    array = groups.memory[statement.operand]
    begins = [groups.number(index) for index in statement.at]
    if not all(isinstance(x, int) for x in begins):
        return False
    beside = (x for mode, x in enumerate(begins) if mode not in modes)
    extents = (n for mode, n in enumerate(array.shape) if mode not in modes)
    x = begins[modes[copy.x_mode] or 0] * copy.value_type.bits
    if x % copy.op.bits or any(not 0 <= i < n for i, n in zip(beside, extents, strict=True)):
        return False
    if isinstance(statement, Prefetch):
        return True
    demand_whole_registers(copy)
    whole = _whole(copy)
    if whole is None or any(begins[mode] < 0 for mode in modes if mode is not None):
        return False
    if (
        copy.value_type.bits < 8
        or groups.kernel.fragment(statement.fragment).elements < whole.count
    ):
        return False
    window = tuple(
        slice(i, i + whole.shape[modes.index(mode)]) if mode in modes else slice(i, i + 1)
        for mode, i in enumerate(begins)
    )
    _move(groups, statement, whole, window)
    return True


def _move(
    groups: Groups, statement: Load | Store | AtomicStore, whole: _Whole, window: tuple[slice, ...]
) -> None:
    array, kinds = groups.memory[statement.operand], {Load: READ, Store: WRITE, AtomicStore: ADD}
    if isinstance(groups.watched, Touches):
        groups.watched.touch_window(
            statement.operand, kinds[type(statement)], window, groups.first + 1, array.shape
        )
    first, second = statement.modes
    part = array[window]
    turned = part if (first or 0) < (second or 0) else part.swapaxes(first or 0, second or 0)
    flat = _flat(turned)
    rows, columns = flat.shape
    if isinstance(statement, Load):
        tile = flat
        if flat.shape != whole.shape:
            tile = np.zeros(whole.shape, array.dtype)
            tile[:rows, :columns] = flat
        found = tile.reshape(-1)[whole.places]
        groups.put(statement.fragment, slice(0, whole.count), found[None])
        return
    late = groups.late.get(statement.fragment)
    if late is not None and late.matrix is not None and late.where is not None:
        whole_there = late.matrix.shape == flat.shape and late.matrix.dtype == flat.dtype
        if whole_there and late.where.same(whole.where):
            _put(statement, flat, late.matrix)
            return
    tile = np.empty(whole.shape, array.dtype)
    tile.reshape(-1)[whole.places] = groups.get(statement.fragment, slice(0, whole.count))[0]
    _put(statement, flat, tile[:rows, :columns])


def _put(statement: Store | AtomicStore, flat: NDArray[Any], tile: NDArray[Any]) -> None:
    """Store a tile, or add it."""
    if isinstance(statement, Store):
        flat[...] = tile
        return
    with np.errstate(over="ignore", invalid="ignore"):
        flat += tile


def _flat(part: NDArray[Any]) -> NDArray[Any]:
    """Return a view without the modes of extent 1 in front."""
    return part[(0,) * (part.ndim - 2)]


@lru_cache(maxsize=64)
def _whole(copy: TiledCopy) -> _Whole | None:
    tables = copied(copy)
    elements = np.flatnonzero(tables.moves)
    count, tile = elements.size, (copy.tiler_mn[0], copy.tiler_mn[1])
    if tables.padded.any() or not np.array_equal(elements, np.arange(count)):
        return None
    at = tables.places[:, elements]
    if (at < 0).any() or (at >= np.array(tile)).any():
        return None
    places = at[..., 0] * tile[1] + at[..., 1]
    once = places.size == tile[0] * tile[1] == np.unique(places).size
    where = Where(at[..., 0], at[..., 1])
    return _Whole(tile, places, count, where) if once else None
