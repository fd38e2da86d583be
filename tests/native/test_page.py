"""The page on binaries: what it records of the compiler is what the compiler does."""

from __future__ import annotations

import re
from pathlib import Path

import made_page
import pytest
from compiled_cases import needs_compiler
from sampling import sampled

import pycute_xe as cx

PAGE = Path(__file__).resolve().parents[2] / "docs" / "binary.md"


@needs_compiler
@pytest.mark.long
def test_the_page_records_what_the_compiler_made() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    gemm = cx.kernel.gemm(mma, a="col", epilogue="relu(acc + bias[n])", d_type="bf16")
    page = PAGE.read_text(encoding="utf-8")
    assert str(cx.native.compare(gemm)) in page
    # Other versions of the compiler order other code; the counts stay.
    counted = str(cx.native.compile(gemm)).splitlines()[1]
    assert counted in page
    assert re.search(r"[0-9,]+ bytes for pvc, [0-9]+ instructions, 256 registers, 0 bytes", page)


@pytest.mark.skipif(bool(cx.native.missing("bmg")), reason=cx.native.missing("bmg"))
@pytest.mark.long
def test_the_page_records_what_the_newest_compiler_made() -> None:
    page = PAGE.read_text(encoding="utf-8")
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    gemm = cx.kernel.gemm(mma, a="col", epilogue="relu(acc + bias[n])", d_type="bf16")
    binary = cx.native.compile(gemm, "bmg")
    assert str(binary).splitlines()[1] in page.partition("bytes for bmg")[2]
    assert not binary.toolchain.tried or str(binary) in page
    assert cx.native.compare(gemm, target="bmg")


@needs_compiler
@pytest.mark.parametrize("path", made_page.PAGES, ids=lambda path: path.name)
@pytest.mark.long
def test_code_and_registers_on_the_pages_are_what_the_compiler_made(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert made_page.MADE.search(text)
    assert made_page.page(text) == text


@needs_compiler
@pytest.mark.long
def test_the_page_draws_the_code_as_it_is() -> None:
    assert made_page.PICTURE.read_text(encoding="utf-8") == made_page.picture()


@needs_compiler
@pytest.mark.parametrize(("mode", "most"), sampled([(128, 122), (256, 250)], 1))
@pytest.mark.long
def test_registers_fit_as_far_as_the_page_says(mode: int, most: int) -> None:
    row = f"| {mode} registers | {most} | {most + 1} |"
    assert row in (PAGE.parent / "made.md").read_text(encoding="utf-8")
    assert made_page.fits(most - 80, mode)
    assert not made_page.fits(most + 1 - 80, mode)
