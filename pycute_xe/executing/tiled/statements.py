"""Floor 9: what each kind of statement means to tiles of many work-groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert
from pycute_xe.executing.tiled.axes import Axes, Axis, Held, NotTiled
from pycute_xe.executing.tiled.block import Block
from pycute_xe.executing.tiled.copies import loaded, looked_at, stored
from pycute_xe.executing.tiled.expressions import as_held
from pycute_xe.executing.tiled.mapping import mapped
from pycute_xe.executing.tiled.multiplying import multiplied_tiles
from pycute_xe.holding.tables import moved
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    If,
    Load,
    Loop,
    Map,
    Meanings,
    Mma,
    Prefetch,
    Reduce,
    Reorder,
    Statement,
    Store,
)
from pycute_xe.kernel.amounts import trips
from pycute_xe.kernel.spec.reductions import reduction
from pycute_xe.layout import Layout
from pycute_xe.numeric import Numeric

__all__ = ["TILED", "perform"]

Array: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[np.int64]

TILED: Meanings[Callable[[Block, Any], None]] = Meanings("run")


def perform(block: Block, body: tuple[Statement, ...]) -> None:
    """Do the statements of a body in turn; `NotTiled` where one is not about tiles."""
    for statement in body:
        TILED[statement](block, statement)


@TILED.of(Fill)
def _(block: Block, statement: Fill) -> None:
    numeric = block.kernel.fragment(statement.fragment).value_type
    block.put(statement.fragment, Held(block.kept.of(_filled, statement, numeric), None))


def _filled(statement: Fill, numeric: Numeric) -> np.float32:
    return np.float32(convert(np.asarray(float(statement.value)), numeric))


@TILED.of(Prefetch)
def _(block: Block, statement: Prefetch) -> None:
    looked_at(block, statement)


@TILED.of(Load)
def _(block: Block, statement: Load) -> None:
    block.put(statement.fragment, loaded(block, statement))


@TILED.of(Store)
def _(block: Block, statement: Store) -> None:
    stored(block, statement)


@TILED.of(Map)
def _(block: Block, statement: Map) -> None:
    block.put(statement.destination, mapped(block, statement))


@TILED.of(Mma)
def _(block: Block, statement: Mma) -> None:
    block.put(statement.accumulator, multiplied_tiles(block, statement))


@TILED.of(Convert)
def _(block: Block, statement: Convert) -> None:
    source = block.get(statement.source)
    numeric = block.kernel.fragment(statement.destination).value_type
    values, own = as_held(source.values, False, numeric)
    source.own = source.own and own
    block.put(statement.destination, Held(values, source.axes, own))


def _turned(axes: Axes, slots: Layout, room: int) -> Axes:
    to, back = moved(slots), np.full(room, -1, np.int64)
    back[to] = np.arange(to.size)
    return axes.take(back)


@TILED.of(Reorder)
def _(block: Block, statement: Reorder) -> None:
    names = statement.source, statement.destination
    if len({block.kernel.fragment(name).value_type for name in names}) > 1:
        raise NotTiled
    source = block.get(statement.source)
    source.own = False
    room = block.kernel.fragment(statement.destination).elements
    if source.axes is None:
        if np.unique(moved(statement.slots)).size != room:
            raise NotTiled
        block.put(statement.destination, Held(source.values, None))
        return
    axes = block.kept.of(_turned, source.axes, statement.slots, room)
    block.put(statement.destination, Held(source.values, axes))


def _reducing(axes: Axes, slots: Layout, count: int, room: int) -> tuple[int, Ints | None, Axes]:
    """Return the axis that is reduced, its places in the order of the elements, what is left."""
    to = moved(slots)
    if to.size != count or not axes.first(count).known.all():
        raise NotTiled
    where, times = np.unique(to, return_counts=True)
    if (times != times[0]).any():
        raise NotTiled
    order = np.argsort(to, kind="stable").reshape(where.size, -1)
    kept: list[Axis] = []
    reduced: list[tuple[int, Ints]] = []
    for i, axis in enumerate(axes.axes):
        places = axis.places[:, order]
        if (places == places[:, :, :1]).all():
            left = np.full((places.shape[0], room), -1, np.int64)
            left[:, where] = places[:, :, 0]
            kept.append(Axis(axis.extent, left))
        elif (places == places[:1, :1]).all():
            reduced.append((i, places[0, 0]))
        else:
            raise NotTiled
    if len(reduced) != 1:
        raise NotTiled
    known = np.zeros(room, np.bool_)
    known[where] = True
    (along, order), whole = reduced[0], np.arange(axes.axes[reduced[0][0]].extent)
    return along, None if np.array_equal(order, whole) else order, Axes(tuple(kept), known)


def _reduced(values: Array, axis: int, order: Ints | None, how: str) -> Array:
    """Return sums, maxima or minima along an axis; sums in order, as in a loop."""
    row = reduction(how)
    match row.law:
        case "greatest" | "least":
            return row.ufunc().reduce(values if order is None else values.take(order, axis), axis)
        case "sum":
            return _summed(values, axis, order)
        case _:
            assert_never(row.law)


def _summed(values: Array, axis: int, order: Ints | None) -> Array:
    least = min((s, -i) for i, s in enumerate(values.strides) if values.shape[i] > 1)
    if order is None and -least[1] != axis:  # NumPy adds row to row where rows are contiguous
        return np.add.reduce(values, axis, initial=np.float32(0))
    parts = np.moveaxis(values, axis, 0)
    places = range(parts.shape[0]) if order is None else order.tolist()
    total = np.zeros(parts.shape[1:], np.float32)
    for place in places:
        np.add(total, parts[place], out=total)
    return total


@TILED.of(Reduce)
def _(block: Block, statement: Reduce) -> None:
    source = block.get(statement.source)
    fragments = [block.kernel.fragment(x) for x in (statement.source, statement.destination)]
    if source.axes is None:
        raise NotTiled
    counts = [fragment.elements for fragment in fragments]
    axis, order, axes = block.kept.of(_reducing, source.axes, statement.slots, *counts)
    with np.errstate(over="ignore", invalid="ignore"):
        total = _reduced(source.values, block.rank + axis, order, statement.how)
        values, own = as_held(total, True, fragments[1].value_type)
    block.put(statement.destination, Held(values, axes, own))


@TILED.of(BarrierArrive, BarrierWait)
def _(block: Block, statement: Statement) -> None:
    """Nothing is shared but what is loaded, which nothing writes: all come, and all go on."""
    arrives = isinstance(statement, BarrierArrive)
    block.demand(arrived=not arrives)
    block.arrived = arrives


@TILED.of(Fence)
def _(block: Block, statement: Fence) -> None:
    """No array is shared here, whose stores it could wait for."""


@TILED.of(If)
def _(block: Block, statement: If) -> None:
    if block.uniform(statement.index) < block.uniform(statement.below):
        perform(block, statement.body)


@TILED.of(Loop)
def _(block: Block, statement: Loop) -> None:
    first, last = (block.uniform(index) for index in (statement.start, statement.stop))
    for value in trips(statement, first, last):
        block.names[statement.var] = value
        perform(block, statement.body)
    block.names.pop(statement.var, None)
