"""The page on binaries: what it records of the compiler is what the compiler does."""

from __future__ import annotations

import re
from pathlib import Path

from compiled_cases import needs_compiler

import pycute_xe as cx

PAGE = Path(__file__).resolve().parents[2] / "docs" / "binary.md"


@needs_compiler
def test_the_page_records_what_the_compiler_made() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    gemm = cx.kernel.gemm(mma, a="col", epilogue="relu(acc + bias[n])", d_type="bf16")
    page = PAGE.read_text(encoding="utf-8")
    assert str(cx.native.compare(gemm)) in page
    # Other versions of the compiler order other code; the counts stay.
    counted = str(cx.native.compile(gemm)).splitlines()[1]
    assert counted in page
    assert re.search(r"[0-9,]+ bytes for pvc, [0-9]+ instructions, 256 registers, 0 bytes", page)
