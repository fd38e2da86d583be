"""Products, a layout repeated as another says."""

from __future__ import annotations

from typing import Any

from pycute_xe.algebra.compose import as_tiler, composition
from pycute_xe.algebra.inverse import gaps, uneven, unpacked, zip_modes
from pycute_xe.errors import DivisibilityError, RankError, ShapeError, UndecidableError, quoted
from pycute_xe.int_tuple import (
    ceil_div,
    flatten_tuple,
    leaves,
    product,
    product_each,
    round_up,
    unflatten_tuple,
)
from pycute_xe.layout import (
    Layout,
    append,
    as_layout,
    coshape,
    cosize,
    make_layout,
    make_ordered_layout,
    pair,
)
from pycute_xe.layout.core import moves
from pycute_xe.signatures import STUMBLES, blame, typed
from pycute_xe.typing import IntTuple, Shape, Tiler, adopted, at_most, is_integer, is_tuple

__all__ = [
    "blocked_product",
    "flat_product",
    "logical_product",
    "raked_product",
    "tile_to_shape",
    "tiled_product",
    "zipped_product",
]


def logical_product(block: Layout, tiler: Tiler) -> Layout:
    """Repeat a layout: ``(block, copies)``, the copies where ``tiler`` puts them.

    Law: mode 0 is ``block``; mode 1 is ``composition(complement(block, …), tiler)``, so that no
    two copies overlap. For a tuple, mode by mode. C++: ``logical_product``.

    >>> print(logical_product(Layout((2, 2), (4, 1)), Layout(6, 1)))
    ((2,2),(2,3)):((4,1),(2,8))
    """
    if tiler is None:
        return block
    try:
        if is_tuple(tiler):
            parts = [logical_product(block[i], t) for i, t in enumerate(tiler)]
            return make_layout(*parts, *list(block)[len(tiler) :])
        return _repeated(as_layout(block), as_tiler(tiler))
    except STUMBLES as error:
        blame(logical_product, (block, tiler), error)
        raise


def _repeated(block: Layout, copies: Layout) -> Layout:
    if moves(block.stride) or moves(copies.stride):
        return pair(block, composition(_places(block, copies), copies))
    end = cosize(copies)
    most = product(block.shape) * end
    free, hole = gaps(block, most)
    if hole is None or product(free.shape) >= end:
        return pair(block, composition(free, copies))
    # What holes take up, copies may have behind all that came before.
    free, _ = gaps(block, 2 * cosize(block) * end)
    try:
        return pair(block, composition(free, copies))
    except DivisibilityError:
        raise uneven(block, most, hole) from None


def _places(block: Layout, copies: Layout) -> Layout:
    """Return the places of copies where coordinates are: between those of the block, then onwards.

    Copies that are counted go on along the last axis, those of coordinates along their own ones.
    """
    ends = coshape(copies)
    most: Any = 2 * product(block.shape) * product(ends)
    room: Any = cosize(block) * most
    if moves(block.stride):
        room = _room(coshape(block), ends if moves(copies.stride) else 1, most)
    free, hole = gaps(block, room)
    if hole is not None:
        raise uneven(block, room, hole)
    if not _within(ends, free.shape):
        raise DivisibilityError(
            "logical_product",
            {"block": block, "tiler": copies},
            f"copies reach {ends}, and their places are {free}",
            "use copies that stay within each mode of the places",
        )
    return free


def _room(ends: Any, others: Any, most: Any) -> Any:
    """Return a shape of coordinates that holds the block and goes on, along its last axis at least.

    Where ``others`` has modes the copies go on along each of these.
    """
    if not is_tuple(ends) and not is_tuple(others):
        return ends * most
    whole, named = (part if is_tuple(part) else () for part in (ends, others))
    count = max(len(whole), len(named))
    onward = [is_tuple(others) or i == count - 1 for i in range(count)]
    return tuple(
        _room(whole[i] if i < len(whole) else 1, named[i] if i < len(named) else 1, most)
        if onward[i]
        else unflatten_tuple((1,) * len(flatten_tuple(whole[i])), whole[i])
        for i in range(count)
    )


def _within(ends: Any, shape: Any) -> bool:
    """Tell whether coordinates up to these ends are among those of a shape."""
    if not is_tuple(ends):
        return at_most(ends, product(shape))
    modes = shape if is_tuple(shape) else (shape,)
    return len(ends) <= len(modes) and all(map(_within, ends, modes))


@typed
def zipped_product(block: Layout, tiler: Tiler) -> Layout:
    """As `logical_product`, gathered as ``((block_0, …), (copies_0, …))``. C++ same name.

    >>> print(zipped_product(Layout((2, 2), (4, 1)), Layout(6, 1)))
    ((2,2),(2,3)):((4,1),(2,8))
    """
    if tiler is None:
        return make_layout(block, Layout(1, 0))
    if not is_tuple(tiler):
        return logical_product(block, tiler)
    blocks, copies = zip_modes(logical_product(block, tiler), tiler)
    return make_layout(make_layout(*blocks), make_layout(*copies))


@typed
def tiled_product(block: Layout, tiler: Tiler) -> Layout:
    """As `zipped_product`, with the copies unpacked: ``(block, copies_0, …)``. C++ same name.

    >>> print(tiled_product(Layout(16), Layout((8, 4, 1), (4, 1, 0))))
    (16,8,4,1):(1,64,16,0)
    """
    first, second = zipped_product(block, tiler)
    return make_layout(first, *unpacked(second))


@typed
def flat_product(block: Layout, tiler: Tiler) -> Layout:
    """As `zipped_product`, with all modes unpacked. C++ same name.

    >>> print(flat_product(Layout((2, 2), (4, 1)), Layout(6, 1)))
    (2,2,2,3):(4,1,2,8)
    """
    first, second = zipped_product(block, tiler)
    return make_layout(*unpacked(first), *unpacked(second))


def _ranked_product(block: Layout, tiler: Layout) -> tuple[Layout, Layout]:
    """Return the modes of the block and of the copies, both padded to the same rank."""
    rank = max(len(as_layout(block)), len(as_layout(tiler)))
    one = Layout(1, 0)
    padded = list(block) + [one] * (rank - len(block))
    wide = make_layout(*(list(tiler) + [one] * (rank - len(tiler))))
    blocks, copies = logical_product(make_layout(*padded), wide)
    return blocks, copies


@typed
def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """Repeat a layout mode by mode, each block in one piece: mode ``i`` is ``(block_i, copies_i)``.

    Law: ``rank == max(rank(block), rank(tiler))`` and mode ``i`` has the product of both extents.
    C++: ``blocked_product``.

    >>> print(blocked_product(Layout((2, 5), (5, 1)), Layout((3, 4))))
    ((2,3),(5,4)):((5,10),(1,30))
    """
    blocks, copies = _ranked_product(block, tiler)
    return make_layout(*(make_layout(b, c) for b, c in zip(blocks, copies, strict=True)))


@typed
def raked_product(block: Layout, tiler: Layout) -> Layout:
    """Repeat a layout mode by mode, the blocks interleaved: mode ``i`` is ``(copies_i, block_i)``.

    C++: ``raked_product``.

    >>> print(raked_product(Layout((2, 5), (5, 1)), Layout((3, 4))))
    ((3,2),(4,5)):((10,5),(30,1))
    """
    blocks, copies = _ranked_product(block, tiler)
    return make_layout(*(make_layout(c, b) for b, c in zip(blocks, copies, strict=True)))


@typed
def tile_to_shape(
    block: Layout, target: Shape, order: IntTuple = None, *, rounded: bool = False
) -> Layout:
    """Repeat a layout until it fills ``target``, the copies in the given order of modes.

    Law: mode ``i`` has the extent ``target[i]``; ``rounded`` up to whole blocks where asked.
    Raises `DivisibilityError` when the block does not divide the target and it is not, `RankError`
    when the block has more modes. C++: ``tile_to_shape``, which rounds numbers of the run time.

    >>> print(tile_to_shape(Layout((2, 2), (2, 1)), (4, 6)))
    ((2,2),(2,3)):((2,4),(1,8))
    >>> print(tile_to_shape(Layout((4, 2)), (6, 3), rounded=True))
    ((4,2),(2,2)):((1,8),(4,16))
    """
    if not all(is_integer(adopted(extent)) for extent in leaves(target)):
        raise ShapeError(
            "tile_to_shape",
            {"block": block, "target": quoted(target)},
            "the target must be a shape",
            "give positive integers, as in (8, 8)",
        )
    extents: tuple[Any, ...] = product_each(target)
    if len(as_layout(block)) > len(extents):
        raise RankError(
            "tile_to_shape",
            {"block": block, "target": target},
            f"the block has {len(block)} modes, the target {len(extents)}",
            "give the target at least as many modes",
        )
    padded = append(block, Layout(1, 0), len(extents))
    for extent, step in zip(extents, product_each(padded.shape), strict=True):
        try:
            left_over = bool(extent % step)
        except UndecidableError as error:
            raise error.within("tile_to_shape", {"block": block, "target": target}) from None
        if left_over and not rounded:
            raise DivisibilityError(
                "tile_to_shape",
                {"block": block, "target": target},
                f"the extent {step} of the block does not divide {extent}",
                f"use a target extent of {round_up(extent, step)}, or rounded=True",
            )
    counts = tuple(map(ceil_div, extents, product_each(padded.shape)))
    copies = make_ordered_layout(counts, order or tuple(range(len(extents))))
    return blocked_product(padded, copies)
