"""A slip in a kernel that converts and scales its operands is refused or disproved, and shown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mixed_faults import BASES, FAULTS, right, shifted
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import KernelError

# What every run of the tests looks at, besides a sample.
ALWAYS = [
    ("s4 by rows", "the scale of the next group"),
    ("s4 by rows", "the zero point is subtracted after the scale"),
    ("s4 by rows", "neighbours in a byte swapped"),
    ("s4 by rows", "conversion missing"),
    ("e2m1", "the scale loaded once too few"),
    ("s4 zeros", "neighbours in a byte of zero points swapped"),
]


def test_sixty_or_more_faults() -> None:
    assert len(FAULTS) >= 60
    assert set(ALWAYS) <= set(FAULTS)
    assert {base for base, _ in FAULTS} == set(BASES)


@pytest.mark.parametrize("base", sampled(BASES, 2))
@pytest.mark.long
def test_the_kernel_without_a_slip(base: str) -> None:
    assert cx.verify(right(base)).answer == "proved"


@pytest.mark.parametrize(("base", "name"), sampled(FAULTS, 2, ALWAYS))
@pytest.mark.long
def test_a_fault_is_refused_or_disproved(base: str, name: str) -> None:
    try:
        kernel = FAULTS[base, name](right(base))
    except KernelError:
        return
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert cx.replay(kernel, verdict.counterexample).shows


@pytest.mark.long
def test_the_last_group_may_be_done_apart() -> None:
    """A sum of functions is split into two, each summand once: that is the same sum."""
    kernel = right("s4 by rows")
    outer = kernel.loop("g")
    last = tuple(shifted(s, outer.stop - 1) for s in outer.body)
    split = kernel.replace(outer, (replace(outer, stop=outer.stop - 1), *last))
    assert cx.verify(split).answer == "proved"
    doubled = kernel.replace(outer, (outer, *last))
    assert cx.verify(doubled).answer == "disproved"
