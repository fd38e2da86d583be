"""What a run on whole arrays gathers of its operands: no more than its work-groups load."""

from __future__ import annotations

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.executing.arrays import evaluation
from pycute_xe.kernel import scheduled
from pycute_xe.kernel.schedules import Grouped, StreamK, moe_counts, plan_tables, tile_counts

OP = cx.XE_DPAS_TT(8, "f32", "bf16")
BF16 = numpy_dtype("bf16")


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The elements of each array that is gathered."""
    sizes: list[int] = []
    gathered = evaluation.gathered

    def counted(array: np.ndarray, places: tuple[evaluation.Field, ...]) -> object:
        axes, values = gathered(array, places)
        sizes.append(values.size)
        return axes, values

    monkeypatch.setattr(evaluation, "gathered", counted)
    return sizes


@pytest.mark.long
def test_tiles_whose_work_is_split_unevenly(sizes: list[int]) -> None:
    mma = cx.workgroup_mma(OP, (64, 64, 32), ((2, 2, 1), (2, 1, 0)))
    rng = np.random.default_rng(0)
    m, n, k = 256, 256, 512
    a, b = (rng.integers(-3, 4, shape).astype(BF16) for shape in ((m, k), (k, n)))
    tables = plan_tables(StreamK(20).plan(tile_counts(m, n, k, mma.tile_mnk)))
    d = cx.run(scheduled(mma), a, b, **tables)
    assert np.array_equal(d, a.astype(int) @ b.astype(int))
    # 16 tiles and 19 shared ones, each 64 rows and columns over at most all of K.
    assert max(sizes) <= 19 * 64 * k


@pytest.mark.long
def test_experts_with_weights_of_their_own(sizes: list[int]) -> None:
    mma = cx.workgroup_mma(OP, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    rng = np.random.default_rng(0)
    rows, n, k = [70, 1, 256, 33, 128, 200, 64, 90], 512, 128
    counts = moe_counts(rows, n, k, mma.tile_mnk)
    starts = np.cumsum([0, *(count[0] * 32 for count in counts)])
    a = np.zeros((int(starts[-1]), k), BF16)
    b = rng.integers(-3, 4, (len(rows), k, n)).astype(BF16)
    for start, count in zip(starts, rows, strict=False):
        a[start : start + count] = rng.integers(-3, 4, (count, k))
    tables = plan_tables(Grouped(20).plan(*counts), stacked=True)
    d = cx.run(scheduled(mma, groups="stacked", fixup=False), a, b, **tables)
    for start, count, weights in zip(starts, rows, b, strict=False):
        part = a[start : start + count].astype(int) @ weights.astype(int)
        assert np.array_equal(d[start : start + count], part)
    tiles = int(starts[-1]) // 32
    assert max(sizes) <= tiles * k * n  # one expert's weights for each tile of rows, not each row
