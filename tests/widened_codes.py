"""Every code of a narrow float as emitted text widens it: an operand that is added to zero."""

from __future__ import annotations

import numpy as np
import visa_reader

import pycute_xe as cx
from pycute_xe.converting import host_dtype

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))


def widened(name: str) -> tuple[np.ndarray, np.ndarray]:
    """What the text leaves of each code, and what its type in NumPy or ml_dtypes says it is."""
    kernel = cx.kernel.gemm(MMA, epilogue="acc + C", types={"C": name})
    dtype, bits = host_dtype(name), cx.as_numeric(name).bits
    codes = np.arange(1 << bits, dtype=np.uint16 if bits > 8 else np.uint8).view(dtype)
    rows = -(-codes.size // 64)
    given = {
        "A": np.zeros((rows, 32), host_dtype("bf16")),
        "B": np.zeros((32, 64), host_dtype("bf16")),
        "C": np.resize(codes, (rows, 64)),
    }
    before, visa_reader.filled = visa_reader.filled, lambda *_: given
    try:
        found, _ = visa_reader.computed(kernel, (rows, 64, 32))
    finally:
        visa_reader.filled = before
    return found, given["C"].astype(np.float32)
