"""The softmax of rows of 64: each of four subgroups has whole rows, so no row is shared."""

from __future__ import annotations

from pycute_xe.kernel import Kernel, KernelBuilder, Tiles


def kernel() -> Kernel:
    """Two reductions along rows, an exponential between them."""
    k = KernelBuilder("row_softmax", 4)
    X, D = k.input("X", "f32", ("M", 64)), k.output("D", "f32", ("M", 64))
    (m,) = k.grid(m=Tiles("M", 64))
    k.load("x", X, k.parts((64, 64), (4, 1)), at=(m * 64, 0))
    k.reduce("top", "max", "x", axis=1)
    k.map("w", "exp(x - top)")
    k.reduce("all", "sum", "w", axis=1)
    k.map("y", "w / all")
    k.store(D, "y", at=(m * 64, 0))
    return k.build("D[m,n] = exp(X[m,n] - max(j, X[m,j])) / sum(i, exp(X[m,i] - max(j, X[m,j])))")
