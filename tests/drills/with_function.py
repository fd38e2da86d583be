"""The functions are run, proved and emitted; the numbers of the texts are those of NumPy."""

from __future__ import annotations

import numpy as np
import visa_reader
from mlir_values import mapped

import pycute_xe as cx
from pycute_xe.kernel import Map, Slot, apply

mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
rng = np.random.default_rng(0)
A, B = (rng.integers(-2, 3, s).astype(cx.bulk.numpy_dtype("bf16")) for s in ((19, 40), (40, 37)))
product = (A.astype(int) @ B.astype(int)).astype(np.float32)
MEANINGS = {"hardswish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1), "cosine": np.cos}
visa_reader.OPERATIONS["cos"] = np.cos

for name, meaning in MEANINGS.items():
    kernel = cx.kernel.gemm(mma, epilogue=f"{name}(acc)")
    assert cx.check(kernel, "bmg")
    assert cx.verify(kernel), cx.verify(kernel)
    for executor in ("reference", "fast"):
        found = cx.run(kernel, A, B, executor=executor)
        assert np.allclose(found, meaning(product), rtol=1e-6, atol=1e-6)
    wrong = next(s for s in kernel.statements() if isinstance(s, Map))
    spoilt = kernel.replace(wrong, Map("tCrC", apply(name, Slot("tCrC") + 1)))
    assert cx.verify(spoilt).answer == "disproved"
    text, expected = visa_reader.computed(kernel, (19, 37, 40))
    assert np.allclose(text, expected, rtol=1e-5, atol=1e-5)
    numbers = np.linspace(-9, 9, 32 * 64, dtype=np.float32).reshape(32, 64)
    tile = mapped(cx.emit(kernel, "xegpu"), numbers)
    assert np.allclose(tile, meaning(numbers), rtol=1e-6, atol=1e-6)
    assert "tCrC(i) = " in cx.emit(kernel, "cute")
    assert cx.emit(kernel, "opencl")
