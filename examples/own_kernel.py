"""Kernels of my own: written line by line, checked, proved for all sizes, run and emitted.

Each is a `KernelBuilder` and names of `pycute_xe` alone. A line that does not fit raises there.
Run it: ``python examples/own_kernel.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.kernel import Kernel, KernelBuilder, Share, Tiles

BF16 = numpy_dtype("bf16")


def relu() -> Kernel:
    """The relu of a matrix: eight subgroups have equal parts of a tile of 64 x 64."""
    k = KernelBuilder("my_relu", 8)
    A, D = k.input("A", "f32", ("M", "N")), k.output("D", "f32", ("M", "N"))
    m, n = k.grid(m=Tiles("M", 64), n=Tiles("N", 64))
    k.load("x", A, (64, 64), at=(m * 64, n * 64))
    k.map("y", "relu(x)")
    k.store(D, "y", at=(m * 64, n * 64))
    return k.build("D[m,n] = relu(A[m,n])")


def row_sums() -> Kernel:
    """R += the sums of the rows of A B, without storing the product."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    k = KernelBuilder("row_sums", mma)
    A, B = k.input("A", "bf16", ("M", "K")), k.input("B", "bf16", ("K", "N"))
    R = k.inout("R", "f32", ("M",))
    m, n = k.grid(m=Tiles("M", 32), n=Tiles("N", 64))
    k.fill("acc", Share(mma, "C"))
    with k.loop("k", 0, Tiles("K", 32)) as i:
        k.load("a", A, Share(mma, "A"), at=(m * 32, i * 32))
        k.load("b", B, Share(mma, "B"), at=(i * 32, n * 64))
        with k.when(i + 1 < Tiles("K", 32)):
            k.prefetch(A, Share(mma, "A"), at=(m * 32, (i + 1) * 32))
            k.prefetch(B, Share(mma, "B"), at=((i + 1) * 32, n * 64))
        k.mma("acc", "a", "b")
    k.reduce("r", "sum", "acc", axis=1)
    k.atomic_add(R, "r", at=m * 32)
    return k.build("R[m] = R[m] + sum(n, sum(k, A[m,k]*B[k,n]))")


def softmax() -> Kernel:
    """The softmax of rows of 64: each of four subgroups has whole rows."""
    k = KernelBuilder("softmax", 4)
    X, D = k.input("X", "f32", ("M", 64)), k.output("D", "f32", ("M", 64))
    (m,) = k.grid(m=Tiles("M", 64))
    k.load("x", X, k.parts((64, 64), (4, 1)), at=(m * 64, 0))
    k.reduce("top", "max", "x", axis=1)
    k.map("w", "exp(x - top)")
    k.reduce("all", "sum", "w", axis=1)
    k.map("y", "w / all")
    k.store(D, "y", at=(m * 64, 0))
    return k.build("D[m,n] = exp(X[m,n] - max(j, X[m,j])) / sum(i, exp(X[m,i] - max(j, X[m,j])))")


def shared_gemm() -> Kernel:
    """D = A B: tiles are loaded once by all subgroups, and meet in shared memory."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 64, 32), ((2, 2, 1), (2, 1, 0)))
    k = KernelBuilder("shared_gemm", mma)
    A, B = k.input("A", "bf16", ("M", "K")), k.input("B", "bf16", ("K", "N"))
    D = k.output("D", "f32", ("M", "N"))
    k.shared("sA", "bf16", (64, 32), stages=2)
    k.shared("sB", "bf16", (32, 64), stages=2)
    m, n = k.grid(m=Tiles("M", 64), n=Tiles("N", 64))
    k.fill("acc", Share(mma, "C"))
    with k.loop("k", 0, Tiles("K", 32)) as i:
        k.load("a", A, (64, 32), at=(m * 64, i * 32))
        k.load("b", B, (32, 64), at=(i * 32, n * 64))
        k.share("sA", "a", stage=i % 2)
        k.share("sB", "b", stage=i % 2)
        k.fence()
        k.barrier()
        k.take("ta", "sA", Share(mma, "A"), stage=i % 2)
        k.take("tb", "sB", Share(mma, "B"), stage=i % 2)
        k.mma("acc", "ta", "tb")
    k.store(D, "acc", at=(m * 64, n * 64))
    return k.build("D[m,n] = sum(k, A[m,k]*B[k,n], f32)")


KERNELS = (relu, row_sums, softmax, shared_gemm)


def main() -> None:
    """Say of each kernel whether a target takes it, whether it is proved, and how long it is."""
    rng, sizes = np.random.default_rng(0), {"M": 70, "N": 48, "K": 40}
    for kernel in (make() for make in KERNELS):
        shapes = {o.name: tuple(mode.at(sizes) for mode in o.modes) for o in kernel.inputs}
        values = {name: rng.integers(-3, 4, shape) for name, shape in shapes.items()}
        types = {o.name: numpy_dtype(o.value_type.name) for o in kernel.inputs}
        given: dict[str, Any] = {name: x.astype(types[name]) for name, x in values.items()}
        out = cx.run(kernel, **given)
        print(kernel)
        print(f"legal on bmg: {bool(cx.check(kernel, 'bmg'))}; {cx.verify(kernel).answer}")
        print(f"ran to {out.shape}; {len(cx.emit(kernel).splitlines())} lines of OpenCL\n")


if __name__ == "__main__":
    main()
