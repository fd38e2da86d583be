"""Producers and consumers: subgroups that meet at named barriers, right and with slips."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from broken_kernels import tiled_mma
from sampling import sampled

import pycute_xe as cx
from pycute_xe.kernel import (
    Fence,
    Fill,
    If,
    Index,
    Kernel,
    Mma,
    NamedArrive,
    NamedBarrier,
    NamedWait,
    SharedLoad,
    SharedStore,
    Statement,
)

RNG = np.random.default_rng(3)
A, B = (RNG.integers(-4, 5, shape).astype(ml_dtypes.bfloat16) for shape in ((16, 130), (130, 32)))
WANTED = A.astype(np.int64) @ B.astype(np.int64)
K = Index("k")
SMALL = tiled_mma((16, 32, 16), (1, 2))
COUNT = 2  # consumers, and as many producers


@cache
def right(stages: int = 3) -> Kernel:
    return cx.kernel.specialised_gemm(SMALL, stages=stages)


def barrier(number: Any, producers: int = COUNT, consumers: int = COUNT) -> NamedBarrier:
    return NamedBarrier(number, producers, consumers)


FULL, EMPTY = barrier(K % 3 + 1), barrier(K % 3 + 4)


def comes_out_right(kernel: Kernel, executor: Any) -> bool:
    try:
        return np.array_equal(cx.run(kernel, A, B, executor=executor), WANTED)
    except cx.MachineError:
        return False


@pytest.mark.parametrize("stages", sampled([1, 2, 3], 1, [3]))
@pytest.mark.long
def test_producers_and_consumers(stages: int) -> None:
    kernel = right(stages)
    verdict = cx.verify(kernel)
    assert verdict, str(verdict)
    for target in ("pvc", "bmg"):
        found = cx.check(kernel, target)
        assert found, str(found)
        assert "slm-fence" in {held.rule for held in found.held}
    for m, n, k in ((1, 1, 1), (33, 17, 65), (16, 32, 130)):
        a, b = (RNG.integers(-4, 5, s).astype(ml_dtypes.bfloat16) for s in ((m, k), (k, n)))
        wanted = a.astype(np.int64) @ b.astype(np.int64)
        reports = []
        for executor in ("reference", "fast"):
            out, report = cx.run(kernel, a, b, executor=executor, report=True)
            assert np.array_equal(out, wanted)
            reports.append(report)
        assert reports[0].barriers == reports[1].barriers > 0


FIELD = tiled_mma((128, 128, 32), (4, 4))


@pytest.mark.parametrize(
    ("mma", "epilogue"), sampled([(SMALL, None), (SMALL, "relu(acc + bias[n])"), (FIELD, None)], 1)
)
@pytest.mark.long
def test_proved_with_an_epilogue_and_in_the_field(mma: Any, epilogue: str | None) -> None:
    kernel = cx.kernel.specialised_gemm(mma, epilogue=epilogue)
    assert cx.verify(kernel, budget=60)
    assert cx.check(kernel, "bmg")


def swapped(body: tuple[Statement, ...], change: Callable[[Statement], Any]) -> Any:
    """The body with every statement changed: into another, several, or none."""
    out: list[Statement] = []
    for s in body:
        new: Any = change(s)
        if new is s and isinstance(s, (If, cx.kernel.Loop)):
            new = dataclasses.replace(s, body=swapped(s.body, change))
        out += new if isinstance(new, tuple) else () if new is None else (new,)
    return tuple(out)


def edited(change: Callable[[Statement], Any], stages: int = 3) -> Kernel:
    kernel = right(stages)
    return dataclasses.replace(kernel, body=swapped(kernel.body, change))


def at(kind: type, array: str, place: Index) -> Callable[[Statement], Any]:
    def change(s: Any) -> Any:
        same = isinstance(s, kind) and s.array == array
        return dataclasses.replace(s, at=place) if same else s

    return change


def instead(old: NamedBarrier, new: NamedBarrier) -> Callable[[Statement], Any]:
    """Another barrier wherever subgroups meet at one."""

    def change(s: Any) -> Any:
        same = isinstance(s, (NamedArrive, NamedWait)) and s.barrier == old
        return dataclasses.replace(s, barrier=new) if same else s

    return change


def without(*gone: Statement) -> Callable[[Statement], Any]:
    return lambda s: None if s in gone else s


def is_guard(s: Statement, inside: Statement) -> bool:
    return isinstance(s, If) and s.body[0] == inside


def unguarded(inside: Statement) -> Callable[[Statement], Any]:
    return lambda s: s.body if isinstance(s, If) and is_guard(s, inside) else s


def guarded(inside: Statement, left: Index, right: Index) -> Callable[[Statement], Any]:
    """Another condition under which a barrier is arrived at."""

    def change(s: Statement) -> Any:
        if isinstance(s, If) and is_guard(s, inside):
            return dataclasses.replace(s, index=left, below=right)
        return s

    return change


def fence_behind(s: Statement) -> Any:
    if isinstance(s, Fence):
        return None
    return (s, Fence()) if s == NamedArrive(FULL, "producer") else s


def read_behind(s: Statement) -> Any:
    """The stage is given back before it is read."""
    if isinstance(s, If) and any(isinstance(x, SharedLoad) for x in s.body):
        loads = [x for x in s.body if isinstance(x, SharedLoad)]
        rest = [x for x in s.body if not isinstance(x, SharedLoad)]
        return dataclasses.replace(s, body=(*rest[:-1], *loads, rest[-1]))
    return s


TRIPS = cx.kernel.Tiles("K", 16)
AGAIN = NamedArrive(EMPTY, "producer")
SLIPS: dict[str, Callable[[], Kernel]] = {
    "no fence": lambda: edited(without(Fence())),
    "the fence comes behind the arrival": lambda: edited(fence_behind),
    "stages are never waited for": lambda: edited(
        lambda s: None if is_guard(s, NamedArrive(EMPTY, "consumer")) or is_guard(s, AGAIN) else s
    ),
    "the first stages are waited for": lambda: edited(
        guarded(NamedArrive(EMPTY, "consumer"), Index(None, 1), K)
    ),
    "a stage is waited for a trip too late": lambda: edited(
        guarded(NamedArrive(EMPTY, "consumer"), Index(None, 3), K)
    ),
    "stages are given back too often": lambda: edited(unguarded(AGAIN)),
    "a stage is given back too seldom": lambda: edited(guarded(AGAIN, K + 4, TRIPS)),
    "a stage is given back before it is read": lambda: edited(read_behind),
    "one stage too few in the array": lambda: edited(at(SharedStore, "sA", K % 2 * 256)),
    "A is stored a stage further": lambda: edited(at(SharedStore, "sA", (K + 1) % 3 * 256)),
    "B is taken a stage further": lambda: edited(at(SharedLoad, "sB", (K + 1) % 3 * 512)),
    "full is counted for one producer more": lambda: edited(
        instead(FULL, barrier(K % 3 + 1, COUNT + 1))
    ),
    "full is counted for one consumer fewer": lambda: edited(
        instead(FULL, barrier(K % 3 + 1, COUNT, COUNT - 1))
    ),
    "full has one number for all stages": lambda: edited(instead(FULL, barrier(1))),
    "full and empty share their numbers": lambda: edited(instead(EMPTY, FULL)),
    "empty has two numbers for three stages": lambda: edited(instead(EMPTY, barrier(K % 2 + 4))),
    "numbers beyond 31": lambda: edited(instead(EMPTY, barrier(K % 3 + 30))),
}


@pytest.mark.parametrize("name", sampled(SLIPS, 7))
@pytest.mark.long
def test_a_slip_is_disproved_and_shown(name: str) -> None:
    kernel = SLIPS[name]()
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert cx.replay(kernel, verdict.counterexample).shows
    assert not comes_out_right(kernel, "reference")
    assert not comes_out_right(kernel, "fast")


def test_a_missing_fence_is_refused_by_check() -> None:
    errors = cx.check(SLIPS["no fence"](), "bmg").errors
    assert [error.broken.rule for error in errors] == ["slm-fence"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without(NamedWait(FULL)), "arrives as a consumer and never waits"),
        (without(NamedArrive(FULL, "consumer")), "waits without arriving as a consumer"),
        (
            lambda s: (s, s) if s == NamedArrive(FULL, "consumer") else s,
            "arrives twice without waiting",
        ),
        (instead(FULL, barrier(1, 9)), "counts 9 subgroups, the kernel has 4"),
        (lambda s: None if s == Fill("tCrC") else s, "tCrC is read"),
    ],
)  # fmt: skip
def test_halves_without_the_other_are_refused(
    change: Callable[[Statement], Any], words: str
) -> None:
    with pytest.raises(cx.KernelError, match=words):
        edited(change)


def test_numbers_and_counts_of_barriers() -> None:
    for number, counts in ((0, (1, 1)), (32, (1, 1)), (1, (0, 1)), (1, (1, 0))):
        with pytest.raises(cx.KernelError, match="must be 1"):
            NamedBarrier(Index(None, number), *counts)


@pytest.mark.long
def test_registers_of_others_are_not_followed() -> None:
    """What producers write, consumers do not have: nothing is proved of it."""
    kernel = right()
    fill = If(Index(None, COUNT - 1), Index("subgroup"), (Fill("tCrC"),))
    late = dataclasses.replace(kernel, body=(fill, *kernel.body))
    assert cx.verify(late).answer == "undecided"


def test_named_barriers_are_listed_and_never_emitted() -> None:
    text = str(right())
    assert "arrive at barrier k-3*(k/3)+1 of 2 producers and 2 consumers as producer" in text
    assert "when 1 < subgroup:" in text
    for language in ("opencl", "visa", "cute", "xegpu"):
        with pytest.raises(cx.KernelError, match="named barriers"):
            cx.emit(right(), language)
    assert any(isinstance(s, Mma) for s in right().statements())
