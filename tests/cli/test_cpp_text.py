"""The command line takes C++ types and prints where it takes names and layouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from cute_prints import copy_text
from golden import rows

from pycute_xe.cli.app import main

MMA = (
    "TiledMMA<MMA_Atom<XE_DPAS_TT<8,float,bfloat16_t>>,Layout<Shape<_8,_4,_1>,Stride<_4,_1,_0>>,"
    "Tile<_256,_256,_32>>"
)


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.output


def test_layout_takes_a_type() -> None:
    status, text = run("layout", "cute::Layout<Shape<_4,_8>,Stride<_8,_1>>", "--json")
    assert status == 0
    assert json.loads(text)["value"]["shape"] == [4, 8]
    assert run("layout", "Layout<Shape<_4,_8>,Stride<_8,_1>>") == run("layout", "(4,8):(8,1)")


def test_check_takes_types_and_prints() -> None:
    assert run("check", MMA, "--target", "bmg")[0] == 0
    row = next(
        row
        for row in rows("cute_copy_atoms_2d")["cases"]
        if (row["kind"], row["CopyBits"], row["Height"], row["Width"], row["ValBits"])
        == ("XE_LOAD_2D", 16, 16, 16, 16)
    )
    text = copy_text(row, 16)
    status, told = run("check", text, "--type", "bf16", "--op", "XE_LOAD_2D<16,16,16>")
    assert status == 0
    assert "XE_LOAD_2D<16,16,16>" in told
    status, told = run("check", text, "--type", "bf16", "--op", "XE_LOAD_2D<16,16,32>")
    assert status == 2
    assert "line 1, column 1: XE_LOAD_2D<16,16,32> has other layouts" in told


def test_op_belongs_to_prints() -> None:
    status, told = run("check", "XE_LOAD_2D<16,16,16>", "--op", "XE_LOAD_2D<16,16,16>")
    assert status == 2
    assert "leave --op out" in told


@pytest.mark.parametrize("name", ["XE_2D_U16x32x32_LD_V"])
def test_atom_takes_a_type(name: str, tmp_path: Path) -> None:
    drawing = tmp_path / "atom.svg"
    typed = run("atom", f"Copy_Atom<Copy_Traits<{name}>, bfloat16_t>", "--svg", str(drawing))
    assert typed[0] == 0
    assert drawing.read_text(encoding="utf-8").startswith("<svg")
    assert name in typed[1]


def test_a_slip_is_told_with_its_place() -> None:
    status, told = run("layout", "Layout<Shape<8>>")
    assert status == 2
    assert "line 1, column 14: the number 8 is not a type" in told
