"""`pycute-xe check`: verdicts, exit status, JSON, and questions that make no sense."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from pycute_xe import cli

LOAD = "XE_LOAD_2D<16,32,32,16>"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["check", *arguments])


def test_a_pitch_is_judged_without_arrays() -> None:
    bad = run(LOAD, "--target", "bmg", "--pitch", "66")
    assert bad.exit_code == 1
    assert "pitch is 66, must be a multiple of 4 (pitch-4)" in bad.stdout
    assert "Way out: make pitch 68" in bad.stdout
    good = run(LOAD, "--target", "bmg", "--pitch", "128")
    assert good.exit_code == 0
    assert (
        good.stdout.splitlines()[0]
        == f"{LOAD} on bmg (Intel Arc B-series (Battlemage), Xe2): legal"
    )
    assert "pitch  a multiple of 4, 32 to 16777216 bytes, not below the width" in good.stdout


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ((LOAD,), 0),
        ((LOAD, "--x", "3"), 1),
        ((LOAD, "--type", "s8", "--base", "64", "--width", "64", "--height", "1", "--y", "-1"), 0),
        (("XE_2D_U16x32x16_LD_V", "--type", "bf16", "--target", "pvc"), 0),
        (("XE_2D_U32x16x16_LD_V",), 1),
        (("XE_8x16x16_F32BF16BF16F32_TT",), 0),
        (("XE_1x16x8_F32TF32TF32F32_TT",), 1),
        (("XE_1x16x8_F32TF32TF32F32_TT", "--allow-unfaithful"), 0),
        (("XE_1D_LDSM<u32,u128>",), 0),
        (("lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64",), 0),
        (("gemm",), 0),
        (("gemm", "--type", "f16", "--sizes", "300x200x61"), 1),
        (("gemm", "--tile", "256x256x64"), 1),
        (("gemm", "--b", "col", "--sizes", "256x256x256", "--pitch", "514"), 1),
    ],
)
def test_the_exit_status_is_the_verdict(arguments: tuple[str, ...], status: int) -> None:
    result = run(*arguments)
    assert result.exit_code == status, result.output
    assert ("legal" if status == 0 else "refused by") in result.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("XE_LOAD_3D",), "no atom has this name"),
        ((LOAD, "--target", "a770"), "one of pvc, bmg, lnl, ptl"),
        ((LOAD, "--tile", "8x8x8"), "--tile describes a GEMM"),
        ((LOAD, "--pitch", "-4"), "pitch is negative"),
        (("XE_DPAS_TT<8,f32,bf16>", "--pitch", "64"), "not used on a surface"),
        (("gemm", "--type", "f64"), "f64"),
        (("gemm", "--tile", "250x256x32"), "not a multiple of 64"),
    ],
)
def test_questions_that_make_no_sense_end_in_one_line(
    arguments: tuple[str, ...], said: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_json_has_rules_by_state_and_demands() -> None:
    result = run(LOAD, "--pitch", "66", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["subject"], report["target"], report["legal"]) == (LOAD, "bmg", False)
    states = {rule["rule"]: rule["state"] for rule in report["rules"]}
    assert (states["pitch-4"], states["load-height"], states["pitch-max"]) == (
        "broken",
        "binds",
        "holds",
    )
    assert all(rule["source"] for rule in report["rules"])
    pitch = next(d for d in report["demands"] if d["quantity"] == "pitch")
    assert pitch["must"] == {"at_least": 32, "at_most": 16777216, "multiple_of": 4}
    assert pitch["not_below_width"]


def test_verbose_lists_every_rule() -> None:
    short, long = run(LOAD).stdout, run(LOAD, "-v").stdout
    assert "base-64" not in short
    assert "(base-64) [OpenCL extension" in long
    assert "count is 2, must be 1 or 2 or 4 (count-d8-d16)" in long
