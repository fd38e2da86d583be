"""A GEMM whose tiles of A go through shared memory, at once or in stages."""

from __future__ import annotations

import dataclasses

from broken_kernels import find, tiled_mma
from small_kernels import shared_array

import pycute_xe as cx
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Fence,
    Fragment,
    Index,
    Kernel,
    Load,
    SharedLoad,
    SharedStore,
    Statement,
)
from pycute_xe.layout import Layout

MEET = (Fence(), BarrierArrive(), BarrierWait())
K = Index("k")
TILE = 32 * 32
# Four subgroups load 8 rows each of a tile of 32 x 32, which lies in the array row by row; each
# of the 2 x 2 then takes the 16 rows that it multiplies.
STORED = Layout((4, (16, 8, 2)), (256, (1, 32, 16)))
LOADED = Layout(((2, 2), (16, 16, 2)), ((0, 512), (1, 32, 16)))
SIZES = ((1, 1, 1), (33, 34, 65), (40, 20, 96))


def parts(stages: int = 2) -> tuple[Kernel, Load, SharedStore, SharedLoad, tuple[Statement, ...]]:
    """A GEMM with an array, the loads into it and from it, and what multiplies a tile."""
    gemm = cx.kernel.gemm(tiled_mma((32, 32, 32), (2, 2)), stages=0)
    atom = cx.make_copy_atom(cx.XE_LOAD_2D(16, 8, 16), "bf16")
    each = cx.make_tiled_copy(atom, Layout(((16, 4), (8, 2)), ((32, 8), (1, 512))), (32, 32))
    whole = find(gemm, Load, "A")
    mine = Fragment("mine", cx.as_numeric("bf16"), 16)
    load = dataclasses.replace(whole, copy=each, fragment="mine")
    store, take = SharedStore("mine", "s", STORED), SharedLoad("s", "tCrA", LOADED)
    multiply = tuple(
        s for s in gemm.loop("k").body
        if not isinstance(s, (BarrierArrive, BarrierWait)) and "tArA" not in _names(s)
    )  # fmt: skip
    fragments = (*(f for f in gemm.fragments if f.name != "tArA"), mine)
    shared = (shared_array("s", "bf16", stages * TILE),)
    # The body is put together by those who use the parts.
    base = dataclasses.replace(
        gemm,
        fragments=(*fragments, gemm.fragment("tArA")),
        shared=shared,
    )
    return base, load, store, take, multiply


def _names(statement: Statement) -> tuple[str, ...]:
    return (*statement.touched.reads, *statement.touched.writes)


def exchanging(
    *, before: tuple[Statement, ...] = MEET, behind: tuple[Statement, ...] = MEET
) -> Kernel:
    base, load, store, take, multiply = parts()
    body = (load, store, *before, take, *multiply, *behind)
    loop = base.loop("k")
    return base.replace(loop, dataclasses.replace(loop, body=body))


def staged(stages: int = 2, meet: tuple[Statement, ...] = MEET, ahead: int = 1) -> Kernel:
    """Tile k + 1 is stored while tile k is multiplied, in turns through the array."""
    base, load, store, take, multiply = parts(max(stages, 2))
    later = dataclasses.replace(load, at=(load.at[0], load.at[1] + 32))
    first = dataclasses.replace(load, at=(load.at[0], Index()))
    into = dataclasses.replace(store, at=(K + ahead) % stages * TILE)
    out = dataclasses.replace(take, at=K % stages * TILE)
    body = (*meet, out, later, into, *multiply)
    loop = base.loop("k")
    return base.replace(loop, (first, store, dataclasses.replace(loop, body=body)))
