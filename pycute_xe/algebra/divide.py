"""Divides, a layout split into tiles and the rest."""

from __future__ import annotations

from typing import Any

from pycute_xe.algebra.compose import as_tiler, composition
from pycute_xe.algebra.inverse import gaps, uneven
from pycute_xe.errors import RankError
from pycute_xe.int_tuple import product
from pycute_xe.layout import Layout, as_layout, make_layout, pair
from pycute_xe.signatures import typed
from pycute_xe.typing import Tiler, is_tuple

__all__ = [
    "flat_divide",
    "logical_divide",
    "tiled_divide",
    "unpacked",
    "zip_modes",
    "zipped_divide",
]


@typed
def logical_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Split a layout into (tile, rest), or each of its modes by a tuple of tilers.

    Law: mode 0 is ``composition(layout, tiler)`` and mode 1 walks the tiles. For a tuple, each
    mode ``i`` becomes ``(tile_i, rest_i)``; ``None`` keeps it; further modes stay.
    Raises `DivisibilityError` when the tiler does not divide the layout. C++: ``logical_divide``.

    >>> print(logical_divide(Layout((4, 2, 3), (2, 1, 8)), Layout(4, 2)))
    ((2,2),(2,3)):((4,1),(2,8))
    """
    if tiler is None:
        return layout
    if is_tuple(tiler):
        _check_rank("logical_divide", layout, tiler)
        parts = [logical_divide(layout[i], t) for i, t in enumerate(tiler)]
        return make_layout(*parts, *list(layout)[len(tiler) :])
    tile = as_tiler(tiler)
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
