"""Arrays with their axes and their type, elements of memory at fields of places, and products.

Matrices are multiplied as DPAS does it, many at once, by BLAS. Floats are summed in float32, in any
order; a narrow accumulator is rounded after each instruction. Integers are exact: float32 and
float64 hold every sum that is small enough, larger ones are split. Products of whole operands that
several terms are elements of are computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np

from pycute_xe.converting import convert, host_dtype, wrap
from pycute_xe.executing.arrays.recording import decided, recorded
from pycute_xe.executing.arrays.terms import (
    Axis,
    Field,
    arranged,
    joined,
    separated,
    spread,
    whole,
)
from pycute_xe.holding.nodes import undecided
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.numeric import Numeric

__all__ = [
    "multiplied_into",
    "widened",
    "Value",
    "as_type",
    "gathered",
    "is_finite",
    "looked_up",
    "masked",
    "numbers",
    "put_together",
    "scattered",
    "contract",
    "demand_room",
    "mask_of",
    "Tests",
    "zeroed",
]


# ------------------------------------------------------------ numbers
# Elements in arrays as numbers that are computed with.


def widened(array: Array, numeric: Numeric, single: bool = False) -> Array:
    """Return elements of a type as numbers: float32 of floats but f64, int64 of integers.

    Of a tf32 the 13 lowest bits are dropped. ``single`` asks for float32 of integers too, which
    must be narrow. The array itself where it is that already, else a new one.

    >>> from pycute_xe.numeric import as_numeric
    >>> widened(np.array([1 + 2.0**-12], np.float32), as_numeric("tf32")).tolist()
    [1.0]
    """
    if numeric.name == "tf32":
        return _cut(array)
    if numeric.kind == "float":
        return array if numeric.bits == 64 else of_dtype(array, _SINGLE)
    if numeric.bits < 8:
        array = of_dtype(array, np.dtype(np.int8))
    return of_dtype(array, _SINGLE if single else np.dtype(np.int64))


_SINGLE = np.dtype(np.float32)


@recorded
def _cut(array: Array) -> Array:
    return (array.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def of_dtype(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return numbers as a dtype has them."""
    return array if array.dtype == dtype else _as_dtype(array, dtype)


@recorded
def _as_dtype(array: Array, dtype: np.dtype[Any]) -> Array:
    return array.astype(dtype)


# ------------------------------------------------------------ products


def multiplied_into(
    total: Array | None, a: Array, b: Array, types: tuple[Numeric, Numeric, Numeric], step: int
) -> Array:
    """Return ``total + a @ b`` in the accumulator's type; None stands for zero.

    ``a`` is (…, rows, k) and ``b`` (…, k, columns) as arrays of ``types[:2]``, ``total`` (…, rows,
    columns) of ``types[2]``; a narrow accumulator is rounded every ``step`` elements of k. Of
    integers, as many products are summed at a time as float32 surely holds, all of them in 32 bits.

    >>> from pycute_xe.numeric import as_numeric
    >>> s8, s32 = as_numeric("s8"), as_numeric("s32")
    >>> multiplied_into(None, np.ones((2, 3), np.int8), np.ones((3, 2)), (s8, s8, s32), 32).tolist()
    [[3, 3], [3, 3]]
    """
    left, right = (widened(x, t, single=True) for x, t in zip((a, b), types[:2], strict=True))
    to = types[2]
    if to.kind == "float" and to.bits >= 32:
        out = _matmul(left, right)
        return out if total is None else _add(out, total)
    if to.kind != "float":
        signs = sum(numeric.kind == "signed" for numeric in types[:2])
        step = max(1, 2**24 // (2 ** (types[0].bits + types[1].bits) >> signs))
    return _in_steps(total, left, right, to, step)


_matmul, _add = recorded(np.matmul), recorded(np.add)


@recorded
def _in_steps(total: Array | None, left: Array, right: Array, to: Numeric, step: int) -> Array:
    shape = *np.broadcast_shapes(left.shape[:-2], right.shape[:-2]), left.shape[-2], right.shape[-1]
    out = np.zeros(shape, host_dtype(to)) if total is None else total
    for k in range(0, left.shape[-1], step):
        part = np.matmul(left[..., k : k + step], right[..., k : k + step, :])
        if to.kind == "float":
            part += widened(out, to)
            out = part.astype(out.dtype)
        else:
            whole = part.astype(np.int32).view(out.dtype)
            out = np.add(out, whole, out=whole)
    return out


@dataclass(frozen=True, eq=False)
class Value:
    """Elements of a type at each point of some axes: an array of its host dtype."""

    axes: tuple[Axis, ...]
    array: Array
    type: Numeric

    def over(self, axes: tuple[Axis, ...]) -> Array:
        """Return the array over more axes, of extent 1 where it is the same."""
        return spread(self.array, self.axes, axes)

    def whole(self, axes: tuple[Axis, ...]) -> Array:
        """Return the array at every point of more axes."""
        return whole(self.over(axes), axes)


def numbers(value: Value, to: Numeric) -> Array:
    """Return elements as numbers that are computed with in a type: f32, f64 or 64-bit integers."""
    if value.type == to and to.name in ("f32", "f64"):
        return value.array
    dtype = np.dtype(np.int64) if to.kind != "float" else host_dtype(to)
    return of_dtype(widened(value.array, value.type), dtype)


converted, copied, wrapped = recorded(convert), recorded(np.copy), recorded(wrap)


def as_type(value: Value, to: Numeric) -> Value:
    """Return elements as a type holds them that it holds exactly."""
    if value.type == to:
        return value
    wide = widened(value.array, value.type)
    return Value(value.axes, (converted if to.kind == "float" else wrapped)(wide, to), to)


@recorded
def taken(array: Array, index: Any) -> Array:
    """Return elements of an array."""
    return array[index]


@recorded
def put(array: Array, index: Any, new: Array) -> None:
    """Put elements into an array."""
    array[index] = new


def selected(mask: Array, then: Array, otherwise: Array, axes: tuple[Axis, ...]) -> Array:
    """Return the first of two arrays where a mask holds, else the second, at each point of axes.

    Where few points are of the second, these alone are looked at.
    """
    shape, box = tuple(axis.size for axis in axes), _box(~mask)
    if 2 * prod(len(range(n)[x]) for n, x in zip(shape, box, strict=True)) > prod(shape):
        return whole(_where(mask, then, otherwise), axes)
    return _patched(mask[box], then, otherwise, box, shape)


def _box(mask: Array) -> tuple[slice, ...]:
    """Return the least range along each axis outside of which a mask does not hold."""
    out: list[slice] = []
    for axis, size in enumerate(mask.shape):
        others = tuple(i for i in range(mask.ndim) if i != axis)
        at = np.flatnonzero(mask.any(axis=others))
        low, high = (int(at[0]), int(at[-1]) + 1) if at.size else (0, 0)
        out.append(slice(None) if size == 1 and at.size else slice(low, high))
    return tuple(out)


_where = recorded(np.where)


@recorded
def put_together(shape: tuple[int, ...], where: tuple[Any, ...], *parts: Array) -> Array:
    """Return an array of which each part is at places of its own."""
    out = np.empty(shape, parts[0].dtype)
    for index, part in zip(where, parts, strict=True):
        out[index] = part
    return out


@recorded
def _patched(
    mask: Array, then: Array, rest: Array, box: tuple[slice, ...], shape: tuple[int, ...]
) -> Array:
    """Return an array with elements of another in a box, where a mask does not hold."""
    out = np.empty(shape, then.dtype)
    out[...] = then
    inner = rest[tuple(x if n > 1 else slice(None) for x, n in zip(box, rest.shape, strict=True))]
    out[box] = np.where(mask, out[box], inner)
    return out


def gathered(array: Array, places: tuple[Field, ...]) -> tuple[tuple[Axis, ...], Array]:
    """Return the elements of an array at places, zero outside, and the axes that these have.

    >>> k = Axis(3)
    >>> axes, found = gathered(np.array([5, 6]), (Field(0, (((k,), np.arange(3)),)),))
    >>> axes == (k,), found.tolist()
    (True, [5, 6, 0])
    """
    array, places = _flat(array, places)
    every = [axis for place in places for axis in place.axes]
    if len(every) == len(set(every)):
        return _by_modes(array, places)
    axes = joined(place.axes for place in places)
    shape = tuple(axis.size for axis in axes)
    inside: Any = np.ones((1,) * len(axes), np.bool_)
    at: list[Ints] = []
    for place, extent in zip(places, array.shape, strict=True):
        index = place.compact(axes)
        if place.parts and index.size:
            low, high = int(index.min()), int(index.max())
        else:
            low = high = place.offset
        if low < 0 or high >= extent:
            inside = inside & (index >= 0) & (index < extent)
            index = np.clip(index, 0, max(extent - 1, 0))
        at.append(index)
    if not prod((*array.shape, *shape)):
        return axes, np.zeros(shape, array.dtype)
    elements = whole(taken(array, tuple(at)), axes)
    if not inside.all():
        elements = selected(inside, elements, np.zeros((1,) * len(axes), array.dtype), axes)
    return axes, elements


def looked_up(table: Array, at: tuple[Field, ...], farthest: int) -> Field:
    """Return elements of an integer array as a field.

    Raises `UndecidableError` for entries that are further from zero than `farthest_entry` says of
    the kernel: the simulator computes with integers of any size.
    """
    axes, elements = gathered(table, at)
    ends = (int(elements.min()), int(elements.max())) if elements.size else (0, 0)
    if not -farthest <= ends[0] <= ends[1] <= farthest:
        raise undecided(f"an entry of a table, {max(ends, key=abs)}, is beyond any size")
    whole = elements.astype(np.int64)
    if not axes:
        return Field(int(whole))
    offset, parts = separated(whole)
    return Field(offset, tuple((tuple(axes[i] for i in own), x) for own, x in parts))


def _flat(array: Array, places: tuple[Field, ...]) -> tuple[Array, tuple[Field, ...]]:
    """Return an array with one mode in the stead of two that an axis chooses together, inside."""
    for i, (one, other) in enumerate(pairwise(places)):
        pair = zip((one, other), array.shape[i : i + 2], strict=True)
        shared = set(one.axes) & set(other.axes)
        if shared and all(x.inside(n) for x, n in pair):
            wide = array.shape[i + 1]
            shape = *array.shape[:i], array.shape[i] * wide, *array.shape[i + 2 :]
            array = arranged(array, None, shape)
            return _flat(array, (*places[:i], one * wide + other, *places[i + 2 :]))
    return array, places


def _by_modes(array: Array, places: tuple[Field, ...]) -> tuple[tuple[Axis, ...], Array]:
    """Take rows, then columns: each mode's places have axes of their own."""
    axes = joined(place.axes for place in places)
    shape = tuple(axis.size for axis in axes)
    extents: list[int] = []
    begin: list[slice] = []
    into: list[slice | Ints] = []
    takes: list[tuple[int, Ints]] = []
    for mode, place in enumerate(places):
        extent = array.shape[mode]
        at, first = place.line
        extents.append(at.size)
        if first is not None:
            high = max(0, min(first + at.size, extent))
            low = min(max(first, 0), high)
            begin.append(slice(low, high))
            into.append(slice(low - first, high - first) if high > low else slice(0, 0))
            continue
        kept = np.flatnonzero((at >= 0) & (at < extent))
        begin.append(slice(None))
        into.append(slice(0, at.size) if kept.size == at.size else kept)
        takes.append((mode, at[kept]))
    if any(
        one != slice(None) and len(range(n)[one]) < n
        for one, n in zip(begin, array.shape, strict=True)
    ):
        array = taken(array, tuple(begin))
    for mode, at in takes:
        array = taken(array, at) if not mode else _take(array, at, mode)
    if array.shape != tuple(extents):
        array = _padded(array, tuple(extents), tuple(into))
    return axes, arranged(array, None, shape)


_take = recorded(np.take)


@recorded
def _padded(array: Array, shape: tuple[int, ...], into: tuple[slice | Ints, ...]) -> Array:
    out = np.zeros(shape, array.dtype)
    if sum(not isinstance(one, slice) for one in into) > 1:
        into = np.ix_(*(np.arange(n)[one] for n, one in zip(shape, into, strict=True)))
    out[into] = array
    return out


def scattered(
    array: Array, places: tuple[Field, ...], value: Value, axes: tuple[Axis, ...], add: bool
) -> None:
    """Put a value at places of an array, which all lie inside and apart; or add it there.

    Runs of modes that axes choose alone are put at once.
    """
    new = value.whole(axes)
    every = [axis for place in places for axis in place.axes]
    together = len(every) != len(set(every)) or set(every) != set(axes)
    runs = {i: x.line for i, x in enumerate(places) if all(every.count(a) == 1 for a in x.axes)}
    runs = {i: slice(at, at + line.size) for i, (line, at) in runs.items() if at is not None}
    rest = [i for i in range(len(places)) if i not in runs]
    first = [axis for axis in axes if not any(axis in places[i].axes for i in runs)]
    covered = len({axis for i in rest for axis in places[i].axes}) == len(first)
    if together and (add or not runs or not covered):
        at = tuple(place.over(axes) for place in places)
        (_add_each if add else put)(array, at, new)
        return
    order = [*first, *(axis for i in runs for axis in places[i].axes)]
    shape = *(a.size for a in first), *(run.stop - run.start for run in runs.values())
    where = (*(places[i].compact(first) for i in rest), *runs.values())
    new = arranged(new, [*map(axes.index, order)], shape)
    put_along(array, (*rest, *runs), where, new, add)


@recorded
def put_along(
    array: Array, modes: tuple[int, ...], index: Any, new: Array, add: bool = False
) -> None:
    """Put elements into an array whose modes are in another order, or add them there."""
    turned = array.transpose(modes)
    turned[index] = turned[index] + new if add else new


@recorded
def _add_each(array: Array, at: tuple[Ints, ...], new: Array) -> None:
    np.add.at(array, at, new)


def is_finite(value: Value) -> bool:
    """Whether every element is a finite number."""
    return value.type.kind != "float" or decided(_finite, widened(value.array, value.type))


def _finite(array: Array) -> bool:
    """Tell it by the sum of squares, which may be infinite of finite numbers: then one by one."""
    return bool(np.isfinite(np.vdot(array, array))) or bool(np.isfinite(array).all())


Tests: TypeAlias = Sequence[tuple[Field, bool]]
"""Conditions, each a field that is below zero, or is not."""


def mask_of(tests: Tests, axes: Sequence[Axis]) -> Any:
    """Tell where conditions hold, with an extent of 1 along axes that do not matter."""
    return reduce(np.logical_and, (test.negative(axes) == holds for test, holds in tests))


def masked(factors: Sequence[Value], tests: Tests) -> tuple[Value, ...] | None:
    """Return factors whose product is what it was where conditions hold, and zero elsewhere.

    Those become zero that are the smallest with the conditions' axes. None where another one is not
    finite: zero times that is not zero.
    """
    tests = [(test, holds) for test, holds in tests if not test.surely(holds)]
    if not tests:
        return tuple(factors)
    room = [prod(axis.size for axis in _axes(x, tests)) for x in factors]
    inside = [size == min(room) for size in room]
    if not all(own or is_finite(x) for x, own in zip(factors, inside, strict=True)):
        return None
    return tuple(zeroed(x, tests) if own else x for x, own in zip(factors, inside, strict=True))


def zeroed(value: Value, tests: Tests) -> Value:
    """Return a value that is zero where conditions do not hold."""
    if not tests:
        return value
    demand_room(axes := _axes(value, tests))
    nothing = np.zeros((1,) * len(axes), value.array.dtype)
    elements = selected(mask_of(tests, axes), value.over(axes), nothing, axes)
    return Value(axes, elements, value.type)


def _axes(value: Value, tests: Tests) -> tuple[Axis, ...]:
    return joined((value.axes, *(test.axes for test, _ in tests)))


ROOM = 1 << 28
"""Elements of the largest array that is made."""


def demand_room(axes: Iterable[Axis]) -> None:
    """Refuse, as undecided, an array over axes that would have more than `ROOM` elements."""
    if prod(axis.size for axis in axes) > ROOM:
        raise undecided("an array would have more elements than are kept")


# ------------------------------------------------------------ contracting
# Sums of products as matrix products: the axes of two factors sorted into their roles.


ALONE, SMALL = 1 << 19, 1 << 23
"""Multiplications that one thread does, and those from which on two are worth waiting for."""
FEW = 1 << 10
"""Elements of a matrix that it is quicker to multiply alone than to copy beside others."""


def contract(x: Value, y: Value, over: Axis, to: Numeric, step: int, start: Value | None) -> Value:
    """Return ``start`` plus the sum of ``x * y`` over an axis, accumulated in a type.

    Axes of both factors are the batch; axes of one its rows or columns.
    Floats are summed in float32, in any order; integers are exact; narrow accumulators round every
    ``step`` terms.
    """
    x, y = (Value(a := joined((z.axes, (over,))), z.whole(a), z.type) for z in (x, y))
    every = (axis for axis in joined((x.axes, y.axes)) if axis is not over)
    batch = tuple(a for a in every if a in x.axes and a in y.axes)
    owns = [tuple(a for a in z.axes if a not in (*batch, over)) for z in (x, y)]
    batch += tuple(a for z, own in zip((x, y), owns, strict=True) for a in _scattered(z, own))
    rows, columns = (tuple(a for a in own if a not in batch) for own in owns)
    left, right = _matrices(x, batch, rows, (over,)), _matrices(y, batch, (over,), columns)
    axes = (*batch, *rows, *columns)
    shape = tuple(a.size for a in axes)
    narrow = to.kind == "float" and to.bits < 32
    total = None
    if narrow and start is not None:
        axes = joined((axes, start.axes))
        extra = tuple(a for a in start.axes if a not in (*batch, *rows, *columns))
        if extra:  # a start that differs where the products do not
            batch = (*extra, *batch)
            left, right = (arranged(m, None, (*[1] * len(extra), *m.shape)) for m in (left, right))
            axes = (*batch, *rows, *columns)
            shape = tuple(a.size for a in axes)
        rows_of = *(a.size for a in batch), left.shape[-2], right.shape[-1]
        total = arranged(start.whole(axes), None, rows_of)
    if total is None and len(left.shape) == 2 and len(right.shape) == 2:
        left = _in_bands(left, right.shape[1])
    products = multiplied_into(total, left, right, (x.type, y.type, to), step)
    out = Value(axes, arranged(products, None, shape), to)
    return out if start is None or narrow else _added(out, start)


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
    return arranged(left, None, (rows // band, band, depth)) if band >= 8 else left


def _scattered(value: Value, own: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Return the first of some axes, if it would take a copy to make one of them all."""
    steps = [value.array.strides[value.axes.index(axis)] for axis in own]
    lines = zip(steps, steps[1:], own[1:], strict=False)
    last = max((i for i, (a, b, x) in enumerate(lines) if a != b * x.size), default=-1) + 1
    return own[:last] if prod(axis.size for axis in own[:last]) * FEW <= value.array.size else ()


def _matrices(value: Value, batch: tuple[Axis, ...], *sides: tuple[Axis, ...]) -> Array:
    """Return (batch…, rows, columns) of a value, where these are the axes of two sides."""
    order = [value.axes.index(a) for a in (*batch, *sides[0], *sides[1]) if a in value.axes]
    shape = (
        *(a.size if a in value.axes else 1 for a in batch),
        *(prod(a.size for a in side) for side in sides),
    )
    return arranged(value.array, order, shape)


def _added(accumulated: Value, start: Value) -> Value:
    """Return the sum of what was accumulated and what it began with."""
    axes = joined((accumulated.axes, start.axes))
    one = spread(accumulated.array, accumulated.axes, axes)
    other = spread(numbers(start, accumulated.type), start.axes, axes)
    return Value(axes, of_dtype(_add(one, other), accumulated.array.dtype), accumulated.type)
