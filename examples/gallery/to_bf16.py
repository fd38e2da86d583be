"""From f32 to bf16: what is rounded in registers, and half as many bytes stored."""

from __future__ import annotations

from pycute_xe.kernel import Kernel, KernelBuilder, Tiles


def kernel() -> Kernel:
    """Round every element to the nearest bf16."""
    k = KernelBuilder("to_bf16", 8)
    A, D = k.input("A", "f32", ("M", "N")), k.output("D", "bf16", ("M", "N"))
    m, n = k.grid(m=Tiles("M", 64), n=Tiles("N", 64))
    k.load("x", A, (64, 64), at=(m * 64, n * 64))
    k.convert("y", "x", "bf16")
    k.store(D, "y", at=(m * 64, n * 64))
    return k.build("D[m,n] = bf16(A[m,n])")
