"""A barrier alone does not wait for stores to shared memory: a fence must lie before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared_kernels import MEET, exchanging, staged

import pycute_xe as cx
from pycute_xe.kernel import BarrierArrive, BarrierWait, Fence, Kernel, Statement
from pycute_xe.machine.trace import RaceFault

ARRIVE, WAIT = BarrierArrive(), BarrierWait()
INPUTS = (np.ones((33, 40)), np.ones((40, 34)))


def run(kernel: Kernel) -> Any:
    return cx.run(kernel, *INPUTS, dtype="bf16", executor="reference")


@pytest.mark.parametrize(
    "kernel",
    [
        exchanging(before=(ARRIVE, WAIT)),
        exchanging(before=(ARRIVE, WAIT, Fence())),
        exchanging(before=(ARRIVE, Fence(), WAIT)),
        staged(3, (ARRIVE, WAIT)),
    ],
    ids=["no fence", "behind the barrier", "between its halves", "in stages"],
)
def test_stores_without_a_fence_before_the_arrival(kernel: Kernel) -> None:
    found = cx.check(kernel, "bmg").errors
    assert [error.broken.rule for error in found] == ["slm-fence"]
    assert "no fence lies between the store to s and the barrier" in str(found[0])
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved"
    assert verdict.counterexample is not None
    assert "no fence lies between the store and the barrier" in verdict.counterexample.message
    shown = cx.replay(kernel, verdict.counterexample)
    assert shown.shows
    assert isinstance(shown.fault, RaceFault)
    with pytest.raises(RaceFault, match="no barrier with a fence before it lies between"):
        run(kernel)


@pytest.mark.parametrize("behind", [MEET, (ARRIVE, WAIT)], ids=["fence", "none"])
def test_stores_with_a_fence_are_in_order(behind: tuple[Statement, ...]) -> None:
    """The barrier before the array is overwritten orders loads, which need no fence."""
    kernel = exchanging(behind=behind)
    assert not cx.check(kernel, "bmg").errors
    assert "slm-fence" in {held.rule for held in cx.check(kernel, "bmg").held}
    assert cx.verify(kernel)
    assert (run(kernel) == 40).all()
