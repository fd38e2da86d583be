"""The place of the largest of each row: greedy sampling."""

from __future__ import annotations

from math import inf

from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import RowBuilder
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.signatures import typed

__all__ = ["argmax_rows", "first_of"]

BEHIND = 2**24
"""At least any number of a column: up to here every integer is a number of f32."""


@typed
@sized(tile=None)
def argmax_rows(
    *, kind: str = "f32", tile: tuple[int, int] = (64, 32), subgroups: int = 4
) -> Kernel:
    """Return the kernel ``R[m]``: the least of the numbers ``ids[n]`` where X[m,n] is largest.

    X (M, N) is of ``kind``. ``ids`` (N), of f32, are numbers from 0 below 2**24, such as those of
    tokens of which this device has a part. A row is read twice. Raises `KernelError` for tiles of
    which a subgroup does not have a multiple of 16 rows.

    >>> print(*argmax_rows().inputs, sep="; ")
    X[M,N] f32 row-major; ids[N] f32
    """
    k = RowBuilder("argmax_rows", "N", tile, subgroups)
    X, ids, R = k.matrix("X", kind), k.input("ids", "f32", ("N",)), k.output("R", "f32", ("M",))
    k.fill("top", k.by_row, -inf)
    with k.tiles("i"):
        k.take_rows("x", X)
        k.gather_rows("max", "top", k.within("x", "-inf"))
    k.fill("first", k.by_row, -float(BEHIND))
    with k.tiles("j"):
        k.take_rows("y", X)
        k.take_columns("id", ids)
        k.gather_rows("max", "first", k.within(first_of("y", "top", "id"), "-inf"))
    k.map("least", "-1*first")
    k.store(R, "least", at=k.m * tile[0])
    first = first_of("X[m,n]", "max(j, X[m,j])", "ids[n]")
    return k.build(f"R[m] = -1*max({-BEHIND}, max(n, {first}))")


def first_of(x: str, top: str, number: str) -> str:
    """Return minus a number where ``x`` is the largest, else minus infinity, exactly."""
    return f"below(-1*{number}, {2 * BEHIND}*at_least({x}, {top}) - {BEHIND})"
