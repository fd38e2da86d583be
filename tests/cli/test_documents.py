"""Documents on the command line: saved by one command, read by the others, from files and pipes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from compiled_cases import needs_compiler
from every import every

import pycute_xe as cx
from pycute_xe import cli

SMALL = ("--tile", "32x32x32", "--subgroups", "2x2")


def run(*arguments: str, given: str | bytes = "") -> Result:
    return CliRunner().invoke(cli.main, arguments, input=given)


def shown(*arguments: str, given: str = "") -> str:
    result = run(*arguments, given=given)
    assert result.exit_code == 0, result.output
    return result.stdout


@cache
def gemm() -> str:
    return shown("gemm", *SMALL, "--save", "-")


@pytest.mark.long
def test_a_pipe_proves_what_was_built() -> None:
    made = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 32, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.gemm(made)
    assert cx.from_json(gemm()) == kernel
    assert "verified, for all M, N, K" in shown("verify", "-", given=gemm())
    loop = kernel.loop("k")
    wrong = kernel.replace(loop, cx.kernel.Loop("k", 1, loop.stop, loop.body, loop.holds))
    result = run("verify", "-", "--json", given=cx.to_json(wrong))
    assert result.exit_code == 1
    assert cx.from_json(result.stdout).counterexample is not None


def test_the_readers_take_a_document(tmp_path: Path) -> None:
    file = tmp_path / "k.json"
    shown("emit", *SMALL, "--type", "bf16", "--save", str(file), "-o", str(tmp_path / "k.cl"))
    assert file.read_text(encoding="utf-8") == gemm()
    assert (tmp_path / "k.cl").read_text() == cx.emit(cx.from_json(gemm()))
    assert shown("emit", str(file), "--to", "visa") == cx.emit(cx.from_json(gemm()), "visa")
    assert "legal" in shown("check", str(file), "--target", "pvc")
    assert shown("explain", str(file)) == f"{cx.from_json(gemm())}\n"
    assert "wrote" in shown("draw", str(file), "B", "-o", str(tmp_path / "b.svg"))
    assert (tmp_path / "b.svg").read_text().startswith("<svg")


def test_a_document_runs_on_arrays(tmp_path: Path) -> None:
    a, b = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)
    np.save(tmp_path / "a.npy", a)
    np.savez(tmp_path / "b.npz", other=a, b=b)
    given = (f"A={tmp_path / 'a.npy'}", f"B={tmp_path / 'b.npz'}:b", "--dtype", "bf16")
    out = tmp_path / "d.npy"
    assert "5 by the fast" in shown("run", "-", *given, "-o", str(out), given=gemm())
    assert np.array_equal(np.load(out), a @ b)
    report = cx.from_json(shown("run", "-", *given, "--json", given=gemm()))
    assert report.sizes == {"M": 3, "K": 4, "N": 5}


def test_layouts_and_atoms_are_saved_and_read(tmp_path: Path) -> None:
    layout, atom = str(tmp_path / "l.json"), str(tmp_path / "a.JSON")
    first = shown("layout", "composition((6,2):(8,2), (4,3):(3,1))", "--save", layout)
    assert shown("layout", layout) == first
    first = shown("atom", "XE_2D_U16x32x16_LD_V", "--type", "bf16", "--save", atom)
    assert shown("atom", atom) == first
    assert shown("diff", atom) == shown("diff", "XE_2D_U16x32x16_LD_V")
    assert shown("check", atom).startswith("XE_2D_U16x32x16_LD_V")
    assert cx.from_json(shown("check", "gemm", "--save", "-")).name == "gemm"


@every(
    ("arguments", "given", "said"),
    [
        (("verify", "-"), "{}", "from_json(at=$): a document is an object"),
        (("verify", "-"), b"\xff", "byte 0 is not UTF-8"),
        (("verify", "-"), cx.to_json(cx.Layout(4)), "the subject is a layout; verify takes"),
        (("verify", "absent.json"), "", "absent.json): No such file"),
        (("check", "-"), "[" * 2_000_000, "characters"),
        (("check", "-", "--type", "bf16"), "{}", "leave --type out"),
        (("atom", "-"), cx.to_json(cx.Layout(4)), "the subject is a layout; atom takes"),
        (("emit", "-", "--tile", "32x32x32"), "{}", "--tile describes a GEMM"),
        (("gemm", "--save", "-", "a.npy"), "", "B is missing"),
        (("gemm",), "", "A is missing"),
        (("gemm", "a", "b", "-o", "c", "--save", "-"), "", "standard output is for the product"),
        (("layout", "4:1", "--save", "absent/x.json"), "", "is not a folder"),
        (("run", "-", "A"), "KERNEL", "'A' is not of the form NAME=VALUE"),
        (("run", "-", "M=x"), "KERNEL", "'x' is not a number"),
        (("run", "-", "A=absent.npy"), "KERNEL", "absent.npy: No such file"),
        (("run", "-", "-o", "E=e.npy"), "KERNEL", "does not name one output of D"),
        (("run", "-"), "KERNEL", "A, B are missing"),
    ],
)
def test_what_cannot_be_read_is_one_message(
    arguments: tuple[str, ...], given: str | bytes, said: str
) -> None:
    result = run(*arguments, given=gemm() if given == "KERNEL" else given)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@needs_compiler
@pytest.mark.long
def test_explain_says_what_the_compiler_made(tmp_path: Path) -> None:
    file = tmp_path / "k.json"
    file.write_text(gemm(), encoding="utf-8")
    made = cx.native.explain(cx.from_json(gemm()))
    assert shown("explain", str(file), "--native") == f"{made}\n"
    assert shown("explain", "-", "--code", "copy A", given=gemm()) == f"{made.code('copy A')}\n"


def test_explain_native_takes_kernels_alone() -> None:
    result = run("explain", "-", "--native", given=cx.to_json(cx.Layout(4)))
    assert result.exit_code == 2
    assert "the subject is a layout; compile takes a kernel" in result.stderr
