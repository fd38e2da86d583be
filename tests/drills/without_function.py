"""A copy without the functions: they are refused by name."""

from __future__ import annotations

import pytest

import pycute_xe as cx

mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
for name in ("hardswish", "cosine"):
    with pytest.raises(
        cx.KernelError, match=f"function.name={name}.: {name} is not a known function"
    ):
        cx.kernel.gemm(mma, epilogue=f"{name}(acc)")
