"""Bad inputs to cost, explore, calibrate and the command line: each gets one clear line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from measured_runs import GEMM, SIZES, narrow, report

import pycute_xe as cx
from pycute_xe.cli import main
from pycute_xe.costing import calibrate
from pycute_xe.errors import CuteError
from pycute_xe.files import from_json, to_json

RUN = report(1.25e-3)
FEW = cx.Space((64,), (64,), (32,), ((2, 4),), (2,), (8,))
PROBLEM = [SIZES]
ANY: Any = cx.cost
EXPLORE: Any = cx.explore
SPACE: Any = cx.Space


def figures(text: str) -> Callable[[Path], object]:
    """Cost with a file of figures."""

    def asked(folder: Path) -> object:
        path = folder / "own.toml"
        path.write_text(text, encoding="utf-8")
        return cx.cost(GEMM, "b580", figures=path, **SIZES)

    return asked


def row(**changed: object) -> Callable[[Path], object]:
    """Cost with a file of one figure, some parts of which are changed."""
    parts = {"name": "l2", "value": [40, 50], "kind": "measured", "source": "a run"} | changed
    body = "\n".join(f"{name} = {json.dumps(value)}" for name, value in parts.items())
    return figures(f'device = "b580"\n[[figure]]\n{body}\n')


def report_text(old: str, new: str) -> Callable[[Path], object]:
    """Read a report in which a piece of text is another."""
    text = to_json(RUN)
    assert old in text
    return lambda _: from_json(text.replace(old, new, 1))


def calibrated(one: Any, kernels: Any = (GEMM,), **given: Any) -> Callable[[Path], object]:
    return lambda _: calibrate([one], list(kernels), **given)


CASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cost: no sizes": (lambda _: cx.cost(GEMM), "M is missing"),
    "cost: a negative size": (lambda _: cx.cost(GEMM, M=-1, N=1, K=1), "M is -1, not a positive"),
    "cost: a size of text": (lambda _: ANY(GEMM, M="8", N=1, K=1), "M is '8', not a positive"),
    "cost: half a size": (lambda _: ANY(GEMM, M=0.5, N=1, K=1), "M is 0.5, not a positive"),
    "cost: a size of another kernel": (lambda _: cx.cost(GEMM, **SIZES, L=2), "no size L"),
    "cost: an unknown device": (lambda _: cx.cost(GEMM, "rtx", **SIZES), "no device has this name"),
    "cost: a number as device": (lambda _: ANY(GEMM, 5, **SIZES), "device is an int"),
    "cost: a layout": (lambda _: ANY(cx.Layout(4), M=1), "cost takes a kernel"),
    "cost: an unknown figure": (
        lambda _: cx.cost(GEMM, "b580", figures={"l3": 1}, **SIZES), "has no figure l3",
    ),
    "cost: a figure that is NaN": (
        lambda _: cx.cost(GEMM, "b580", figures={"l2": float("nan")}, **SIZES), "l2 is nan",
    ),
    "cost: a figure below 0": (
        lambda _: cx.cost(GEMM, "b580", figures={"l2": -3}, **SIZES), "l2 is -3, not a number",
    ),
    "cost: figures in a list": (
        lambda _: ANY(GEMM, "b580", figures=[1], **SIZES), "figures are a list",
    ),
    "cost: figures of another device": (
        lambda _: cx.cost(GEMM, "b70", figures=calibrate([RUN], [GEMM]), **SIZES),
        "the figures are of b580, not of b70",
    ),
    "file: missing": (
        lambda folder: cx.cost(GEMM, "b580", figures=folder / "none.toml", **SIZES),
        "cannot be read: No such file",
    ),
    "file: a folder": (
        lambda folder: cx.cost(GEMM, "b580", figures=folder, **SIZES), "cannot be read: Is a dir",
    ),
    "file: not TOML": (figures("device = ["), "the file cannot be read"),
    "file: empty": (figures(""), "does not have device and"),
    "file: another key": (figures('device = "b580"\nfigure = []\nmore = 1'), "and nothing else"),
    "file: an unknown device": (figures('device = "rtx"\nfigure = []'), "no device has this name"),
    "file: a device of text over lines": (
        figures('device = "a\\nb"\nfigure = []'), "no device has this name",
    ),
    "file: an unknown figure": (row(name="l3"), "'l3' is not the name of a figure"),
    "file: ends in the wrong order": (row(value=[50, 40]), "the value of l2 is"),
    "file: a value of 0": (row(value=[0, 40]), "the value of l2 is"),
    "file: one end": (row(value=[40]), "a figure is"),
    "file: a flag as value": (row(value=[True, 40]), "the value of l2 is"),
    "file: an unknown kind": (row(kind="dreamt"), "the kind of l2 is 'dreamt'"),
    "file: not finite": (
        figures('device="b580"\n[[figure]]\nname="l2"\nvalue=[1,inf]\nkind="measured"\nsource=""'),
        "the value of l2 is",
    ),
    "calibrate: no report": (lambda _: calibrate([], [GEMM]), "no report is given"),
    "calibrate: no kernel": (calibrated(RUN, ()), "unknown kernel"),
    "calibrate: another kernel": (calibrated(RUN, [narrow()]), "unknown kernel 'gemm'"),
    "calibrate: an unknown GPU": (
        calibrated(replace(RUN, device="GeForce 9")), "the unknown device 'GeForce 9'",
    ),
    "calibrate: a CPU": (calibrated(replace(RUN, kind="cpu")), "is of a cpu"),
    "calibrate: wrong results": (
        calibrated(replace(RUN, different="D[0, 0] is 1")), "the results of report 1 were wrong",
    ),
    "calibrate: faster than the peak": (calibrated(report(1e-3)), "faster than the peak: DPAS"),
    "calibrate: no time at all": (calibrated(report(0.0)), "faster than the peak"),
    "calibrate: too few registers": (
        calibrated(replace(RUN, registers=128)), "ran with 128 registers of 224",
    ),
    "calibrate: two devices": (
        lambda _: calibrate([RUN, replace(RUN, device="Arc Pro B70")], [GEMM]), "report 2 is of b7",
    ),
    "calibrate: no measurement": (calibrated("report.json"), "is a str, not a Measurement"),
    "calibrate: other sizes": (
        calibrated(replace(RUN, sizes=(("M", 8),))), "K is missing",
    ),
    "report: a negative time": (report_text("0.00125", "-0.00125"), "a time must be"),
    "report: NaN": (report_text("0.00125", "NaN"), "NaN"),
    "report: damaged": (report_text("}", ""), ""),
    "explore: no problem": (lambda _: cx.explore(FEW, "b580", []), "no problem is given"),
    "explore: half a problem": (lambda _: cx.explore(FEW, "b580", [{"M": 8}]), "must give M, N"),
    "explore: a size of text": (
        lambda _: EXPLORE(FEW, "b580", [{"M": "8", "N": 8, "K": 8}]), "must give M, N and K",
    ),
    "explore: an unknown device": (
        lambda _: cx.explore(FEW, "rtx", PROBLEM), "no device has this name",
    ),
    "explore: no best": (lambda _: cx.explore(FEW, "b580", PROBLEM, best=0), "best is 0, must be"),
    "explore: an unknown objective": (
        lambda _: EXPLORE(FEW, "b580", PROBLEM, objective="speed"), "objective must be",
    ),
    "explore: a log that is a folder": (
        lambda folder: cx.explore(FEW, "b580", PROBLEM, log=folder), "the log cannot be used",
    ),
    "space: an axis of text": (lambda _: SPACE(stages=("2",)), "stages has '2'"),
    "space: an axis that is a number": (lambda _: SPACE(stages=2), "stages is an int"),
    "space: a grid of one": (lambda _: SPACE(grids=(4,)), "grids has 4"),
    "space: an unknown type": (lambda _: cx.Space(types=("f12", "f12", "f32", "f32")), "f12"),
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    asked, words = CASES[name]
    with pytest.raises(CuteError) as raised:
        asked(tmp_path)
    text = str(raised.value)
    assert words in text
    assert "\n" not in text


COMMANDS: dict[str, tuple[list[str], str]] = {
    "a negative size": (["design", "--m", "-1", "--n", "8", "--k", "8"], "M is -1"),
    "an unknown type": (["design", "--m", "8", "--n", "8", "--k", "8", "--types", "x,y,z"], "x"),
    "an unknown device": (
        ["design", "--m", "8", "--n", "8", "--k", "8", "--device", "rtx"], "no device has",
    ),
    "no figures": (
        ["design", "--m", "8", "--n", "8", "--k", "8", "--figures", "none.toml"], "cannot be read",
    ),
    "top of 0": (["design", "--m", "8", "--n", "8", "--k", "8", "--top", "0"], "0 is not from 1"),
    "no report": (["calibrate", "none.json", "--kernel", "none.json"], "cannot be read"),
    "no kernel": (["cost", "none.json", "M=1"], "none.json"),
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_refused_in_one_line(name: str) -> None:
    arguments, words = COMMANDS[name]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2, done.output
    assert words in done.output
    assert "Traceback" not in done.output


def test_what_elements_of_an_input_decide_is_not_known_without_a_run() -> None:
    kernel = cx.kernel.kv_cache_write()
    with pytest.raises(CuteError, match=r"elements of slots, which are not given.*report=True"):
        cx.cost(kernel, "b580", T=4, P=4, G=8)
