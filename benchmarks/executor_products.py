"""Random kernels of products, tables and conditions, for `executor_programs`.

A loop multiplies tiles of s8, u8 or small floats into an accumulator, and changes it between
trips; then come a vector along its columns, a scalar, conditions on indices and on entries of a
table, and a store, whose place and whose loop's bounds a table may give. Entries are near zero, or
as far from it as their type has any.
"""

from __future__ import annotations

import random
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

import pycute_xe as cx
from pycute_xe.converting import host_dtype
from pycute_xe.kernel import Index, Kernel, KernelBuilder, Share, Tiles

Order: TypeAlias = Literal["row", "col"]
Numeric: TypeAlias = Literal["s32", "u32", "s64", "u64"]
Table: TypeAlias = Literal["s32", "u32", "s64", "u64"]

TABLES: tuple[Table, ...] = ("s32", "u32", "s64", "u64")
CHANGES = ("65537*c", "c + c", "max(c, s)", "abs(c)", "c - s", "relu(c + s)", "min(c + c, c)")
ENDS = (
    "max(c + c, w)",
    "c*w",
    "min(c*s, w)",
    "abs(c - w)",
    "where(n < 1, c + c, w)",
    "where({e} < n + 2, max(c + w, s), c*c)",
    "where(m < {e}, c*s, relu(c - w))",
    "clamp(c*s, -7, 7) + w",
)
SMALL = ("max(c, w)", "c + w", "where({e} < n + 2, c, w)", "where(n < 1, c - w, 2*c)")
"""What stays exact in f32."""


def program(r: random.Random) -> Kernel:
    """Return a kernel; `CuteError` where the numbers that were drawn make none."""
    acc, kind = r.choice([("s32", "s8"), ("s32", "u8"), ("s32", "s8"), ("f32", "bf16")])
    groups = r.choice([1, 2])
    op = cx.XE_DPAS_TT(r.choice([1, 4, 8]), acc, kind)
    tile = (op.M * groups * r.choice([1, 2]), 16 * r.choice([1, 2]), op.K * r.choice([1, 2]))
    mma = cx.workgroup_mma(op, tile=tile, subgroups=((groups, 1, 1), (1, groups, 0)))
    orders: tuple[Order, Order] = ("row", "col")
    k = KernelBuilder("products", mma)
    A = k.input("A", kind, ("M", "K"), r.choice(orders))
    B = k.input("B", kind, ("K", "N"), r.choice(orders))
    k.input("s", acc)
    v = k.input("v", acc, ("N",))
    k.input("L", r.choice(TABLES), ("G",))
    D = k.output("D", acc, ("M", "N"), "row" if r.random() < 0.7 else "col")
    m, n = k.grid(m=Tiles("M", tile[0]), n=Tiles("N", tile[1]))
    entry = Index.element("L", m)
    k.fill("c", Share(mma, "C"), r.choice([0, 3]))
    start, stop = _bounds(r, entry, tile[2])
    with k.loop("t", start, stop) as t:
        if r.random() < 0.3:
            k.prefetch(B, Share(mma, "B"), at=((t + 1) * tile[2], n * tile[1]))
        k.load("a", A, Share(mma, "A"), at=(m * tile[0] + _moved(r, entry), t * tile[2]))
        k.load("b", B, Share(mma, "B"), at=(t * tile[2], n * tile[1]))
        if acc == "s32" and r.random() < 0.6:
            k.map("c", r.choice(CHANGES), acc)
        k.mma("c", "a", "b")
    k.load("w", v, k.columns("c"), at=(n * tile[1],))
    form = r.choice(ENDS if acc == "s32" else SMALL)
    k.map("d", form.format(e=_scaled(r)), acc)
    last = "d"
    if acc == "s32" and r.random() < 0.4:
        k.map("again", r.choice(["max(d + d, d)", "d*d - d", "abs(d)", "d + c"]), acc)
        last = "again"
    place = (m * tile[0] + _moved(r, entry), n * tile[1])
    if r.random() < 0.3:
        with k.when(r.choice([entry < m + 3, m < entry, n < 1])):
            k.store(D, last, at=place)
    else:
        k.store(D, last, at=place)
    return k.build()


def _bounds(r: random.Random, entry: Index, depth: int) -> tuple[Index | int, Index]:
    """Return between which trips a loop is done, by a table at times."""
    far = r.random()
    if far < 0.25:
        return r.choice([0, 1]), entry * r.choice([1, 2, -(2**30)])
    if far < 0.35:
        return entry, entry + 2
    return r.choice([0, 0, 1]), Tiles("K", depth)


def _moved(r: random.Random, entry: Index) -> Index:
    """Return by how much a table moves a place, at times: by multiples of its entries."""
    if r.random() < 0.7:
        return Index()
    scale = r.choice([1, 16, 2**20, 2**30, 2**31 - 1, -(2**31)])
    return r.choice([entry * scale, (entry * scale) // 3, (entry * scale) % 5, entry - entry % 4])


def _scaled(r: random.Random) -> str:
    return r.choice(["L[m]", "L[m]*3", f"L[m]*{2**30}", "L[m]/2"])


def inputs_of(kernel: Kernel, r: random.Random) -> dict[str, NDArray[Any]]:
    """Return numbers for operands: small factors of floats, entries that are near zero or far."""
    sizes = {"M": r.choice([1, 9, 33]), "N": r.choice([1, 16, 37]), "K": r.choice([1, 32, 70])}
    sizes["G"] = sizes["M"]
    rng, near = np.random.default_rng(r.randrange(1 << 30)), r.random() < 0.5
    out: dict[str, NDArray[Any]] = {}
    for operand in kernel.inputs:
        shape = tuple(mode.at(sizes) for mode in operand.modes)
        kind = operand.value_type
        if kind.kind == "float":
            out[operand.name] = rng.integers(-3, 4, shape).astype(np.float32)
            continue
        dtype = host_dtype(kind)
        ends = np.iinfo(dtype)
        numbers = rng.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)
        if operand.name == "L":
            far = [e for e in _FAR if ends.min <= e <= ends.max]
            some = [r.choice(far) if not near and r.random() < 0.3 else r.randint(0, 3) for _ in
                    range(shape[0])]  # fmt: skip
            numbers = np.array(some, dtype)
        out[operand.name] = numbers
    return out


_FAR = sorted(
    sign * (1 << power) + step
    for power in (31, 32, 33, 34, 40, 60, 62, 63, 64)
    for step in (-1, 0, 1)
    for sign in (1, -1)
)
