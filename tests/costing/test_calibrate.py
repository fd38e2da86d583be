"""What reports of runs decide about figures: by hand, both ways, and through files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from measured_runs import GEMM, OP, SIZES, narrow, report

import pycute_xe as cx
from pycute_xe.cli import main
from pycute_xe.costing import calibrate, read_figures
from pycute_xe.files import to_json


def test_the_clock_by_hand() -> None:
    """256 work-groups on 20 cores: one has 13 of them, each 4096 DPAS of 16 clocks an engine."""
    (row,) = calibrate([report(1.25e-3)], [GEMM]).rows
    clocks = 13 * (4 * 4 * 256 * 32) * 16 / 8
    assert row.name == "clock"
    assert row.least == pytest.approx(clocks / 1.25e-3 / 1e6)
    assert row.most == 2850
    assert row.origin == "measured (calibration)"


def test_what_memory_reached_leaves_out_what_l2_keeps() -> None:
    sizes = {"M": 8, "N": 16384, "K": 16384}
    kernel = narrow()
    seconds = 1.21e-3
    (row,) = calibrate([report(seconds, kernel, **sizes)], [kernel]).rows
    nbytes = 2 * (8 + 16384) * 16384 + 4 * 8 * 16384 - 18e6
    assert row.name == "memory"
    assert row.least == pytest.approx(nbytes / seconds / 456e9)
    assert row.most == 0.98


def test_a_step_takes_at_most_what_the_run_left() -> None:
    mixed = cx.kernel.gemm(
        cx.workgroup_mma(OP), types={"B": "s4"}, transform_b="B * scale[k/128,n]"
    )
    before = cx.cost(mixed, "b580", **SIZES)
    rows = {row.name: row for row in calibrate([report(2e-3, mixed)], [mixed]).rows}
    widen = rows["widen"]
    assert 1 == widen.least < widen.most < before.device["widen"].most
    after = cx.cost(mixed, "b580", figures={"widen": widen.most, "clock": 2850}, **SIZES)
    alu = next(one for one in after.bounds if one.resource == "ALU")
    assert alu.least == pytest.approx(2e-3)


def test_a_slow_run_decides_nothing_and_the_fastest_of_many_counts() -> None:
    assert calibrate([report(1.0)], [GEMM]).rows == ()
    one = calibrate([report(1.25e-3)], [GEMM])
    more = calibrate([report(1.4e-3), report(1.25e-3), report(1.27e-3)], [GEMM])
    assert [r.least for r in more.rows] == [r.least for r in one.rows]
    assert len(more.judged) == 3
    for judged in more.judged:
        assert judged.before.most >= judged.after.most >= judged.after.least
        assert judged.after.least == judged.before.least


def test_every_run_lies_below_the_new_most_of_its_resource() -> None:
    """The figures that come out allow each run that went in."""
    kernels = [GEMM, narrow()]
    runs = [report(1.3e-3), report(3e-4, kernels[1], M=8, N=4096, K=14336)]
    calibration = calibrate(runs, kernels)
    for run, judged in zip(runs, calibration.judged, strict=True):
        assert judged.after.bounds[0].least <= min(run.seconds)


def test_a_file_gives_the_figures_back(tmp_path: Path) -> None:
    calibration = calibrate({"mine.json": report(1.25e-3)}, [GEMM])
    path = calibration.write(tmp_path / "own.toml")
    again = read_figures(path)
    assert [replace(row, file="calibration") for row in again.rows] == list(calibration.rows)
    costs = [cx.cost(GEMM, "b580", figures=one, **SIZES) for one in (path, str(path), calibration)]
    assert len({(one.least, one.most) for one in costs}) == 1
    assert costs[0].most < cx.cost(GEMM, "b580", **SIZES).most
    assert "measured (own.toml): clock" in str(costs[0])
    assert "mine.json" in str(costs[0])
    assert calibration.device["clock"] == calibration.rows[0]
    assert hash(calibration) == hash(calibrate({"mine.json": report(1.25e-3)}, [GEMM]))


def test_on_the_command_line(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("gemm.json", "report.json", "own.toml")]
    kernel, measured, own = map(str, paths)
    paths[0].write_text(to_json(GEMM), encoding="utf-8")
    paths[1].write_text(to_json(report(1.25e-3)), encoding="utf-8")
    runner = CliRunner()
    done = runner.invoke(main, ["calibrate", measured, "--kernel", kernel, "--write", own])
    assert done.exit_code == 0, done.output
    assert "before 2670 to 2850" in done.output
    sizes = [f"{name}={size}" for name, size in SIZES.items()]
    asked = ["cost", kernel, *sizes, "--device", "b580", "--figures", own, "--effects"]
    done = runner.invoke(main, asked)
    assert done.exit_code == 0, done.output
    assert "measured (own.toml): clock 2726 to 2850" in done.output
    assert "clock (measured (own.toml)) 30 % less:" in done.output
