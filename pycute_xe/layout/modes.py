"""The modes of a layout: measured, taken, left out, nested or joined."""

from __future__ import annotations

from functools import cmp_to_key
from numbers import Integral
from typing import Any, cast, overload

from pycute_xe.basis import BasisSum, E, coefficients
from pycute_xe.errors import CongruenceError, RankError, ShapeError, UndecidableError, quoted
from pycute_xe.int_tuple import (
    compact_col_major,
    crd2idx,
    depth as tuple_depth,
    flatten_tuple,
    leaves,
    product,
    rank_of,
    unflatten_tuple,
)
from pycute_xe.layout.core import (
    Layout,
    as_layout,
    completed,
    frozen,
    slice_,
    sliced,
    unchecked,
)
from pycute_xe.signatures import demand_leaf, typed
from pycute_xe.typing import (
    TUPLE,
    Coord,
    IntTuple,
    Shape,
    Stride,
    Symbolic,
    at_most,
    is_tuple,
    naming,
)

__all__ = [
    "coshape",
    "cosize",
    "depth",
    "has_symbols",
    "rank",
    "shape",
    "size",
    "stride",
    "make_identity_layout",
    "make_layout",
    "make_ordered_layout",
    "pair",
]


@typed
def shape(value: Any, *modes: int) -> Shape:
    """Return the shape of a layout (or of a tensor), or of one of its modes.

    >>> shape(Layout((4, (2, 3))), 1)
    (2, 3)
    """
    return part_of(value.shape, modes)


@typed
def stride(value: Any, *modes: int) -> Stride:
    """Return the strides of a layout, or of one of its modes.

    >>> stride(Layout((4, 8), (8, 1)), 0)
    8
    """
    return part_of(value.stride, modes)


def part_of(tree: IntTuple, modes: tuple[int, ...]) -> IntTuple:
    for mode in modes:
        if type(mode) is not int or not is_tuple(tree) or not -len(tree) <= mode < len(tree):
            raise RankError(
                "mode",
                {"of": tree, "mode": mode},
                f"{quoted(tree)} has no mode {quoted(mode)}",
                "use an integer below the rank",
            )
        tree = tree[mode]
    return tree


@typed
def size(value: Any, *modes: int) -> Any:
    """Return the number of coordinates: the product of the extents (of one mode if given).

    >>> size(Layout((4, 8))), size(Layout((4, 8)), 1)
    (32, 8)
    """
    return product(part_of(_tree(value, "size"), modes))


def _tree(value: Any, operation: str) -> IntTuple:
    """Return the shape of what has one, and any other tuple or leaf as it is."""
    if isinstance(value, Integral):  # NumPy's integers have an empty shape
        return int(value)
    tree = value.shape if hasattr(value, "shape") else value
    if not is_tuple(tree):
        demand_leaf(operation, tree)
    return tree


@typed
def rank(value: Any, *modes: int) -> int:
    """Return the number of modes, 1 for a layout whose shape is an integer.

    >>> rank(Layout((4, (2, 3)))), rank(Layout(4))
    (2, 1)
    """
    return rank_of(part_of(_tree(value, "rank"), modes))


@typed
def depth(value: Any) -> int:
    """Return how deep the shape nests.

    >>> depth(Layout((4, (2, 3))))
    2
    """
    return tuple_depth(_tree(value, "depth"))


@naming
@typed
def coshape(layout: Layout) -> IntTuple:
    """Return the extents of the smallest box of offsets that holds the image, counted from zero.

    For integer strides that is `cosize`; for basis strides the extents of the coordinate box.
    C++: ``coshape``.

    >>> coshape(Layout((2, 4), (1, 4))), coshape(Layout.from_str("(2,4):(1@0,1@1)"))
    (14, (2, 4))
    """
    total: Any = 0
    shape = flatten_tuple(as_layout(layout).shape)
    for s, d in zip(shape, flatten_tuple(layout.stride), strict=True):
        for part in d.terms if isinstance(d, BasisSum) else (d,):
            total = total + (s - 1) * (-part if coefficients(part)[0] < 0 else part)
    return _plus_one(completed(layout.stride, total))


def _plus_one(tree: IntTuple) -> IntTuple:
    return tuple(map(_plus_one, tree)) if is_tuple(tree) else tree + 1


@typed
def cosize(layout: Layout, *modes: int) -> Any:
    """Return one more than the largest offset: the elements a buffer must have, or a mode's.

    Strides count by magnitude, as in CuTe. For basis strides the size of the coordinate box.
    C++: ``cosize``.

    >>> cosize(Layout((4, 8), (1, 5)))
    39
    """
    if modes:
        layout = get(layout, *modes)
    reach = _reach(as_layout(layout).shape, layout.stride)
    return product(coshape(layout)) if reach is None else reach + 1


def _reach(shape: Shape, stride: Stride) -> Any:
    """Return the largest offset, ``None`` where a stride is not a number."""
    if type(stride) is int:
        return (shape - 1) * (-stride if stride < 0 else stride)
    if type(stride) is not TUPLE:
        return None
    total: Any = 0
    for s, d in zip(shape, stride):
        reach = (s - 1) * abs(d) if type(d) is int else _reach(s, d)
        if reach is None:
            return None
        total = total + reach
    return total


@typed
def has_symbols(*values: Any) -> bool:
    """Tell whether layouts, tuples or leaves have symbols among their leaves.

    >>> has_symbols(Layout(4), (2, 3))
    False
    """
    trees = ((v.shape, v.stride) if isinstance(v, Layout) else v for v in values)
    every = (leaf for tree in trees for leaf in leaves(tree))
    return any(isinstance(number, Symbolic) for leaf in every for number in coefficients(leaf))


# ------------------------------------------------------------ makers
# Layouts from shapes, orders and other layouts.


@typed
def make_layout(*parts: Any, stride: Stride = None) -> Layout:
    """Build a layout from a shape, a shape and strides, or several layouts as its modes.

    Law: ``make_layout(A, B)[0] == A``. The CuTe DSL's ``make_layout(shape, stride=…)`` and
    ``make_layout([A, B])`` mean the same. Raises as `Layout` does, and `ShapeError` where strides
    are given beside layouts or twice. C++: ``make_layout``.

    >>> print(make_layout((4, 8)), make_layout(Layout(4, 2), Layout(8, 16)))
    (4,8):(1,4) (4,8):(2,16)
    >>> print(make_layout((4, 8), stride=(8, 1)), make_layout([Layout(4, 2), Layout(8, 16)]))
    (4,8):(8,1) (4,8):(2,16)
    """
    listed = len(parts) == 1 and isinstance(parts[0], (list, tuple))
    modes = cast("tuple[Any, ...]", parts[0]) if listed else parts
    if stride is None and modes and all(isinstance(part, Layout) for part in modes):
        return unchecked(tuple(p.shape for p in modes), tuple(p.stride for p in modes))
    parts = parts if stride is None else (*parts, stride)
    if len(parts) in (1, 2) and not any(isinstance(part, Layout) for part in parts):
        return Layout(*parts)
    raise ShapeError(
        "make_layout",
        {"parts": parts},
        "neither a shape (and strides) nor a list of layouts",
        "make_layout(shape), make_layout(shape, stride) or make_layout(layout, layout, …)",
    )


def pair(first: Layout, second: Layout) -> Layout:
    """Return ``make_layout(first, second)``, without asking what the two are.

    >>> print(pair(Layout(4, 2), Layout(8, 16)))
    (4,8):(2,16)
    """
    return unchecked((first.shape, second.shape), (first.stride, second.stride))


def make_identity_layout(shape: Shape) -> Layout:
    """Return the layout that maps each coordinate to itself, with basis strides.

    Law: ``make_identity_layout(s)(c) == c``, of an integer an index. C++: ``make_identity_layout``.

    >>> print(make_identity_layout((4, 8)))
    (4,8):(1@0,1@1)
    """
    checked = Layout(shape)

    def strides(part: Shape, path: tuple[int, ...]) -> Stride:
        if is_tuple(part):
            return tuple(strides(p, (*path, i)) for i, p in enumerate(part))
        return E(*path) if path else 1

    return unchecked(checked.shape, strides(checked.shape, ()))


@naming
@typed
def make_ordered_layout(shape: Shape, order: IntTuple, *, share_ties: bool = False) -> Layout:
    """Return a compact layout whose leaves run in the given order: the least order is fastest.

    Leaves of a mode that has one order run left to right; size-1 leaves get stride 0. Modes of
    equal order run left to right, too: every offset is hit once. With ``share_ties``, the rule of
    C++ and of the CuTe DSL, they share a stride, and offsets repeat. Symbols whose order is
    not known run behind numbers, left to right, as in C++. Raises `CongruenceError` when the order
    nests deeper, `ShapeError` for an order that is not an integer. C++: ``make_ordered_layout``.

    >>> print(make_ordered_layout((4, 8, 2), (2, 0, 1)), make_ordered_layout((4, (2, 3)), (1, 0)))
    (4,8,2):(16,1,8) (4,(2,3)):(6,(1,2))
    >>> print(make_ordered_layout((4, 3, 2), (0, 1, 1)))
    (4,3,2):(1,4,12)
    >>> print(make_ordered_layout((4, 3, 2), (0, 1, 1), share_ties=True))
    (4,3,2):(1,4,4)
    """
    checked = Layout(shape)
    if not all(isinstance(r, (int, Symbolic)) for r in leaves(order)):
        raise ShapeError(
            "make_ordered_layout",
            {"shape": shape, "order": order},
            "an order must be an integer for each leaf",
            "use 0 for the fastest leaf, 1 for the next",
        )
    parts = _ordered_parts(checked.shape, order)
    if parts is None:
        raise CongruenceError(
            "make_ordered_layout",
            {"shape": shape, "order": order},
            "shape and order nest differently",
            "give one order for each leaf, nested alike",
        )
    shapes, ranks = [part for part, _ in parts], tuple(rank for _, rank in parts)
    strides = _ordered_strides(shapes, ranks, share_ties)
    flat = tuple(leaf for part in strides for leaf in leaves(part))
    return unchecked(checked.shape, unflatten_tuple(flat, checked.shape))


def _ordered_parts(shape: Shape, order: IntTuple) -> list[tuple[Shape, Any]] | None:
    """Return each part of a shape that has one order, ``None`` where the order nests deeper."""
    if not is_tuple(order):
        return [(shape, order)]
    if not is_tuple(shape) or len(shape) != len(order):
        return None
    parts = [_ordered_parts(s, o) for s, o in zip(shape, order, strict=True)]
    return None if None in parts else [pair for part in parts if part for pair in part]


def _ordered_strides(shapes: list[Shape], ranks: tuple[Any, ...], share_ties: bool) -> list[Stride]:
    """Return the strides of each part, which begins where the parts of lesser order end."""
    strides: list[Stride] = list(shapes)
    start: Any = 1
    reached: Any = 1
    last: Any = None
    for i in sorted(range(len(shapes)), key=_in_order(ranks)):
        # Orders that are not numbers count as different, as in C++.
        if not share_ties or type(ranks[i]) is not int or ranks[i] != last:
            start, last = reached, ranks[i]
        strides[i] = compact_col_major(shapes[i], start)
        reached *= product(shapes[i])
    return strides


def _in_order(ranks: tuple[Any, ...]) -> Any:
    """Return a key that puts places into the order of their ranks, what is not known last."""
    if all(type(r) is int for r in ranks):
        return ranks.__getitem__

    def earlier(i: int, j: int) -> int:
        one, other = ranks[i], ranks[j]
        try:
            return 0 if one == other else -1 if at_most(one, other) else 1
        except UndecidableError:
            return isinstance(one, Symbolic) - isinstance(other, Symbolic)

    return cmp_to_key(earlier)


# ------------------------------------------------------------ modes

MOST_MODES = 1 << 10
"""That `append` and `prepend` add at a time."""


@overload
def dice(coord: Coord, layout: Layout) -> Layout: ...
@overload
def dice(coord: Coord, layout: tuple[Any, ...]) -> tuple[Any, ...]: ...
def dice(coord: Coord, layout: Any) -> Any:
    """Return the modes where the coordinate holds no ``None``: what `slice_` leaves out.

    Of a tuple as of a layout. Raises `CoordError` when the coordinate does not fit. C++: ``dice``.

    >>> print(dice((None, 2), Layout((4, 8), (8, 1))), dice((None, 2), (4, 8)))
    (8):(1) (8,)
    """
    if type(layout) is TUPLE and not isinstance(coord, Layout):
        tree = frozen(layout, "layout")
        return sliced(coord, tree, False) if is_tuple(coord) else () if coord is None else tree
    whole = as_layout(layout)
    if not is_tuple(coord):
        return Layout((), ()) if coord is None else whole
    return unchecked(sliced(coord, whole.shape, False), sliced(coord, whole.stride, False))


@typed
def slice_and_offset(coord: Coord, layout: Layout) -> tuple[Layout, Any]:
    """Return the slice at a coordinate and the offset at which it starts.

    Law: ``L(c with d for None) == offset + sub(d)``. C++: ``slice_and_offset``.

    >>> slice_and_offset((None, 2), Layout((4, 8), (8, 1)))
    (Layout((4,), (8,)), 2)
    """
    return slice_(coord, layout), crd2idx(_zeroed(coord), layout.shape, layout.stride)


def _zeroed(coord: Coord) -> Coord:
    if is_tuple(coord):
        return tuple(map(_zeroed, coord))
    return 0 if coord is None else coord


def flatten(layout: Layout) -> Layout:
    """Return the same function of a flat shape: every leaf a mode. C++: ``flatten``.

    >>> print(flatten(Layout(((2, 3), 4))))
    (2,3,4):(1,2,6)
    """
    if not is_tuple(as_layout(layout).shape):
        return layout
    return unchecked(flatten_tuple(layout.shape), flatten_tuple(layout.stride))


@typed
def unflatten(layout: Layout, profile: IntTuple) -> Layout:
    """Nest a flat layout as ``profile`` nests. Raises `CongruenceError`. C++: ``unflatten``.

    >>> print(unflatten(Layout((2, 3, 4)), ((0, 0), 0)))
    ((2,3),4):((1,2),6)
    """
    flat = flatten(layout)
    return unchecked(
        unflatten_tuple(flatten_tuple(flat.shape), profile),
        unflatten_tuple(flatten_tuple(flat.stride), profile),
    )


@typed
def group(layout: Layout, begin: int, end: int) -> Layout:
    """Gather modes ``begin`` to ``end - 1`` into one, at least one mode.

    Raises `RankError` where the range is empty or reaches beyond the modes. C++: ``group<B,E>``.

    >>> print(group(Layout((2, 3, 4)), 0, 2))
    ((2,3),4):((1,2),6)
    """
    _check_range("group", layout, begin, end)
    modes = list(layout)
    return make_layout(*modes[:begin], make_layout(*modes[begin:end]), *modes[end:])


def _check_range(operation: str, layout: Layout, begin: Any, end: Any) -> None:
    count = len(as_layout(layout))
    if type(begin) is int and type(end) is int and 0 <= begin < end <= count:
        return
    raise RankError(
        operation,
        {"layout": layout, "begin": repr(begin), "end": repr(end)},
        f"modes {begin} to {end} are not a range of at least one of the {count} modes",
        "use integers with 0 <= begin < end <= rank",
    )


@typed
def get(layout: Layout, *modes: int) -> Layout:
    """Return a mode, or a mode within a mode. C++: ``layout<i,j>``.

    >>> print(get(Layout((2, (3, 4))), 1, 0))
    3:2
    """
    for mode in modes:
        layout = layout[mode]
    return layout


@typed
def select(layout: Layout, *modes: int) -> Layout:
    """Return a layout of the chosen modes, in the order given. C++: ``select<i,j>``.

    >>> print(select(Layout((2, 3, 4)), 2, 0))
    (4,2):(6,1)
    """
    return make_layout(*(as_layout(layout)[mode] for mode in modes))


@typed
def take(layout: Layout, begin: int, end: int) -> Layout:
    """Return modes ``begin`` to ``end - 1``, at least one.

    Raises `RankError` where the range is empty or reaches beyond the modes. C++: ``take<B,E>``.

    >>> print(take(Layout((2, 3, 4)), 1, 3))
    (3,4):(2,6)
    """
    _check_range("take", layout, begin, end)
    return make_layout(*list(layout)[begin:end])


@typed
def replace(layout: Layout, mode: int, by: Layout) -> Layout:
    """Return the layout with one mode replaced. Raises `RankError`. C++: ``replace<i>``.

    >>> print(replace(Layout((2, 3)), 1, Layout(5, 7)))
    (2,5):(1,7)
    """
    modes = list(layout)
    if not -len(modes) <= mode < len(modes):
        raise RankError(
            "replace",
            {"layout": layout, "mode": mode},
            f"the rank is {len(modes)}",
            "use a mode below the rank, or append",
        )
    modes[mode] = by
    return make_layout(*modes)


def _missing(layout: Layout, up_to_rank: int | None) -> int:
    """How many modes it takes to reach a rank."""
    count = 1 if up_to_rank is None else up_to_rank - len(as_layout(layout))
    if count > MOST_MODES:
        given = {"layout": layout, "up_to_rank": up_to_rank}
        raise RankError("append", given, f"more than {MOST_MODES:,} modes", "use a lower rank")
    return count


@typed
def append(layout: Layout, mode: Layout, up_to_rank: int | None = None) -> Layout:
    """Add a mode at the end, as often as it takes to reach ``up_to_rank`` (once if not given).

    C++: ``append``.

    >>> print(append(Layout((2, 3)), Layout(1, 0), 4))
    (2,3,1,1):(1,2,0,0)
    """
    count, mode = _missing(layout, up_to_rank), as_layout(mode)
    return make_layout(*as_layout(layout), *([mode] * count)) if count > 0 else layout


@typed
def prepend(layout: Layout, mode: Layout, up_to_rank: int | None = None) -> Layout:
    """Add a mode at the front, as often as it takes to reach ``up_to_rank``. C++: ``prepend``.

    >>> print(prepend(Layout((2, 3)), Layout(1, 0)))
    (1,2,3):(0,1,2)
    """
    count = _missing(layout, up_to_rank)
    return make_layout(*([mode] * count), *as_layout(layout)) if count > 0 else layout
