"""Rows quantised, each by a scale of its own: what a token is before a product of narrow types."""

from __future__ import annotations

from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import RowBuilder
from pycute_xe.signatures import typed

__all__ = ["quantize_rows"]

LARGEST = {"s8": 127.0, "f8e4m3": 448.0, "f8e5m2": 57344.0}
"""The largest number of a type, the same below zero."""

LEAST = 2.0**-100
"""What a row's largest size is taken for where it is smaller, so that nothing is divided by 0."""


@typed
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
    if to not in LARGEST:
        raise KernelError("quantize_rows", {"to": to}, f"{to} has no scale here", 'use to="s8"')
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
