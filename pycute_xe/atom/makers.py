"""Tilings of any atom: copies and MMAs, from layouts, from a tiled MMA or from another copy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from pycute_xe.algebra import (
    coalesce,
    composition,
    functionally_equal,
    image,
    left_inverse,
    make_layout_tv,
)
from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.copy_atom import GivenAtom, as_copy
from pycute_xe.atom.mma_atom import MmaAtom, make_mma_atom
from pycute_xe.atom.orienting import memory_modes
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import DivisibilityError, RankError, ShapeError
from pycute_xe.int_tuple import product, product_each
from pycute_xe.layout import Layout, cosize, make_identity_layout, make_ordered_layout
from pycute_xe.signatures import typed
from pycute_xe.typing import Shape, Stride, is_tuple

__all__ = [
    "make_cotiled_copy",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_copy_tv",
    "make_tiled_mma",
    "workgroup_mma",
]

# ------------------------------------------------------------ mma makers
# Making tiled MMAs, from a permutation as in CuTe or from the tile of a work-group.


@typed
def make_tiled_mma(
    op: Dpas | MmaAtom | str,
    atom_layout_mnk: Layout | Shape = (1, 1, 1),
    permutation_mnk: tuple[Any, Any, Any] | None = None,
) -> TiledMma:
    """Return a tiling of an MMA atom, as in CuTe.

    ``op`` is an operation, an atom or a name, as of `make_mma_atom`. Without permutation each
    subgroup computes one atom. Raises as `TiledMma` does.
    C++: ``make_tiled_mma``.

    >>> from pycute_xe.atom import XE_DPAS_TT
    >>> print(make_tiled_mma(XE_DPAS_TT(8, "f32", "bf16"), (2, 2, 1)).thr_layout_vmnk)
    (16,2,2,1):(1,16,32,0)
    """
    layout = atom_layout_mnk if isinstance(atom_layout_mnk, Layout) else Layout(atom_layout_mnk)
    permutation = (None, None, None) if permutation_mnk is None else permutation_mnk
    return TiledMma(make_mma_atom(op), layout, permutation)


@typed
def workgroup_mma(
    op: Dpas | MmaAtom | str,
    tile: tuple[int, int, int] = (256, 256, 32),
    subgroups: tuple[Shape, Stride] | Layout = ((8, 4, 1), (4, 1, 0)),
    *,
    round_up: bool = False,
) -> TiledMma:
    """Return the tiled MMA that CUTLASS builds from a work-group tile and a subgroup layout.

    Each subgroup computes one contiguous block of the tile. ``tile`` is (M, N, K) in elements,
    ``subgroups`` a layout (M, N, K) → subgroup number. Raises `DivisibilityError`, naming the
    factors, when the tile is not a multiple of atom times subgroups. With ``round_up`` each extent
    becomes the next multiple, which is what C++ does in silence: right where the tile is taken from
    the tiled MMA afterwards, as in attention, and wrong where the given one is divided, as in a
    GEMM. C++: ``TiledMMAHelper``.

    >>> from pycute_xe.atom import XE_DPAS_TT
    >>> print(workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")).permutation[0])
    (8,8,4):(1,32,8)
    >>> one = XE_DPAS_TT(1, "f32", "bf16")
    >>> workgroup_mma(one, (1, 16, 16), ((1, 8, 1), (8, 1, 0)), round_up=True).tile_mnk
    (1, 128, 16)
    """
    atom = make_mma_atom(op)
    if not is_tuple(tile) or not all(type(extent) is int for extent in tile):
        raise ShapeError(
            "workgroup_mma",
            {"tile": tile},
            "the tile is not a tuple of integers",
            "write (256, 256, 32)",
        )
    if not isinstance(subgroups, Layout) and (
        not is_tuple(subgroups) or len(subgroups) != 2 or not all(map(is_tuple, subgroups))
    ):
        raise ShapeError(
            "workgroup_mma",
            {"subgroups": subgroups},
            "subgroups must be a shape and its strides",
            "write ((8, 4, 1), (4, 1, 0))",
        )
    grid = subgroups if isinstance(subgroups, Layout) else Layout(*subgroups)
    if len(grid) != 3 or len(tile) != 3:
        raise RankError(
            "workgroup_mma",
            {"tile": tile, "subgroups": grid},
            "tile and subgroups need the three modes M, N, K",
            "write the tile as (256, 256, 32), and an unused mode of the subgroups as 1",
        )
    permutations: list[Layout] = []
    counts = product_each(grid.shape)
    for name, want, extent, count in zip("MNK", tile, atom.shape_mnk, counts, strict=True):
        if want < 1 or (want % (extent * count) and not round_up):
            raise _indivisible(name, want, extent, count, atom, grid)
        shape = (extent, count, -(-want // (extent * count)))
        # Subgroups outermost: each one's repetitions lie side by side.
        permutations.append(coalesce(make_ordered_layout(shape, (0, 2, 1))))
    return TiledMma(atom, grid, tuple(permutations))


def _indivisible(
    name: str, want: int, extent: int, count: int, atom: MmaAtom, grid: Layout
) -> DivisibilityError:
    step = extent * count
    near = max(step, want // step * step)
    return DivisibilityError(
        "workgroup_mma",
        {f"tile_{name}": want, "atom": atom, "subgroups": grid},
        f"{name} of the tile is {want}, not a multiple of {step} = {extent} ({name} of the atom) × "
        f"{count} (subgroups along {name})",
        f"use {near} or {near + step}, or other subgroups",
    )


# ------------------------------------------------------------ copy makers


@typed
def make_tiled_copy(
    atom: GivenAtom,
    layout_tv: Layout,
    tiler_mn: tuple[int, ...] | Layout,
    x_mode: int | None = None,
    y_mode: int | None = None,
) -> TiledCopy:
    """Return a tiling of a copy atom from a (work-item, value) layout and the tile it covers.

    ``atom`` is an atom, an operation or a name, which `get_atom` takes. ``layout_tv`` maps to
    offsets in ``tiler_mn``, first mode fastest. With a layout in the place of the tile the two are
    a layout of work-items and one of values: see `make_tiled_copy_tv`, which is C++'s function of
    this name. ``x_mode`` and ``y_mode`` are the modes of the tile along rows of memory and across
    them, by default those with which the messages bring what the layout says (else 1 and 0).
    Raises as `TiledCopy` does. DSL: ``make_tiled_copy``.

    >>> copy = make_tiled_copy("XE_2D_U16x8x16_LD_N", Layout((16, 8), (8, 1)), (8, 16))
    >>> print(copy.layout_dst_tv_tiled)
    (16,(8,1)):(8,(1,0))
    """
    if isinstance(tiler_mn, Layout):
        return make_tiled_copy_tv(atom, layout_tv, tiler_mn, x_mode, y_mode)
    tile = tuple(product(extent) for extent in tiler_mn)
    return _tiling(atom, layout_tv, tile, x_mode, y_mode)


def _tiling(
    atom: GivenAtom,
    tv: Layout,
    tile: tuple[int, ...],
    x_mode: int | None = None,
    y_mode: int | None = None,
) -> TiledCopy:
    """Return a tiling; modes that are left out are those that its messages need."""
    copy = TiledCopy(as_copy(atom), tv, tile)
    if x_mode is None and y_mode is None:
        x_mode, y_mode = memory_modes(copy.atom, tv, tile)
    x_mode = int(y_mode == 0) if x_mode is None else x_mode
    return replace(copy, x_mode=x_mode, y_mode=int(x_mode == 0) if y_mode is None else y_mode)


@typed
def make_tiled_copy_tv(
    atom: GivenAtom,
    thr_layout: Layout,
    val_layout: Layout,
    x_mode: int | None = None,
    y_mode: int | None = None,
) -> TiledCopy:
    """Return a tiling in which each work-item has a block of values, next to its neighbours'.

    ``thr_layout`` maps (m, n) to a work-item, ``val_layout`` (m, n) to a value of it; the tile is
    their product. Law: ``tiler_mn`` and ``layout_tv_tiled`` are what `make_layout_tv` gives. Raises
    as that and as `TiledCopy` do. C++: ``make_tiled_copy``.

    >>> copy = make_tiled_copy_tv("XE_2D_U16x32x32_LD_N", Layout((1, 16)), Layout((32, 2)))
    >>> print(copy.layout_tv_tiled, copy.tiler_mn)
    (16,64):(64,1) (32, 32)
    """
    tile, layout_tv = make_layout_tv(thr_layout, val_layout)
    return _tiling(atom, layout_tv, tile, x_mode, y_mode)


@typed
def make_cotiled_copy(
    atom: GivenAtom,
    atom_layout_tv: Layout,
    data_layout: Layout,
    x_mode: int | None = None,
    y_mode: int | None = None,
) -> TiledCopy:
    """Return a tiling in which each work-item has the elements at given offsets of memory.

    ``atom_layout_tv`` maps (work-item, value) to an offset, ``data_layout`` a coordinate of the
    tensor to its offset; the tile is the box of coordinates that the offsets fill. Law:
    ``data_layout(tile coordinate of layout_tv_tiled(t, v)) == atom_layout_tv(t, v)``. Raises
    `DivisibilityError` where ``data_layout`` does not reach such an offset, or where the elements
    leave gaps in the box, and as `left_inverse`, `composition` and `TiledCopy` do. CuTe DSL: same
    name, which also takes elements that leave even gaps.

    >>> row_major = Layout((8, 64), (64, 1))
    >>> copy = make_cotiled_copy("UniversalCopy<u16>", Layout((16, 2), (2, 1)), row_major)
    >>> print(copy.layout_tv_tiled, copy.tiler_mn)
    (16,2):(2,1) (1, 32)
    """
    given = {"atom_layout_tv": atom_layout_tv, "data_layout": data_layout}
    index = composition(left_inverse(data_layout), atom_layout_tv)
    if not functionally_equal(composition(data_layout, index), atom_layout_tv):
        raise DivisibilityError(
            "make_cotiled_copy",
            given,
            "an offset of atom_layout_tv is not an offset of data_layout",
            "use offsets that data_layout reaches",
        )
    extents: tuple[Any, ...] = product_each(data_layout.shape)
    places = composition(make_identity_layout(extents), index)
    units = [tuple(int(i == j) for j in range(len(extents))) for i in range(len(extents))]
    along = [image(composition(Layout(extents, unit), index)) for unit in units]
    tile: tuple[Any, ...] = tuple(cosize(cast("Layout", line)) for line in along)
    if any(
        coalesce(cast("Layout", line)) != Layout(end) for line, end in zip(along, tile, strict=True)
    ):
        raise DivisibilityError(
            "make_cotiled_copy",
            given,
            f"the elements leave gaps in the box {tile} of their coordinates",
            "use offsets that fill a box, and reach the others by another tile",
        )
    return _tiling(atom, composition(Layout(tile), places), tile, x_mode, y_mode)


@typed
def make_tiled_copy_A(atom: GivenAtom, mma: TiledMma) -> TiledCopy:
    """Return the tiling by which work-items copy what a tiled MMA has them hold of A.

    Law: ``layout_tv_tiled`` is ``mma.tv_layout_A_tiled``; the tile is (M, K) of the MMA, and memory
    follows the mode that the messages need: see `make_tiled_copy`. Raises as `TiledCopy` does.
    C++: ``make_tiled_copy_A``.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> make_tiled_copy_A("UniversalCopy<u16>", mma).tiler_mn
    (256, 32)
    """
    return _tiling(atom, mma.tv_layout_A_tiled, mma.operand_tile("A"))


@typed
def make_tiled_copy_B(atom: GivenAtom, mma: TiledMma) -> TiledCopy:
    """Return the tiling of B, of tile (N, K): see `make_tiled_copy_A`."""
    return _tiling(atom, mma.tv_layout_B_tiled, mma.operand_tile("B"))


@typed
def make_tiled_copy_C(atom: GivenAtom, mma: TiledMma) -> TiledCopy:
    """Return the tiling of C, of tile (M, N): see `make_tiled_copy_A`."""
    return _tiling(atom, mma.tv_layout_C_tiled, mma.operand_tile("C"))


@typed
def make_tiled_copy_S(atom: GivenAtom, copy: TiledCopy) -> TiledCopy:
    """Return the tiling in which work-items hold what they hold of a copy's source.

    C++: ``make_tiled_copy_S``.
    """
    return replace(copy, atom=as_copy(atom), layout_tv_tiled=copy.layout_src_tv_tiled)


@typed
def make_tiled_copy_D(atom: GivenAtom, copy: TiledCopy) -> TiledCopy:
    """Return the tiling in which work-items hold what they hold of a copy's destination.

    C++: ``make_tiled_copy_D``.
    """
    return replace(copy, atom=as_copy(atom), layout_tv_tiled=copy.layout_dst_tv_tiled)
