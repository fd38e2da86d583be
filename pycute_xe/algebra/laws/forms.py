"""Floor 3: the laws of layouts in another order, packing or unit."""

from __future__ import annotations

from itertools import pairwise
from math import gcd
from typing import Any

from pycute_xe.algebra.laws.points import (
    agree,
    at,
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
from pycute_xe.layout import Layout, flatten, size
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
    'result(groups of part (1,0)) is 8, the unit of the part is 4'
    """
    return recast_layout(layout, 1, n, result)


def downcast(layout: Layout, n: int, result: Layout) -> str | None:
    """Judge ``downcast(layout, n)``: units of which ``n`` make one element.

    Law: as `recast_layout` from ``n`` bits to 1. CuTe: ``downcast`` in ``layout.hpp``.

    >>> downcast(Layout((4, 4), (4, 1)), 8, Layout((4, 32), (32, 1)))
    >>> downcast(Layout((4, 4), (4, 1)), 8, Layout((4, 32), (4, 1)))
    'result(groups of part (1,0)) is 4, the unit of the part is 32'
    """
    return recast_layout(layout, n, 1, result)


def recast_layout(layout: Layout, old_bits: int, new_bits: int, result: Layout) -> str | None:
    """Judge ``recast_layout(layout, old_bits, new_bits)``: the same bits in other units.

    Law: cut elements and units into parts of their common width. The parts of an element follow
    each other, and a leaf that steps by one element counts them first. Each leaf is then cut into
    groups of the parts that one unit holds, and ``result`` of the groups of a part is the unit that
    holds the part, for every part of every element. CuTe: ``recast_layout`` in ``layout.hpp``.

    >>> recast_layout(Layout((8, 8), (8, 1)), 16, 32, Layout((8, 4), (4, 1)))
    >>> recast_layout(Layout((8, 8), (8, 1)), 16, 32, Layout((8, 8), (4, 1)))
    'in leaf 1: the extent of the result is 8, of the groups is 4'
    """
    if not congruent(layout.shape, result.shape):
        return f"the result {result} nests unlike the layout {layout}"
    parts, unit = old_bits // gcd(old_bits, new_bits), new_bits // gcd(old_bits, new_bits)
    counting: list[int] = [0]
    if parts > 1:
        counting = [i for i, leaf in enumerate(leaf_modes(layout)) if same(leaf(1), 1)]
    found = [_recast(layout, parts, unit, leaf, result) for leaf in counting]
    if not found:
        return f"no leaf of {layout} counts the parts of an element"
    return None if None in found else found[0]


def _recast(layout: Layout, parts: int, unit: int, counting: int, result: Layout) -> str | None:
    """Judge a result in which one leaf counts the parts of an element."""
    whole, found = flatten(layout), flatten(result)
    extents = [
        size(leaf) * (parts if i == counting else 1) for i, leaf in enumerate(leaf_modes(layout))
    ]

    def place(entries: Any) -> Any:
        element = list(entries)
        element[counting], part = entries[counting] // parts, entries[counting] % parts
        return at(whole, tuple(element)) * parts + part

    groups: list[Any] = []
    for i in range(len(extents)):
        step = abs(place([int(i == k) for k in range(len(extents))]))
        groups.append(1 if same(step, 0) or step >= unit else ceil_div(unit, step))
    broken = None
    for i, leaf in enumerate(leaf_modes(result)):
        wanted = ceil_div(extents[i], groups[i])
        broken = broken or in_mode(
            i, equal("the extent of the result", size(leaf), "of the groups", wanted), "leaf"
        )
    return broken or agree(
        tuple(extents),
        "result(groups of part ({c}))",
        lambda c: at(found, tuple(e // g for e, g in zip(c, groups, strict=True))),
        "the unit of the part",
        lambda c: place(c) // unit,
    )
