"""Random kernels and changes of them: verdicts hold against runs (benchmarks/fuzz_kernels.py)."""

from __future__ import annotations

import random

import pytest
from fuzz_kernels import CHANGES, held_against_runs, judged
from sampling import sampled
from shared_kernels import SIZES, exchanging, staged

from pycute_xe.errors import CuteError

# Kernels on which a verdict was once contradicted by a run.
FOUND = (1098,)


@pytest.mark.parametrize("seed", [*sampled(range(300), 20), *FOUND])
def test_no_verdict_is_contradicted_by_a_run(seed: int) -> None:
    outcome = judged(seed)
    assert not outcome.bad, outcome
    assert outcome.word != "undecided, right", outcome


@pytest.mark.parametrize("seed", sampled(range(400), 5))
def test_no_verdict_on_shared_memory_is_contradicted_by_a_run(seed: int) -> None:
    r = random.Random(seed)
    kernel = r.choice([exchanging, staged])()
    try:
        for _ in range(r.choice([1, 1, 2])):
            kernel = r.choice(CHANGES)(r, kernel)
    except CuteError:
        return
    sizes = tuple(dict(zip("MNK", size, strict=True)) for size in SIZES)
    outcome = held_against_runs(seed, kernel, sizes)
    assert not outcome.bad, outcome
