"""Two matrices, scaled and added: one load for each, one store."""

from __future__ import annotations

from pycute_xe.kernel import Kernel, KernelBuilder, Tiles


def kernel() -> Kernel:
    """D is twice A and B."""
    k = KernelBuilder("matrix_sum", 8)
    A, B = k.input("A", "f32", ("M", "N")), k.input("B", "f32", ("M", "N"))
    D = k.output("D", "f32", ("M", "N"))
    m, n = k.grid(m=Tiles("M", 32), n=Tiles("N", 64))
    k.load("x", A, (32, 64), at=(m * 32, n * 64))
    k.load("y", B, (32, 64), at=(m * 32, n * 64))
    k.map("z", "2*x + y")
    k.store(D, "z", at=(m * 32, n * 64))
    return k.build("D[m,n] = 2*A[m,n] + B[m,n]")
