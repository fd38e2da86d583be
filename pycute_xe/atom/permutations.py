"""Floor 6: what the modes of a permutation of a tiled MMA may be."""

from __future__ import annotations

from pycute_xe.errors import ShapeError, quoted
from pycute_xe.layout import (
    Layout,
)

__all__ = ["demand_extents"]


def demand_extents(permutation: tuple[object, ...]) -> None:
    """Refuse what is neither an extent nor a layout."""
    for mode in permutation:
        if mode is None or isinstance(mode, Layout) or (type(mode) is int and mode > 0):
            continue
        raise ShapeError(
            "make_tiled_mma",
            {"permutation": permutation},
            f"{quoted(mode)} is not an extent of the tile, nor a layout",
            "use None, a positive integer or a layout for each of M, N and K",
        )
