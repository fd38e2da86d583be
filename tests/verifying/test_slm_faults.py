"""A slip in a kernel that uses shared memory is disproved, and the machine shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from sampling import sampled
from slm_faults import FAULTS, UNPROVED, right

import pycute_xe as cx
from pycute_xe.kernel import Kernel

RNG = np.random.default_rng(0)
A, B = (RNG.integers(-4, 5, shape).astype(ml_dtypes.bfloat16) for shape in ((16, 80), (80, 32)))
WANTED = A.astype(np.int64) @ B.astype(np.int64)


def comes_out_right(kernel: Kernel, executor: Any) -> bool:
    """Whether a run ends, with the right numbers."""
    try:
        return np.array_equal(cx.run(kernel, A, B, executor=executor), WANTED)
    except cx.MachineError:
        return False


def test_forty_or_more_faults() -> None:
    assert len(FAULTS) >= 40


@pytest.mark.parametrize(("stages", "swizzled"), [(1, False), (2, True), (3, False)])
@pytest.mark.long
def test_the_kernel_without_a_slip(stages: int, swizzled: bool) -> None:
    kernel = right(stages, swizzled)
    assert cx.verify(kernel), str(cx.verify(kernel))
    assert comes_out_right(kernel, "reference")
    assert comes_out_right(kernel, "fast")


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.long
def test_the_machine_shows_a_fault(name: str) -> None:
    kernel = FAULTS[name]()
    assert not comes_out_right(kernel, "reference")
    assert not comes_out_right(kernel, "fast")


@pytest.mark.parametrize("name", sampled(FAULTS, 10))
def test_a_fault_is_disproved(name: str) -> None:
    kernel = FAULTS[name]()
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert cx.replay(kernel, verdict.counterexample).shows


@pytest.mark.parametrize("make", UNPROVED.values(), ids=UNPROVED)
def test_another_swizzle_is_never_proved(make: Callable[[], Kernel]) -> None:
    kernel = make()
    assert cx.verify(kernel).answer in ("disproved", "undecided")
    assert not comes_out_right(kernel, "reference")
    assert not comes_out_right(kernel, "fast")
