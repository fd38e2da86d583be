"""What a refused GEMM proposes was tried: with it the operand is moved, and the GEMM computes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.arch.dpas import Dpas
from pycute_xe.errors import KernelError

Asked = tuple[Dpas, tuple[int, int, int], tuple[int, int, int], dict[str, str]]
TF32 = cx.XE_DPAS_TT(1, "f32", "tf32")
S8 = cx.XE_DPAS_TT(2, "s32", "s8")
REFUSED: list[tuple[Asked, list[str]]] = [
    (
        (S8, (4, 64, 32), (2, 4, 1), {"a": "col"}),
        ["use a tile of (8, 64, 32)", "use (1, 4, 1) subgroups", 'store A as "row"'],
    ),
    (
        (cx.XE_DPAS_TT(1, "s32", "u4", "s4"), (1, 32, 64), (1, 2, 1), {"a": "col"}),
        ["use a tile of (8, 32, 64)", 'store A as "row"'],
    ),
    (
        (cx.XE_DPAS_TT(1, "bf16", "bf16"), (1, 64, 32), (1, 2, 1), {"d": "col"}),
        ["use a tile of (4, 64, 32)", 'store D as "row"'],
    ),
    (
        (TF32, (4, 32, 16), (4, 2, 1), {"a": "col"}),
        ["use XE_DPAS_TT<2,f32,tf32,tf32,f32> and a tile of (8, 32, 16)"],
    ),
    (
        (TF32, (8, 128, 8), (2, 4, 1), {}),
        ["use XE_DPAS_TT<2,f32,tf32,tf32,f32> and a tile of (8, 128, 8)"],
    ),
]


def gemm(op: Any, tile: Any, grid: tuple[int, ...], orders: dict[str, Any]) -> cx.Kernel:
    mma = cx.workgroup_mma(op, tile, (grid, (grid[1], 1, 0)))
    return cx.kernel.gemm(mma, **orders, stages=0)


def followed(asked: Asked, way: str) -> Asked:
    """What is asked for, with a way out in place of what was refused."""
    op, tile, grid, orders = asked
    sizes: Any = tuple(map(int, re.findall(r"\d+", way.rpartition("(")[2])))
    if way.startswith("store"):
        _, name, _, order = way.replace('"', "").split()
        return op, tile, grid, orders | {name.lower(): order}
    if way.endswith("subgroups"):
        return op, tile, sizes, orders
    if " and " in way:
        op = cx.make_mma_atom(way.split()[1]).op
    return op, sizes, grid, orders


@pytest.mark.parametrize(("asked", "ways"), REFUSED, ids=[f"{a[0]} {a[1:]}" for a, _ in REFUSED])
def test_each_way_out_makes_a_gemm_that_computes(asked: Asked, ways: list[str]) -> None:
    with pytest.raises(KernelError) as refused:
        gemm(*asked)
    assert refused.value.fix.split(", or ") == ways
    for way in ways:
        kernel = gemm(*followed(asked, way))
        m, n, k = kernel.mma.tile_mnk
        rng = np.random.default_rng(0)
        a, b = rng.integers(0, 3, (m, k)), rng.integers(0, 2, (k, n))
        op = kernel.mma.atom.op
        types = {"A": op.A, "B": op.B}
        found = cx.run(kernel, a, b, dtype=types)
        assert np.array_equal(np.asarray(found).astype(int), a @ b), way
