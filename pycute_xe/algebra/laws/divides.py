"""The laws of divides: each element of the layout in one tile."""

from __future__ import annotations

from pycute_xe.algebra.compose import as_tiler
from pycute_xe.algebra.laws import points as law
from pycute_xe.layout import Layout, rank, size
from pycute_xe.typing import Tiler, is_tuple

__all__ = [
    "flat_divide",
    "logical_divide",
    "tiled_divide",
    "zipped_divide",
]


def _divided(layout: Layout, tiler: Layout, result: Layout) -> str | None:
    """Judge a pair (tile, rest), each read by its index."""
    places = law.places_among(tiler, layout)
    broken = (
        law.equal("rank(result)", rank(result), "of a pair", 2)
        or law.equal("size(tile)", size(result[0]), "size(tiler)", size(tiler))
        or places.short(size(result[1]), size(layout))
    )
    # Tiles after a hole hold nothing of the layout.
    tiles = size(result[1])
    if isinstance(places, law.Places) and not places.repeats:
        tiles = min(tiles, len(places.starts))
    return broken or law.agree(
        (size(tiler), tiles),
        "result({c})",
        result,
        "layout(tiler(i) + place of tile j) at (i,j) = ({c})",
        lambda c: layout(tiler(c[0]) + places(c[1])),
    )


def logical_divide(layout: Layout, tiler: Tiler, result: Layout) -> str | None:
    """Judge ``logical_divide(layout, tiler)``: ``(tile, rest)``, each element in one tile.

    Law: ``result(i, j) == layout(tiler(i) + p(j))``, where the copies of the tiler at the indices
    ``p(0) < p(1) < …`` hold each index of the layout once. A tuple so mode by mode; ``None`` keeps
    a mode. CuTe: ``logical_divide`` in ``layout.hpp``; section *Division (Tiling)* of its
    ``02_layout_algebra.md``.

    >>> logical_divide(Layout(12), Layout(3, 4), Layout((3, 4), (4, 1)))
    >>> logical_divide(Layout(12), Layout(3, 4), Layout((3, 4), (4, 2)))
    'result(0,1) is 2, layout(tiler(i) + place of tile j) at (i,j) = (0,1) is 1'
    """
    if tiler is None:
        return law.kept(layout, result)
    if is_tuple(tiler):
        return law.by_mode(logical_divide, layout, tiler, result)
    part = as_tiler(tiler)
    return _divided(layout, part, result) or law.nests(part.shape, result[0])


def _zipped_divide(layout: Layout, tiler: Tiler, result: Layout) -> str | None:
    return law.zipped(lambda a, t, r: _divided(a, as_tiler(t), r), layout, tiler, result)


def zipped_divide(layout: Layout, tiler: Tiler, result: Layout) -> str | None:
    """Judge ``zipped_divide(layout, tiler)``: ``((tile_0, …), (rest_0, …))``.

    Law: mode ``i`` of both parts is as in `logical_divide` of mode ``i``; modes beyond the tiler
    are among the rests. CuTe: ``zipped_divide`` in ``layout.hpp``.

    >>> zipped_divide(Layout((8, 16)), (4, 8), Layout(((4, 8), (2, 2)), ((1, 8), (4, 64))))
    >>> zipped_divide(Layout((8, 16)), (4, 8), Layout(((4, 8), (2, 2)), ((1, 8), (64, 4))))
    'in mode 0: result(0,1) is 64, layout(tiler(i) + place of tile j) at (i,j) = (0,1) is 4'
    """
    return _zipped_divide(layout, tiler, result)


def tiled_divide(layout: Layout, tiler: Tiler, result: Layout) -> str | None:
    """Judge ``tiled_divide(layout, tiler)``: ``((tile_0, …), rest_0, …)``.

    Law: with its modes from 1 on gathered, as `zipped_divide`. CuTe: ``tiled_divide`` in
    ``layout.hpp``.

    >>> tiled_divide(Layout((8, 16)), (4, 8), Layout(((4, 8), 2, 2), ((1, 8), 4, 64)))
    >>> tiled_divide(Layout((8, 16)), (4, 8), Layout(((4, 8), 2, 2), ((1, 8), 4, 4)))
    'in mode 1: result(0,1) is 4, layout(tiler(i) + place of tile j) at (i,j) = (0,1) is 64'
    """
    return _zipped_divide(layout, tiler, law.split(result, 1))


def flat_divide(layout: Layout, tiler: Tiler, result: Layout) -> str | None:
    """Judge ``flat_divide(layout, tiler)``: ``(tile_0, …, rest_0, …)``.

    Law: with the modes of the tile and the others gathered, as `zipped_divide`. CuTe:
    ``flat_divide`` in ``layout.hpp``.

    >>> flat_divide(Layout((8, 16)), (4, 8), Layout((4, 8, 2, 2), (1, 8, 4, 64)))
    >>> flat_divide(Layout((8, 16)), (4, 8), Layout((4, 8, 2, 2), (1, 4, 8, 64)))
    'in mode 0: result(0,1) is 8, layout(tiler(i) + place of tile j) at (i,j) = (0,1) is 4'
    """
    if tiler is None:
        count = rank(layout)
    elif is_tuple(tiler):
        count = len(tiler)
    else:
        # A walk over several modes gives a tile of several.
        count, wanted = 1, size(as_tiler(tiler))
        while count < rank(result) and size(result[:count]) < wanted:
            count += 1
    return _zipped_divide(layout, tiler, law.split(result, count))
