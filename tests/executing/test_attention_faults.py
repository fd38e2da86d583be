"""One slip in a kernel of attention: the machine stops, or its result is wrong."""

from __future__ import annotations

import pytest
from attention_faults import BASES, FAULTS, changed, right
from attention_problems import off
from sampling import sampled

from pycute_xe import run
from pycute_xe.errors import CuteError


@pytest.mark.parametrize("base", BASES)
def test_kernels_without_a_slip_are_right(base: str) -> None:
    given = right(base)
    assert off(run(given.kernel, **given.operands), given) < 6e-4


@pytest.mark.parametrize("name", sampled(FAULTS, 6))
def test_a_slip_is_caught(name: str) -> None:
    base, change = FAULTS[name]
    given = right(base)
    try:
        wrong = changed(given.kernel, change)
        assert wrong != given.kernel
        found = run(wrong, **given.operands)
    except CuteError:
        return
    assert off(found, given) > 2e-3
