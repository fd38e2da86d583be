"""Random kernels and changes of them: verdicts hold against runs (benchmarks/fuzz_kernels.py)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from fuzz_kernels import changed, held_against_runs, judged, wrong
from kernel_changes import CHANGES, bent
from made_kernels import Made
from random_kernels import made as random_made, plain
from random_parts import KINDS
from sampling import WHOLE, sampled
from shared_kernels import SIZES, exchanging, staged

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel

# Seeds on which a verdict was once contradicted by a run, or a counterexample by its replay.
FOUND = (300158, 301155, 301294, 301313, 302159, 302437)
# Those that were once not decided within a second.
SLOW = (300095, 300117, 300181)


def product(x: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"D": x["A"] @ x["B"]}


def made(kernel: Kernel) -> Made:
    return Made(kernel, product, tuple(dict(zip("MNK", size, strict=True)) for size in SIZES))


@pytest.mark.parametrize("seed", [*sampled(range(300), 7), *sampled(FOUND, 3)])
@pytest.mark.long
def test_no_verdict_is_contradicted_by_a_run(seed: int) -> None:
    outcome = judged(seed)
    assert not outcome.bad, outcome


@pytest.mark.parametrize("seed", sampled(SLOW, 1))
@pytest.mark.long
def test_what_took_long_is_decided(seed: int) -> None:
    assert cx.verify(changed(seed)[0].kernel).answer in ("proved", "disproved")


@pytest.mark.parametrize("kind", dict.fromkeys(KINDS))
def test_each_kind_is_proved_and_gives_what_numpy_does(
    kind: Callable[[random.Random], Made],
) -> None:
    for seed in range(3 if WHOLE else 1):
        one = kind(random.Random(seed))
        assert cx.verify(one.kernel), str(cx.verify(one.kernel))
        assert not any(wrong(one, size, range(1)) for size in one.sizes)


@pytest.mark.long
def test_every_change_changes_some_kernel() -> None:
    """Each on kernels of the kinds that it is for, so that none does nothing for ever."""
    left = dict.fromkeys(CHANGES)
    for seed in range(60):
        if not left:
            break
        r = random.Random(seed)
        kernel = exchanging() if seed == 0 else random_kernel(r).kernel
        for change in tuple(left):
            try:
                changes = change(r, kernel) != kernel
            except CuteError:
                continue
            if changes:
                del left[change]
    assert not left


def random_kernel(r: random.Random) -> Made:
    while True:
        try:
            return random_made(r)
        except CuteError:  # there are no copies for it
            continue


@pytest.mark.long
def test_a_kernel_that_was_proved_though_it_was_wrong() -> None:
    r = random.Random(1098)
    one = made(plain(r))
    r.choice([0, 1, 1, 1, 2])
    r.choice(range(11))
    word, told = held_against_runs(one, cx.verify(one.kernel))
    assert word == "proved", told
    kernel = bent(r, one.kernel)
    word, told = held_against_runs(made(kernel), cx.verify(kernel))
    assert not word.startswith("BAD"), told


@pytest.mark.parametrize("seed", sampled(range(400), 3))
def test_no_verdict_on_shared_memory_is_contradicted_by_a_run(seed: int) -> None:
    r = random.Random(seed)
    kernel = r.choice([exchanging, staged])()
    try:
        for _ in range(r.choice([1, 1, 2])):
            kernel = r.choice(CHANGES)(r, kernel)
    except CuteError:
        return
    word, told = held_against_runs(made(kernel), cx.verify(kernel))
    assert not word.startswith("BAD"), told
