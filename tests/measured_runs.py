"""Reports of runs that were not run: a kernel, sizes, and a time that a test chooses."""

from __future__ import annotations

from typing import Any

import pycute_xe as cx
from pycute_xe.emitting.measurement import Measurement
from pycute_xe.kernel.ir.identity import identity

OP = cx.XE_DPAS_TT(8, "f32", "bf16")
GEMM = cx.kernel.gemm(cx.workgroup_mma(OP))
SIZES: Any = {"M": 4096, "N": 4096, "K": 4096}


def report(seconds: float, kernel: Any = GEMM, **sizes: int) -> Measurement:
    extents = tuple((sizes or SIZES).items())
    return Measurement(
        kernel.name, identity(kernel), "Intel(R) Arc(TM) B580 Graphics", "gpu", "26.1", extents,
        256, 0.5, (seconds * 1.1, seconds, seconds * 1.2), 1, 1, 1.0, 0.0, "",
    )  # fmt: skip


def narrow() -> cx.Kernel:
    return cx.kernel.gemm(cx.workgroup_mma(OP, (8, 128, 32), ((1, 1, 1), (1, 1, 0))))
