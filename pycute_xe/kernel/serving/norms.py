"""Rows brought to one size: RMSNorm, alone or behind an addition, and LayerNorm."""

from __future__ import annotations

from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import RowBuilder, rounded
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.signatures import typed

__all__ = ["add_rms_norm", "layer_norm", "rms_norm"]


@typed
@sized(tile=None)
def rms_norm(
    columns: int,
    *,
    eps: float = 1e-6,
    kind: str = "bf16",
    to: str | None = None,
    tile: tuple[int, int] = (64, 32),
    subgroups: int = 4,
) -> Kernel:
    """Return the kernel ``D[m,n] = X[m,n] / sqrt(mean(X[m,:]²) + eps) * w[n]``.

    X, D (M, columns) and w (columns) are of ``kind``; sums are of f32. With ``to`` D is of that
    type, and what it holds is divided by the scalar ``by``. A row is read twice. Raises
    `KernelError` for tiles of which a subgroup does not have a multiple of 16 rows.

    >>> print(str(rms_norm(64).computes)[:64])
    D[m,n] = bf16(X[m,n]*rsqrt(sum(k, X[m,k]*X[m,k])*0.015625 + 1e-0
    """
    k = RowBuilder("rms_norm", columns, tile, subgroups)
    X, w = k.matrix("X", kind), k.input("w", kind, (columns,))
    by = "" if to is None else f" / {k.input('by', 'f32').name}"
    D = k.output("D", to or kind, ("M", columns))
    k.fill("squares", k.by_row)
    with k.tiles("i"):
        k.take_rows("x", X)
        k.gather_rows("sum", "squares", "x*x")
    k.map("scale", f"rsqrt(squares*{1 / columns!r} + {eps!r})")
    with k.tiles("j"):
        k.take_rows("y", X)
        k.take_columns("gain", w)
        k.put_rows(D, f"y*scale*gain{by}")
    mean = f"sum(k, X[m,k]*X[m,k])*{1 / columns!r}"
    return k.build(f"D[m,n] = {rounded(to or kind, f'X[m,n]*rsqrt({mean} + {eps!r})*w[n]{by}')}")


@typed
@sized(tile=None)
def add_rms_norm(
    columns: int,
    *,
    eps: float = 1e-6,
    kind: str = "bf16",
    tile: tuple[int, int] = (64, 32),
    subgroups: int = 4,
) -> Kernel:
    """Return the kernel of two outputs: ``S = X + R``, and the `rms_norm` D of S.

    X, R, S, D (M, columns) and w (columns) are of ``kind``; S is rounded to it before its rows are
    brought to one size, as they are read again by the next layer. Raises `KernelError` as
    `rms_norm` does. C++: vLLM's ``fused_add_rms_norm``, which writes S over R.

    >>> print(*add_rms_norm(64).outputs, sep="; ")
    S[M,64] bf16 row-major; D[M,64] bf16 row-major
    """
    k = RowBuilder("add_rms_norm", columns, tile, subgroups)
    X, R, w = k.matrix("X", kind), k.matrix("R", kind), k.input("w", kind, (columns,))
    S, D = (k.output(name, kind, ("M", columns)) for name in "SD")
    added = rounded(kind, "x + r")
    k.fill("squares", k.by_row)
    with k.tiles("i"):
        k.take_rows("x", X)
        k.take_rows("r", R)
        k.map("s", added, "f32")
        k.gather_rows("sum", "squares", "s*s")
        k.put_rows(S, "s")
    k.map("scale", f"rsqrt(squares*{1 / columns!r} + {eps!r})")
    with k.tiles("j"):
        k.take_rows("x", X)
        k.take_rows("r", R)
        k.take_columns("gain", w)
        k.map("s", added, "f32")
        k.put_rows(D, "s*scale*gain")
    at, row = (rounded(kind, f"X[m,{n}] + R[m,{n}]") for n in "nk")
    k.computes(f"S[m,n] = {at}")
    mean = f"sum(k, ({row})*({row}))*{1 / columns!r}"
    return k.build(f"D[m,n] = {rounded(kind, f'({at})*rsqrt({mean} + {eps!r})*w[n]')}")


@typed
@sized(tile=None)
def layer_norm(
    columns: int,
    *,
    eps: float = 1e-5,
    kind: str = "bf16",
    tile: tuple[int, int] = (64, 32),
    subgroups: int = 4,
) -> Kernel:
    """Return the kernel ``D[m,n] = (X[m,n] - mean) / sqrt(variance + eps) * w[n] + b[n]``.

    Mean and variance are those of row m, the variance as the mean of squares less the square of the
    mean. X, D (M, columns), w and b (columns) are of ``kind``; sums are of f32. A row is read
    twice. Raises `KernelError` as `rms_norm` does.

    >>> print(*layer_norm(64).inputs, sep="; ")
    X[M,64] bf16 row-major; w[64] bf16; b[64] bf16
    """
    k = RowBuilder("layer_norm", columns, tile, subgroups)
    X, w, b = (k.matrix("X", kind), *(k.input(x, kind, (columns,)) for x in ("w", "b")))
    D = k.output("D", kind, ("M", columns))
    k.fill("sums", k.by_row)
    k.fill("squares", k.by_row)
    with k.tiles("i"):
        k.take_rows("x", X)
        k.gather_rows("sum", "sums", "x")
        k.gather_rows("sum", "squares", "x*x")
    k.map("mean", f"sums*{1 / columns!r}")
    k.map("scale", f"rsqrt(squares*{1 / columns!r} - mean*mean + {eps!r})")
    with k.tiles("j"):
        k.take_rows("y", X)
        k.take_columns("gain", w)
        k.take_columns("bias", b)
        k.put_rows(D, "(y - mean)*scale*gain + bias")
    mean, inner = (f"sum({j}, X[m,{j}])*{1 / columns!r}" for j in "ij")
    variance = f"sum(k, X[m,k]*X[m,k])*{1 / columns!r} - {inner}*({inner})"
    value = f"(X[m,n] - {mean})*rsqrt({variance} + {eps!r})*w[n] + b[n]"
    return k.build(f"D[m,n] = {rounded(kind, value)}")
