"""Machine code of every target is read, with Xe3's by ocloc, which iga64 does not know in full."""

from __future__ import annotations

import pytest
from compiled_cases import needs_compiler
from compiled_kinds import CASES

import pycute_xe as cx
from pycute_xe.native import replay, timing
from pycute_xe.native.toolchain import toolchains


def _newest(target: str) -> str:
    every = [each.version for each in toolchains() if target in each.targets]
    if not every:
        pytest.skip(f"no compiler for {target} is here: make compilers")
    return max(every)


@needs_compiler
@pytest.mark.long
def test_lunar_lake_computes_the_same_whatever_the_latencies() -> None:
    version = _newest("lnl")
    kernel, given = CASES["shared tiles, 1 stage"].make()
    binary = cx.native.compile(kernel, "lnl", 256, version)
    assert replay(binary, slower=10.0, seed=1, **given)


@needs_compiler
@pytest.mark.long
def test_a_zebin_for_panther_lake_is_read() -> None:
    """Swizzled tiles use the scalar registers that Xe3 has more of."""
    _newest("ptl")
    kernel, _ = CASES["swizzled tiles"].make()
    compiler = next(each for each in toolchains() if "ptl" in each.targets)
    options = "-cl-intel-256-GRF-per-thread"
    made = compiler.assembled(str(cx.emit(kernel)), "ptl", options)
    report = timing(made, "ptl", 1, trips=2)
    assert 0 < report.least <= report.most
    assert any("dpas" in each.text for each in report.instructions)
