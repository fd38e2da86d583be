"""The relu of a matrix: eight subgroups have equal parts of a tile of 64 x 64."""

from __future__ import annotations

from pycute_xe.kernel import Kernel, KernelBuilder, Tiles


def kernel() -> Kernel:
    """Load a tile, take the maximum with zero, store it."""
    k = KernelBuilder("relu", 8)
    A, D = k.input("A", "f32", ("M", "N")), k.output("D", "f32", ("M", "N"))
    m, n = k.grid(m=Tiles("M", 64), n=Tiles("N", 64))
    k.load("x", A, (64, 64), at=(m * 64, n * 64))
    k.map("y", "relu(x)")
    k.store(D, "y", at=(m * 64, n * 64))
    return k.build("D[m,n] = relu(A[m,n])")
