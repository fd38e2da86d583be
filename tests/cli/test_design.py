"""`pycute-xe design`: what it chooses and why, what it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import pycute_xe as cx
from pycute_xe.cli import design_command as design, main
from pycute_xe.exploring import Space, explore, reasons

CUBE = ["--m", "4096", "--n", "4096", "--k", "4096"]
SMALL = Space((64, 256), (256,), (32,), ((2, 4), (8, 4)), (1, 2), (8,))


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["design", *words])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few candidates, whatever the types."""

    def space(types: tuple[str, str, str, str]) -> Space:
        return Space(SMALL.tiles_m, SMALL.tiles_n, (32,), SMALL.grids, (1, 2), (8,), types)

    monkeypatch.setattr(design, "space_of", space)


@pytest.mark.usefixtures("small")
@pytest.mark.long
def test_the_first_and_why() -> None:
    done = run(*CUBE, "--device", "b70", "--top", "3")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    found = explore(SMALL, "b70", [{"M": 4096, "N": 4096, "K": 4096}])
    for line, one in zip(lines[2:5], found.best, strict=False):
        assert line.split()[1] == "x".join(map(str, one.candidate.tile))
        assert line.split()[2] == "x".join(map(str, one.candidate.grid))
        assert int(line.split()[3]) == one.candidate.stages
        assert f"{one.least * 1e3:.4g} to {one.most * 1e3:.4g}" in line
    assert "not measured" in lines[0]
    assert "  1 to 2 tie in time and instructions" in lines[5]
    assert lines[6] == f"  1 over 3 by the most time; 3 is {found.best[2].candidate}:"
    assert "ties: " in done.output
    assert "8 candidates: " in done.output
    assert f"  refused: {design.refused(found)}" in lines
    assert "  assumed: l2 31 to 77 bytes" in done.output


def test_reasons_name_what_differs() -> None:
    gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    one, two = (cx.cost(gemm, "b70", M=m, N=4096, K=4096) for m in (4096, 4097))
    said = reasons(one, two)
    assert "waves 8 against 9" in said
    assert "fill of the last wave 100% against 50%" in said
    assert "binds" in said[-1]
    assert reasons(one, one)[0].startswith("ties: most ms, least ms, binds, waves")


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_what_is_saved_was_proved(tmp_path: Path) -> None:
    done = run(*CUBE, "--save", str(tmp_path / "chosen"))
    assert done.exit_code == 0, done.output
    assert "verified, for all M, N, K >= 1" in done.output
    kernel = cx.from_json((tmp_path / "chosen" / "gemm.json").read_text(encoding="utf-8"))
    tile = "x".join(map(str, kernel.mma.tile_mnk))
    assert done.output.splitlines()[2].split()[1] == tile
    program = (tmp_path / "chosen" / "gemm.py").read_text(encoding="utf-8")
    assert program == cx.emit(kernel, "program")


@pytest.mark.long
def test_a_space_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the usual space, of fewer tiles: benchmarks/designs.py searches that one."""
    grids = ((2, 4), (8, 4))
    many = Space((8, 256, 512), (16, 256), (32, 64), grids, (2,), (8,))
    monkeypatch.setattr(design, "space_of", lambda _types: many)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert len(Space()) == 67_200
    done = run(*CUBE, "--types", "bf16,bf16,f32", "--target", "bmg", "--device", "b70")
    assert done.exit_code == 0, done.output
    assert "24 candidates" in done.output
    assert done.output.splitlines()[2].split()[1] == "256x256x32"


MISTAKES: dict[str, tuple[list[str], str]] = {
    "a size of 0": (["--m", "0"], "M is 0, not a positive integer"),
    "a size below 0": (["--n", "-3"], "N is -3, not a positive integer"),
    "a size too large": (["--k", "9" * 20], "more than the 8388608 of A (M rows of K)"),
    "types of two precisions": (["--types", "bf16,f16,f32"], "floating-point operands have one"),
    "types of no DPAS": (["--types", "f64,f64,f64"], "DPAS multiplies no f64"),
    "one type": (["--types", "bf16"], "names 1 of 3 or 4 types"),
    "an unknown type": (["--types", "bf16,bf17,f32"], "unknown element type"),
    "an unknown target": (["--target", "xe9"], "unknown target"),
    "an unknown device": (["--device", "b9000"], "no device has this name"),
    "a device of another target": (["--device", "max1550"], "max1550 is a device of pvc, not of"),
    "a target without a device": (["--target", "lnl"], "no figures of a device of lnl are known"),
    "no candidates shown": (["--top", "0"], "0 is not from 1 to 1000"),
    "too many shown": (["--top", "9" * 20], "is not from 1 to 1000"),
    "a file in the folder's place": (["--save", __file__], "is not a folder"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_clear_line(name: str) -> None:
    words, text = MISTAKES[name]
    done = run(*CUBE, *words)
    assert done.exit_code == 2, done.output
    assert text in done.output
    assert len(done.output.splitlines()) == 1
    assert "Way out: " in done.output


@pytest.mark.usefixtures("small")
def test_a_space_of_which_rules_refuse_all(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Space((512,), (512,), (32,), ((8, 4),), (1,), (8,))
    monkeypatch.setattr(design, "space_of", lambda _types: wide)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    done = run(*CUBE)
    assert done.exit_code == 2
    assert "rules refuse all 1 candidates: register-file 1" in done.output
