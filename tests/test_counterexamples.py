"""Counterexamples from end to end: proved wrong, saved, loaded, run, seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from broken_kernels import (
    block_width,
    broken,
    judged,
    no_reorder,
    overlapping_stores,
    short_loop,
    subgroup_stride,
    tiled_mma,
)
from every import every
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe.kernel import Counterexample

FIVE = (block_width, subgroup_stride, short_loop, overlapping_stores, no_reorder)
# The reference executor takes a second for one run of the large tile.
TILE: tuple[Any, ...] = () if WHOLE else ((32, 64, 32), (2, 2))


@pytest.mark.parametrize("executor", ["reference", "fast"])
@pytest.mark.parametrize("make", FIVE, ids=[make.__name__ for make in FIVE])
@pytest.mark.long
def test_running_a_counterexample_shows_the_wrong_element(make, executor, tmp_path):
    kernel, verdict = broken(make, *TILE), judged(make, *TILE)
    assert not verdict
    assert verdict.counterexample is not None
    path = tmp_path / "counterexample.json"
    verdict.counterexample.save(path)
    found = Counterexample.load(path)
    played = cx.replay(kernel, found, executor=executor)
    assert played.shows
    # The same problem comes out right where nothing is broken.
    assert not cx.replay(cx.kernel.gemm(tiled_mma(*TILE)), found, executor=executor).shows


@every("make", FIVE, ids=[make.__name__ for make in FIVE])
@pytest.mark.long
def test_its_inputs_are_exact(make):
    found = judged(make, *TILE).counterexample
    assert found is not None
    a, b = found.inputs()
    assert a.shape == (found.sizes["M"], found.sizes["K"])
    assert b.shape == (found.sizes["K"], found.sizes["N"])
    for matrix in (a, b):
        assert (matrix == matrix.astype(int)).all()
        assert np.abs(matrix).max() <= 256


@every("make", FIVE, ids=[make.__name__ for make in FIVE])
@pytest.mark.long
def test_the_verdict_reads_well(make):
    verdict = judged(make, *TILE)
    text = str(verdict)
    assert "✗" in text
    assert "✓" in text
    assert "for all M, N, K >= 1" in text
    assert "assuming" in text
    assert verdict.counterexample is not None
    assert f"work-item {verdict.counterexample.work_item}" in text
