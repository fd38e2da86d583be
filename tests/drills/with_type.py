"""Products of a new type of floats: checked, proved, run and emitted, over all of its numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import visa_reader
from widened_codes import widened

import pycute_xe as cx
from pycute_xe.converting import convert
from pycute_xe.numeric import is_exact

new, bf16, f16 = map(cx.as_numeric, ("f8e3m4", "bf16", "f16"))
assert is_exact(new, bf16)
assert is_exact(new, f16)
assert not is_exact(cx.as_numeric("f8e4m3"), new)
codes = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e3m4)
assert np.array_equal(convert(codes.astype(np.float64), new), codes, equal_nan=True)

mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "f16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
kernel = cx.kernel.gemm(mma, types={"A": "f8e3m4", "B": "f8e3m4"})
assert cx.check(kernel, "bmg")
assert cx.verify(kernel), cx.verify(kernel)
rng = np.random.default_rng(0)
A, B = (rng.integers(-7, 8, s).astype(codes.dtype) for s in ((19, 40), (40, 37)))
for executor in ("reference", "fast"):
    found = cx.run(kernel, A, B, executor=executor)
    assert np.array_equal(found, A.astype(int) @ B.astype(int))
text, expected = visa_reader.computed(kernel, (19, 37, 40))
assert np.array_equal(text, expected)
assert "float_e3m4_t" in cx.emit(kernel, "cute")
assert cx.emit(kernel, "opencl")
with pytest.raises(cx.KernelError, match="f8e3m4 has no type"):
    cx.emit(kernel, "xegpu")
texts, numbers = widened("f8e3m4")
assert np.isnan(numbers).any()
assert np.isinf(numbers).any()
assert np.array_equal(texts, numbers, equal_nan=True)
