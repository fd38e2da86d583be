"""A new statement: run by both executors, proved and disproved, counted, drawn and emitted."""

from __future__ import annotations

import numpy as np
import pytest
import visa_reader
from broken_kernels import find, tiled_mma
from test_tables import TABLES, kinds

import pycute_xe as cx
from pycute_xe.kernel import Map, Negate

for name, (table, _) in TABLES.items():
    assert set(table) == set(kinds()), name
assert Negate in kinds()

gemm = cx.kernel.gemm(tiled_mma((16, 32, 32), (2, 2)), epilogue="-acc")
kernel = gemm.replace(find(gemm, Map), Negate("tCrC", "tCrC"))
assert "negate    tCrC → tCrC" in str(kernel)
assert cx.check(kernel, "bmg")
assert cx.verify(kernel), cx.verify(kernel)
rng = np.random.default_rng(0)
A, B = (rng.integers(-3, 4, s).astype(cx.bulk.numpy_dtype("bf16")) for s in ((19, 40), (40, 37)))
for executor in ("reference", "fast"):
    D, report = cx.run(kernel, A, B, executor=executor, report=True)
    assert np.array_equal(D, -(A.astype(int) @ B.astype(int))), executor
    assert report.messages == cx.run(gemm, A, B, executor=executor, report=True)[1].messages
assert cx.draw(kernel, "A")

text, expected = visa_reader.computed(kernel, (11, 29, 40))
assert np.array_equal(text, expected)
assert "mov (M1_NM, 16) tCrC_f(0,0)<1> (-)tCrC_f(0,0)<1;1,0>" in cx.emit(kernel, "visa")
assert "(-)" in cx.emit(kernel, "opencl")
assert cx.emit(kernel, "opencl", device="cpu")
assert "tCrC(i) = -tCrC(i);" in cx.emit(kernel, "cute")
with pytest.raises(cx.KernelError, match="no meaning for Negate"):
    cx.emit(kernel, "xegpu")

# Wrong: twice, so that it does nothing, and on integers.
negate = find(kernel, Negate)
wrong = kernel.replace(negate, (negate, negate))
answer = cx.verify(wrong)
assert answer.answer == "disproved"
assert cx.replay(wrong, answer.counterexample).shows
counts = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8")), epilogue="relu(acc)")
with pytest.raises(cx.KernelError, match="only floats have a sign"):
    counts.replace(find(counts, Map), negate)
