"""Floor 6: making tiled MMAs, from a permutation as in CuTe or from the tile of a work-group."""

from __future__ import annotations

from typing import Any

from pycute_xe.algebra import coalesce
from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.mma_atom import MmaAtom, make_mma_atom
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import DivisibilityError, RankError, ShapeError
from pycute_xe.int_tuple import product_each
from pycute_xe.layout import Layout, make_ordered_layout
from pycute_xe.signatures import typed
from pycute_xe.typing import Shape, Stride, is_tuple

__all__ = ["make_tiled_mma", "workgroup_mma"]


@typed
def make_tiled_mma(
    op: Dpas | MmaAtom,
    atom_layout_mnk: Layout | Shape = (1, 1, 1),
    permutation_mnk: tuple[Any, Any, Any] | None = None,
) -> TiledMma:
    """Return a tiling of an MMA atom, as in CuTe.

    Without permutation each subgroup computes one atom. Raises as `TiledMma` does.
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
    op: Dpas | MmaAtom,
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
            "write an unused mode as 1",
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
