"""The same question has the same answer: work is counted, and no clock is read without a deadline.

No test here reads a clock: where time matters, it is a fake one.
"""

from __future__ import annotations

import gc
import json
import math
import os
import subprocess
import sys
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import islpy as isl
import pytest
from broken_kernels import tiled_mma
from compiled_kinds import attended
from fuzz_kernels import changed
from sampling import sampled

import pycute_xe as cx
from pycute_xe import clock
from pycute_xe.errors import InputError
from pycute_xe.holding import arithmetic as computing, elements as placing, patience
from pycute_xe.holding.patience import a_while, allowed, at_most, charge, remembered, work_left
from pycute_xe.kernel import Kernel
from pycute_xe.verifying import Verdict
from pycute_xe.verifying.evaluation import differ
from pycute_xe.verifying.formula import Place, Term
from pycute_xe.verifying.prover import verify_here
from pycute_xe.verifying.questions import _summing_to
from pycute_xe.verifying.regions import _CHILD, answered_apart

SMALL = tiled_mma((32, 64, 32), (2, 4))
KERNELS: dict[str, Kernel] = {
    "softmax of the field": cx.kernel.softmax_gemm(tiled_mma((32, 512, 32), (2, 16))),
    "the largest": cx.kernel.top_k_gemm(SMALL),
    "shared tiles": cx.kernel.slm_gemm(SMALL, stages=3),
    "two in a row": cx.kernel.chained_gemm(SMALL, SMALL),
    "scales of groups": cx.kernel.gemm(SMALL, types={"B": "s4"}, transform_b="B * scale[k/128,n]"),
    "attention": attended([(40, 45)])[0],
    "pages": attended([(5, 70), (5, 130)], page=64, group=2, causal=True)[0],
    "a wrong one": changed(301532)[0].kernel,
    "one with a long difference": changed(400088)[0].kernel,
}
WORK = (3_000, 30_000, 100_000, 1_000_000)
LATE = 1e18


def said(verdict: Verdict) -> list[list[str]]:
    """All that a verdict says but the times."""
    proofs = ([p.property, p.answer, p.reason, p.condition] for p in verdict.proofs)
    return [[verdict.scope, str(verdict.counterexample)], *proofs]


def answers(work: float) -> dict[str, Any]:
    """What is said of each kernel within so much work, and how much is done."""
    out: dict[str, Any] = {}
    for name, kernel in KERNELS.items():
        with allowed(work) as account:
            out[name] = [said(verify_here(kernel, {})), account.spent]
    return out


@pytest.fixture(scope="module")
def first() -> dict[str, Any]:
    return {str(work): answers(work) for work in WORK}


@pytest.mark.parametrize("work", sampled(WORK, 1))
@pytest.mark.long
def test_what_is_remembered_changes_no_answer(first: dict[str, Any], work: int) -> None:
    gc.disable()
    try:
        assert answers(work) == first[str(work)]
    finally:
        gc.enable()


@pytest.mark.parametrize("seed", sampled(range(4), 1))
@pytest.mark.long
def test_another_process_with_other_hashes_answers_alike(first: dict[str, Any], seed: int) -> None:
    """It is asked in the other order, and of one amount of work, so that all of it is new there."""
    work = WORK[seed]
    program = (
        "import json, sys, test_patience as t\n"
        "t.KERNELS = dict(reversed([*t.KERNELS.items()]))\n"
        f"print(json.dumps(t.answers({work})))"
    )
    here = Path(__file__).parent
    paths = [str(here), str(here.parent), str(here.parent.parent / "benchmarks"), *sys.path]
    others = {"PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | others,
        stdout=subprocess.PIPE,
        check=True,
    )
    assert json.loads(done.stdout) == first[str(work)]


@pytest.mark.long
def test_more_work_decides_no_less(first: dict[str, Any]) -> None:
    for name in KERNELS:
        of = [first[str(work)][name][0][1:] for work in WORK]
        decided = [{(p[0], p[1]) for p in proofs if p[1] != "undecided"} for proofs in of]
        assert all(less <= more for less, more in pairwise(decided)), name
        assert len(decided[0]) < len(of[0]), "so little work decides not all"
        cut = [p for p in of[-1] if "is used up" in p[2]]
        assert not cut or name in ("one with a long difference", "pages"), cut


def test_what_is_cut_says_after_how_much_work() -> None:
    with allowed(30_000):
        verdict = verify_here(KERNELS["attention"], {})
    cut = [p.reason for p in verdict.proofs if p.answer == "undecided"]
    assert {*cut} == {"the work that the budget allows is used up, after 30,000 units"}
    assert verdict.proofs[0].answer == "proved", "what was decided before stays so"


@pytest.mark.long
def test_times_that_are_told_add_up_to_what_was_spent() -> None:
    for name, budget in (("the largest", 10.0), ("attention", 0.05), ("pages", 0.5)):
        verdict = cx.verify(KERNELS[name], budget=budget)
        assert 0 < sum(p.seconds for p in verdict.proofs) <= verdict.seconds


def test_an_account_inside_another_is_a_part_of_it() -> None:
    with allowed(100) as outer:
        with allowed(1000) as inner:
            charge(40)
            assert (inner.work, work_left()) == (100, 60)
        assert outer.spent == 40
        with at_most(10), pytest.raises(patience.TooHardError):
            charge(11)
        assert work_left() == 49
        trial = a_while(20)
        charge(19)
        assert trial()
        charge(1)
        assert not trial()
    assert work_left() == math.inf
    charge(math.inf)  # without an account there is no limit


def test_what_is_remembered_is_made_once_an_account() -> None:
    made: list[int] = []
    for _ in range(2):
        with allowed(100):
            assert [remembered("key", lambda: made.append(0)) for _ in range(3)] == [None] * 3
    assert len(made) == 2


def test_a_comparison_by_values_costs_the_same_again() -> None:
    one, other = ((Term(1.0, (Place(name, ("x",)),)),) for name in "AB")
    spent: list[float] = []
    for _ in range(2):
        with allowed(1e6) as account:
            assert differ(one, other, {"x": 3}, {"A": ("9",), "B": ("9",)})
        spent.append(account.spent)
    assert spent[0] == spent[1] > 600


class Clock:
    """Time stands still until something was done so many times; then it is over."""

    def __init__(self, times: float) -> None:
        self.times, self.done = times, 0

    def counting(self, function: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.done += 1
            return function(*args, **kwargs)

        return counted

    def now(self) -> float:
        return LATE if self.done >= self.times else 0.0


@pytest.mark.parametrize("times", [1, 7])
@pytest.mark.parametrize("name", [*KERNELS][:6])
@pytest.mark.parametrize(
    "step", [(placing, "_taken_apart"), (computing, "expanded")], ids=["table", "product"]
)
def test_following_stops_where_its_time_is_over(
    name: str, times: int, step: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Clock(times)
    monkeypatch.setattr(step[0], step[1], fake.counting(getattr(*step)))
    monkeypatch.setattr(clock, "_now", fake.now)
    verdict = cx.verify(KERNELS[name], seconds=10)
    assert fake.done <= times + 1, "at most the statement at hand is finished"
    if fake.done >= times:
        assert verdict.answer == "undecided"
        stopped = [p.reason for p in verdict.proofs if p.reason.startswith("stopped at the dead")]
        assert stopped
        assert all("10 s after the call (seconds=)" in why for why in stopped)


@pytest.mark.parametrize("name", ["a wrong one", "two in a row"])
def test_no_clock_changes_an_answer_without_a_deadline(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine on which an hour passes between any two looks at the clock answers alike."""
    hours = count(0, 3600)
    right = said(cx.verify(KERNELS[name]))
    monkeypatch.setattr(clock, "_now", lambda: float(next(hours)))
    assert said(cx.verify(KERNELS[name])) == right


@pytest.mark.parametrize("seconds", [0, -1, True, math.nan])
def test_a_deadline_is_a_positive_number_of_seconds(seconds: Any) -> None:
    with pytest.raises(InputError, match="a deadline is a positive number of seconds"):
        cx.verify(KERNELS["two in a row"], seconds=seconds)


def test_a_long_step_is_not_begun_where_it_would_end_too_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A million units took four seconds: of two that are left half a million fill one and more."""
    now = [0.0]
    monkeypatch.setattr(clock, "_now", lambda: now[0])
    with clock.deadline("verify", 6.0), allowed(1e9):
        charge(1e6)
        now[0] = 4.0
        charge(0.5e6)
        with pytest.raises(patience.DeadlineError, match="at the deadline, 6 s after the call"):
            charge(2e6)


@pytest.mark.parametrize("budget", [0, -1, True, "10", None, math.nan])
def test_what_is_no_amount_of_work_is_no_budget(budget: Any) -> None:
    with pytest.raises(InputError, match="a budget is a positive amount of counted work"):
        cx.verify(KERNELS["two in a row"], budget=budget)


def test_small_problems_of_many_sizes_are_made_as_they_are_asked_for() -> None:
    spans = [range(1, 12)] * 40  # more products than can be listed
    assert next(_summing_to(40, spans)) == (1,) * 40
    assert list(_summing_to(4, [range(1, 12), (2,), range(1, 12)])) == [(1, 2, 1)]
    assert [*_summing_to(4, [range(1, 4)] * 2)] == [(1, 3), (2, 2), (3, 1)]


POINTS = (
    "{ [i0, i1, i2, i3, i4, i3, i6, i7, i6, i7, i10, v] : 0 <= i3 <= 15 and 0 <= i6 <= 1 and "
    "i6 < i2 and i7 <= 2 and 0 <= v <= i0 - i6 and ((i2 < i4 < i1 and i7 >= 0 and "
    "i7 < i10 <= -2 + i0) or (i2 < i4 < i1 and i7 <= -2 + i0 and 0 <= i10 < i7) or (i2 < i1 and "
    "0 <= i4 < i2 and i7 >= 0 and i7 < i10 <= -2 + i0) or (i2 < i1 and 0 <= i4 < i2 and "
    "i7 <= -2 + i0 and 0 <= i10 < i7)); [i0, i1, 0, i3, i4, i3, 1, i7, 1, i7, i10, v] : "
    "0 <= i3 <= 15 and 0 < i4 < i1 and i7 <= 2 and i7 <= -2 + i0 and 0 <= i10 < i7 and "
    "0 <= v < i0; [i0, i1, 0, i3, i4, i3, 0, i7, 0, i7, i7, v] : 0 <= i3 <= 15 and 0 < i4 < i1 "
    "and 0 <= i7 <= 2 and i7 <= -2 + i0 and 0 <= v <= i0; [i0, i1, 1, i3, 0, i3, 1, i7, 1, i7, "
    "i7, v] : i1 >= 2 and 0 <= i3 <= 15 and 0 <= i7 <= 2 and i7 <= -2 + i0 and 0 <= v < i0; "
    "[i0, i1, i2, i3, i4, i3, i2, i7, i2, i7, i7, v] : 0 <= i2 <= 1 and 0 <= i3 <= 15 and "
    "i2 < i4 < i1 and 0 <= i7 <= 2 and i7 <= -2 + i0 and 0 <= v <= i0 - i2 }"
)
CASES = (
    "{ [n, m, t, p, c, d, x, y, z, w, u, v] : (c - x < 0 and (c < 0 or c > m or x < 0 or x > m or "
    "v < 0 or v != y)) or (c = x and v = y) or (c - x > 0 and (x < 0 or x > m or c < 0 or c > m or "
    "y < 0 or y != v)) }"
)


def test_what_another_process_answers_is_written_as_a_whole() -> None:
    """A set that is computed within a limit may need more steps to be written."""
    sets = [isl.Set(POINTS), isl.Set(CASES)]
    right = sets[0].intersect(sets[1])
    question = json.dumps([["Set", "Set"], list(map(str, sets)), "intersect", 11_414])
    answer, _ = json.loads(answered_apart(_CHILD, question))
    assert not answer or isl.Set(answer).is_equal(right)
