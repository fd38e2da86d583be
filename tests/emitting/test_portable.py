"""The OpenCL C for CPUs: what it says, and what it computes when a C compiler takes it for C."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.machine.memory import packed

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="install a C compiler: Debian gcc")
GRID = ((2, 2, 1), (2, 1, 0))
SIZES = {"M": 19, "N": 71, "K": 69}

# OpenCL C's names in C, one work-item at a time: these kernels share nothing that a barrier guards.
SHIM = r"""
#include <math.h>
#include <stdbool.h>
#include <string.h>
#define __attribute__(X)
#define __kernel
#define __global
#define __private
#define uchar unsigned char
#define ushort unsigned short
#define uint unsigned int
#define half _Float16
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define barrier(X) ((void)(X))
#define vload_half(I, P) ((float)(P)[I])
#define vstore_half_rte(X, I, P) ((P)[I] = (half)(X))
#define clz(X) __builtin_clz(X)
#define max(A, B) ((A) > (B) ? (A) : (B))
#define min(A, B) ((A) < (B) ? (A) : (B))
int xe_place[4];
static int get_group_id(int axis) { return xe_place[axis]; }
static int get_local_id(int axis) { (void)axis; return xe_place[3]; }
static float as_float(uint x) { float out; memcpy(&out, &x, 4); return out; }
static uint as_uint(float x) { uint out; memcpy(&out, &x, 4); return out; }
static double xe_within(double x, double low, double high) {
  return x != x ? 0 : x < low ? low : x > high ? high : x;
}
#define convert_int_sat(X) ((int)xe_within(X, -2147483648.0, 2147483647.0))
#define convert_uint_sat(X) ((uint)xe_within(X, 0, 4294967295.0))
#define convert_char_sat(X) ((signed char)xe_within(X, -128, 127))
#define convert_uchar_sat(X) ((uchar)xe_within(X, 0, 255))
"""


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


def dtype_of(operand: Operand) -> np.dtype[Any]:
    """The type of NumPy that holds an operand; tf32 lies in f32."""
    numeric = operand.value_type
    return numpy_dtype("f32" if numeric.name == "tf32" else numeric)


def calls(text: str) -> list[str]:
    """The names of the prelude's calls in the kernel, in order."""
    body = text[text.index("// ---- The kernel.") :]
    return re.findall(r"XE_(?:LOAD_2D|STORE_2D|PREFETCH_2D|DPAS|ALU|BARRIER)(?=[_\d]*\()", body)


@pytest.mark.parametrize("name", KERNELS)
def test_statements_and_calls_are_those_of_the_text_for_gpus(name: str) -> None:
    texts = [cx.emit(KERNELS[name], "opencl", device=device) for device in ("gpu", "cpu")]
    said = [[t for t in text.splitlines() if t.startswith("  //")] for text in texts]
    assert said[0] == said[1]
    assert calls(texts[0]) == calls(texts[1])
    assert len(calls(texts[0])) > 20


@needs_cc
@pytest.mark.parametrize("name", sampled(KERNELS, 2, ["tanh", "e4m3", "into tf32"]))
def test_c_computes_what_run_does(name: str, tmp_path: Path) -> None:
    kernel = KERNELS[name]
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
    wanted = np.asarray(cx.run(kernel, executor="reference", **given))
    found = computed(built(kernel, tmp_path), kernel, given)
    if name in MATHEMATICAL:  # tanh within 8 units in the last place, gelu within 2^-21 |x|
        assert np.abs(found - wanted).max() < 2.0**-18
    else:
        assert found.tobytes() == np.ascontiguousarray(wanted).tobytes()


def built(kernel: Kernel, folder: Path) -> ctypes.CDLL:
    """The text as C, compiled."""
    assert CC is not None
    source, library = folder / "kernel.c", folder / "kernel.so"
    source.write_text(SHIM + cx.emit(kernel, "opencl", device="cpu"), encoding="utf-8")
    flags = ["-O0", "-w", "-shared", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing"]
    subprocess.run([CC, *flags, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def computed(library: ctypes.CDLL, kernel: Kernel, given: dict[str, Any]) -> np.ndarray:
    """What the function leaves in D, called for every subgroup of every work-group."""
    held: dict[str, np.ndarray] = {}
    arguments: list[Any] = []
    for operand in kernel.operands:
        if not operand.modes:
            arguments.append(ctypes.c_float(given[operand.name]))
            continue
        shape = [mode.at(SIZES) for mode in operand.modes]
        value = given.get(operand.name, np.zeros(shape, dtype_of(operand)))
        turned = np.moveaxis(value, operand.contiguous, -1).reshape(-1, shape[operand.contiguous])
        data = np.stack([row_bytes(row, operand) for row in turned])
        row = -(-data.shape[1] // 4) * 4
        held[operand.name] = rows = np.pad(data, ((0, 0), (0, row + 64 - data.shape[1])))
        arguments += [ctypes.c_void_p(rows.ctypes.data), ctypes.c_int(row)]
        if len(shape) == 2:
            arguments.append(ctypes.c_int(rows.shape[1]))
    arguments += [ctypes.c_int(SIZES[name]) for name in kernel.sizes]
    place = (ctypes.c_int * 4).in_dll(library, "xe_place")
    counts = [range(count.at(SIZES)) for _, count in kernel.grid]
    for at in product(*counts, range(kernel.subgroups)):
        place[: len(at) - 1], place[3] = at[:-1], at[-1]
        getattr(library, kernel.name)(*arguments)
    out = kernel.operand("D")
    dtype = dtype_of(out)
    width = SIZES["MN"[out.contiguous]] * dtype.itemsize
    found = held["D"][:, :width].copy().view(dtype)
    return np.ascontiguousarray(found.T if out.contiguous == 0 else found)


def row_bytes(row: np.ndarray, operand: Operand) -> np.ndarray:
    """The bytes of a row, the last one filled up with zeros."""
    numeric = operand.value_type
    if numeric.kind != "float":
        row = row.astype(np.int64)
    rest = -row.size % max(8 // numeric.bits, 1)
    return packed(np.concatenate([row, np.zeros(rest, row.dtype)]), numeric)


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
