"""Candidates by their machine code: seconds by hand, what is refused, and the chosen kernel."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe import ranking
from pycute_xe.errors import InputError, ToolError
from pycute_xe.native import timing
from pycute_xe.native.toolchain import missing
from pycute_xe.ranking import timed

SPACE = cx.Space((256,), (256,), (32,), ((4, 8), (8, 4)), (2,), (8,))
PROBLEM = {"M": 4096, "N": 4096, "K": 4096}
needs_compiler = pytest.mark.skipif(bool(missing("bmg")), reason="no compiler for bmg")


@needs_compiler
@pytest.mark.long
def test_seconds_are_those_of_the_trips_of_the_busiest_core(monkeypatch: Any) -> None:
    """256 work-groups on 20 cores: 13 of them one behind the other, each of 128 trips."""
    explored = cx.explore(replace(SPACE, grids=((8, 4),)), "b580", [PROBLEM])
    kept: list[Any] = []

    def clocked(*given: Any, **named: Any) -> Any:
        assert (given[1:], named) == ((cx.get_target("bmg"), 4), {"group": 32})
        kept.append(timing(*given, **named))
        return kept[-1]

    monkeypatch.setattr(ranking, "timing", clocked)
    progress: list[int] = []
    ranked = timed(explored, progress=progress.append)
    assert progress == [1]
    assert not ranked.refused
    assert {one.priced for one in ranked.best} == set(explored.best)
    assert [one.most for one in ranked.best] == sorted(one.most for one in ranked.best)
    for one, clocks in zip(ranked.best, kept, strict=True):
        # The compiler may have joined trips: DPAS of the loop, 32 for each trip of the kernel.
        loop = clocks.instructions[clocks.loop[0] : clocks.loop[1] + 1]
        joined = sum("dpas." in each.text for each in loop) / 32
        assert one.least == pytest.approx(13 * 128 / joined * clocks.least / 2850e6)
        assert one.most == pytest.approx(13 * 128 / joined * clocks.most / 2670e6)


@needs_compiler
@pytest.mark.long
def test_code_that_uses_scratch_is_refused_with_that_reason(monkeypatch: Any) -> None:
    monkeypatch.setattr(ranking, "compile", lambda *_: SimpleNamespace(scratch=64))
    ranked = timed(cx.explore(SPACE, "b580", [PROBLEM]), 1)
    assert not ranked.best
    assert "uses 64 bytes of scratch" in ranked.refused[0][1]
    assert "uses 64 bytes of scratch" in str(ranked)


def test_without_a_compiler_nothing_is_ranked(monkeypatch: Any) -> None:
    def refuse(_target: str) -> None:
        raise ToolError("compile", {}, "no compiler was found", "install one")

    monkeypatch.setattr(ranking, "toolchain_for", refuse)
    with pytest.raises(ToolError, match="no compiler"):
        timed(cx.explore(SPACE, "b580", [PROBLEM]))


FEW = cx.Space((64,), (64, 128), (32,), ((2, 2), (2, 4)), (2,), (8,))
SMALL = {"M": 128, "N": 128, "K": 256}


def test_explore_says_that_no_compiler_is_there(monkeypatch: Any) -> None:
    monkeypatch.setattr(ranking, "missing", lambda _target: "ocloc not found: install it")  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    plain = cx.explore(FEW, "b580", [SMALL], best=2)
    found = cx.explore(FEW, "b580", [SMALL], best=2, timed=2)
    assert found.best == plain.best
    assert found.notes == ("not timed: ocloc not found: install it",)
    assert "not timed: ocloc not found" in str(found)


@pytest.mark.long
def test_explore_ranks_the_first_by_their_clocks_and_leaves_the_others(monkeypatch: Any) -> None:
    """With clocks made up: the second is fastest, the first spills."""
    plain = cx.explore(FEW, "b580", [SMALL], best=4)
    first, second, third, fourth = plain.best
    seconds: dict[Any, Any] = {first: "spills", second: (1e-3, 2e-3), third: (1e-3, 1e-3)}
    monkeypatch.setattr(ranking, "missing", lambda _target: "")  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(ranking, "toolchain_for", lambda _target: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(ranking, "_timed", lambda one, *_: seconds[one])  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    found = cx.explore(FEW, "b580", [SMALL], best=4, timed=3)
    assert found.best == (third, second, fourth)
    assert found.clocks == ((1e-3, 1e-3), (1e-3, 2e-3))
    assert found.notes == (f"refused: {first.candidate}: spills",)
    assert "the first 2 by machine code" in str(found)
    monkeypatch.setattr(ranking, "_timed", lambda *_: "spills")  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    none = cx.explore(FEW, "b580", [SMALL], best=4, timed=3)
    assert none.best == plain.best
    assert none.notes[0] == "not timed: every candidate is refused"
    with pytest.raises(InputError, match="timed is -1, must be 0 or more"):
        cx.explore(FEW, "b580", [SMALL], timed=-1)


@pytest.mark.long
def test_the_best_is_proved_and_emitted() -> None:
    explored = cx.explore(SPACE, "b580", [PROBLEM])
    assert explored.proved()
    kernel = explored.best[1].candidate.kernel()
    assert explored.kernel(2) == kernel
    assert explored.emitted("cute", 2) == cx.emit(kernel, "cute")
    for rank in (0, 3, "1"):
        with pytest.raises(InputError, match="the best are 1 to 2"):
            explored.kernel(rank)  # pyright: ignore[reportArgumentType]
