"""Random kernels and changes of them: verdicts hold against runs (benchmarks/fuzz_kernels.py)."""

from __future__ import annotations

import pytest
from fuzz_kernels import judged
from sampling import sampled

# Kernels on which a verdict was once contradicted by a run.
FOUND = (1098,)


@pytest.mark.parametrize("seed", [*sampled(range(300), 60), *FOUND])
def test_no_verdict_is_contradicted_by_a_run(seed: int) -> None:
    outcome = judged(seed)
    assert not outcome.bad, outcome
    assert outcome.word != "undecided, right", outcome
