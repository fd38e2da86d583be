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
from pycute_xe.converting import host_dtype
from pycute_xe.executing.groups.late import Late, Where
from pycute_xe.executing.groups.later import Later, Tile
from pycute_xe.executing.groups.registers import Groups
from pycute_xe.executing.groups.touching import ADD, READ, WRITE, Touches, Window
from pycute_xe.holding.tables import copied, demand_whole_registers
from pycute_xe.kernel import AtomicStore, Load, Prefetch, Store

__all__ = ["moves_tile"]

Ints: TypeAlias = NDArray[np.int64]

_KINDS = {Load: READ, Store: WRITE, AtomicStore: ADD}


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
    array = _raw(groups, statement.operand)
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
    full = tuple(whole.shape[modes.index(m)] if m in modes else 1 for m in range(array.ndim))
    ends = (min(x + n, limit) for x, n, limit in zip(begins, full, array.shape, strict=True))
    box = tuple((min(x, end), end) for x, end in zip(begins, ends, strict=True))
    _move(groups, statement, whole, Tile(box, full, (modes[0] or 0, modes[1] or 0)))
    return True


def _raw(groups: Groups, name: str) -> NDArray[Any]:
    """Return an operand whose tiles may be out of date."""
    return groups.memory.raw(name) if isinstance(groups.memory, Later) else groups.memory[name]


def _move(groups: Groups, statement: Load | Store | AtomicStore, whole: _Whole, tile: Tile) -> None:
    name = statement.operand
    if isinstance(groups.watched, Touches):
        window = Window(
            tuple(slice(*x) for x in tile.box), tile.full, _raw(groups, name).shape, whole.where
        )
        groups.watched.touch_window(name, _KINDS[type(statement)], window, groups.first + 1)
    if _later(groups, statement, whole, tile):
        return
    flat = tile.of(groups.memory[name])
    rows, columns = flat.shape
    if isinstance(statement, Load):
        held = flat
        if flat.shape != whole.shape:
            held = np.zeros(whole.shape, flat.dtype)
            held[:rows, :columns] = flat
        found = held.reshape(-1)[whole.places]
        groups.put(statement.fragment, slice(0, whole.count), found[None])
        return
    late = groups.late.get(statement.fragment)
    if late is not None and late.total is not None and late.where is not None:
        there = late.total.shape == flat.shape
        if there and host_dtype(late.total.numeric) == flat.dtype and late.where.same(whole.where):
            _put(statement, flat, late.total.matrix())
            return
    held = np.empty(whole.shape, flat.dtype)
    held.reshape(-1)[whole.places] = groups.get(statement.fragment, slice(0, whole.count))[0]
    _put(statement, flat, held[:rows, :columns])


def _later(
    groups: Groups, statement: Load | Store | AtomicStore, whole: _Whole, tile: Tile
) -> bool:
    """Move a sum that is not multiplied yet; return whether there was one."""
    memory, name = groups.memory, statement.fragment
    late = groups.late.get(name)
    if not isinstance(memory, Later):
        return False
    if isinstance(statement, Load):
        found = memory.load(statement.operand, tile)
        if found is None or (late is not None and late.count > whole.count):
            return False
        groups.late[name] = Late(whole.count, found, whole.where)
        return True
    if late is None or late.total is None or late.where is None:
        return False
    if not late.where.same(whole.where):
        return False
    put = memory.store if isinstance(statement, Store) else memory.add
    return put(statement.operand, tile, late.total)


def _put(statement: Store | AtomicStore, flat: NDArray[Any], tile: NDArray[Any]) -> None:
    """Store a tile, or add it."""
    if isinstance(statement, Store):
        flat[...] = tile
        return
    with np.errstate(over="ignore", invalid="ignore"):
        flat += tile


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
