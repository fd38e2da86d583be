"""The softmax of rows of any length."""

from __future__ import annotations

from math import inf

from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import RowBuilder, rounded
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.signatures import typed

__all__ = ["softmax_rows"]


@typed
@sized(tile=None)
def softmax_rows(
    columns: int | str = "N",
    *,
    kind: str = "f32",
    tile: tuple[int, int] = (64, 32),
    subgroups: int = 4,
) -> Kernel:
    """Return the kernel ``D[m,n] = exp(X[m,n] - top[m]) / sum(n, exp(X[m,n] - top[m]))``.

    ``top`` is the largest of a row. X and D (M, columns) are of ``kind``; a row is read three
    times, and kept nowhere: any length works. Raises `KernelError` for tiles of which a subgroup
    does not have a multiple of 16 rows.

    >>> print(*softmax_rows().inputs)
    X[M,N] f32 row-major
    """
    k = RowBuilder("softmax_rows", columns, tile, subgroups)
    X, D = k.matrix("X", kind), k.output("D", kind, ("M", columns))
    k.fill("top", k.by_row, -inf)
    with k.tiles("i"):
        k.take_rows("x", X)
        k.gather_rows("max", "top", k.within("x", "-inf"))
    k.fill("all", k.by_row)
    with k.tiles("j"):
        k.take_rows("y", X)
        k.gather_rows("sum", "all", k.within("exp(y - top)", "0"))
    with k.tiles("l"):
        k.take_rows("z", X)
        k.put_rows(D, "exp(z - top) / all")
    value = f"{_weight('n', 'j')} / sum(i, {_weight('i', 'l')})"
    return k.build(f"D[m,n] = {rounded(kind, value)}")


def _weight(n: str, j: str) -> str:
    """Return the claim of an element's weight."""
    return f"exp(X[m,{n}] - max({j}, X[m,{j}]))"
