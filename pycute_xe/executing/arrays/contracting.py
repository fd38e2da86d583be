"""Floor 9: sums of products as matrix products: the axes of two factors sorted into their roles."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.arrays.places import Axis, joined, spread
from pycute_xe.executing.arrays.values import Value, numbers
from pycute_xe.executing.products import multiplied_into
from pycute_xe.numeric import Numeric

__all__ = ["contract"]

Array: TypeAlias = NDArray[Any]

ALONE, SMALL = 1 << 19, 1 << 23
"""Multiplications that one thread does, and those from which on two are worth waiting for."""


def contract(x: Value, y: Value, over: Axis, to: Numeric, step: int, start: Value | None) -> Value:
    """Return ``start`` plus the sum of ``x * y`` over an axis, accumulated in a type.

    Axes of both factors are the batch, axes of one its rows or columns. Floats are summed in
    float32, in any order; integers are exact; narrow accumulators round every ``step`` terms.
    """
    if over not in x.axes or over not in y.axes:
        x, y = (one.wide(over) for one in (x, y))
    batch = tuple(a for a in x.axes if a in y.axes and a is not over)
    rows = tuple(a for a in x.axes if a not in y.axes)
    columns = tuple(a for a in y.axes if a not in x.axes)
    left = _matrices(x, batch, rows, over)
    right = _matrices(y, batch, columns, over)
    axes = (*batch, *rows, *columns)
    shape = tuple(a.size for a in axes)
    narrow = to.kind == "float" and to.bits < 32
    total = None
    if narrow and start is not None:
        axes = joined((axes, start.axes))
        extra = tuple(a for a in start.axes if a not in (*batch, *rows, *columns))
        if extra:  # a start that differs where the products do not
            batch = (*extra, *batch)
            left, right = (m[(None,) * len(extra)] for m in (left, right))
            axes = (*batch, *rows, *columns)
            shape = tuple(a.size for a in axes)
        held = np.broadcast_to(spread(start.array, start.axes, axes), shape)
        total = held.astype(start.array.dtype).reshape(
            *(a.size for a in batch), left.shape[-2], right.shape[-2]
        )
    if total is None and left.ndim == 2 and right.ndim == 2:
        left = _in_bands(left, right.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        found = multiplied_into(total, left, right, (x.type, y.type, to), step)
        out = Value(axes, found.reshape(shape), to)
        if start is None or narrow:
            return out
        return _added(out, start)


def _in_bands(left: Array, columns: int) -> Array:
    """Return a matrix as bands of rows whose products are so small that one thread takes each.

    Waiting for a second thread takes longer than a small product does.
    """
    rows, depth = left.shape
    if not ALONE < rows * columns * depth < SMALL:
        return left
    band = max(1, ALONE // (columns * depth))
    while rows % band:
        band -= 1
    return left.reshape(rows // band, band, depth) if band >= 8 else left


def _matrices(value: Value, batch: tuple[Axis, ...], own: tuple[Axis, ...], over: Axis) -> Array:
    """Return (batch…, own, over) of a value."""
    order = [value.axes.index(a) for a in (*batch, *own, over)]
    array = value.array.transpose(order)
    flat = int(np.prod([a.size for a in own], dtype=np.int64))
    return array.reshape(*(a.size for a in batch), flat, over.size)


def _added(found: Value, start: Value) -> Value:
    """Return the sum of what was accumulated, which is overwritten where that can be."""
    axes = joined((found.axes, start.axes))
    one = spread(found.array, found.axes, axes)
    other = spread(numbers(start, found.type), start.axes, axes)
    if axes == found.axes and one.dtype == other.dtype:
        return Value(axes, np.add(one, other, out=found.array), found.type)
    return Value(axes, (one + other).astype(found.array.dtype), found.type)
