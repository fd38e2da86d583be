"""Kernels that are wrong, each in one way, built through the public interface."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import pycute_xe as cx
from pycute_xe.atom import TiledMma
from pycute_xe.kernel import Fill, Kernel, Load, Mma, Reorder, Store
from pycute_xe.verifying import Verdict

__all__ = ["BROKEN", "broken", "find", "judged", "tiled_mma"]

LD = "ld"


def tiled_mma(
    tile: tuple[int, int, int] = (256, 256, 32),
    grid: tuple[int, int] = (8, 4),
    dtype: str = "bf16",
) -> TiledMma:
    """Return the tiled MMA of a work-group tile over a grid of subgroups, N fastest."""
    m, n = grid
    return cx.workgroup_mma(
        cx.XE_DPAS_TT(8, "f32", dtype), tile=tile, subgroups=((m, n, 1), (n, 1, 0))
    )


@cache
def broken(make: Callable[[TiledMma], Kernel], *tile: Any) -> Kernel:
    """Return a broken kernel of a tile over a grid, built once for all tests of a process."""
    return make(tiled_mma(*tile))


@cache
def judged(make: Callable[[TiledMma], Kernel], *tile: Any) -> Verdict:
    """Return the verdict on a broken kernel, which several tests look at."""
    return cx.verify(broken(make, *tile))


def find(kernel: Kernel, kind: type, operand: str | None = None) -> Any:
    """Return the first statement of a kind, of an operand if one is named."""
    for statement in kernel.statements():
        if isinstance(statement, kind) and operand in (None, getattr(statement, "operand", None)):
            return statement
    raise LookupError(kind)


def _turned(mma: TiledMma) -> TiledMma:
    """The same subgroups, numbered along M instead of along N."""
    m, n, _ = mma.atom_layout_mnk.shape
    return cx.workgroup_mma(mma.atom.op, tile=mma.tile_mnk, subgroups=((m, n, 1), (1, m, 0)))


def block_width(mma: TiledMma) -> Kernel:
    copy = cx.make_block_2d_copy_A(mma, (LD, 1))
    op = cx.XE_LOAD_2D(16, copy.op.height, 32, 32)
    wide = cx.make_copy_atom(op, copy.value_type)
    return cx.kernel.gemm(mma, copy_a=dataclasses.replace(copy, atom=wide))


def subgroup_stride(mma: TiledMma) -> Kernel:
    return cx.kernel.gemm(mma, copy_a=cx.make_block_2d_copy_A(_turned(mma), (LD, 1)))


def short_loop(mma: TiledMma) -> Kernel:
    gemm = cx.kernel.gemm(mma)
    loop = gemm.loop("k")
    return gemm.replace(loop, dataclasses.replace(loop, stop=loop.stop - 1))


def overlapping_stores(mma: TiledMma) -> Kernel:
    copy = cx.make_block_2d_copy_D(mma, (LD, 1))
    (lanes, (n, m)), values = copy.layout_tv_tiled.shape
    (lane, (_, step)), stride = copy.layout_tv_tiled.stride
    same = cx.Layout(((lanes, (n, m)), values), ((lane, (0, step)), stride))
    return cx.kernel.gemm(mma, copy_d=dataclasses.replace(copy, layout_tv_tiled=same))


def no_reorder(mma: TiledMma) -> Kernel:
    return cx.kernel.gemm(mma, a="col", reorder_a=False)


def store_stride(mma: TiledMma) -> Kernel:
    return cx.kernel.gemm(mma, copy_d=cx.make_block_2d_copy_D(_turned(mma), (LD, 1)))


def load_next_tile(mma: TiledMma) -> Kernel:
    gemm = cx.kernel.gemm(mma)
    load = find(gemm, Load, "B")
    k, n = load.at
    return gemm.replace(load, dataclasses.replace(load, at=(k + load.copy.tiler_mn[1], n)))


def multiply_twice(mma: TiledMma) -> Kernel:
    gemm = cx.kernel.gemm(mma)
    multiply = find(gemm, Mma)
    return gemm.replace(multiply, (multiply, multiply))


def fill_in_loop(mma: TiledMma) -> Kernel:
    gemm = cx.kernel.gemm(mma)
    multiply = find(gemm, Mma)
    return gemm.replace(multiply, (find(gemm, Fill), multiply))


def fill_with_one(mma: TiledMma) -> Kernel:
    gemm = cx.kernel.gemm(mma)
    return gemm.replace(find(gemm, Fill), Fill("tCrC", 1.0))


def reorder_onto_itself(mma: TiledMma) -> Kernel:
    gemm = cx.kernel.gemm(mma)
    moves = find(gemm, Reorder)
    slots = cx.Layout((2, cx.size(moves.slots) // 2), (0, 2))
    return gemm.replace(moves, dataclasses.replace(moves, slots=slots))


def store_next_tile(mma: TiledMma) -> Kernel:
    gemm = cx.kernel.gemm(mma)
    store = find(gemm, Store)
    m, n = store.at
    return gemm.replace(store, dataclasses.replace(store, at=(m + store.copy.tiler_mn[0], n)))


def no_store(mma: TiledMma) -> Kernel:
    gemm = cx.kernel.gemm(mma)
    return gemm.replace(find(gemm, Store), None)


# The property that the smallest counterexample is about.
BROKEN = {
    block_width: "D values",
    subgroup_stride: "D values",
    short_loop: "D values",
    overlapping_stores: "D values",
    no_reorder: "D values",
    store_stride: "D values",
    load_next_tile: "D values",
    multiply_twice: "D values",
    fill_in_loop: "D values",
    fill_with_one: "D values",
    reorder_onto_itself: "registers",
    store_next_tile: "D coverage",
    no_store: "D coverage",
}
