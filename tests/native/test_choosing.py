"""Which compiler takes a kernel: `check` and `compile` give one answer, and compilers agree."""

from __future__ import annotations

from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe.errors import ToolError
from pycute_xe.kernel import Kernel
from pycute_xe.native import choosing, toolchain, toolchains
from pycute_xe.native.choosing import broken_for, compiler_for
from pycute_xe.native.toolchain import Toolchain

OLD = Toolchain("22.43.24595", ("pvc",), ("old",), ("old",))
NEW = Toolchain("26.27.39122", ("pvc", "bmg"), ("new",), ("new",))
TILES = {"s8": (64, 64, 64), "bf16": (64, 64, 32), "f16": (32, 64, 32), "tf32": (32, 64, 16)}


def gemm(kind: str, a: str, m: int = 0) -> Kernel:
    rows, columns, depth = TILES[kind]
    op = cx.XE_DPAS_TT(8, "s32" if kind == "s8" else "f32", kind)
    mma = cx.workgroup_mma(op, (m or rows, columns, depth), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, a=a)


def column_bytes(kernel: Kernel) -> int:
    """Bytes of the tallest column of a transposed load, from its message."""
    copies = [s.copy for s in kernel.statements() if type(s).__name__ == "Load"]
    blocks: list[Any] = [m for c in copies for m in [c.block.op.message] if m.transpose]
    return max((m.height * m.bits // 8 for m in blocks), default=0)


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (choosing, toolchain):
        monkeypatch.setattr(module, "toolchains", lambda: (OLD, NEW))


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("kind", TILES)
@pytest.mark.parametrize("a", ["row", "col"])
def test_the_first_that_takes_a_kernel_is_chosen(kind: str, a: str) -> None:
    """The compiler of 2022 takes transposed columns of 64 bytes at most; the later one taller."""
    for m in (16, 32, 64, 128):
        kernel = gemm(kind, a, m)
        tall = column_bytes(kernel) > 64
        assert bool(broken_for(OLD, kernel, "pvc")) == tall
        assert broken_for(NEW, kernel, "pvc") == ()
        assert compiler_for(kernel, "pvc") == (NEW if tall else OLD)
        assert compiler_for(kernel, "bmg") == NEW


@pytest.mark.usefixtures("both")
def test_a_compiler_that_is_named_and_refuses() -> None:
    kernel = gemm("s8", "col")
    with pytest.raises(ToolError, match="column bytes is 128, must be at most 64"):
        compiler_for(kernel, "pvc", "22")
    rules = {f.broken.rule for f in cx.check(kernel, "pvc").findings}
    assert {rule.rule for rule in broken_for(OLD, kernel, "pvc")} <= rules
    with pytest.raises(ToolError, match="no compiler of version 27"):
        compiler_for(kernel, "pvc", "27")


@pytest.mark.skipif(bool(cx.native.missing("bmg")), reason=cx.native.missing("bmg"))
@pytest.mark.parametrize("kind", TILES)
@pytest.mark.long
def test_the_compilers_that_are_found_agree(kind: str) -> None:
    """Each takes what no rule says that it refuses, and refuses what a rule says it does."""
    for m in (32, 64, 128):
        kernel = gemm(kind, "col", m)
        text = cx.emit(kernel, "opencl")
        for each in toolchains():
            expected = not broken_for(each, kernel, "pvc")
            try:
                each.assembled(text, "pvc", "-cl-std=CL2.0 -cl-intel-256-GRF-per-thread")
                taken = True
            except ToolError:
                taken = False
            assert taken == expected, (kind, m, each.version)
        assert cx.native.compile(kernel).dpas
