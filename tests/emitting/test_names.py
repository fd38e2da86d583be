"""Names and numbers that no text can hold: refused in every language, by name."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_cases import needs_compiler
from every import every
from host_c import SHIM, needs_cc
from small_kernels import fragment, small_kernel

import pycute_xe as cx
from pycute_xe.emitting.names import spelled
from pycute_xe.errors import CuteError, InputError, KernelError, ToolError
from pycute_xe.kernel import Fill, Index, Kernel, Loop
from pycute_xe.native import toolchain

LANGUAGES = ("opencl", "visa", "cute", "host", "xegpu")


@cache
def gemm(**more: Any) -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, **more)


def looped(variable: str) -> Kernel:
    """A GEMM whose accumulator is filled in a loop of one trip, over a variable of any name."""
    kernel = gemm()
    fill = next(s for s in kernel.statements() if isinstance(s, Fill))
    return kernel.replace(fill, Loop(variable, Index(), Index(None, 1), (fill,)))


@pytest.mark.parametrize("to", ["opencl", "visa", "cute", "xegpu"])
def test_a_number_beyond_f32_is_refused(to: Any) -> None:
    with pytest.raises(KernelError, match="beyond the range of f32"):
        cx.emit(gemm(epilogue="acc*1e300"), to)


WORDS = (
    "int",
    "switch",
    "max",
    "xe_lane",
    "XE_ALU",
    "sA",
    "A_width",
    "M_PI",
    "get_group_id",
    "_x",
    "λ",
)
"""Names that C, the preludes, macros or the text itself have taken."""
OURS = ("queue", "np", "print", "get_group_id", "half", "NULL", "A_pitch", "tCrC_f")


def worded(name: str) -> Kernel:
    """A GEMM with a scalar of a name."""
    kernel = gemm(epilogue="acc + bias[n]")
    operands = (*kernel.operands, cx.kernel.Operand(name, "f32", ()))
    return dataclasses.replace(kernel, operands=operands)


def small_named(name: str) -> Kernel:
    """A kernel with one fragment of a name, which is filled and changed."""
    statements = (Fill(name, 2.0), Fill(name, 3.0))
    return Kernel("k", 1, (), (fragment(name, "f32", 8),), (), statements)


@needs_compiler
@every("name", ["max", "sA", "get_group_id"])
@pytest.mark.long
def test_a_loop_of_any_name_compiles(name: str) -> None:
    assert cx.native.compile(looped(name)).dpas


@needs_compiler
@every("name", ["get_group_id", "tCrC_f"])
@pytest.mark.long
def test_an_operand_of_any_name_compiles_and_runs(name: str) -> None:
    kernel = gemm(epilogue=f"{name}*acc")
    given = {"A": np.ones((8, 16), "f4"), "B": np.ones((16, 16), "f4"), name: 0.5}
    found = np.asarray(cx.native.run(kernel, dtype="bf16", **given))
    assert found.tolist() == [[8.0] * 16] * 8


@needs_compiler
@every("name", ["T1", "V0032", "add", "goto", "λ", "int"])
@pytest.mark.long
def test_a_fragment_of_any_name_compiles(name: str) -> None:
    assert cx.native.compile(small_named(name)).instructions


@needs_compiler
@every("name", ["sin", "int", "λ"])
@pytest.mark.long
def test_a_kernel_of_any_name_compiles(name: str) -> None:
    assert cx.native.compile(dataclasses.replace(gemm(), name=name)).dpas


@pytest.mark.parametrize("name", ["copy", "gemm", "prefetch", "reorder", "template"])
def test_cute_hides_no_algorithm(name: str) -> None:
    """A name inside its function would hide the one of CuTe that the text calls."""
    text = cx.emit(looped(name), "cute")
    variable = re.search(r"for \(int (\w+) = 0", text)
    assert variable is not None
    assert variable[1] == f"{name}_"


@needs_cc
@every("name", [*WORDS, *OURS])
@pytest.mark.long
def test_c_takes_every_name(name: str, tmp_path: Path) -> None:
    for kernel in (looped(name), small_named(name), worded(name)):
        text = cx.emit(kernel, "opencl", device="cpu")
        source = tmp_path / "kernel.c"
        source.write_text(SHIM + text, encoding="utf-8")
        subprocess.run(["cc", "-w", "-fsigned-char", "-fsyntax-only", str(source)], check=True)


@every("name", ["queue", "np", "print", "kernel_", "groups"])
def test_a_launcher_takes_every_name(name: str) -> None:
    text = cx.emit(worded(name), "host")
    compile(text, "launcher", "exec")
    arguments = re.findall(r"def launch\((.*)\)", text)[0].split(", ")
    assert len({*arguments}) == len(arguments)


def test_names_that_nothing_has_taken_stay() -> None:
    assert spelled(gemm(epilogue="alpha*acc + bias[n]")) == (
        gemm(epilogue="alpha*acc + bias[n]"),
        {},
    )
    assert cx.emit(looped("int")).startswith("// int is called int_ here.\n")


@pytest.mark.parametrize("name", ["EOF", "errno", "bfloat16_t", "gemm_device", "gemm_xe", "A_ld"])
def test_what_headers_types_and_functions_of_cpp_are_called_is_changed(name: str) -> None:
    assert spelled(worded(name))[1] == {name: f"{name}_"}


@every("name", ["a b", "1x", "", "a-b", "k();//"])
@every("to", LANGUAGES)
def test_a_kernel_whose_name_is_not_an_identifier_is_refused(name: str, to: Any) -> None:
    with pytest.raises(CuteError, match="identifier"):
        cx.emit(dataclasses.replace(gemm(), name=name), to)


@pytest.mark.parametrize("name", ["c0", "fill", "A_ahead", "k"])
def test_xegpus_values_have_other_names_than_operands(name: str) -> None:
    text = cx.emit(gemm(epilogue=f"acc + {name}_1 + {name}"), "xegpu")
    head = next(line for line in text.splitlines() if "gpu.func" in line or "func.func" in line)
    given = re.findall(r"%([\w.]+):", head)
    made = re.findall(r"^\s*%([\w.]+) =", text, re.MULTILINE)
    assert name in given
    assert len(made) > 20
    assert not {*given} & {*made}
    assert len({*made}) == len(made)


# ---------------------------------------------------------------- tools


@pytest.mark.long
def test_a_tool_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ocloc", "iga64"):
        (tmp_path / name).write_text("#!/bin/sh\nwhile :; do :; done\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(toolchain, "_PROCESSOR_SECONDS", 1)
    assert shutil.which("ocloc") == str(tmp_path / "ocloc")
    with pytest.raises(ToolError, match="more than 1 s of a processor"):
        cx.native.compile_text("", "gemm")


@needs_compiler
@pytest.mark.long
def test_a_text_without_the_kernel_is_told() -> None:
    with pytest.raises(ToolError, match="no kernel of this name"):
        cx.native.compile_text(cx.emit(small_kernel(())), "other")


@pytest.mark.parametrize("verb", ["run", "compile", "compare"])
def test_what_is_not_a_kernel_is_refused_by_name(verb: str) -> None:
    wrong: Any = cx.Layout(4)
    said = "kernel is a Layout" if verb == "run" else f"the subject is a layout; {verb} takes a k"
    with pytest.raises(InputError, match=said):
        getattr(cx.native, verb)(wrong)
