"""The root-mean-square norm of rows of 64, as before every layer of a transformer."""

from __future__ import annotations

from pycute_xe.kernel import Kernel, KernelBuilder, Tiles


def kernel() -> Kernel:
    """The squares of a row are added up; every element is divided by the root of their mean."""
    k = KernelBuilder("row_norm", 4)
    X, D = k.input("X", "f32", ("M", 64)), k.output("D", "f32", ("M", 64))
    (m,) = k.grid(m=Tiles("M", 64))
    k.load("x", X, k.parts((64, 64), (4, 1)), at=(m * 64, 0))
    k.map("s", "x * x")
    k.reduce("all", "sum", "s", axis=1)
    k.map("y", "x / sqrt(all / 64)")
    k.store(D, "y", at=(m * 64, 0))
    return k.build("D[m,n] = X[m,n] / sqrt(sum(j, X[m,j] * X[m,j]) / 64)")
