"""Floor 9: tiles of many work-groups moved between operands and fragments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.atom import TiledCopy
from pycute_xe.executing.tiled.axes import Axes, Axis, Held, NotTiled, laid
from pycute_xe.executing.tiled.block import Block
from pycute_xe.executing.tiled.memory import Reach
from pycute_xe.holding.tables import copied, demand_whole_registers
from pycute_xe.kernel import Index, Kernel, Load, Loop, Prefetch, Store, walk

__all__ = ["loaded", "looked_at", "stored"]

Array: TypeAlias = NDArray[Any]
Begin: TypeAlias = "tuple[int, tuple[int, ...]]"
Copying: TypeAlias = "Load | Store | Prefetch"


def looked_at(block: Block, statement: Copying) -> None:
    """Demand that a tile can be moved; the same is asked once.

    `NotTiled` where an index chooses a surface outside the operand, and where a block starts
    between two elements of its message.
    """
    asked: _Asked = block.kept.of(_asked, block.kernel, statement)
    key = (id(asked), *(block.names[name] for name in asked.names))
    if key in block.seen:
        return
    shape = block.memory.shape(statement.operand)
    for mode, index in asked.beside:
        found = np.asarray(block.number(index))
        if found.min() < 0 or found.max() >= shape[mode]:
            raise NotTiled
    for index in asked.aligned:
        if (np.asarray(block.number(index)) % asked.ratio).any():
            raise NotTiled
    block.seen[key] = True


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is demanded of a copy's indices, and the loops' variables that it depends on."""

    beside: tuple[tuple[int, Index], ...]
    aligned: tuple[Index, ...]
    ratio: int
    names: tuple[str, ...]
    moving: tuple[str, ...]
    steps: tuple[tuple[tuple[int, ...], frozenset[str]], ...]


def _asked(kernel: Kernel, statement: Copying) -> _Asked:
    copy, modes = statement.copy, statement.modes
    beside = tuple((i, index) for i, index in enumerate(statement.at) if i not in modes)
    ratio = max(1, copy.op.bits // copy.value_type.bits)
    x = modes[copy.x_mode]
    ways = () if x is None else (statement.at[x].offset, *(c for _, c in statement.at[x].terms))
    aligned = (statement.at[x],) if x is not None and any(way % ratio for way in ways) else ()
    if any(m is not None and i not in (copy.x_mode, copy.y_mode) for i, m in enumerate(modes)):
        raise NotTiled
    loops = {s.var for s in walk(kernel.body) if isinstance(s, Loop)}
    names = {n for i in (*aligned, *(i for _, i in beside)) for n in i.names}
    moving = {name for index in statement.at for name in index.names}
    grid = [name for name, _ in kernel.grid]
    steps = tuple((_steps(index, grid), _hidden(index)) for index in statement.at)
    asked, moved = (tuple(sorted(found & loops)) for found in (names, moving))
    return _Asked(beside, aligned, ratio, asked, moved, steps)


def _steps(index: Index, grid: list[str]) -> tuple[int, ...]:
    """Return how much a step along each axis of the grid adds to an index."""
    terms = {atom: scale for atom, scale in index.terms if isinstance(atom, str)}
    return tuple(terms.get(name, 0) for name in grid)


def _hidden(index: Index) -> frozenset[str]:
    """Return the names inside quotients and of elements that are looked up."""
    parts = (Index.of({a: c}, 0).names for a, c in index.terms if not isinstance(a, str))
    return frozenset[str]().union(*parts)


def _begins(block: Block, statement: Copying) -> list[Begin] | None:
    """Return where a tile begins along each mode, and the grid's steps; None if it has none."""
    asked: _Asked = block.kept.of(_asked, block.kernel, statement)
    out: list[Begin] = []
    for index, (steps, hidden) in zip(statement.at, asked.steps, strict=True):
        if any(not isinstance(block.names[name], int) for name in hidden):
            return None
        found = block.number(index)
        first = found if isinstance(found, int) else int(found.flat[0])
        moves = (0 if n == 1 else step for step, n in zip(steps, block.counts, strict=True))
        out.append((first, tuple(moves)))
    return out


def _tile(copy: TiledCopy, modes: tuple[int | None, ...], elements: int) -> Axes:
    """Return the tile that a load fills a fragment with, its axes in the operand's order."""
    tables = copied(copy)
    demand_whole_registers(copy)
    room = np.arange(elements)
    room[room >= tables.moves.size] = -1
    known = (tables.moves & ~tables.padded)[room] & (room >= 0)
    out: list[Axis] = []
    for _, axis in sorted((mode, axis) for axis, mode in enumerate(modes) if mode is not None):
        places = tables.places[:, room, axis]
        if not known.any() or places[:, known].min() < 0:
            raise NotTiled
        out.append(Axis(int(places[:, known].max()) + 1, places))
    for axis, mode in enumerate(modes):
        # Beyond a mode of extent 1 that the operand does not have, there are zeros.
        if mode is None and tables.places[:, tables.moves, axis].any():
            raise NotTiled
    return Axes(tuple(out), known)


def _reach(begins: list[Begin], modes: tuple[int | None, ...], axes: Axes) -> Reach:
    extents = dict(zip(sorted(m for m in modes if m is not None), axes.axes, strict=True))
    return tuple(
        (*begin, extents[mode].extent if mode in extents else 1)
        for mode, begin in enumerate(begins)
    )


def loaded(block: Block, statement: Load) -> Held:
    """Return the tiles that a statement loads."""
    asked: _Asked = block.kept.of(_asked, block.kernel, statement)
    key = (id(statement), *(block.names[name] for name in asked.moving))
    if key in block.seen:
        return block.seen[key]
    fragment = block.kernel.fragment(statement.fragment)
    if fragment.value_type != block.kernel.operand(statement.operand).value_type:
        raise NotTiled
    looked_at(block, statement)
    axes: Axes = block.kept.of(_tile, statement.copy, statement.modes, fragment.elements)
    begins = _begins(block, statement)
    if begins is None:
        return _chosen(block, statement, axes)
    beside = (block.rank + mode for mode, _ in asked.beside)
    reach = _reach(begins, statement.modes, axes)
    tiles = block.memory.window(statement.operand, reach, block.counts)
    block.seen[key] = Held(tiles.squeeze(tuple(beside)), axes)
    return block.seen[key]


def _chosen(block: Block, statement: Load, axes: Axes) -> Held:
    """Return tiles whose elements are looked up one by one."""
    tile = sorted(mode for mode in statement.modes if mode is not None)
    at: list[Array] = []
    for mode, index in enumerate(statement.at):
        corner = np.asarray(block.number(index))
        corner = corner.reshape((corner.shape or (1,) * block.rank) + (1,) * len(tile))
        if mode in tile:
            axis = tile.index(mode)
            along = [-1 if i == axis else 1 for i in range(len(tile))]
            corner = corner + np.arange(axes.axes[axis].extent).reshape(along)
        at.append(corner)
    return Held(block.memory.chosen(statement.operand, tuple(at)), axes, True)


def _stored_tile(copy: TiledCopy, modes: tuple[int | None, ...], held: Axes) -> tuple[Any, Axes]:
    """Return how a fragment lies along the tile that a store moves, and that tile."""
    tables = copied(copy)
    demand_whole_registers(copy)
    elements = np.flatnonzero(tables.moves)
    if tables.padded.any():
        raise NotTiled
    axes: list[Axis] = []
    for axis, mode in enumerate(modes):
        if mode is None and tables.places[:, elements, axis].any():
            raise NotTiled
    for _, axis in sorted((mode, axis) for axis, mode in enumerate(modes) if mode is not None):
        places = tables.places[:, elements, axis]
        if places.min() < 0:
            raise NotTiled
        axes.append(Axis(int(places.max()) + 1, places))
    tile = Axes(tuple(axes), np.ones(elements.size, np.bool_))
    order = laid(held.take(elements), tile)
    if tile.holders() is None:
        raise NotTiled
    return order, tile


def stored(block: Block, statement: Store) -> None:
    """Store the tiles that a fragment holds."""
    held = block.get(statement.fragment)
    numeric = block.kernel.fragment(statement.fragment).value_type
    if held.axes is None or numeric != block.kernel.operand(statement.operand).value_type:
        raise NotTiled
    looked_at(block, statement)
    begins = _begins(block, statement)
    order, axes = block.kept.of(_stored_tile, statement.copy, statement.modes, held.axes)
    if begins is None:
        raise NotTiled
    reach = _reach(begins, statement.modes, axes)
    values = order.view(held.values)
    beside = [i for i in range(len(begins)) if i not in statement.modes]
    values = np.expand_dims(values, tuple(block.rank + i for i in beside))
    block.memory.store(statement.operand, reach, block.counts, values)
