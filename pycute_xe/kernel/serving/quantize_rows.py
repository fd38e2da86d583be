"""Rows quantised, by a scale for each row or group: tokens before a product of narrow types."""

from __future__ import annotations

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles, as_index
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import RowBuilder
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.signatures import typed

__all__ = ["LARGEST", "demand_scaled", "quantize_groups", "quantize_rows"]

LARGEST = {"s8": 127.0, "f8e4m3": 448.0, "f8e5m2": 57344.0}
"""The largest number of a type, the same below zero."""

LEAST = 2.0**-100
"""What a row's largest size is taken for where it is smaller, so that nothing is divided by 0."""


@typed
@sized(tile=None)
def quantize_rows(
    columns: int | str = "N",
    *,
    to: str = "s8",
    kind: str = "bf16",
    tile: tuple[int, int] = (64, 64),
    subgroups: int = 4,
) -> Kernel:
    """Return the kernel of two outputs ``D[m,n] = to(X[m,n] / scale[m])`` and ``scale``.

    ``scale[m]`` is the largest ``abs(X[m,n])`` of a row over the largest number of ``to``: "s8",
    "f8e4m3" or "f8e5m2". X (M, columns) is of ``kind``. Raises `KernelError` for other types, and
    for tiles of which a subgroup does not have a multiple of 16 rows.
    C++: vLLM's ``dynamic_per_token_scaled_fp8_quant``.

    >>> print(*quantize_rows(to="f8e4m3").outputs, sep="; ")
    D[M,N] f8e4m3 row-major; scale[M] f32
    """
    demand_scaled("quantize_rows", to)
    k = RowBuilder("quantize_rows", columns, tile, subgroups)
    X, D = k.matrix("X", kind), k.output("D", to, ("M", columns))
    scale = k.output("scale", "f32", ("M",))
    k.fill("top", k.by_row, LEAST)
    with k.tiles("i"):
        k.take_rows("x", X)
        k.gather_rows("max", "top", k.within("abs(x)", "-inf"))
    k.map("by", f"top * {1 / LARGEST[to]!r}")
    k.store(scale, "by", at=k.m * tile[0])
    with k.tiles("j"):
        k.take_rows("y", X)
        k.put_rows(D, "y / by")
    by = [f"max({LEAST!r}, max({j}, abs(X[m,{j}]))) * {1 / LARGEST[to]!r}" for j in "jl"]
    return k.build(f"D[m,n] = {to}(X[m,n] / ({by[0]}))\nscale[m] = {by[1]}")


@typed
@sized(group=None)
def quantize_groups(
    columns: int | str = "N",
    group: int = 128,
    *,
    to: str = "f8e4m3",
    kind: str = "bf16",
    gated: bool = False,
    rows: int = 64,
    subgroups: int = 4,
) -> Kernel:
    """Return the kernel of ``D[m,n] = to(X[m,n] / scale[n/group,m])`` and ``scale``.

    ``scale`` (columns / group, M) has a number for each row and ``group`` columns, the last ones
    the rest: the largest ``abs(X[m,n])`` among these over the largest number of ``to``. It lies as
    `block_scaled_gemm` reads it, rows side by side. X (M, columns) is of ``kind``; ``gated``: X (M,
    2·columns) is gate beside up, and ``silu(gate) * up`` is quantised. Raises `KernelError` for
    other types than `quantize_rows` has, and for groups that are not a multiple of 32 columns.
    C++: vLLM's ``per_token_group_quant_fp8`` and ``silu_and_mul_per_block_quant``.

    >>> print(*quantize_groups(256).outputs, sep="; ")
    D[M,256] f8e4m3 row-major; scale[2,M] f32 row-major
    """
    demand_scaled("quantize_groups", to)
    if group < 1 or group % 32:
        wrong, fit = (
            f"a group of {group} columns is not a multiple of 32",
            max(32, -(-group // 32) * 32),
        )
        raise KernelError("quantize_groups", {"group": group}, wrong, f"use group={fit}")
    k = RowBuilder("quantize_groups", columns, rows, subgroups, 32)
    count = Tiles(columns, group) if isinstance(columns, str) else -(-columns // group)
    extent = as_index(columns)
    X = k.input("X", kind, ("M", extent * (1 + gated)))
    D, scale = k.output("D", to, ("M", columns)), k.output("scale", "f32", (count, "M"))
    value = "silu(gate)*up" if gated else "gate"

    def take(first: Index) -> None:
        k.column = first + extent
        if gated:
            k.take_rows("up", X)
        k.column = first
        k.take_rows("gate", X)

    with k.loop("g", 0, count) as g:
        k.fill("top", k.by_row, LEAST)
        with k.loop("i", 0, group // 32) as i:
            take(g * group + i * 32)
            k.gather_rows("max", "top", k.within(f"abs({value})", "-inf"))
        k.map("by", f"top * {1 / LARGEST[to]!r}")
        k.store(scale, "by", at=(g, k.m * rows))
        with k.loop("j", 0, group // 32) as j:
            take(g * group + j * 32)
            k.put_rows(D, f"{value} / by")
    one = f"silu(X[m,{{0}}])*X[m,{{0}}+{columns}]" if gated else "X[m,{0}]"
    by: list[str] = []
    for g_, i_ in ((f"n/{group}", "i"), ("g", "j")):
        at = f"{group}*({g_})+{i_}"
        mine = f"where({at} < {columns}, abs({one.format(at)}), -inf)"
        by.append(f"max({LEAST!r}, max({i_} < {group}, {mine})) * {1 / LARGEST[to]!r}")
    return k.build(f"D[m,n] = {to}({one.format('n')} / ({by[0]}))\nscale[g,m] = {by[1]}")


def demand_scaled(name: str, to: str) -> None:
    """Refuse a type to which nothing is scaled."""
    if to not in LARGEST:
        raise KernelError(name, {"to": to}, f"rows are not scaled to {to}", 'use to="s8"')
