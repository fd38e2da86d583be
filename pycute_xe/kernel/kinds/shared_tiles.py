"""Floor 7: tiles of an operand that a work-group loads together and keeps in shared memory."""

from __future__ import annotations

from math import gcd
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra import zipped_divide
from pycute_xe.atom.block2d_copy import make_block_2d_copy
from pycute_xe.atom.block2d_op import XE_LOAD_2D
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import table
from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.ir.statements import (
    BarrierArrive,
    BarrierWait,
    Fence,
    Statement,
)
from pycute_xe.kernel.kinds.parts import gmem_stride
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots, separated
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric
from pycute_xe.swizzle import Swizzle

__all__ = [
    "MEET",
    "check_swizzle",
    "cooperative_copy",
    "copy_places",
    "fragment_places",
    "operand_places",
]

MEET: tuple[Statement, ...] = (Fence(), BarrierArrive(), BarrierWait())
"""What lets every subgroup read what the others stored."""

Ints: TypeAlias = NDArray[np.int64]


def cooperative_copy(
    tile: tuple[int, int], subgroups: int, name: str, order: Order, numeric: Numeric
) -> TiledCopy:
    """Return the copy that loads a tile once, each subgroup an equal part of it.

    ``name`` is A for a tile of (M, K), B for one of (N, K). Messages are as wide as a cache line
    allows, and no higher than a part. Raises `KernelError` where no message moves a part.

    >>> from pycute_xe.numeric import as_numeric
    >>> print(cooperative_copy((256, 32), 32, "A", "row", as_numeric("bf16")))
    XE_LOAD_2D<16,8,32> of bf16, 1 per subgroup × 32 subgroups, tile 256x32
    """
    strides = gmem_stride(name, order)
    x = strides.index(1)
    y = 1 - x
    width = gcd(tile[x], 512 // numeric.bits)
    while width * numeric.bits > 32 and tile[x] // width * tile[y] % subgroups:
        width //= 2
    across = gcd(subgroups, tile[x] // width)
    down = subgroups // across
    if width * numeric.bits % 32 or tile[y] % down:
        raise KernelError(
            "slm_gemm",
            {name: f"{numeric}, {order}", "tile": tile, "subgroups": subgroups},
            f"{subgroups} subgroups cannot load equal parts of a tile of {tile[0]} x {tile[1]}",
            "use a larger tile or fewer subgroups",
        )
    height = gcd(tile[y] // down, 32)
    counts, together = [0, 0], [0, 0]
    counts[x], counts[y] = tile[x] // width, tile[y] // height
    together[x], together[y] = across, down
    blocks = zipped_divide(Layout(tuple(counts)), tuple(together))
    op = XE_LOAD_2D(numeric.bits, height, width)
    return make_block_2d_copy(op, strides, numeric, tuple(counts), blocks)


def operand_places(name: str, tile: tuple[int, int], numeric: Numeric) -> Layout:
    """Return (M or N, K) → element of a shared tile, in the order in which DPAS reads registers.

    A lies by rows of K; of B as many k as fill a dword lie together, n by n.

    >>> from pycute_xe.numeric import as_numeric
    >>> bf16 = as_numeric("bf16")
    >>> print(operand_places("A", (64, 32), bf16), operand_places("B", (64, 32), bf16))
    (64,32):(32,1) (64,(2,16)):(2,(1,128))
    """
    rows, depth = tile
    if name == "A":
        return Layout((rows, depth), (depth, 1))
    packed = max(1, 32 // numeric.bits)
    return Layout((rows, (packed, depth // packed)), (packed, (1, packed * rows)))


def fragment_places(mma: TiledMma, role: str, place: Layout) -> Layout:
    """Return (subgroup, register element) → place of what an MMA's fragment holds there.

    ``place`` maps a coordinate of the operand's tile to a number.
    """
    (_, threads), _ = mma.fragment(role)
    order = table(mma.operand_subgroups(role)).reshape(-1)
    return separated(_placed(place, threads)[order], _placed(place, mma_slots(mma, role)))


def copy_places(copy: TiledCopy, place: Layout) -> Layout:
    """Return (subgroup, register element) → place of what a copy brings there."""
    (_, subgroups), _ = copy.fragment
    return separated(_placed(place, subgroups), _placed(place, copy_slots(copy)))


def _placed(place: Layout, layout: Layout) -> Ints:
    """Return the place of each coordinate that a layout of coordinates goes through."""
    rows, columns = (size(mode) for mode in place)
    found = table(layout).reshape(size(layout), -1)
    at = np.zeros((found.shape[0], 2), dtype=np.int64)
    at[:, : found.shape[1]] = found
    return table(place).reshape(columns, rows)[at[:, 1], at[:, 0]]


def check_swizzle(swizzle: Swizzle | None, name: str, elements: int) -> None:
    """Refuse a swizzle that moves elements from one stage into another."""
    if swizzle is None:
        return
    period = 1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))
    if elements % period:
        raise KernelError(
            "slm_gemm",
            {"swizzle": swizzle, name: f"{elements} elements a stage"},
            f"a stage of {elements} elements is not a multiple of the {period} that the "
            "swizzle permutes",
            "use a smaller swizzle or a larger tile",
        )
