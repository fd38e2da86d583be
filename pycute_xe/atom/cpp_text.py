"""Atoms and their tilings as C++ types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycute_xe.layout import Layout
from pycute_xe.notation import cpp_tree

__all__ = ["block2d_traits", "int_or_dynamic", "tile_cpp", "tiler_cpp"]


def tile_cpp(modes: Sequence[Layout | int | None]) -> str:
    """Return the C++ type of a tile: a layout, an extent or ``None`` for each mode.

    >>> tile_cpp((Layout((8, 4), (1, 32)), 32, None))
    'Tile<Layout<Shape<_8,_4>,Stride<_1,_32>>,_32,Underscore>'
    """
    return f"Tile<{','.join(map(_mode, modes))}>"


def _mode(mode: Layout | int | None) -> str:
    if mode is None:
        return "Underscore"
    return mode.to_cpp() if isinstance(mode, Layout) else cpp_tree(mode, "Shape")


def tiler_cpp(extents: tuple[int, ...]) -> str:
    """Return the C++ type of a tile's extents.

    >>> tiler_cpp((256, 32))
    'Shape<_256,_32>'
    """
    return cpp_tree(extents, "Shape")


def block2d_traits(
    op: str, x_mode: int, y_mode: int, value_type: str, strides: Sequence[Any]
) -> str:
    """Return the C++ type of the traits of a block-2D copy.

    ``strides`` are the tensor's; those of the two modes that a message walks do not count there,
    and one that is not a number is ``int64_t``. Source: ``copy_traits_xe_2d.hpp``.

    >>> block2d_traits("XE_LOAD_2D<16,8,16>", 1, 0, "half_t", ("ld", 1))
    'Copy_Traits<XE_LOAD_2D<16,8,16>,_1,_0,half_t,Stride<_0,_0>>'
    """
    rest = [0 if i in (x_mode, y_mode) else stride for i, stride in enumerate(strides)]
    tiled = f"Stride<{','.join(map(int_or_dynamic, rest))}>"
    return f"Copy_Traits<{op},_{x_mode},_{y_mode},{value_type},{tiled}>"


def int_or_dynamic(value: Any) -> str:
    """Return the C++ type of a number, ``int64_t`` for one that is only known at run time.

    >>> int_or_dynamic(33), int_or_dynamic("ld")
    ('Int<33>', 'int64_t')
    """
    return cpp_tree(value, "Int") if type(value) is int else "int64_t"
