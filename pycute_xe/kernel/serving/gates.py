"""A gate beside what it lets through: the two halves of a row combined."""

from __future__ import annotations

from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import RowBuilder, rounded
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.signatures import typed

__all__ = ["gated_rows"]


@typed
@sized(tile=None)
def gated_rows(
    columns: int,
    *,
    combine: str = "silu(gate) * up",
    kind: str = "bf16",
    to: str | None = None,
    tile: tuple[int, int] = (64, 32),
    subgroups: int = 4,
) -> Kernel:
    """Return the kernel ``D[m,n] = silu(X[m,n]) * X[m,n+columns]``, or another of gate and up.

    X (M, 2·columns) and D (M, columns) are of ``kind``; with ``to`` D is of that type, and what it
    holds is divided by the scalar ``scale``. Raises `KernelError` for tiles of which a subgroup
    does not have a multiple of 16 rows. C++: vLLM's ``silu_and_mul``, ``silu_and_mul_quant``.

    >>> print(gated_rows(64, combine="gelu(gate) * up").computes)
    D[m,n] = bf16(gelu(X[m,n])*X[m,n+64])
    """
    k = RowBuilder("gated_rows", columns, tile, subgroups)
    X = k.input("X", kind, ("M", 2 * columns))
    if to is not None:
        k.input("scale", "f32")
        combine = f"({combine}) / scale"
    D = k.output("D", to or kind, ("M", columns))
    with k.tiles("i") as column:
        k.take_rows("gate", X)
        k.column = column + columns
        k.take_rows("up", X)
        k.column = column
        k.put_rows(D, combine)
    value = combine.replace("gate", "X[m,n]").replace("up", f"X[m,n+{columns}]")
    return k.build(f"D[m,n] = {rounded(to or kind, value)}")
