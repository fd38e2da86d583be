"""Floor 9: whole matrices in the place of registers: how what a plan says is computed.

Products are taken by BLAS at once; elementwise nodes are computed a few rows at a time, straight
into what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert, host_dtype
from pycute_xe.errors import KernelError
from pycute_xe.executing.elementwise import Sources, mapped
from pycute_xe.executing.numbers import widened
from pycute_xe.executing.products import multiplied_into
from pycute_xe.executing.whole_matrices.nodes import (
    Elementwise,
    Node,
    Product,
    Source,
    Spread,
    Storing,
    Turned,
)
from pycute_xe.kernel import Index
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Plan", "product"]

Array: TypeAlias = NDArray[Any]
Memory: TypeAlias = Mapping[str, Array]

# Elements of an elementwise node that are computed at a time: they stay in a cache.
_AT_A_TIME = 1 << 17


@dataclass(frozen=True, eq=False)
class Plan:
    """What a kernel stores, in order."""

    stores: tuple[Storing, ...]

    def run(self, memory: Memory) -> None:
        """Compute and store everything."""
        done: dict[int, Array] = {}
        names = [store.operand for store in self.stores]
        for store in self.stores:
            # What is stored over later cannot be a product's place.
            _stored(store, memory, done, names.count(store.operand) == 1)


def _stored(store: Storing, memory: Memory, done: dict[int, Array], alone: bool) -> None:
    target, node = memory[store.operand], store.node.node
    back = np.argsort([axis for axis in store.node.axes if axis is not None])
    out = target.transpose(back.tolist())
    if alone and isinstance(node, Product) and id(node) not in done:
        done[id(node)] = _product(node, memory, done, out)
    _prepare(node, memory, done)
    rows = max(1, _AT_A_TIME * out.shape[0] // max(1, out.size))
    if isinstance(node, (Source, Product)):
        if done[id(node)] is not out:
            out[...] = done[id(node)]
        return
    for first in range(0, out.shape[0], rows):
        part = slice(first, first + rows)
        out[part] = _part(node, memory, done, part)


def product(node: Product, memory: Memory) -> Array:
    """Return a product of operands, its axes in the order of the node."""
    return _product(node, memory, {}, None)


def _prepare(node: Node, memory: Memory, done: dict[int, Array]) -> None:
    """Compute what is not elementwise, once."""
    if id(node) in done:
        return
    if isinstance(node, (Turned, Spread)):
        _prepare(node.node, memory, done)
    elif isinstance(node, Product):
        done[id(node)] = _product(node, memory, done, None)
    elif isinstance(node, Elementwise):
        for _, inner, _ in node.inputs:
            _prepare(inner, memory, done)
    else:
        done[id(node)] = memory[node.operand]


def _part(node: Node, memory: Memory, done: dict[int, Array], rows: slice) -> Array:
    """Return some of the first axis of a node."""
    if isinstance(node, Turned):
        if node.axes[0] is None:
            return node.view(_whole(node.node, memory, done))
        if node.axes[0] == 0:
            return node.view(_part(node.node, memory, done, rows))
        return node.view(_whole(node.node, memory, done))[rows]
    if isinstance(node, Spread):
        if node.axis == 0:
            places = node.places(rows)
            if rows.stop is not None and places.size and places[0] == places[-1]:
                places = places[:1]  # a row that is broadcast over the others
            return _whole(node.node, memory, done)[places]
        part = _part(node.node, memory, done, rows)
        return part.take(node.places(slice(None)), axis=node.axis)
    if isinstance(node, Elementwise):
        held = {name: (_part(x, memory, done, rows), kind) for name, x, kind in node.inputs}
        if node.value is None:
            ((values, numeric),) = held.values()
            return convert(widened(values, numeric), node.to)

        def slot(name: str) -> Array:
            # float32 holds what integers of 16 bits do.
            single = node.to.kind == "float" and held[name][1].bits <= 16
            return widened(*held[name], single=single)

        return mapped(node.value, node.to, Sources(slot, memory.__getitem__, _no_index))
    return done[id(node)][rows]


def _no_index(index: Index, below: Index) -> bool:
    given: dict[str, object] = {"index": index, "below": below}
    raise KernelError(
        "run",
        given,
        "a value of whole matrices depends on where a work-group is",
        'run(…, executor="reference")',
    )


def _whole(node: Node, memory: Memory, done: dict[int, Array]) -> Array:
    return _part(node, memory, done, slice(None))


def _product(node: Product, memory: Memory, done: dict[int, Array], out: Array | None) -> Array:
    """Multiply, into ``out`` where that can be done."""
    factors = [
        _factor(side, shape, kind, memory, done)
        for side, shape, kind in zip(node.sides, node.shapes, node.types[:2], strict=True)
    ]
    left, right = (
        _summed(array.transpose(axes), node)
        for (array, _), axes in zip(factors, node.axes, strict=True)
    )
    types = (factors[0][1], factors[1][1], node.types[2])
    batch = left.shape[: node.batch]
    rows, columns = left.shape[node.batch : -1], right.shape[node.batch : -1]
    a, b = (_matrices(x, node.batch) for x in (left, right))
    shape = (*batch, *rows, *columns)
    total: Array | None = None
    if not isinstance(node.plus, (int, float)):
        _prepare(node.plus, memory, done)
        total = _whole(node.plus, memory, done).reshape(*a.shape[:-1], b.shape[-2])
    elif node.plus:
        total = np.full(
            (*a.shape[:-1], b.shape[-2]), convert(np.asarray(float(node.plus)), node.types[2])
        )
    into = None
    if out is not None and out.flags.c_contiguous and out.dtype == host_dtype(node.types[2]):
        into = out.reshape(*a.shape[:-1], b.shape[-2])
    with np.errstate(over="ignore", invalid="ignore"):
        result = multiplied_into(total, a, b, types, node.step, into)
    if into is not None and out is not None:
        return out
    return result.reshape(shape)


def _factor(
    node: Node, shape: tuple[int, ...], numeric: Numeric, memory: Memory, done: dict[int, Array]
) -> tuple[Array, Numeric]:
    """Return one side of a product and its type; floats that are computed stay float32."""
    _prepare(node, memory, done)
    if not isinstance(node, Elementwise) or node.to.kind != "float" or node.to.bits > 32:
        return _whole(node, memory, done), numeric
    out = np.empty(shape, np.float32)
    rows = max(1, _AT_A_TIME * shape[0] // max(1, out.size))
    for first in range(0, shape[0], rows):
        part = slice(first, first + rows)
        out[part] = widened(_part(node, memory, done, part), node.to)
    return out, as_numeric("f32")


def _matrices(array: Array, batch: int) -> Array:
    """Fold the axes between the batch and k into one."""
    if array.ndim == batch + 2:
        return array
    return array.reshape(*array.shape[:batch], -1, array.shape[-1])


def _summed(array: Array, node: Product) -> Array:
    """Return the k that are summed, in their order; zeros where one is outside."""
    if node.depth is None:
        return array
    extent = array.shape[-1]
    inside = (node.depth >= 0) & (node.depth < extent)
    if not extent:
        return array
    found = np.take(array, np.where(inside, node.depth, 0), axis=-1)
    found[..., ~inside] = 0
    return found
