"""`native.compare`, and the command line's way to emitted and compiled kernels."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from click.testing import CliRunner
from compiled_cases import needs_compiler

import pycute_xe as cx
from pycute_xe.cli import main
from pycute_xe.cli.app import LANGUAGES
from pycute_xe.emitting import Language
from pycute_xe.kernel import Kernel
from pycute_xe.native import toolchain
from pycute_xe.native.trying import DATA


def large() -> Kernel:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    return cx.kernel.gemm(cx.workgroup_mma(op, (256, 256, 32), ((8, 4, 1), (4, 1, 0))))


@needs_compiler
@pytest.mark.long
def test_a_comparison_tells_counts_registers_and_whether_results_are_equal() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "f16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    found = cx.native.compare(cx.kernel.gemm(mma, a="col"), {"M": 20, "N": 60, "K": 70})
    assert found
    # Two blocks of A turned, two of B, two prefetches at two places, four stores; 2 x 2 x 2 DPAS.
    said = {"load": 4, "prefetch": 4, "store": 4, "dpas": 8}
    assert {name: pair[0] for name, pair in found.static.items()} == said
    # On random numbers and on edges of the type.
    assert found.dynamic["store bytes"] == (2 * 20 * 60 * 4, 2 * 20 * 60 * 4)
    assert found.dynamic["dpas"] == (2 * 4 * 3 * 8, 2 * 4 * 3 * 8)
    assert found.runs == tuple(f"M=20, N=60, K=70: {data}" for data in DATA[:2])
    assert (found.scratch, found.equal) == (0, True)


@needs_compiler
@pytest.mark.long
def test_a_binary_that_spills_is_told_and_refused_not_executed() -> None:
    found = cx.native.compare(large(), registers=128)
    assert not found
    assert found.registers == (224, 128)
    assert (found.scratch > 0, found.equal, found.dynamic) == (True, None, {})
    ones = np.ones((3, 5)), np.ones((5, 2))
    with pytest.raises(cx.MachineError, match="spills to scratch"):
        cx.native.run(large(), *ones, dtype="bf16", registers=128)


@needs_compiler
@pytest.mark.long
def test_the_command_line_multiplies_by_the_binary(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (40, 33)), rng.integers(-3, 4, (33, 20))
    np.save(tmp_path / "A.npy", a)
    np.save(tmp_path / "B.npy", b)
    names = [str(tmp_path / f"{name}.npy") for name in "ABC"]
    more = ["--dtype", "bf16", "--target", "pvc", "--executor", "compiled"]
    size = ["--tile", "16x32x32", "--subgroups", "1x1"]
    done = CliRunner().invoke(main, ["gemm", *names[:2], "-o", names[2], *more, *size])
    assert done.exit_code == 0, done.output
    assert np.array_equal(np.load(names[2]), (a @ b).astype(np.float32))


def test_the_command_line_emits_what_the_library_does(tmp_path: Path) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (32, 64, 64), ((2, 2, 1), (2, 1, 0)))
    gemm = cx.kernel.gemm(mma, b="col", epilogue="relu(acc + bias[n])", d_type="s8", stages=1)
    asked = ["emit", "--type", "s8", "--tile", "32x64x64", "--subgroups", "2x2", "--b", "col"]
    asked += ["--epilogue", "relu(acc + bias[n])", "--d-type", "s8", "--stages", "1"]
    done = CliRunner().invoke(main, asked)
    assert (done.exit_code, done.output) == (0, cx.emit(gemm))
    missing = CliRunner().invoke(main, [*asked, "-o", str(tmp_path / "none" / "gemm.cl")])
    assert (missing.exit_code, missing.output.count("\n")) == (2, 1)
    assert "No such file" in missing.output
    assert get_args(Language) == LANGUAGES
    file = tmp_path / "gemm.visaasm"
    done = CliRunner().invoke(main, [*asked, "--to", "visa", "-o", str(file)])
    assert (done.exit_code, file.read_text()) == (0, cx.emit(gemm, "visa"))


def test_without_the_compiler_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(toolchain.shutil, "which", lambda _name: None)
    monkeypatch.setenv("PYCUTE_XE_COMPILERS", str(tmp_path))
    said = toolchain.missing()
    assert "\n" not in said
    assert "ocloc and iga64" in said
    assert "apt-get install intel-opencl-icd libigc-tools" in said
    assert "make compilers" in said
    with pytest.raises(cx.ToolError, match="intel-opencl-icd"):
        cx.native.compile_text("", "gemm")
