"""A printed check fits a screen and leads with what matters; `full` keeps everything."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from compiled_kinds import CASES

import pycute_xe as cx
from pycute_xe import cli

SUBJECTS = ["XE_LOAD_2D<16,32,32,16>", "XE_2D_U8x8x16_LD_V", "XE_8x16x16_F32BF16BF16F32_TT"]


def fits(found: object) -> list[str]:
    lines = str(found).splitlines()
    assert len(lines) <= 25, "\n".join(lines)
    assert max(map(len, lines)) <= 100, max(lines, key=len)
    return lines


@pytest.mark.parametrize("kind", CASES)
def test_every_kind_is_judged_on_a_screen(kind: str) -> None:
    kernel, _ = CASES[kind].make()
    found = cx.check(kernel, "bmg")
    lines = fits(found)
    assert lines[0].endswith("legal" if found else "rules" if len(found.errors) > 1 else "rule")
    assert lines[1].startswith(f"  registers: {found.registers} of {found.grf_mode}")
    assert f"  binds: {found.binds.name}, {found.binds.used} of" in str(found)
    for held in found.binding[:1]:
        assert held.rule in str(found)
        assert str(held) in found.full()
    assert all(str(demand) in found.full() for demand in found.demands)
    assert all(line in found.full() for line in found.requirements)


@pytest.mark.parametrize("name", SUBJECTS)
def test_so_are_atoms(name: str) -> None:
    fits(cx.check(name, "bmg", pitch=66) if "2D" in name else cx.check(name))


def test_many_findings_are_counted() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (512, 512, 32), ((2, 2, 1), (2, 1, 0)))
    found = cx.check(cx.kernel.gemm(mma), sizes={"M": 7, "N": 5, "K": 3})
    assert len(found.findings) > 3
    lines = fits(found)
    assert "refused by" in lines[0]
    assert any("lines more" in line for line in lines)
    assert all(str(finding) in found.full() for finding in found.findings)


def test_the_command_line_prints_all_when_asked() -> None:
    short, full = (
        CliRunner().invoke(cli.main, ["check", SUBJECTS[0], *more]).output
        for more in ([], ["--full"])
    )
    assert "base-64" in full
    assert "[OpenCL extension" in full
    assert len(short.splitlines()) <= 25 < len(full.splitlines())
