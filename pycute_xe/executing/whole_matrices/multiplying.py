"""Floor 9: what an accumulator holds, as part of a product of two whole matrices."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.atom import TiledMma
from pycute_xe.executing.whole_matrices.fields import Axis, Constant, Field, NotWhole, over
from pycute_xe.executing.whole_matrices.nodes import Elementwise, Node, Product, Source
from pycute_xe.holding.tables import Multiplied, multiplied

__all__ = ["product_of"]

Ints: TypeAlias = NDArray[np.int64]


def product_of(mma: TiledMma, before: Field | Constant, a: Field, b: Field, trips: int) -> Field:
    """Return the accumulator after the instructions of all trips.

    A and B must each have one axis along which only k and the trips move, the same for all
    work-groups and for both. Raises `NotWhole` otherwise.
    """
    tables, op = multiplied(mma), mma.atom.op
    left, right = _Side(a, tables.a), _Side(b, tables.b)
    depth = left.depth(trips)
    extent = a.axes[left.along].extent
    if extent != b.axes[right.along].extent or not np.array_equal(depth, right.depth(trips)):
        raise NotWhole
    pairs = _pairs(left, right)
    rows = [i for i in left.own if i not in dict(pairs)]
    columns = [j for j in right.own if j not in dict(pairs).values()]
    axes = [left.spread(i, tables, "row") for i, _ in pairs]
    axes += [left.spread(i, tables, "row") for i in rows]
    axes += [right.spread(j, tables, "column") for j in columns]
    order_a = (*(i for i, _ in pairs), *rows, left.along)
    order_b = (*(j for _, j in pairs), *columns, right.along)
    steps = depth.reshape(-1)
    if (
        not (_keeps_zero(a.node) or _keeps_zero(b.node))
        and not (steps >= 0).all() & (steps < extent).all()
    ):
        raise NotWhole  # what is computed of zeros beyond the last k need not be zero
    node = Product(
        (a.node, b.node),
        (_shape(a), _shape(b)),
        (order_a, order_b),
        len(pairs),
        _order(steps, extent, narrow=op.D.bits < 32),
        (a.numeric, b.numeric, op.D),
        tables.step,
        _plus(before, tuple(axes)),
    )
    return Field(node, op.D, tuple(axes), np.ones(tables.c.size, np.bool_))


def _shape(field: Field) -> tuple[int, ...]:
    return tuple(axis.extent for axis in field.axes)


def _keeps_zero(node: Node) -> bool:
    """Whether what is computed of the zeros outside operands is zero: conversions alone."""
    while isinstance(node, Elementwise) and node.value is None:
        ((_, node, _),) = node.inputs
    return isinstance(node, Source)


def _plus(before: Field | Constant, axes: tuple[Axis, ...]) -> Node | float:
    if isinstance(before, Constant):
        return before.value
    turned = over(before, axes)
    if None in turned.axes:
        raise NotWhole
    return turned


def _order(depth: Ints, extent: int, narrow: bool) -> Ints | None:
    """Return the k that are summed, None for each once; a narrow sum keeps the order of steps."""
    if not narrow:
        depth = np.sort(depth[(depth >= 0) & (depth < extent)])
    whole = depth.size >= extent and np.array_equal(depth[:extent], np.arange(extent))
    # Behind the last k there are zeros, which change no sum.
    return None if whole and (depth[extent:] >= extent).all() else depth


class _Side:
    """One operand of a product: which of its axes k moves along, and which the rows."""

    def __init__(self, field: Field, table: Ints) -> None:
        """Sort the axes; ``table`` is (row, k) → register element."""
        if not field.known[table].all():
            raise NotWhole
        self.axes = field.axes
        self.places = [axis.places[:, table] for axis in field.axes]
        self.own: list[int] = []
        moving: list[int] = []
        for i, (axis, places) in enumerate(zip(self.axes, self.places, strict=True)):
            if axis.trips is None and (places == places[:, :, :1]).all():
                self.own.append(i)
            elif (places == places[:1, :1]).all() and (axis.corner == axis.corner[0]).all():
                moving.append(i)
            else:
                raise NotWhole
        if len(moving) != 1:
            raise NotWhole
        (self.along,) = moving

    def depth(self, trips: int) -> Ints:
        """Return the k that is summed: (trips, k of a tile)."""
        axis = self.axes[self.along]
        first = np.zeros(1, np.int64) if axis.trips is None else axis.trips
        # Loops inside the one that moved the tile repeat it.
        first = np.repeat(first, trips // max(1, first.size))
        return axis.corner[0] + first[:, None] + self.places[self.along][0, 0]

    def spread(self, i: int, tables: Multiplied, by: str) -> Axis:
        """Return an axis of rows or columns as the elements of the accumulator lie along it."""
        axis, lines = self.axes[i], self.places[i][:, :, 0]
        places = np.zeros((lines.shape[0], tables.c.size), np.int64)
        whole = lines[:, :, None] if by == "row" else lines[:, None, :]
        places[:, tables.c] = np.broadcast_to(whole, (lines.shape[0], *tables.c.shape))
        return Axis(axis.extent, axis.corner, places)


def _pairs(left: _Side, right: _Side) -> list[tuple[int, int]]:
    """Return the axes along which A and B, whatever the row and column, are at the same index."""
    out: list[tuple[int, int]] = []
    for i in left.own:
        for j in right.own:
            taken = any(j == other for _, other in out)
            if (
                not taken
                and _constant(left, i)
                and _constant(right, j)
                and _alike(left, i, right, j)
            ):
                out.append((i, j))
                break
    return out


def _constant(side: _Side, i: int) -> bool:
    places = side.places[i]
    return bool((places == places.flat[0]).all())


def _alike(left: _Side, i: int, right: _Side, j: int) -> bool:
    one, other = left.axes[i], right.axes[j]
    first = int(left.places[i].flat[0]) - int(right.places[j].flat[0])
    return one.extent == other.extent and bool((one.corner + first == other.corner).all())
