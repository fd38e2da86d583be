"""Floor 3: the laws of layouts in another order, packing or unit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from pycute_xe.algebra.laws.points import (
    agree,
    equal,
    flat,
    in_mode,
    leaf_modes,
    moving_shape,
    position,
    same,
    values,
)
from pycute_xe.int_tuple import ceil_div, congruent, flatten_tuple
from pycute_xe.layout import Layout, size
from pycute_xe.typing import IntTuple, Shape

__all__ = [
    "downcast",
    "make_layout_like",
    "make_ordered_layout",
    "recast_layout",
    "sort",
    "upcast",
]


def make_ordered_layout(shape: Shape, order: IntTuple, result: Layout) -> str | None:
    """Judge ``make_ordered_layout(shape, order)``: compact, the leaf of least order fastest.

    Law: ``result(c)`` counts the coordinates before ``c`` when the leaf of least order moves
    fastest, equal ones left to right. CuTe: ``make_ordered_layout`` in ``layout.hpp``.

    >>> make_ordered_layout((4, 8), (1, 0), Layout((4, 8), (8, 1)))
    >>> make_ordered_layout((4, 8), (1, 0), Layout((4, 8), (1, 4)))
    'result(1,0) is 1, the count before it is 8'
    """
    extents, ranks = flatten_tuple(shape), flatten_tuple(order)
    return _packed(shape, extents, ranks, result)


def make_layout_like(layout: Layout, result: Layout) -> str | None:
    """Judge ``make_layout_like(layout)``: compact, in the same order, of the same shape.

    Law: ``result(c)`` counts the coordinates before ``c`` when the leaf of least stride moves
    fastest, equal ones left to right; leaves along which the offset stays do not count. CuTe:
    ``make_layout_like`` in ``layout.hpp``.

    >>> make_layout_like(Layout((2, 3, 4), (0, 42, 2)), Layout((2, 3, 4), (0, 4, 1)))
    >>> make_layout_like(Layout((2, 3, 4), (0, 42, 2)), Layout((2, 3, 4), (0, 1, 3)))
    'result(0,1,0) is 1, the count before it is 4'
    """
    steps = tuple(leaf(1) for leaf in leaf_modes(layout))
    return _packed(layout.shape, moving_shape(layout), steps, result)


def _packed(
    shape: Shape, extents: tuple[Any, ...], ranks: tuple[Any, ...], result: Layout
) -> str | None:
    def before(c: Any) -> Any:
        entries = zip(flatten_tuple(c), extents, strict=True)
        moving = tuple(0 if extent == 1 else entry for entry, extent in entries)
        return position(moving, extents, ranks)

    return equal("the shape of the result", result.shape, "the shape", shape) or agree(
        shape, "result({c})", result, "the count before it", before
    )


def sort(layout: Layout, result: Layout) -> str | None:
    """Judge ``sort(layout)``: the leaves by the size of their steps.

    Law: the same offsets, each as often; flat; no leaf steps less far than the one before. CuTe:
    the order in which ``complement`` of ``layout.hpp`` takes the modes.

    >>> sort(Layout((4, 2), (2, 1)), Layout((2, 4), (1, 2)))
    >>> sort(Layout((4, 2), (2, 1)), Layout((4, 2), (2, 1)))
    'leaf 0 of the result steps by 2, leaf 1 by 1'
    """
    broken = flat(result)
    for i, (leaf, following) in enumerate(pairwise(leaf_modes(result))):
        if abs(leaf(1)) > abs(following(1)):
            broken = broken or (
                f"leaf {i} of the result steps by {leaf(1)}, leaf {i + 1} by {following(1)}"
            )
    found, wanted = sorted(values(result)), sorted(values(layout))
    return (
        broken
        or equal("size(result)", size(result), "size(layout)", size(layout))
        or agree(
            size(layout),
            "the result's offset {c} in order",
            lambda i: found[i],
            "the layout's",
            lambda i: wanted[i],
        )
    )


def upcast(layout: Layout, n: int, result: Layout) -> str | None:
    """Judge ``upcast(layout, n)``: units of ``n`` elements.

    Law: as `recast_layout` from 1 bit to ``n``. CuTe: ``upcast`` in ``layout.hpp``.

    >>> upcast(Layout((8, 8), (8, 1)), 2, Layout((8, 4), (4, 1)))
    >>> upcast(Layout((8, 8), (8, 1)), 2, Layout((8, 4), (8, 1)))
    'in leaf 0: the bit of result(1 / 1) is 16, of layout(1) is 8'
    """
    return recast_layout(layout, 1, n, result)


def downcast(layout: Layout, n: int, result: Layout) -> str | None:
    """Judge ``downcast(layout, n)``: units of which ``n`` make one element.

    Law: as `recast_layout` from ``n`` bits to 1. CuTe: ``downcast`` in ``layout.hpp``.

    >>> downcast(Layout((4, 4), (4, 1)), 8, Layout((4, 32), (32, 1)))
    >>> downcast(Layout((4, 4), (4, 1)), 8, Layout((4, 32), (4, 1)))
    'in leaf 0: the bit of result(1 / 1) is 4, of layout(1) is 32'
    """
    return recast_layout(layout, n, 1, result)


def recast_layout(layout: Layout, old_bits: int, new_bits: int, result: Layout) -> str | None:
    """Judge ``recast_layout(layout, old_bits, new_bits)``: the same bits in other units.

    Law, leaf by leaf, since both are sums over leaves: a leaf that steps by one element is a run
    of bits, and the result the least run of whole units that holds it. Any other leaf is cut into
    groups of one length (of one where it stays), and ``result(k)`` is the unit at which group ``k``
    starts and in which its elements start:
    ``result(k) * new_bits == layout(first of k) * old_bits``. CuTe: ``recast_layout`` in
    ``layout.hpp``.

    >>> recast_layout(Layout((8, 8), (8, 1)), 16, 32, Layout((8, 4), (4, 1)))
    >>> recast_layout(Layout((8, 8), (8, 1)), 16, 32, Layout((8, 8), (4, 1)))
    'in leaf 1: the extent of the result is 8, of the run is 4'
    """
    if not congruent(layout.shape, result.shape):
        return f"the result {result} nests unlike the layout {layout}"
    pairs = zip(leaf_modes(layout), leaf_modes(result), strict=True)
    found = (
        in_mode(i, _recast(*leaves, old_bits, new_bits), "leaf") for i, leaves in enumerate(pairs)
    )
    return next(filter(None, found), None)


def _recast(leaf: Layout, found: Layout, old: int, new: int) -> str | None:
    count, units = size(leaf), size(found)
    if abs(leaf(1)) == 1:
        return equal(
            "the extent of the result", units, "of the run", ceil_div(count * old, new)
        ) or agree(units, "result({c})", found, "the run", lambda i: i * leaf(1))
    # Repeats of one element stay apart.
    group = 1 if same(leaf(1), 0) else ceil_div(count, units)
    broken = equal("the extent of the result", units, "of the groups", ceil_div(count, group))

    def start(i: Any) -> Any:
        return found(i // group) * new

    def inside(i: Any) -> Any:
        """Where the group starts, if the element starts in the unit that begins there."""
        first = leaf(i // group * group) * old
        return first if abs(leaf(i) * old - first) < new else leaf(i) * old

    return broken or agree(
        count, f"the bit of result({{c}} / {group})", start, "of layout({c})", inside
    )
