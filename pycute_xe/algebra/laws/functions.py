"""The laws of what keeps, restricts, reads or adds up the values of layouts."""

from __future__ import annotations

from itertools import pairwise
from math import gcd
from typing import Any

from pycute_xe.algebra.compose import as_tiler
from pycute_xe.algebra.laws import points as law
from pycute_xe.int_tuple import (
    ceil_div,
    congruent,
    crd2idx,
    flatten_tuple,
    idx2crd,
    product,
    unflatten_tuple,
)
from pycute_xe.layout import Layout, flatten, size
from pycute_xe.typing import IntTuple, Shape, Tiler, is_tuple

__all__ = [
    "coalesce",
    "composition",
    "filter",
    "filter_zeros",
    "image",
    "layout_add",
    "make_identity_layout",
    "with_shape",
    "downcast",
    "make_layout_image_mask",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "recast_layout",
    "sort",
    "upcast",
]

# ------------------------------------------------------------ forms
# The laws of layouts in another order, packing or unit.


def make_ordered_layout(
    shape: Shape, order: IntTuple, result: Layout, share_ties: bool = False
) -> str | None:
    """Judge ``make_ordered_layout(shape, order)``: compact, the leaf of least order fastest.

    Law: ``result(c)`` counts the coordinates before ``c`` when the leaf of least order moves
    fastest, equal ones left to right. Where ties share a stride it is the sum of these counts with
    one leaf of each order left at a time. CuTe: ``make_ordered_layout`` in ``layout.hpp``.

    >>> make_ordered_layout((4, 8), (1, 0), Layout((4, 8), (8, 1)))
    >>> make_ordered_layout((4, 8), (1, 0), Layout((4, 8), (1, 4)))
    'result(1,0) is 1, the count before it is 8'
    """
    extents, ranks = flatten_tuple(shape), flatten_tuple(order)
    return _packed(shape, extents, ranks, result, share_ties)


def make_layout_like(layout: Layout, result: Layout, share_ties: bool = False) -> str | None:
    """Judge ``make_layout_like(layout)``: compact, in the same order, of the same shape.

    Law: ``result(c)`` counts the coordinates before ``c`` when the leaf of least stride moves
    fastest, equal ones left to right or, where ties share a stride, each by itself; leaves along
    which the offset stays do not count. CuTe: ``make_layout_like`` in ``layout.hpp``.

    >>> make_layout_like(Layout((2, 3, 4), (0, 42, 2)), Layout((2, 3, 4), (0, 4, 1)))
    >>> make_layout_like(Layout((2, 3, 4), (0, 42, 2)), Layout((2, 3, 4), (0, 1, 3)))
    'result(0,1,0) is 1, the count before it is 4'
    """
    steps = tuple(leaf(1) for leaf in law.leaf_modes(layout))
    return _packed(layout.shape, law.moving_shape(layout), steps, result, share_ties)


def _packed(
    shape: Shape,
    extents: tuple[Any, ...],
    ranks: tuple[Any, ...],
    result: Layout,
    share_ties: bool,
) -> str | None:
    def before(c: Any) -> Any:
        entries = zip(flatten_tuple(c), extents, strict=True)
        moving = tuple(0 if extent == 1 else entry for entry, extent in entries)
        if not share_ties:
            return law.position(moving, extents, ranks)
        # Leaf by leaf, with the others of its order taken away.
        return sum(
            law.position(
                tuple(entry if j == i else 0 for j, entry in enumerate(moving)),
                tuple(n if j == i or ranks[j] != ranks[i] else 1 for j, n in enumerate(extents)),
                ranks,
            )
            for i in range(len(moving))
        )

    return law.equal("the shape of the result", result.shape, "the shape", shape) or law.agree(
        shape, "result({c})", result, "the count before it", before
    )


def make_layout_tv(
    thr_layout: Layout, val_layout: Layout, result: tuple[Shape, Layout]
) -> str | None:
    """Judge ``make_layout_tv(thr_layout, val_layout)``: the tile, and where each value of it is.

    Law: the place of (thread, value) in the tile is in the block to which ``thr_layout`` gives the
    thread, and at the place in the block to which ``val_layout`` gives the value. CuTe DSL:
    ``make_layout_tv``.

    >>> make_layout_tv(Layout(2), Layout(3), ((6,), Layout((2, 3), (3, 1))))
    >>> make_layout_tv(Layout(2), Layout(3), ((6,), Layout((2, 3), (1, 2))))
    '(thread, value) (0,1) is at (2,), which is (0,2)'
    """
    tiler, tv = result
    extents = [size(mode) for mode in val_layout] + [1] * (len(tiler) - len(val_layout))
    for thread in range(size(thr_layout)):
        for value in range(size(val_layout)):
            place = idx2crd(tv(thread, value), tiler)
            digits = [divmod(c, n) for c, n in zip(place, extents, strict=True)]
            block = _at(thr_layout, [outer for outer, _ in digits])
            inner = _at(val_layout, [rest for _, rest in digits])
            if (block, inner) != (thread, value):
                return (
                    f"(thread, value) ({thread},{value}) is at {place}, which is ({block},{inner})"
                )
    return None


def _at(layout: Layout, places: list[Any]) -> Any:
    return layout(tuple(places[: len(layout)]) if is_tuple(layout.shape) else places[0])


def make_layout_image_mask(layout: Layout, coord: Any, mode: int, result: int) -> str | None:
    """Judge ``make_layout_image_mask(layout, coord, mode)``: the offsets along a mode as bits.

    Law: bit ``o`` is set exactly where some index in place of entry ``mode`` gives the offset
    ``o``. CuTe DSL: ``make_layout_image_mask``.

    >>> make_layout_image_mask(Layout((2, 4), (1, 2)), (1, 0), 0, 0b11)
    >>> make_layout_image_mask(Layout((2, 4), (1, 2)), (1, 0), 0, 0b1)
    'bit 1 is 0, and the offset 1 is reached'
    """
    ends = range(size(layout[mode]))
    reached = {layout((*coord[:mode], i, *coord[mode + 1 :])) for i in ends}
    for bit in range(max(16, int(result).bit_length())):
        if result >> bit & 1 != (bit in reached):
            verb = "is" if bit in reached else "is not"
            return f"bit {bit} is {result >> bit & 1}, and the offset {bit} {verb} reached"
    return None


def sort(layout: Layout, result: Layout) -> str | None:
    """Judge ``sort(layout)``: the leaves by the size of their steps.

    Law: the same offsets, each as often; flat; no leaf steps less far than the one before. CuTe:
    the order in which ``complement`` of ``layout.hpp`` takes the modes.

    >>> sort(Layout((4, 2), (2, 1)), Layout((2, 4), (1, 2)))
    >>> sort(Layout((4, 2), (2, 1)), Layout((4, 2), (2, 1)))
    'leaf 0 of the result steps by 2, leaf 1 by 1'
    """
    broken = law.flat(result)
    for i, (leaf, following) in enumerate(pairwise(law.leaf_modes(result))):
        if abs(leaf(1)) > abs(following(1)):
            broken = broken or (
                f"leaf {i} of the result steps by {leaf(1)}, leaf {i + 1} by {following(1)}"
            )
    offsets, wanted = sorted(law.values(result)), sorted(law.values(layout))
    return (
        broken
        or law.equal("size(result)", size(result), "size(layout)", size(layout))
        or law.agree(
            size(layout),
            "the result's offset {c} in order",
            lambda i: offsets[i],
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
        counting = [i for i, leaf in enumerate(law.leaf_modes(layout)) if law.same(leaf(1), 1)]
    faults = [_recast(layout, parts, unit, leaf, result) for leaf in counting]
    if not faults:
        return f"no leaf of {layout} counts the parts of an element"
    return None if None in faults else faults[0]


def _recast(layout: Layout, parts: int, unit: int, counting: int, result: Layout) -> str | None:
    """Judge a result in which one leaf counts the parts of an element."""
    whole, recast = flatten(layout), flatten(result)
    extents = [
        size(leaf) * (parts if i == counting else 1)
        for i, leaf in enumerate(law.leaf_modes(layout))
    ]

    def place(entries: Any) -> Any:
        element = list(entries)
        element[counting], part = entries[counting] // parts, entries[counting] % parts
        return law.at(whole, tuple(element)) * parts + part

    groups: list[Any] = []
    for i in range(len(extents)):
        step = abs(place([int(i == k) for k in range(len(extents))]))
        groups.append(1 if law.same(step, 0) or step >= unit else ceil_div(unit, step))
    broken = None
    for i, leaf in enumerate(law.leaf_modes(result)):
        wanted = ceil_div(extents[i], groups[i])
        broken = broken or law.in_mode(
            i, law.equal("the extent of the result", size(leaf), "of the groups", wanted), "leaf"
        )
    return broken or law.agree(
        tuple(extents),
        "result(groups of part ({c}))",
        lambda c: law.at(recast, tuple(e // g for e, g in zip(c, groups, strict=True))),
        "the unit of the part",
        lambda c: place(c) // unit,
    )


# ------------------------------------------------------------ functions


def coalesce(layout: law.Function, result: law.Function, profile: IntTuple = None) -> str | None:
    """Judge ``coalesce(layout, profile)``: the same function of the index, flat.

    Law: ``result(i) == layout(i)`` for ``0 <= i < size(layout) == size(result)``, depth at most 1;
    with a profile so in each mode it names. CuTe: ``coalesce`` in ``layout.hpp``; section
    *Coalesce* of its ``02_layout_algebra.md``.

    >>> coalesce(Layout((2, (1, 6)), (1, (6, 2))), Layout(12))
    >>> coalesce(Layout((2, (1, 6)), (1, (6, 2))), Layout(12, 2))
    'result(1) is 2, layout(1) is 1'
    """
    if is_tuple(profile) and isinstance(layout, Layout) and isinstance(result, Layout):
        return law.by_mode(lambda a, part, r: coalesce(a, r, part), layout, profile, result)
    return law.flat(result) or _same_of_index(layout, result)


def _same_of_index(layout: law.Function, result: law.Function) -> str | None:
    return law.equal("size(result)", size(result), "size(layout)", size(layout)) or law.agree(
        # Plus the zeros of modes that only extents of 1 named.
        size(layout),
        "result({c})",
        result,
        "layout({c})",
        layout,
    )


def filter_zeros(layout: Layout, result: Layout) -> str | None:
    """Judge ``filter_zeros(layout)``: one coordinate for those that a stride of 0 repeats.

    Law: the shape is the layout's with 1 at each leaf along which the offset stays;
    ``layout(c) == result(c with 0 at those leaves)``. CuTe: ``filter_zeros`` in ``layout.hpp``.

    >>> filter_zeros(Layout((4, 2), (0, 1)), Layout((1, 2), (0, 1)))
    >>> filter_zeros(Layout((4, 2), (0, 1)), Layout((1, 2), (0, 3)))
    'result(c without repeats) at (0,1) is 3, layout(0,1) is 1'
    """
    extents = law.moving_shape(layout)
    shape = unflatten_tuple(extents, layout.shape)

    def once(c: Any) -> Any:
        entries = zip(flatten_tuple(c), extents, strict=True)
        folded = tuple(0 if extent == 1 else entry for entry, extent in entries)
        return result(unflatten_tuple(folded, shape))

    return law.equal(
        "the shape of the result", result.shape, "without repeats", shape
    ) or law.agree(layout.shape, "result(c without repeats) at ({c})", once, "layout({c})", layout)


def filter(layout: Layout, result: Layout) -> str | None:
    """Judge ``filter(layout)``: the values without what a stride of 0 repeats, flat.

    Law: ``result(i)`` is the layout at the ``i``-th of the coordinates with 0 at each leaf along
    which the offset stays; no leaf of the result stays. CuTe: ``filter`` in ``layout.hpp``.

    >>> filter(Layout((4, 2, 8), (0, 1, 2)), Layout(16))
    >>> filter(Layout((4, 2, 8), (0, 1, 2)), Layout(16, 2))
    'result(1) is 2, layout(coordinate 1 without repeats) is 1'
    """
    extents = law.moving_shape(layout)

    def once(index: Any) -> Any:
        return layout(unflatten_tuple(flatten_tuple(idx2crd(index, extents)), layout.shape))

    broken = law.flat(result) or law.equal(
        "size(result)", size(result), "without repeats", product(extents)
    )
    if size(result) > 1 and any(law.same(leaf(1), 0) for leaf in law.leaf_modes(result)):
        return f"a leaf of the result {result} stays at one offset"
    return broken or law.agree(
        size(result), "result({c})", result, "layout(coordinate {c} without repeats)", once
    )


def composition(a: law.Function, b: Tiler, result: law.Function) -> str | None:
    """Judge ``composition(a, b)``: ``a`` read through ``b``.

    Law: ``result(c) == a(b(c))`` for each coordinate of ``b``, which indexes the result. A tuple
    so mode by mode, and has only the modes that it names; an integer ``n`` stands for the first
    ``n`` indices, ``None`` for the mode itself. CuTe: ``composition`` in ``layout.hpp``;
    section *Composition* of its ``02_layout_algebra.md``.

    >>> composition(Layout((6, 2), (8, 2)), Layout(4, 3), Layout((2, 2), (24, 2)))
    >>> composition(Layout((6, 2), (8, 2)), Layout(4, 3), Layout((2, 2), (24, 8)))
    'result(2) is 8, a(b(2)) is 2'
    """
    if b is None:
        return law.kept(a, result)
    if is_tuple(b) and isinstance(a, Layout) and isinstance(result, Layout):
        return law.named_modes(composition, a, b, result)
    inner = as_tiler(b)
    return law.nests(inner.shape, result) or law.agree(
        inner.shape, "result({c})", result, "a(b({c}))", lambda c: law.at(a, inner(c))
    )


def with_shape(layout: law.Function, shape: Shape, result: law.Function) -> str | None:
    """Judge ``with_shape(layout, shape)``: the layout seen through another shape.

    Law: ``result(c) == layout(i)``, where ``c`` is the ``i``-th coordinate of the shape. CuTe:
    ``Layout::with_shape`` in ``layout.hpp``.

    >>> with_shape(Layout((4, 8), (8, 1)), (2, 16), Layout((2, (2, 8)), (8, (16, 1))))
    >>> with_shape(Layout((4, 8), (8, 1)), (2, 16), Layout((2, 16), (8, 16)))
    'result(0,2) is 32, layout(index of (0,2)) is 1'
    """
    return law.nests(shape, result) or law.agree(
        shape,
        "result({c})",
        result,
        "layout(index of ({c}))",
        lambda c: layout(crd2idx(c, shape)),
    )


def layout_add(a: Layout, b: Layout, result: Layout) -> str | None:
    """Judge ``layout_add(a, b)``: the sums of offsets.

    Law: ``result(i) == a(i) + b(i)`` for ``0 <= i < size(a) == size(result)``, flat. NVIDIA's
    PyCuTe defines it.

    >>> layout_add(Layout((4, 3), (1, 4)), Layout((4, 3), (3, 1)), Layout((4, 3), (4, 5)))
    >>> layout_add(Layout((4, 3), (1, 4)), Layout((4, 3), (3, 1)), Layout((4, 3), (4, 4)))
    'result(4) is 4, a(4) + b(4) is 5'
    """
    return (
        law.flat(result)
        or law.equal("size(result)", size(result), "size(a)", size(a))
        or law.agree(size(a), "result({c})", result, "a({c}) + b({c})", lambda c: a(c) + b(c))
    )


def make_identity_layout(shape: Shape, result: Layout) -> str | None:
    """Judge ``make_identity_layout(shape)``: each coordinate maps to itself.

    Law: ``result(c) == c`` for each coordinate of the shape. CuTe: ``make_identity_layout`` in
    ``layout.hpp``.

    >>> from pycute_xe.basis import E
    >>> make_identity_layout((4, 8), Layout((4, 8), (E(0), E(1))))
    >>> make_identity_layout((4, 8), Layout((4, 8), (E(1), E(0))))
    'result(1,0) is (0,1), the coordinate is (1,0)'
    """
    return law.equal("the shape of the result", result.shape, "the shape", shape) or law.agree(
        shape, "result({c})", result, "the coordinate", lambda c: c
    )


def image(layout: Layout, result: Layout) -> str | None:
    """Judge ``image(layout)``: each offset once, in increasing order.

    Law: the values of the result are the sorted set of the layout's; flat. CuTe: what remains of
    ``filter`` when its modes are sorted.

    >>> image(Layout((2, 4), (8, 1)), Layout((4, 2), (1, 8)))
    >>> image(Layout((2, 4), (8, 1)), Layout((2, 4), (8, 1)))
    'result(1) is 8, offset 1 in order is 1'
    """
    offsets = sorted(set(law.values(layout)))
    return (
        law.flat(result)
        or law.equal("size(result)", size(result), "the number of offsets", len(offsets))
        or law.agree(
            size(result), "result({c})", result, "offset {c} in order", lambda i: offsets[i]
        )
    )
