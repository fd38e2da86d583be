"""The laws of products: copies of a block, no two in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.algebra.compose import as_tiler
from pycute_xe.algebra.laws import points as law
from pycute_xe.int_tuple import product_each
from pycute_xe.layout import Layout, rank, size
from pycute_xe.typing import IntTuple, Shape, Tiler, is_tuple

__all__ = [
    "blocked_product",
    "flat_product",
    "logical_product",
    "raked_product",
    "tile_to_shape",
    "tiled_product",
    "zipped_product",
]


def _multiplied(block: Layout, tiler: Layout, result: Layout) -> str | None:
    """Judge a pair (block, copies), each read by its index."""
    broken = (
        law.equal("rank(result)", rank(result), "of a pair", 2)
        or law.equal("size(result[0])", size(result[0]), "size(block)", size(block))
        or law.equal("size(result[1])", size(result[1]), "size(tiler)", size(tiler))
    )
    if broken:
        return broken
    places = _places(block, size(tiler), tiler, lambda j: result((0, j)))
    if isinstance(places, str):
        return places
    return law.agree(
        (size(block), size(tiler)),
        "result({c})",
        result,
        "block(i) + place tiler(j) at (i,j) = ({c})",
        lambda c: block(c[0]) + places(tiler(c[1])),
    )


def _places(
    block: Layout,
    shape: Shape,
    number: Callable[[Any], Any],
    start: Callable[[Any], Any],
) -> Callable[[Any], Any] | str:
    """Return where copy ``k`` stands, ``k`` the number of a coordinate.

    Copies that cannot hold every offset stand where they start; those of greater number must
    start later, and no two may meet.
    """
    places = law.places_among(block, shape)
    if places.repeats:
        return places
    where = {number(c): start(c) for c in law.points(shape)}
    taken: set[Any] = set()
    before = -1
    for k in sorted(where):
        copy = {where[k] + offset for offset in law.values(block)}
        if where[k] <= before or copy & taken:
            return f"copy {k} starts at {where[k]} and meets or precedes one of a lesser number"
        taken |= copy
        before = where[k]
    return lambda k: where[k]


def logical_product(block: Layout, tiler: Tiler, result: Layout) -> str | None:
    """Judge ``logical_product(block, tiler)``: ``(block, copies)``, no two in one place.

    Law: ``result(i, j) == block(i) + p(tiler(j))``, where the copies of the block at the offsets
    ``p(0) < p(1) < …`` hold each offset once; where no copies can, the places increase all the same
    and no two copies meet. A tuple so mode by mode; ``None`` keeps a mode. CuTe:
    ``logical_product`` in ``layout.hpp``; section *Product (Tiling)* of its
    ``02_layout_algebra.md``.

    >>> logical_product(Layout(2, 3), Layout(6), Layout((2, (3, 2)), (3, (1, 6))))
    >>> logical_product(Layout(2, 3), Layout(6), Layout((2, (3, 2)), (3, (1, 3))))
    'result(0,3) is 3, block(i) + place tiler(j) at (i,j) = (0,3) is 6'
    """
    if tiler is None:
        return law.kept(block, result)
    if is_tuple(tiler):
        return law.by_mode(logical_product, block, tiler, result)
    part = as_tiler(tiler)
    broken = _multiplied(block, part, result)
    return broken or law.nests(block.shape, result[0]) or law.nests(part.shape, result[1])


def _zipped_product(block: Layout, tiler: Tiler, result: Layout) -> str | None:
    return law.zipped(lambda a, t, r: _multiplied(a, as_tiler(t), r), block, tiler, result)


def zipped_product(block: Layout, tiler: Tiler, result: Layout) -> str | None:
    """Judge ``zipped_product(block, tiler)``: ``((block_0, …), (copies_0, …))``.

    Law: mode ``i`` of both parts is as in `logical_product` of mode ``i``; modes beyond the tiler
    are among the copies. CuTe: ``zipped_product`` in ``layout.hpp``.

    >>> zipped_product(Layout((2, 4)), (3,), Layout(((2,), (3, 4)), ((1,), (2, 2))))
    >>> zipped_product(Layout((2, 4)), (3,), Layout(((2,), (3, 4)), ((1,), (1, 2))))
    'in mode 0: result(0,1) is 1, block(i) + place tiler(j) at (i,j) = (0,1) is 2'
    """
    return _zipped_product(block, tiler, result)


def tiled_product(block: Layout, tiler: Tiler, result: Layout) -> str | None:
    """Judge ``tiled_product(block, tiler)``: ``(block, copies_0, …)``.

    Law: with its modes from 1 on gathered, as `zipped_product`. CuTe: ``tiled_product`` in
    ``layout.hpp``.

    >>> tiled_product(Layout(16), Layout((8, 4), (4, 1)), Layout((16, 8, 4), (1, 64, 16)))
    >>> tiled_product(Layout(16), Layout((8, 4), (4, 1)), Layout((16, 8, 4), (1, 16, 64)))
    'result(0,1) is 16, block(i) + place tiler(j) at (i,j) = (0,1) is 64'
    """
    return _zipped_product(block, tiler, law.split(result, 1))


def flat_product(block: Layout, tiler: Tiler, result: Layout) -> str | None:
    """Judge ``flat_product(block, tiler)``: ``(block_0, …, copies_0, …)``.

    Law: with the modes of the block and the others gathered, as `zipped_product`. CuTe:
    ``flat_product`` in ``layout.hpp``.

    >>> flat_product(Layout((2, 2)), Layout((3, 5), (5, 1)), Layout((2, 2, 3, 5), (1, 2, 20, 4)))
    >>> flat_product(Layout((2, 2)), Layout((3, 5), (5, 1)), Layout((2, 2, 3, 5), (1, 2, 4, 12)))
    'result(0,1) is 4, block(i) + place tiler(j) at (i,j) = (0,1) is 20'
    """
    count = len(tiler) if is_tuple(tiler) else rank(block)
    return _zipped_product(block, tiler, law.split(result, count))


def _paired(
    block: Layout, copies: Layout | tuple[Any, ...], result: Layout, raked: bool
) -> tuple[tuple[Any, ...], str | None]:
    """Return the sizes of the modes, padded with ones, as ((block…), (copies…)).

    And claim that mode ``i`` of the result is a pair of those, the block first or last.
    """
    inner = product_each(block.shape)
    outer = product_each(copies.shape if isinstance(copies, Layout) else copies)
    count = max(len(inner), len(outer))
    inner += (1,) * (count - len(inner))
    outer += (1,) * (count - len(outer))
    broken = law.equal("rank(result)", rank(result), "of the pairs", count)
    for i, sizes in enumerate(() if broken else zip(inner, outer, strict=True)):
        product_sizes = product_each(result[i].shape)
        wanted = sizes[::-1] if raked else sizes
        broken = broken or law.in_mode(
            i, law.equal("the sizes", product_sizes, "block and copies", wanted)
        )
    return (inner, outer), broken


def _ranked(block: Layout, tiler: Layout, result: Layout, raked: bool) -> str | None:
    sizes, broken = _paired(block, tiler, result, raked)

    def value_at(c: Any) -> Any:
        return result(tuple(zip(*(c[::-1] if raked else c), strict=True)))

    def number(y: Any) -> Any:
        return _by_modes(tiler, y[: rank(tiler)])

    return broken or _copied(block, sizes, number, value_at)


def _copied(
    block: Layout, sizes: Any, number: Callable[[Any], Any], value_at: Callable[[Any], Any]
) -> str | None:
    """Judge the value at each coordinate of the block and coordinate of the copies."""
    origin = (0,) * len(sizes[0])
    places = _places(block, sizes[1], number, lambda y: value_at((origin, y)))
    if isinstance(places, str):
        return places
    return law.agree(
        sizes,
        "result(x, y paired) at (x,y) = ({c})",
        value_at,
        "block(x) + place of the copy",
        lambda c: _by_modes(block, c[0][: rank(block)]) + places(number(c[1])),
    )


def _by_modes(layout: Layout, coord: tuple[Any, ...]) -> Any:
    """Return a layout at one index for each mode."""
    return layout(coord if is_tuple(layout.shape) else coord[0])


def blocked_product(block: Layout, tiler: Layout, result: Layout) -> str | None:
    """Judge ``blocked_product(block, tiler)``: mode ``i`` is ``(block_i, copies_i)``.

    Law: ``result((x_0, y_0), …) == block(x_0, …) + p(tiler(y_0, …))`` with the places ``p`` of
    `logical_product`; missing modes count as one element. CuTe: ``blocked_product`` in
    ``layout.hpp``.

    >>> blocked_product(Layout(2), Layout((3, 2)), Layout(((2, 3), (1, 2)), ((1, 2), (0, 6))))
    >>> blocked_product(Layout(2), Layout((3, 2)), Layout(((2, 3), (1, 2)), ((1, 4), (0, 6))))
    'result(x, y paired) at (x,y) = ((0,0),(1,0)) is 4, block(x) + place of the copy is 2'
    """
    return _ranked(block, tiler, result, raked=False)


def raked_product(block: Layout, tiler: Layout, result: Layout) -> str | None:
    """Judge ``raked_product(block, tiler)``: mode ``i`` is ``(copies_i, block_i)``.

    Law: ``result((y_0, x_0), …) == block(x_0, …) + p(tiler(y_0, …))``, as `blocked_product`. CuTe:
    ``raked_product`` in ``layout.hpp``.

    >>> raked_product(Layout(2), Layout((3, 2)), Layout(((3, 2), (2, 1)), ((2, 1), (6, 0))))
    >>> raked_product(Layout(2), Layout((3, 2)), Layout(((2, 3), (2, 1)), ((1, 2), (6, 0))))
    'in mode 0: the sizes is (2,3), block and copies is (3,2)'
    """
    return _ranked(block, tiler, result, raked=True)


def tile_to_shape(
    block: Layout, target: Shape, result: Layout, order: IntTuple = None
) -> str | None:
    """Judge ``tile_to_shape(block, target, order)``: copies of the block that fill the target.

    Law: mode ``i`` is ``(block_i, copies_i)`` of the size of mode ``i`` of the target, and
    ``result((x_0, y_0), …) == block(x_0, …) + p(k)`` with the places ``p`` of `logical_product`,
    where ``k`` counts the copies before ``y``, the mode of least order fastest. CuTe:
    ``tile_to_shape`` in ``layout.hpp``.

    >>> tile_to_shape(Layout(2), (4, 3), Layout(((2, 2), (1, 3)), ((1, 2), (0, 4))))
    >>> tile_to_shape(Layout(2), (4, 3), Layout(((2, 2), (1, 3)), ((1, 6), (0, 2))))
    'result(x, y paired) at (x,y) = ((0,0),(1,0)) is 6, block(x) + place of the copy is 2'
    """
    extents = product_each(target)
    broken = law.equal("the sizes", product_each(result.shape), "of the target", extents)
    counts = tuple(
        extent // size(block[i]) if i < rank(block) else extent for i, extent in enumerate(extents)
    )
    sizes, unpaired = _paired(block, counts, result, raked=False)
    ranks = tuple(range(len(counts))) if order is None else order
    return (
        broken
        or unpaired
        or _copied(
            block,
            sizes,
            lambda y: law.position(y, counts, ranks),
            lambda c: result(tuple(zip(*c, strict=True))),
        )
    )
