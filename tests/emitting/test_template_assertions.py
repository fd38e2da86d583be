"""C++ is emitted for the block-2D operations whose templates compile, and for no other."""

from __future__ import annotations

from itertools import product

import pytest

import pycute_xe as cx
from pycute_xe.atom import Block2DOp
from pycute_xe.errors import CuteError, KernelError


def compiles(op: Block2DOp) -> bool:
    """Return what the static assertions of copy_xe_2d.hpp say at 6601377, read by hand."""
    bits, high, wide, count = op.bits, op.height, op.width, op.width // op.block_width
    base = high <= 32 and bits * wide <= 512 and bits * count <= 64 and count in (1, 2, 4)
    match op.kind:
        case "XE_LOAD_2D" | "XE_PREFETCH_2D":
            return base
        case "XE_LOAD_2D_VNNI":
            return base and bits in (8, 16)
        case "XE_LOAD_2D_TRANSPOSE":
            if bits == 64:
                return base and high == 8 and wide < 4
            return base and bits == 32 and wide <= 8
        case "XE_STORE_2D":
            return base and high <= 8


def operations() -> list[Block2DOp]:
    found: list[Block2DOp] = []
    makers = (cx.XE_LOAD_2D_TRANSPOSE, cx.XE_STORE_2D, cx.XE_PREFETCH_2D)
    blocked = (cx.XE_LOAD_2D, cx.XE_LOAD_2D_VNNI)
    sizes = product((8, 16, 32, 64), (1, 4, 8, 16, 32, 33, 64), (1, 2, 3, 4, 8, 16, 32, 64))
    for bits, high, wide in sizes:
        tries = [(make, (bits, high, wide)) for make in makers]
        tries += [(m, (bits, high, wide, wide // n)) for m in blocked for n in (1, 2, 3, 4, 8)]
        for make, shape in tries:
            try:
                found.append(make(*shape))
            except CuteError:
                continue
    return found


def test_the_rows_are_the_assertions_of_the_templates() -> None:
    every = operations()
    wrong = [op for op in every if compiles(op) == bool(op.broken_assertions)]
    assert wrong == []
    assert {compiles(op) for op in every} == {True, False}


def test_a_template_that_does_not_compile_is_not_emitted() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    kernel = cx.kernel.gemm(mma, b="col", copy_b="XE_LOAD_2D_TRANSPOSE<64,8,4>")
    assert cx.check(kernel)
    with pytest.raises(KernelError, match=r"template does not compile: width is 4.*at most 3"):
        cx.emit(kernel, "cute")
    assert "XE_LOAD_2D_TRANSPOSE<64,8,2>" in cx.emit(
        cx.kernel.gemm(mma, b="col", copy_b="XE_LOAD_2D_TRANSPOSE<64,8,2>"), "cute"
    )
    told = dict(cx.explain("XE_LOAD_2D_TRANSPOSE<64,8,4>").sections())
    assert told["shipped"][0].startswith("no: CUTLASS has this template and rejects")
