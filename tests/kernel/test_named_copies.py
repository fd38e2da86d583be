"""GEMMs of named atoms: the older copies and MMAs, as the copy document pairs them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.kernel import Kernel, Load, Store
from pycute_xe.kernel.kinds import parts as given_copies

GRID = ((2, 2, 1), (2, 1, 0))
BF16, F16, S8, F32 = ml_dtypes.bfloat16, np.float16, np.int8, np.float32
S4 = ml_dtypes.int4
ST = "XE_2D_U32x8x16_ST_N"
# MMA, depth of the tile, NumPy's type, copies of A and B, the order of B.
PAIRS: tuple[tuple[str, int, Any, str | None, str | None, Any], ...] = (
    *(("XE_8x16x16_F32BF16BF16F32_TT", 32, BF16, None, None, order) for order in ("row", "col")),
    *(
        ("XE_8x16x16_F32BF16BF16F32_TT", 32, BF16, a, b, "row")
        for a, b in (
            ("XE_2D_U16x32x16_LD_N", "XE_2D_U16x32x16_LD_V"),
            ("XE_2D_U16x32x32_LD_N", "XE_2D_U16x32x32_LD_V"),
            ("XE_2D_U16x8x32_LD_N", "XE_2D_U16x16x32_LD_V"),
        )
    ),
    ("XE_8x16x16_F32F16F16F32_TT", 32, F16, "XE_2D_U16x8x16_LD_N", "XE_2D_U16x16x16_LD_T", "col"),
    ("XE_8x16x32_S32S8S8S32_TT", 64, S8, "XE_2D_Packed_U8x8x32_LD_N", "XE_2D_U8x32x16_LD_V", "row"),
    ("XE_8x16x8_F32TF32TF32F32_TT", 32, F32, "XE_2D_TF32x8x16_LD_N", "XE_2D_U32x16x16_LD_N", "row"),
    ("XE_DPAS_TT<8,s32,s4,s4,s32>", 64, S4, "XE_2D_U4x32x64_LD_N", "XE_2D_U4x32x16_LD_T", "col"),
    (
        "XE_DPAS_TT<8,s32,s4,s4,s32>",
        64,
        S4,
        "XE_2D_Packed_U4x16x64_LD_N",
        "XE_2D_U4x16x16_LD_T",
        "col",
    ),
)


def made(mma: str, k: int, a: str | None, b: str | None, order: Any) -> Kernel:
    tiled = cx.workgroup_mma(cx.get_atom(mma), (64, 64, k), GRID)
    return cx.kernel.gemm(tiled, b=order, copy_a=a, copy_b=b, copy_d=ST)


@pytest.mark.parametrize(("mma", "k", "dtype", "a", "b", "order"), sampled(PAIRS, 4))
@pytest.mark.long
def test_named_atoms_alone_make_a_gemm(
    mma: str, k: int, dtype: Any, a: str | None, b: str | None, order: Any
) -> None:
    kernel = made(mma, k, a, b, order)
    report = cx.check(kernel, "pvc")
    assert report, report
    assert cx.verify(kernel).answer == "proved"
    rng = np.random.default_rng(5)
    left, right = rng.integers(-3, 4, (67, 2 * k + 3)), rng.integers(-3, 4, (2 * k + 3, 61))
    for executor in ("fast", "reference"):
        found = cx.run(kernel, left.astype(dtype), right.astype(dtype), executor=executor)
        assert np.array_equal(found, left @ right)


@pytest.mark.parametrize(("mma", "k", "dtype", "a", "b", "order"), PAIRS)
def test_a_kernel_sends_the_messages_of_the_names(
    mma: str, k: int, dtype: Any, a: str | None, b: str | None, order: Any
) -> None:
    kernel = made(mma, k, a, b, order)
    names = {"A": a, "B": b, "D": ST}
    for statement in kernel.statements():
        if isinstance(statement, (Load, Store)) and (name := names[statement.operand]):
            atom = cx.get_atom(name)
            assert {p.message for p in atom.messages("pvc")} == {statement.copy.op.message}


def test_templates_and_atoms_may_be_given_too() -> None:
    tiled = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 64, 32), GRID)
    op = cx.XE_LOAD_2D(16, 16, 32, 16)
    wanted = cx.kernel.gemm(tiled, copy_a=cx.make_block_2d_copy_A(tiled, ("ld", 1), op=op))
    for given in (op, "XE_LOAD_2D<16,16,32,16>", cx.make_copy_atom(op, "bf16")):
        assert cx.kernel.gemm(tiled, copy_a=given) == wanted


def test_a_template_sends_what_the_name_sends() -> None:
    found = 0
    for name in cx.cutlass.shipped_names():
        op, sent = cx.template_of(name), cx.get_atom(str(name)).messages("pvc")
        assert {placed.message for placed in sent} == {op.message}
        found += 1
    assert found > 100


def test_what_does_not_fit_is_refused_by_name() -> None:
    tiled = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 64, 32), GRID)
    slips: dict[str, tuple[dict[str, Any], str]] = {
        "a store": ({"copy_a": "XE_2D_U16x8x16_ST_N"}, "is a store, A needs a load"),
        "a load": ({"copy_d": "XE_2D_U32x8x16_LD_N"}, "is a load, D needs a store"),
        "a prefetch": ({"copy_b": "XE_2D_U16x32x16_LD_N::PREFETCH"}, "is a prefetch"),
        "too wide": ({"copy_a": "XE_2D_U16x32x64_LD_N"}, "32 x 64 values of bf16 in memory does"),
        "not a copy": ({"copy_a": "XE_8x16x16_F32BF16BF16F32_TT"}, "is not a block-2D copy"),
        "linear": ({"copy_a": "XE_1D_LDSM<u32,u128>"}, "is not a block-2D copy"),
        "narrow": ({"copy_a": "XE_2D_U8x32x32_LD_N"}, "no work-item owns the 2 elements of a 16"),
        "twice": ({"copy_d": ST, "epilogue_tile": (8, 16)}, "cuts the store into messages"),
    }
    for given, words in slips.values():
        with pytest.raises(KernelError, match=words):
            cx.kernel.gemm(tiled, **given)
    with pytest.raises(CuteError, match="did you mean"):
        cx.kernel.gemm(tiled, copy_a="XE_2D_U16x32x16_LD_X")
    with pytest.raises(CuteError, match="XE_2D_"):
        cx.template_of("XE_DPAS_TT<8,f32,bf16>")
    with pytest.raises(CuteError, match="messages of several sizes"):
        cx.template_of("XE_2D_U16x33x16_LD_N")


def test_a_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def get_atom(name: str) -> Any:
        asked.append(name)
        return cx.get_atom(name)

    monkeypatch.setattr(given_copies, "get_atom", get_atom)
    made("XE_8x16x16_F32BF16BF16F32_TT", 32, "XE_2D_U16x32x16_LD_N", None, "row")
    assert asked == ["XE_2D_U16x32x16_LD_N", ST]
