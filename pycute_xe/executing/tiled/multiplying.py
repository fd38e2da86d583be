"""Floor 9: matrix products of tiles."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.atom import TiledMma
from pycute_xe.executing.tiled.axes import Axes, Axis, Held, NotTiled, laid
from pycute_xe.executing.tiled.block import Block
from pycute_xe.holding.tables import multiplied
from pycute_xe.kernel import Mma

__all__ = ["multiplied_tiles"]

Array: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[np.int64]


def multiplied_tiles(block: Block, statement: Mma) -> Held:
    """Return the accumulator behind a multiplication of tiles.

    Its columns lie behind one another: what is the same for a row, and what is summed or compared
    along it, is then done to whole vectors.
    """
    op, name = statement.mma.atom.op, statement.accumulator
    names = name, statement.a, statement.b
    total, a, b = (block.get(x) for x in names)
    kinds = tuple(block.kernel.fragment(x).value_type for x in names)
    if kinds != (op.D, op.A, op.B) or op.D.name != "f32" or name in names[1:]:
        raise NotTiled
    if a.axes is None or b.axes is None:
        raise NotTiled
    product: _Product = block.kept.of(_product, statement.mma, a.axes, b.axes)
    left = _matrix(a.values, product.a)
    right = _matrix(b.values, product.b)
    with np.errstate(over="ignore", invalid="ignore"):
        grid = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        room = block.room((*grid, right.shape[-2], left.shape[-2]))
        new = np.matmul(right, left.swapaxes(-1, -2), out=room).swapaxes(-1, -2)
        if total.axes is None:
            if total.values:
                new += total.values
            return Held(new, product.axes, True)
        held = block.kept.of(_added, total.axes, product.axes).view(total.values)
        if np.broadcast_shapes(held.shape, new.shape) != new.shape:
            return Held(held + new, product.axes, True)
        if not total.own or held.shape != new.shape:
            return Held(np.add(held, new, out=new), product.axes, True)
        np.add(held, new, out=held)
        block.free(new)
        return Held(held, product.axes, True)


class _Side:
    """One operand of a product: which axis of its tile is k, which the other."""

    def __init__(self, axes: Axes, table: Ints) -> None:
        """Sort the axes; ``table`` is (row, k) → register element."""
        if not axes.take(table.reshape(-1)).known.all() or len(axes.axes) != 2:
            raise NotTiled
        places = [axis.places[:, table] for axis in axes.axes]
        along = [(x == x[:1, :1]).all() for x in places]
        beside = [(x == x[:, :, :1]).all() for x in places]
        self.along = 0 if along[0] and beside[1] else 1
        if not (along[self.along] and beside[1 - self.along]):
            raise NotTiled
        self.depth: Ints = places[self.along][0, 0]
        self.lines: Ints = places[1 - self.along][:, :, 0]
        self.extent = axes.axes[1 - self.along].extent
        whole = np.array_equal(self.depth, np.arange(axes.axes[self.along].extent))
        self.chosen = None if whole else self.depth


class _Product:
    """A product as its two sides and the axes of its result."""

    def __init__(self, a: _Side, b: _Side, axes: Axes) -> None:
        """Take them."""
        self.a, self.b, self.axes = a, b, axes


def _product(mma: TiledMma, a: Axes, b: Axes) -> _Product:
    tables = multiplied(mma)
    left, right = _Side(a, tables.a), _Side(b, tables.b)
    room, count = int(tables.c.max()) + 1, left.lines.shape[0]
    rows, columns = np.full((2, count, room), -1, np.int64)
    rows[:, tables.c] = left.lines[:, :, None]
    columns[:, tables.c] = right.lines[:, None, :]
    known = np.zeros(room, np.bool_)
    known[tables.c] = True
    axes = Axes((Axis(left.extent, rows), Axis(right.extent, columns)), known)
    return _Product(left, right, axes)


def _added(total: Axes, product: Axes) -> Any:
    """Return how what was held lies over a product."""
    elements = np.flatnonzero(product.known)
    return laid(total.take(elements), product.take(elements))


def _matrix(values: Array, side: _Side) -> Array:
    """Return a tile as (rows, k)."""
    if side.along == 0:
        values = values.swapaxes(-1, -2)
    return values if side.chosen is None else values[..., side.chosen]
