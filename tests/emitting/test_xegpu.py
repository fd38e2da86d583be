"""XeGPU modules: what MLIR's own verifier and pipeline say of them, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import family_gemms
import pytest
from mlir_cases import DEFAULT, PIPELINE, loads, needs_mlir, refusal
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Load, Map


def small(acc: str = "f32", ab: str = "bf16", k: int = 32, **given: object) -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, acc, ab), (64, 64, k), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, **given)


Made = Callable[[], Kernel]
LOWERED: dict[str, Made] = {
    "bf16": partial(small),
    "f16": partial(small, ab="f16"),
    "s8": partial(small, "s32", "s8", 64),
    "no prefetch": partial(small, stages=0),
    "epilogue": partial(small, epilogue="relu(2*acc + C)", d_type="f16"),
    "scalar": partial(small, epilogue="alpha*acc"),
    "functions": partial(small, epilogue="tanh(acc) + exp2(C)"),
    "16-bit C": partial(small, ab="f16", epilogue="acc + C", types={"C": "f16"}),
}
TRANSPOSED: dict[str, Made] = {
    "bf16": partial(small, b="col"),
    "f16, no prefetch": partial(small, ab="f16", b="col", stages=0),
    "s8": partial(small, "s32", "s8", 64, b="col"),
}
# What MLIR verifies and does not lower; where it says why, docs/xegpu.md repeats it.
NOT_LOWERED: dict[str, Made] = {
    "transpose is only supported for 32": partial(small, a="col"),
    "'vector.transpose' that was explicitly marked illegal": partial(small, d="col"),
    "'xegpu.prefetch_nd' that was explicitly marked illegal": partial(small, ab="tf32", k=16),
    "Failed to update operation with the layout": partial(small, "f16", "f16"),
}
SAID = [
    *((f"lowered: {name}", kernel) for name, kernel in LOWERED.items()),
    *((f"transposed: {name}", kernel) for name, kernel in TRANSPOSED.items()),
    *((f"not lowered: {name}", kernel) for name, kernel in NOT_LOWERED.items()),
    ("bf16 output", partial(small, d_type="bf16")),
    ("C, of many tiles", partial(small, k=64, epilogue="acc + C", b="col", a="col")),
]

SOME = sampled(SAID, 8)


@needs_mlir
@pytest.mark.parametrize(("name", "kernel"), SOME, ids=[name for name, _ in SOME])
def test_the_verifier_of_mlir_accepts_the_module(name: str, kernel: Made) -> None:
    assert refusal(cx.emit(kernel(), "xegpu")) == "", name


@needs_mlir
@pytest.mark.parametrize("name", sampled(LOWERED, 4))
def test_the_pipeline_of_mlir_lowers_the_module(name: str) -> None:
    assert refusal(cx.emit(LOWERED[name](), "xegpu"), DEFAULT) == ""


@needs_mlir
@pytest.mark.parametrize("name", TRANSPOSED)
def test_a_column_major_b_is_lowered_to_the_kernels_own_transposed_loads(name: str) -> None:
    kernel = TRANSPOSED[name]()
    copy = next(s.copy for s in kernel.statements() if isinstance(s, Load) and s.operand == "B")
    found = [bits for bits, turned in loads(cx.emit(kernel, "xegpu")) if turned]
    assert found == [copy.op.bits] * copy.messages


@needs_mlir
@pytest.mark.parametrize("why", NOT_LOWERED)
def test_what_mlir_does_not_lower_is_told_on_the_page(why: str) -> None:
    said = refusal(cx.emit(NOT_LOWERED[why](), "xegpu"), PIPELINE)
    assert why in said
    assert why in (Path(__file__).parents[2] / "docs" / "xegpu.md").read_text(encoding="utf-8")


@needs_mlir
@pytest.mark.parametrize("row", sampled(family_gemms.rows(), 3), ids=lambda row: row.group)
def test_the_fields_gemms_are_said_or_refused_by_name(row: family_gemms.Row) -> None:
    kernel = row.kernel()
    maps = [s for s in kernel.statements() if isinstance(s, Map)]
    sources = [kernel.fragment(name).value_type for s in maps for name in s.sources]
    if any(numeric.kind != "float" for numeric in sources):
        with pytest.raises(KernelError, match="maps are said of floats"):
            cx.emit(kernel, "xegpu")
    else:
        assert refusal(cx.emit(kernel, "xegpu")) == ""


WRONG = {
    "a depth that differs": (r"(load_nd %A.*)vector<64x32xbf16>", r"\1vector<64x16xbf16>"),
    "blocks that do not divide the tile": (
        r"sg_data = \[32, 32\], inst",
        "sg_data = [24, 32], inst",
    ),
    "too many subgroups": (r"(#c = .*)sg_layout = \[2, 2\]", r"\1sg_layout = [3, 5]"),
    "an instruction larger than its block": (r"inst_data = \[8, 16\]", "inst_data = [64, 16]"),
    "a tile of another type": ("-> vector<64x32xbf16>", "-> vector<64x32xf16>"),
    "a tile of another size": ("-> vector<64x32xbf16>", "-> vector<32x64xbf16>"),
    "a descriptor of three modes": ("tensor_desc<64x64xf32", "tensor_desc<1x64x64xf32"),
    "one index too few": (r"(_nd %A\.d\d)\[(%[\w.]+), %[\w.]+\]", r"\1[\2]"),
    "a stride too few": (r"strides : \[%A\.ld, %c\.n1\]", "strides : [%A.ld]"),
    "an unknown value": (r"%D\.ld, %c\.n1", "%C.ld, %c.n1"),
    "a loop that yields nothing": (r"scf\.yield .*", "scf.yield"),
    "a store of a tile of another size": (r"(store_nd .* : )vector<64x64", r"\1vector<64x32"),
}


def spoilt(name: str) -> str:
    """The module of the small kernel with one thing wrong."""
    text = cx.emit(small(), "xegpu")
    bad = re.sub(*WRONG[name], text)
    assert bad != text
    return bad


@needs_mlir
@pytest.mark.parametrize("name", WRONG)
def test_mlir_rejects_a_module_with_one_thing_wrong(name: str) -> None:
    assert refusal(spoilt(name), DEFAULT)


def test_the_text_depends_on_the_kernel_alone() -> None:
    assert cx.emit(small(), "xegpu") == cx.emit(small(), "xegpu")


def test_every_subgroup_has_the_block_that_the_layout_says() -> None:
    """XeGPU's rule, written anew: subgroup s of a grid has block s // columns, s % columns."""
    text = cx.emit(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))), "xegpu")
    found = re.search(r"#c = .*sg_layout = \[(\d+), (\d+)\], sg_data = \[(\d+), (\d+)\]", text)
    assert found
    _, columns, high, wide = map(int, found.groups())
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    for subgroup in range(32):
        tile = mma.get_slice(16 * subgroup).partition_C(cx.make_identity_tensor((256, 256)))
        first = min(tile(i) for i in range(cx.size(tile.layout)))
        assert first == (subgroup // columns * high, subgroup % columns * wide)


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (small(epilogue="acc + bias[n]"), "a vector is not"),
        (small(batch=True), "only matrices of two modes"),
        (small("s32", "u8", 64), "u8 has no type"),
        (small(epilogue="bf16(acc) + 1"), "has no operation here"),
        (small("s32", "s8", 64, d_type="s8"), "saturate"),
    ],
    ids=str,
)
def test_what_xegpu_cannot_say_is_refused_by_name(kernel: Kernel, why: str) -> None:
    with pytest.raises(KernelError, match=why):
        cx.emit(kernel, "xegpu")


def test_registers_in_another_order_than_they_are_read_in_are_refused() -> None:
    bent = small(a="col", reorder_a=False)
    with pytest.raises(KernelError, match="do not hold the rows"):
        cx.emit(bent, "xegpu")
