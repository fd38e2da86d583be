"""Floor 6: tilings of any copy atom, from layouts, from a tiled MMA or from another copy."""

from __future__ import annotations

from pycute_xe.algebra import is_bijective, raked_product, right_inverse, with_shape
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import DivisibilityError
from pycute_xe.int_tuple import product
from pycute_xe.layout import Layout, size
from pycute_xe.signatures import typed

__all__ = [
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_copy_tv",
]


@typed
def make_tiled_copy(
    atom: CopyAnswers,
    layout_tv: Layout,
    tiler_mn: tuple[int, ...] | Layout,
    x_mode: int = 1,
    y_mode: int = 0,
) -> TiledCopy:
    """Return a tiling of a copy atom from a (work-item, value) layout and the tile it covers.

    ``layout_tv`` maps to offsets in ``tiler_mn``, first mode fastest. With a layout in the place of
    the tile the two are a layout of work-items and one of values: see `make_tiled_copy_tv`, which
    is C++'s function of this name. Raises as `TiledCopy` does. DSL: ``make_tiled_copy``.

    >>> from pycute_xe.cutlass import get_atom
    >>> copy = make_tiled_copy(get_atom("XE_2D_U16x8x16_LD_N"), Layout((16, 8), (8, 1)), (8, 16))
    >>> print(copy.layout_dst_tv_tiled)
    (16,(8,1)):(8,(1,0))
    """
    if isinstance(tiler_mn, Layout):
        return make_tiled_copy_tv(atom, layout_tv, tiler_mn, x_mode, y_mode)
    tile = tuple(product(extent) for extent in tiler_mn)
    return TiledCopy(atom, layout_tv, tile, x_mode, y_mode)


@typed
def make_tiled_copy_tv(
    atom: CopyAnswers, thr_layout: Layout, val_layout: Layout, x_mode: int = 1, y_mode: int = 0
) -> TiledCopy:
    """Return a tiling in which each work-item has a block of values, next to its neighbours'.

    ``thr_layout`` maps (m, n) to a work-item, ``val_layout`` (m, n) to a value of it; the tile is
    their product. Law: ``layout_tv_tiled`` is the inverse of
    ``raked_product(thr_layout, val_layout)``. Raises `DivisibilityError` for layouts that number no
    work-item or value once, and as `TiledCopy` does. C++: ``make_tiled_copy``.

    >>> from pycute_xe.cutlass import get_atom
    >>> atom = get_atom("XE_2D_U16x32x32_LD_N")
    >>> copy = make_tiled_copy_tv(atom, Layout((1, 16)), Layout((32, 2)))
    >>> print(copy.layout_tv_tiled, copy.tiler_mn)
    (16,64):(64,1) (32, 32)
    """
    for what, layout in (("work-item", thr_layout), ("value", val_layout)):
        if not is_bijective(layout):
            raise DivisibilityError(
                "make_tiled_copy",
                {"thr_layout": thr_layout, "val_layout": val_layout},
                f"{layout} does not number each {what} once",
                f"use a layout onto 0 to {size(layout) - 1}",
            )
    together = raked_product(thr_layout, val_layout)
    counts = size(thr_layout), size(val_layout)
    inverse = right_inverse(together)
    tile = tuple(size(mode) for mode in together) if len(together) > 1 else (size(together),)
    return TiledCopy(atom, with_shape(inverse, counts), tile, x_mode, y_mode)


@typed
def make_tiled_copy_A(atom: CopyAnswers, mma: TiledMma) -> TiledCopy:
    """Return the tiling by which work-items copy what a tiled MMA has them hold of A.

    Law: ``layout_tv_tiled`` is ``mma.tv_layout_A_tiled``; the tile is (M, K) of the MMA. Raises as
    `TiledCopy` does. C++: ``make_tiled_copy_A``.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> make_tiled_copy_A(cx.get_atom("UniversalCopy<u16>"), mma).tiler_mn
    (256, 32)
    """
    return TiledCopy(atom, mma.tv_layout_A_tiled, mma.operand_tile("A"))


@typed
def make_tiled_copy_B(atom: CopyAnswers, mma: TiledMma) -> TiledCopy:
    """Return the tiling of B, of tile (N, K): see `make_tiled_copy_A`."""
    return TiledCopy(atom, mma.tv_layout_B_tiled, mma.operand_tile("B"))


@typed
def make_tiled_copy_C(atom: CopyAnswers, mma: TiledMma) -> TiledCopy:
    """Return the tiling of C, of tile (M, N): see `make_tiled_copy_A`."""
    return TiledCopy(atom, mma.tv_layout_C_tiled, mma.operand_tile("C"))


@typed
def make_tiled_copy_S(atom: CopyAnswers, copy: TiledCopy) -> TiledCopy:
    """Return the tiling in which work-items hold what they hold of a copy's source.

    C++: ``make_tiled_copy_S``.
    """
    return TiledCopy(atom, copy.layout_src_tv_tiled, copy.tiler_mn)


@typed
def make_tiled_copy_D(atom: CopyAnswers, copy: TiledCopy) -> TiledCopy:
    """Return the tiling in which work-items hold what they hold of a copy's destination.

    C++: ``make_tiled_copy_D``.
    """
    return TiledCopy(atom, copy.layout_dst_tv_tiled, copy.tiler_mn)
