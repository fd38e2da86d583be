"""Complements and inverses, what a layout leaves out and how to undo it, and divides by tilers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from pycute_xe.algebra.axes import (
    Path,
    Placed,
    along,
    axes_of,
    by_axis,
    entry_of,
    nested_by,
)
from pycute_xe.algebra.compose import as_tiler, composition, flat_modes, from_modes, joined, merged
from pycute_xe.basis import Basis
from pycute_xe.errors import DivisibilityError, RankError, ShapeError, UndecidableError
from pycute_xe.int_tuple import compact_col_major, flatten_tuple, product
from pycute_xe.layout import Layout, as_layout, cosize, flatten, make_layout, pair
from pycute_xe.layout.core import moves
from pycute_xe.signatures import STUMBLES, blame, typed
from pycute_xe.typing import (
    IntTuple,
    Mode,
    Tiler,
    adopted,
    at_most,
    in_order,
    is_integer,
    is_tuple,
    naming,
    same,
)

__all__ = [
    "complement",
    "gaps",
    "left_inverse",
    "nullspace",
    "right_inverse",
    "uneven",
    "flat_divide",
    "logical_divide",
    "tiled_divide",
    "unpacked",
    "zip_modes",
    "zipped_divide",
]


def _moving(operation: str, layout: Layout) -> list[tuple[Any, ...]]:
    """Return (stride, extent) of the modes that move, the least stride, a positive one, first."""
    out: list[tuple[Any, ...]] = []
    numbers = True
    for s, d in flat_modes(layout):
        if s == 1 or d == 0:
            continue
        numbers = numbers and type(d) is int
        if (type(d) is not int and same(d, 0)) or d < 0:
            raise _not_positive(operation, layout, d)
        out.append((d, s))
    return sorted(out) if numbers else in_order(out)


def _not_positive(operation: str, layout: Layout, d: Any) -> ShapeError:
    return ShapeError(
        operation,
        {"layout": layout},
        f"stride {d} is not a positive integer",
        "compose with a layout of the codomain to get integer offsets first"
        if isinstance(d, Basis)
        else "make the stride positive",
    )


def complement(layout: Layout, cotarget: IntTuple = 1) -> Layout:
    """Return a layout of the offsets that ``layout`` skips, up to ``cotarget``, a size or a shape.

    Law: with ``R = complement(L, n)``: ``cosize(L, R) >= n``, ``R`` is ordered, and
    ``make_layout(L, R)`` is injective where ``L`` is (stride-0 modes aside). Where a stride is not
    a multiple of what the smaller ones span, holes are left over that no layout fills.
    With basis strides mode ``i`` of ``R`` has the coordinates that ``L`` skips along axis ``i``,
    and ``n`` is a shape of coordinates. Raises `DivisibilityError` when ``L`` overlaps itself or
    its modes interleave, as C++ does, and when what is left over puts ``n`` out of reach;
    `ShapeError` where ``n`` is not such a shape. C++: ``complement``, of integer strides.

    >>> print(complement(Layout((2, 2), (1, 6)), 24), complement(Layout((2, 2), (1, 3)), 10))
    (3,2):(2,12) 2:6
    >>> from pycute_xe.basis import E
    >>> print(complement(Layout((2, 3), (2 * E(0), E(1))), (8, 6)))
    ((2,2),2):((1@0,4@0),3@1)
    """
    free, hole = gaps(layout, cotarget)
    if hole is not None and moves(layout.stride):
        raise uneven(layout, cotarget, hole)
    if hole is not None:
        end = cosize(pair(layout, free))
        if end < product(cotarget):
            raise _short(layout, cotarget, hole, end)
    return free


def gaps(layout: Layout, cotarget: IntTuple) -> tuple[Layout, Any]:
    """Return CuTe's complement, and the first offset that it leaves out if it leaves one out.

    Law: both together are injective, since at each stride all that came before lies below it, and
    they hit every offset below the hole. Raises `DivisibilityError` where modes overlap or
    interleave. For the library's own use: only the caller knows whether a hole matters.

    >>> gaps(Layout((2, 2), (1, 3)), 12)
    (Layout(2, 6), 2)
    """
    if moves(as_layout(layout).stride):
        return _gaps_of_axes(layout, cotarget)
    out: list[Mode] = []
    reach: Any = 1
    hole: Any = None
    gone: list[Mode] = []  # modes above a gap that a symbol may leave with one element
    try:
        for d, s in _moving("complement", layout):
            if d % reach:
                if d < reach:
                    raise _interleaved(layout, cotarget, d, reach)
                hole = d // reach * reach if hole is None else hole
            if d != reach:
                out.append((d // reach, reach))
            if type(s) is not int and d != reach:
                gone.append((s, d))
            reach = d * s
        end = cotarget if type(cotarget) is int and cotarget > 0 else _end_of(layout, cotarget)
        for s, d in gone:
            # Rounded up to whole gaps, the end would differ; whole gaps need no rounding.
            if end % d != 0:
                same(s, 1)
        out.append((-(-end // reach), reach))
        return joined(out), hole
    except UndecidableError as error:
        raise error.within("complement", {"layout": layout, "cotarget": cotarget}) from None


def _end_of(layout: Layout, cotarget: IntTuple) -> Any:
    cotarget = cotarget.shape if isinstance(cotarget, Layout) else cotarget
    end = adopted(product(cotarget) if is_tuple(cotarget) else cotarget)
    if not is_integer(end) or not at_most(1, end):
        raise ShapeError(
            "complement",
            {"layout": layout, "cotarget": repr(cotarget)},
            "the cotarget must be a positive integer",
            "use a size, or a shape",
        )
    return end


def _gaps_of_axes(layout: Layout, cotarget: IntTuple) -> tuple[Layout, Any]:
    """Return the complement along each axis, and a hole of the first axis that has one."""
    axes = axes_of("complement", layout)
    cotarget = cotarget.shape if isinstance(cotarget, Layout) else cotarget
    if is_tuple(cotarget):
        _fill_axes(axes, cotarget, ())
    elif cotarget != 1:
        raise ShapeError(
            "complement",
            {"layout": layout, "cotarget": cotarget},
            "the layout maps to coordinates, and the cotarget is not a shape of these",
            "give an extent for each axis, as in (8, 8)",
        )
    parts: dict[tuple[int, ...], Layout] = {}
    hole: Any = None
    for path, placed in axes.items():
        modes = from_modes([(s, d) for s, d, _ in placed])
        end = product(entry_of(cotarget, path))
        free, left_out = gaps(modes, end)
        if left_out is not None and left_out < end:
            hole = Basis(left_out, path)
        parts[path] = along(layout, path, flat_modes(free))
    return nested_by(parts), hole


def _fill_axes(axes: dict[Path, list[Placed]], cotarget: IntTuple, at: Path) -> None:
    """Add the axes of a cotarget along which nothing moves, as deep as others beside them go."""
    if at in axes:
        return
    if is_tuple(cotarget) and (not at or any(path[: len(at)] == at for path in axes)):
        for i, part in enumerate(cotarget):
            _fill_axes(axes, part, (*at, i))
    elif all(path[: len(at)] != at for path in axes):
        axes[at] = []


def _interleaved(layout: Layout, cotarget: IntTuple, d: Any, reach: Any) -> DivisibilityError:
    return DivisibilityError(
        "complement",
        {"layout": layout, "cotarget": cotarget},
        f"stride {d} is not a multiple of {reach}, which the smaller strides span",
        "use a layout whose modes neither overlap nor interleave",
    )


def _short(layout: Layout, cotarget: IntTuple, hole: Any, end: Any) -> DivisibilityError:
    return DivisibilityError(
        "complement",
        {"layout": layout, "cotarget": cotarget},
        f"the strides leave the offset {hole} out, and the copies then end at {end}, "
        f"before {product(cotarget)}",
        "use a layout that leaves even gaps, or another cotarget",
    )


def uneven(layout: Layout, cotarget: IntTuple, hole: Any) -> DivisibilityError:
    """Return the refusal of a layout that leaves a hole where there must be none.

    >>> print(uneven(Layout((2, 2), (1, 3)), 12, 2).condition)
    a stride is not a multiple of what the smaller ones span: the offset 2 stays out of reach
    """
    return DivisibilityError(
        "complement",
        {"layout": layout, "cotarget": cotarget},
        "a stride is not a multiple of what the smaller ones span: "
        f"the offset {hole} stays out of reach",
        "use a layout that leaves even gaps",
    )


def right_inverse(layout: Layout) -> Layout:
    """Return the longest layout ``R`` of whole modes with ``layout(R(i)) == i``.

    Law: ``layout(R(i)) == i`` for ``0 <= i < size(R)``; where ``layout`` is a compact bijection
    ``R`` is its inverse. With basis strides ``R`` takes coordinates, one mode for each axis, and
    ``layout(R(c)) == c`` for those of its shape. Raises `ShapeError` for negative strides and
    for offsets among coordinates. C++: ``right_inverse``, of integer strides.

    >>> print(right_inverse(Layout((4, 8), (8, 1))))
    (8,4):(4,1)
    >>> from pycute_xe.basis import E
    >>> print(right_inverse(Layout((4, 5), (E(1), E(0)))))
    (5,4):(4,1)
    """
    try:
        if moves(as_layout(layout).stride):
            return by_axis("right_inverse", layout, lambda placed: _chained(layout, placed))
        return joined(_chained(layout, _placed(layout)))
    except UndecidableError as error:
        raise error.within("right_inverse", {"layout": layout}) from None


def _chained(layout: Layout, placed: list[Placed]) -> list[Mode]:
    """Return the modes that lead from each offset to the next, as far as they reach."""
    # For each stride its extent, the longest, and the index at which its mode starts.
    starts: dict[Any, Mode] = {}
    for s, d, where in placed:
        if d < 0:
            raise _not_positive("right_inverse", layout, d)
        if d not in starts or s > starts[d][0]:
            starts[d] = (s, where)
    out: list[Mode] = []
    reach: Any = 1
    while reach in starts:
        s, at = starts[reach]
        out.append((s, at))
        reach = reach * s
    return out


def _placed(layout: Layout) -> list[Placed]:
    """Return the merged modes with the index at which each starts."""
    out: list[Placed] = []
    where: Any = 1
    for s, d in merged([(layout.shape, layout.stride)]):
        out.append((s, d, where))
        where = where * s
    return out


def left_inverse(layout: Layout) -> Layout:
    """Return a layout ``R`` with ``R(layout(i)) == i``, for an injective layout.

    Law: ``layout(R(layout(i))) == layout(i)`` for ``0 <= i < size(layout)``; where no stride is 0
    that is ``R(layout(i)) == i``, and otherwise ``R(layout(i))`` is the first index of the offset.
    With basis strides ``R`` takes coordinates, one mode for each axis. Raises `DivisibilityError`
    when two strides share an offset or the gaps are too uneven; C++, where a stride is not a
    multiple of the one before it. C++: ``left_inverse``, of integer strides.

    >>> left = left_inverse(Layout((4, 8), (16, 2)))
    >>> [left(Layout((4, 8), (16, 2))(i)) for i in (0, 5, 31)]
    [0, 5, 31]
    >>> from pycute_xe.basis import E
    >>> print(left_inverse(Layout((4, 5), (2 * E(1), E(0)))), left_inverse(Layout((2, 4), (0, 3))))
    (5,(2,4)):(4,(0,1)) (3,4):(0,2)
    """
    try:
        if moves(as_layout(layout).stride):
            return by_axis("left_inverse", layout, lambda placed: _counted(layout, placed))
        return joined(_counted(layout, _placed(layout)))
    except UndecidableError as error:
        raise error.within("left_inverse", {"layout": layout}) from None


def _counted(layout: Layout, placed: list[Placed]) -> list[Mode]:
    """Return the modes that count the coordinates of placed modes, those of stride 0 left out."""
    moving: list[tuple[Any, ...]] = []
    for s, d, where in placed:
        if d == 0 or (type(d) is not int and same(d, 0)):
            continue
        if d < 0:
            raise _not_positive("left_inverse", layout, d)
        moving.append((d, s, where))
    return _counting(layout, in_order(moving))


def _counting(layout: Layout, placed: list[tuple[Any, ...]]) -> list[Mode]:
    """Return the modes that count, at each offset, the coordinates of the strides below it."""
    # Up to the first stride nothing is hit; from each stride on, its coordinate counts up until
    # the next stride takes over. An uneven stride counts as the multiple below it: then offsets
    # drift off the counts, and may do so by less than the first stride, below which nothing counts.
    out: list[Mode] = [(placed[0][0], 0)] if placed else []
    step: Any = placed[0][0] if placed else 1
    drift: Any = 0
    for (_, s, at), (following, more, _) in pairwise(placed):
        uneven = following % step
        if uneven:
            drift += (more - 1) * uneven
        if (uneven and drift >= placed[0][0]) or not at_most(step * s, following):
            raise DivisibilityError(
                "left_inverse",
                {"layout": layout},
                f"stride {following} is not a multiple of {step} beyond its {s} steps",
                "use an injective layout with even gaps",
            )
        out.append((following // step, at))
        step = step * (following // step)
    return out + [(s, at) for _, s, at in placed[-1:]]


@typed
@naming
def nullspace(layout: Layout) -> Layout:
    """Return a layout of the coordinates that ``layout`` maps to offset 0.

    Law: ``layout(nullspace(layout)(i)) == 0`` for every ``i``. C++: ``nullspace``.

    >>> print(nullspace(Layout((2, 3, 4), (1, 0, 2))))
    3:2
    """
    flat = flatten(layout)
    where = flatten_tuple(compact_col_major(flat.shape))
    return from_modes(
        (s, at) for (s, d), at in zip(flat_modes(flat), where, strict=True) if same(d, 0)
    )


def logical_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Split a layout into (tile, rest), or each of its modes by a tuple of tilers.

    Law: mode 0 is ``composition(layout, tiler)`` and mode 1 walks the tiles. For a tuple, each
    mode ``i`` becomes ``(tile_i, rest_i)``; ``None`` keeps it; further modes stay. The number of
    tiles is rounded up: the last one may run past the end of the layout's last mode.
    Raises `DivisibilityError` where no tile holds some index, or a tile or the walk over the tiles
    steps unevenly through another mode, `RankError` for more tilers than modes. C++:
    ``logical_divide``, which rounds up in every mode.

    >>> print(logical_divide(Layout((4, 2, 3), (2, 1, 8)), Layout(4, 2)))
    ((2,2),(2,3)):((4,1),(2,8))
    >>> print(logical_divide(Layout(10), 4))
    (4,3):(1,4)
    """
    if tiler is None:
        return layout
    try:
        if is_tuple(tiler):
            _check_rank("logical_divide", layout, tiler)
            parts = [logical_divide(layout[i], t) for i, t in enumerate(tiler)]
            return make_layout(*parts, *list(layout)[len(tiler) :])
        return _divided(layout, as_tiler(tiler))
    except STUMBLES as error:
        blame(logical_divide, (layout, tiler), error)
        raise


def _divided(layout: Layout, tile: Layout) -> Layout:
    if moves(tile.stride):
        # The tile moves among the modes of the layout, each of which is an axis.
        axes = as_layout(layout).shape
        rest, hole = gaps(tile, axes if is_tuple(axes) else (axes,))
        if hole is not None:
            raise uneven(tile, axes, hole)
        return composition(layout, pair(tile, rest))
    extent = product(as_layout(layout).shape)
    rest, hole = gaps(tile, extent)
    if hole is not None and hole < extent:
        raise uneven(tile, extent, hole)
    return composition(layout, pair(tile, rest))


def _check_rank(operation: str, layout: Layout, tiler: tuple[Any, ...]) -> None:
    if len(tiler) > len(as_layout(layout)):
        raise RankError(
            operation,
            {"layout": layout, "tiler": tiler},
            f"the tiler has {len(tiler)} modes, the layout {len(layout)}",
            "give at most one entry for each mode",
        )


def zip_modes(layout: Layout, tiler: Tiler) -> tuple[list[Layout], list[Layout]]:
    """Return the tile modes and the rest modes of a divided or multiplied layout.

    The tiler says where to part: each of its leaves stands at a mode ``(tile, rest)``.

    >>> [len(part) for part in zip_modes(Layout(((2, 4), (3, 5))), (2, 3))]
    [2, 2]
    """
    if not is_tuple(tiler):
        return [layout[0]], [layout[1]]
    tiles: list[Layout] = []
    rests: list[Layout] = []
    for i, part in enumerate(tiler):
        if part is None:
            # ``_`` takes the whole mode into the tile.
            tiles.append(layout[i])
            rests.append(Layout(1, 0))
        elif is_tuple(part):
            inner_tiles, inner_rests = zip_modes(layout[i], part)
            tiles.append(make_layout(*inner_tiles))
            rests.append(make_layout(*inner_rests))
        else:
            tiles.append(layout[i][0])
            rests.append(layout[i][1])
    return tiles, rests + list(layout)[len(tiler) :]


def unpacked(layout: Layout) -> list[Layout]:
    """Return the modes of a layout; one of rank 1 stays whole, nesting and all, as in C++.

    >>> [str(part) for part in unpacked(Layout((4,)))]
    ['(4):(1)']
    """
    return [layout] if len(layout) == 1 else list(layout)


@typed
def zipped_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Split by mode, then gather: ``((tile_0, tile_1, …), (rest_0, rest_1, …))``.

    ``None`` takes a mode, or the whole layout, into the tile and leaves a rest of ``1:0``.
    C++: ``zipped_divide``.

    >>> print(zipped_divide(Layout((8, 16)), (4, 8)))
    ((4,8),(2,2)):((1,8),(4,64))
    """
    if tiler is None:
        return make_layout(layout, Layout(1, 0))
    if not is_tuple(tiler):
        return logical_divide(layout, tiler)
    tiles, rests = zip_modes(logical_divide(layout, tiler), tiler)
    return make_layout(make_layout(*tiles), make_layout(*rests))


@typed
def tiled_divide(layout: Layout, tiler: Tiler) -> Layout:
    """As `zipped_divide`, with the rest modes unpacked: ``((tile_0, …), rest_0, rest_1, …)``.

    C++: ``tiled_divide``.

    >>> print(tiled_divide(Layout((8, 16)), (4, 8)))
    ((4,8),2,2):((1,8),4,64)
    """
    tile, rest = zipped_divide(layout, tiler)
    return make_layout(tile, *unpacked(rest))


@typed
def flat_divide(layout: Layout, tiler: Tiler) -> Layout:
    """As `zipped_divide`, with all modes unpacked: ``(tile_0, …, rest_0, …)``.

    C++: ``flat_divide``.

    >>> print(flat_divide(Layout((8, 16)), (4, 8)))
    (4,8,2,2):(1,8,4,64)
    """
    tile, rest = zipped_divide(layout, tiler)
    return make_layout(*unpacked(tile), *unpacked(rest))
