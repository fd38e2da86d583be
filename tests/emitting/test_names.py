"""Names and numbers that no text can hold: refused in every language, by name."""

from __future__ import annotations

import dataclasses
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from compiled_cases import needs_compiler
from every import every
from small_kernels import small_kernel

import pycute_xe as cx
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


@every("name", ["int", "while"])
@every("to", ["opencl", "cute", "host"])
def test_a_loop_over_a_word_of_c_is_refused(name: str, to: Any) -> None:
    with pytest.raises(KernelError, match=f"{name} cannot be a name"):
        cx.emit(looped(name), to)


@pytest.mark.parametrize("name", ["xe_lane", "XE_ALU", "sA", "max"])
def test_a_loop_over_a_name_of_the_text_is_refused(name: str) -> None:
    with pytest.raises(KernelError, match=f"{name} cannot be a name"):
        cx.emit(looped(name))


@every("name", ["a b", "1x", "", "a-b", "k();//"])
@every("to", LANGUAGES)
def test_a_kernel_whose_name_is_not_an_identifier_is_refused(name: str, to: Any) -> None:
    with pytest.raises(CuteError, match="identifier"):
        cx.emit(dataclasses.replace(gemm(), name=name), to)


def test_a_launcher_has_no_parameter_that_python_keeps_for_itself() -> None:
    with pytest.raises(KernelError, match="lambda cannot be a name in Python"):
        cx.emit(worded(), "host")


def worded() -> Kernel:
    """A GEMM with an operand of a name that Python keeps for itself."""
    kernel = gemm(epilogue="acc + bias[n]")
    operands = (*kernel.operands, cx.kernel.Operand("lambda", "f32", ()))
    return dataclasses.replace(kernel, operands=operands)


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


def test_a_tool_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ocloc", "iga64"):
        (tmp_path / name).write_text("#!/bin/sh\nexec sleep 60\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(toolchain, "_SECONDS", 0.1)
    assert shutil.which("ocloc") == str(tmp_path / "ocloc")
    with pytest.raises(ToolError, match="does not end within"):
        cx.native.compile_text("", "gemm")


@needs_compiler
def test_a_text_without_the_kernel_is_told() -> None:
    with pytest.raises(ToolError, match="no kernel of this name"):
        cx.native.compile_text(cx.emit(small_kernel(())), "other")


@pytest.mark.parametrize("verb", ["run", "compile", "compare"])
def test_what_is_not_a_kernel_is_refused_by_name(verb: str) -> None:
    wrong: Any = "gemm"
    with pytest.raises(InputError, match="kernel is a str"):
        getattr(cx.native, verb)(wrong)
