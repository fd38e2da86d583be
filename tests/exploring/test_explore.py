"""`explore`: refusals are those of `check`, and the best are those of building all."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe.costing import devices
from pycute_xe.errors import CuteError, InputError
from pycute_xe.exploring import Space, explore, search
from pycute_xe.exploring.pricing import lower_bound, price
from pycute_xe.exploring.rules import refusal

FEW = Space((64, 256), (64, 256), (32,), ((2, 4), (8, 4)), (2,), (8,))
ODD = Space((16, 256), (32, 96), (32,), ((1, 2), (8, 4)), (2,), (1, 8))
PROBLEMS = [{"M": 1000, "N": 4096, "K": 4097}, {"M": 8, "N": 1024, "K": 512}]


def judged_by_check(candidate: Any) -> bool:
    """Whether a candidate is built, legal, and not expected to spill."""
    try:
        kernel = candidate.kernel()
    except CuteError:
        return False
    checked = cx.check(kernel, "bmg")
    return bool(checked) and "spills" not in {f.broken.rule for f in checked.findings}


@pytest.mark.parametrize("types", [("bf16", "bf16", "f32", "bf16"), ("s8", "s8", "s32", "s32")])
@pytest.mark.long
def test_what_arithmetic_refuses_check_refuses(types: Any) -> None:
    every = [*islice(Space(types=types), 0, None, 97)]
    target = cx.get_target("bmg")
    passed = 0
    for candidate in random.Random(1).sample(every, 24):
        passed += not refusal(candidate, target)
        if refusal(candidate, target):
            assert not judged_by_check(candidate)
    assert 0 < passed < 24


@pytest.mark.long
@pytest.mark.parametrize(("space", "objective"), [(FEW, "least"), (ODD, "most")])
def test_the_best_are_those_of_building_all(space: Space, objective: Any) -> None:
    device = devices()[0]
    found = explore(space, device, PROBLEMS, objective=objective, best=3)
    every: list[tuple[Any, Any]] = []
    for candidate in space:
        outcome = price(candidate, device, PROBLEMS)
        if not isinstance(outcome, str):
            cost = (outcome[objective == "most"], outcome[objective == "least"])
            every.append(((*cost, outcome[2]), candidate.key))
            low = lower_bound(candidate, device, PROBLEMS, objective)
            assert low[0] <= cost[0]
            assert low[1] <= cost[1]
    assert len(found.best) == 3
    assert [one.candidate.key for one in found.best] == [key for _, key in sorted(every)[:3]]
    refused = sum(count for _, count in found.refused)
    assert found.listed == len(space) == refused + found.built + found.passed_over


@pytest.mark.long
def test_a_run_that_was_stopped_in_a_line_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    whole = explore(FEW, "b580", PROBLEMS, log=log)
    text = log.read_bytes()
    for length in (len(text) - 7, len(text) // 2, 10, 0):
        log.write_bytes(text[:length])
        assert explore(FEW, "b580", PROBLEMS, log=log) == whole
        assert sorted(log.read_bytes().splitlines()) == sorted(text.splitlines())
    with pytest.raises(InputError, match="another space"):
        explore(ODD, "b580", PROBLEMS, log=log)


@pytest.mark.parametrize(
    "damage",
    [
        b"{",
        b"[1]",
        b'{"of": 3, "cost": "x"}',
        b'{"of": "x"}',
        b"\xff",
        b"",
        b'{"of": "x", "cost": [NaN, 1.0, 1]}',
        b'{"of": "x", "cost": [2.0, 1.0, 1]}',
        b'{"of": "x", "cost": [1.0, Infinity, 1]}',
        b'{"of": "x", "cost": [1.0, 2.0, -1]}',
    ],
)
@pytest.mark.parametrize("number", [1, 2])
def test_a_damaged_line_is_named(tmp_path: Path, damage: bytes, number: int) -> None:
    log = tmp_path / "log.jsonl"
    one = Space((64,), (64,), (32,), ((2, 4),), (2,), (8,))
    explore(one, "b580", PROBLEMS, log=log)
    lines = log.read_bytes().splitlines()
    lines[number - 1] = damage
    text = b"\n".join(lines) + b"\n"
    log.write_bytes(text)
    with pytest.raises(InputError) as raised:
        explore(one, "b580", PROBLEMS, log=log)
    assert f"line {number} of {log} is damaged" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert log.read_bytes() == text


class Dying(Executor):
    """An executor whose every second task is lost behind its work."""

    def __init__(self) -> None:
        self.tasks = 0

    def submit(self, fn: Any, /, *args: Any, **named: Any) -> Future[Any]:
        self.tasks += 1
        out: Future[Any] = Future()
        result = fn(*args, **named)
        if self.tasks % 2:
            out.set_exception(RuntimeError("worker lost"))
        else:
            out.set_result(result)
        return out


@pytest.mark.long
def test_a_worker_that_dies_loses_nothing(tmp_path: Path) -> None:
    log, workers = tmp_path / "log.jsonl", Dying()
    plain = explore(FEW, "b580", PROBLEMS)
    assert explore(FEW, "b580", PROBLEMS, executor=workers, log=log) == plain
    assert workers.tasks >= 2
    named = [line.split(b'"cost"')[0] for line in log.read_bytes().splitlines()]
    assert len(named) == len(set(named)) == plain.built + 1


@pytest.mark.long
def test_processes_that_are_killed_lose_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    """A worker is killed while batches are ahead; none is lost, none stands in the log twice."""
    monkeypatch.setattr(search, "BATCH", 2)
    log, plain = tmp_path / "log.jsonl", explore(ODD, "b580", PROBLEMS)
    with ProcessPoolExecutor(2) as workers:
        workers.submit(os.kill, os.getpid(), 0).result()
        victim = next(iter(multiprocessing.active_children()))
        built: list[int] = []

        def kill(number: int, _best: Any) -> None:
            built.append(number)
            victim.kill()
            with suppress(BrokenProcessPool):
                while True:  # until the pool has noticed
                    workers.submit(os.getpid).result()

        assert explore(ODD, "b580", PROBLEMS, executor=workers, log=log, progress=kill) == plain
    assert built[0] < plain.built
    named = [line.split(b'"cost"')[0] for line in log.read_bytes().splitlines()]
    assert len(named) == len(set(named))


DRIVER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_explore import ODD, PROBLEMS
from pycute_xe.exploring import explore, search
search.BATCH = 1
explore(ODD, "b580", PROBLEMS, log=sys.argv[2], progress=lambda built, _: print(built, flush=True))
"""


@pytest.mark.long
def test_a_driver_that_is_killed_goes_on_from_its_log(tmp_path: Path) -> None:
    """Killed at two moments, one behind the other, on one log."""
    log, plain = tmp_path / "log.jsonl", explore(ODD, "b580", PROBLEMS)
    for _ in range(2):
        command = [sys.executable, "-c", DRIVER, str(Path(__file__).parent), str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as driver:
            assert driver.stdout is not None
            assert int(driver.stdout.readline()) < plain.built
            driver.kill()
    assert explore(ODD, "b580", PROBLEMS, log=log) == plain
    named = [line.split(b'"cost"')[0] for line in log.read_bytes().splitlines()]
    assert len(named) == len(set(named))


def test_a_text_names_what_is_assumed() -> None:
    text = str(explore(FEW, "b70", PROBLEMS, best=1))
    assert "assumed: l2 31 to 77" in text
    assert "not measured" in text


MISTAKES: dict[str, tuple[Any, str]] = {
    "an axis without values": (lambda: Space(stages=()), "stages has no value"),
    "a tile of 0": (lambda: Space(tiles_m=(0,)), "tiles_m has 0"),
    "no problem": (lambda: explore(FEW, "bmg", []), "no problem is given"),
    "a size missing": (lambda: explore(FEW, "bmg", [{"M": 1}]), "must give M, N and K"),
    "an objective": (lambda: explore(FEW, "bmg", PROBLEMS, objective="x"), "must be"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_clear_line(name: str) -> None:
    does, words = MISTAKES[name]
    with pytest.raises(InputError, match=words):
        does()


@pytest.mark.long
def test_a_drawing_shows_which_candidates_no_other_is_before() -> None:
    explored = explore(FEW, "b580", PROBLEMS, best=20)
    drawing = cx.draw(explored)  # pyright: ignore[reportArgumentType]
    shown = [cell for cell in drawing.scene.panels[0].cells if cell.data]
    cells: list[dict[str, Any]] = [{**dict(cell.data), "at": cell} for cell in shown]
    assert sum(cell["candidates"] for cell in cells) == len(explored.best)
    for one in cells:
        kernel = explored.kernel(one["rank"])
        assert cx.check(kernel, "bmg").registers == one["registers"]
        before = [
            other
            for other in cells
            if other is not one
            and other["at"].row <= one["at"].row
            and other["registers"] <= one["registers"]
        ]
        assert (one["at"].colour == 0) == (not before)
