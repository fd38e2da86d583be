"""Kernels of my own: written line by line, checked, proved for all sizes, run and emitted.

Each is a file of `gallery/`: a `KernelBuilder` and names of `pycute_xe` alone. A line that does not
fit raises there. Run it: ``python examples/own_kernel.py``.
"""

from __future__ import annotations

import numpy as np
from gallery import matrix_sum, relu, row_softmax, row_sums, slm_by_hand

import pycute_xe as cx

KERNELS = tuple(one.kernel for one in (relu, matrix_sum, row_sums, row_softmax, slm_by_hand))


def main() -> None:
    """Say of each kernel whether a target takes it, whether it is proved, and how long it is."""
    rng, sizes = np.random.default_rng(0), {"M": 70, "N": 48, "K": 40}
    for kernel in (make() for make in KERNELS):
        shapes = [tuple(mode.at(sizes) for mode in o.modes) for o in kernel.inputs]
        inputs = [rng.integers(-3, 4, shape) for shape in shapes]
        out = cx.run(kernel, *inputs, dtype={o.name: o.value_type.name for o in kernel.inputs})
        print(kernel)
        print(f"legal on bmg: {bool(cx.check(kernel, 'bmg'))}; {cx.verify(kernel).answer}")
        print(f"ran to {out.shape}; {len(cx.emit(kernel).splitlines())} lines of OpenCL\n")


if __name__ == "__main__":
    main()
