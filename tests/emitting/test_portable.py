"""The OpenCL C for CPUs: what it says, and what it computes when a C compiler takes it for C."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_kinds import CASES
from host_c import CLANG, computed, dtype_of, needs_cc, needs_clang
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Kernel

GRID = ((2, 2, 1), (2, 1, 0))
SIZES = {"M": 19, "N": 71, "K": 69}


def gemm(
    op: tuple[int, str, str] = (8, "f32", "bf16"),
    depth: int = 32,
    share: tuple[int, int] = (32, 64),
    **more: Any,
) -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(*op), (*share, depth), GRID)
    return cx.kernel.gemm(mma, **more)


KERNELS: dict[str, Kernel] = {
    "bf16 by columns": gemm(a="col", epilogue="relu(alpha*acc + bias[n])", d_type="bf16"),
    "f16": gemm((8, "f16", "f16"), b="col", epilogue="clamp(acc + C, -4, 6)", d="col"),
    "tf32": gemm((8, "f32", "tf32"), 16),
    "u8": gemm((8, "s32", "u8"), 64, a="col", d_type="s8"),
    "tanh": gemm(share=(16, 32), epilogue="tanh(acc) + gelu(C)"),
    "4 rows": gemm((4, "f32", "f16"), epilogue="abs(acc)*scale[m]"),
    "e4m3": gemm(types={"A": "f8e4m3", "B": "f8e4m3"}, transform_b="B * sb[k/64,n]"),
    "e2m1": gemm(types={"B": "f4e2m1", "s": "ue8m0"}, transform_b="B * s[k/64,n]"),
    "s2 and u4": gemm((8, "s32", "s8"), 64, types={"A": "s2", "B": "u4"}),
    "into tf32": gemm((8, "f32", "tf32"), 16, types={"A": "bf16", "B": "u2"}),
}
MATHEMATICAL = {"tanh"}


def calls(text: str) -> list[str]:
    """The names of the prelude's calls in the kernel, in order, without those on payloads."""
    body = text[text.index("// ---- The kernel.") :]
    body = re.sub(r"XE_ALU\(add \(M1_NM, 1\) xe_payload.*", "", body)
    body = re.sub(r"(XE_(?:LOAD|STORE|PREFETCH))\(", r"\1_2D(", body)
    return re.findall(r"XE_(?:LOAD_2D|STORE_2D|PREFETCH_2D|DPAS|ALU|BARRIER)(?=[_\d]*\()", body)


@pytest.mark.parametrize("name", KERNELS)
def test_statements_and_calls_are_those_of_the_text_for_gpus(name: str) -> None:
    texts = [cx.emit(KERNELS[name], "opencl", device=device) for device in ("gpu", "cpu")]
    said = [[t for t in text.splitlines() if t.startswith("  //")] for text in texts]
    assert said[0] == said[1]
    assert calls(texts[0]) == calls(texts[1])
    assert len(calls(texts[0])) > 20


def inputs(kernel: Kernel) -> dict[str, Any]:
    """Numbers of each operand's type, of which sums are rounded."""
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {}
    for operand in kernel.inputs:
        shape = tuple(mode.at(SIZES) for mode in operand.modes)
        dtype = dtype_of(operand)
        numeric = operand.value_type
        if numeric.bits < 16:  # numbers of which every type has some
            low, high = (0, 4) if numeric.kind == "unsigned" else (-2, 2)
            values = rng.integers(low, high, shape)
            given[operand.name] = (values**2 if numeric.name == "ue8m0" else values).astype(dtype)
        else:  # numbers that tf32 holds and whose sums f32 rounds
            given[operand.name] = (rng.integers(-1023, 1024, shape) / 999.0).astype(dtype)
        if operand.value_type.name == "tf32":
            given[operand.name].view(np.uint32)[...] &= 0xFFFFE000
        if not shape:
            given[operand.name] = 0.75
    return given


@needs_cc
@pytest.mark.parametrize("name", sampled(KERNELS, 2, ["tanh", "e4m3", "into tf32"]))
@pytest.mark.long
def test_c_computes_what_run_does(name: str, tmp_path: Path) -> None:
    kernel = KERNELS[name]
    given = inputs(kernel)
    wanted = np.asarray(cx.run(kernel, executor="reference", **given))
    (found,), _ = computed(kernel, given, SIZES, tmp_path)
    if name in MATHEMATICAL:  # tanh within 8 units in the last place, gelu within 2^-21 |x|
        assert np.abs(found - wanted).max() < 2.0**-18
    else:
        assert found.tobytes() == np.ascontiguousarray(wanted).tobytes()


TYPES = ("-fsanitize=type", "-O1")
REST = ("-fsanitize=undefined,address", "-fno-sanitize-recover=all", "-O0")


@needs_clang
@pytest.mark.parametrize("flags", [TYPES, REST], ids=["types", "the rest"])
@pytest.mark.parametrize("name", sampled([*KERNELS, *CASES], 2, ["tanh", "parts of K"]))
@pytest.mark.long
def test_no_behaviour_is_undefined(name: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    kernel, given = (KERNELS[name], {}) if name in KERNELS else CASES[name].make()
    given = given or inputs(kernel)
    sizes = dict(SIZES)
    for operand in kernel.inputs:
        plain = zip(operand.modes, np.shape(given[operand.name]), strict=True)
        sizes |= {str(mode): extent for mode, extent in plain}
    _, said = computed(kernel, given, sizes, tmp_path, *flags, cc=CLANG)
    assert said == ""


@needs_clang
@pytest.mark.long
def test_an_array_that_is_read_in_two_types_is_noticed(tmp_path: Path) -> None:
    kernel = KERNELS["bf16 by columns"]
    text = cx.emit(kernel, "opencl", device="cpu").replace(
        "XE_SEEN __attribute__((may_alias))", "XE_SEEN"
    )
    _, said = computed(kernel, inputs(kernel), SIZES, tmp_path, *TYPES, cc=CLANG, text=text)
    assert "type-aliasing-violation" in said


def test_other_languages_are_for_gpus_alone() -> None:
    with pytest.raises(InputError, match='"visa" is for GPUs alone'):
        cx.emit(gemm(), "visa", device="cpu")
    wrong: Any = "tpu"
    with pytest.raises(InputError, match="device"):
        cx.emit(gemm(), "opencl", device=wrong)


def test_products_that_plain_c_has_no_call_for_are_refused_by_name() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8", "s4"), (32, 64, 64), GRID)
    with pytest.raises(KernelError, match="products of s4 and s8 cannot be written in plain C"):
        cx.emit(cx.kernel.gemm(mma, b="col"), "opencl", device="cpu")


def test_a_launcher_for_cpus_has_a_work_item_for_each_subgroup() -> None:
    texts = [cx.emit(gemm(), "host", device=device) for device in ("gpu", "cpu")]
    assert [re.findall(r"groups, \((\d+), 1,\)", text) for text in texts] == [["64"], ["4"]]
    assert ["intel" in text for text in texts] == [True, False]
