"""A proof whose time is over stops at its next step, wherever it is; no clock is read here."""

from __future__ import annotations

from typing import Any

import pytest
from broken_kernels import tiled_mma
from compiled_kinds import attended

import pycute_xe as cx
from pycute_xe.holding import computing, patience, placing
from pycute_xe.kernel import Kernel
from pycute_xe.verifying import prover
from pycute_xe.verifying.trying import _summing_to

SMALL = tiled_mma((32, 64, 32), (2, 4))
KERNELS: dict[str, Kernel] = {
    "softmax of the field": cx.kernel.softmax_gemm(tiled_mma((32, 512, 32), (2, 16))),
    "the largest": cx.kernel.top_k_gemm(SMALL),
    "shared tiles": cx.kernel.slm_gemm(SMALL, stages=3),
    "two in a row": cx.kernel.chained_gemm(SMALL, SMALL),
    "scales of groups": cx.kernel.gemm(SMALL, types={"B": "s4"}, transform_b="B * scale[k/128,n]"),
    "attention": attended([(40, 45)])[0],
}
LATE = 1e18


class Clock:
    """Time stands still until something was done so many times; then it is over."""

    def __init__(self, times: int) -> None:
        self.times, self.done = times, 0

    def counting(self, function: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.done += 1
            return function(*args, **kwargs)

        return counted

    def now(self) -> float:
        return LATE if self.done >= self.times else 0.0


@pytest.mark.parametrize("times", [1, 7])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    "step", [(placing, "_taken_apart"), (computing, "expanded")], ids=["table", "product"]
)
def test_following_stops_where_its_time_is_over(
    name: str, times: int, step: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(times)
    monkeypatch.setattr(step[0], step[1], clock.counting(getattr(*step)))
    monkeypatch.setattr(patience, "perf_counter", clock.now)
    monkeypatch.setattr(prover, "decided_apart", lambda *_: None)
    verdict = cx.verify(KERNELS[name])
    assert clock.done <= times + 1, "at most the statement at hand is finished"
    if clock.done >= times:
        assert verdict.answer == "undecided"
        assert any("isl, stopped after" in p.reason for p in verdict.proofs)


def test_small_problems_of_many_sizes_are_made_as_they_are_asked_for() -> None:
    spans = [range(1, 12)] * 40  # more products than can be listed
    assert next(_summing_to(40, spans)) == (1,) * 40
    assert list(_summing_to(4, [range(1, 12), (2,), range(1, 12)])) == [(1, 2, 1)]
    assert [*_summing_to(4, [range(1, 4)] * 2)] == [(1, 3), (2, 2), (3, 1)]
