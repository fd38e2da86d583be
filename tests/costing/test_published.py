"""What was recorded of published rates: by NumPy's arithmetic, and by `cost` asked again."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest

import pycute_xe as cx

RECORDED = Path(__file__).parents[1] / "data/published_judged.tsv"
ROWS = list(csv.DictReader(RECORDED.read_text().splitlines(), delimiter="\t"))
ANSWERED = [row for row in ROWS if row["note"] or row["timing off"]]
PLAIN = [row for row in ANSWERED if row["a"] == row["b"] == "bf16"]


@pytest.mark.parametrize("row", PLAIN, ids=lambda row: f"M={row['M']}")
def test_recorded_costs_are_those_of_today(row: dict[str, str]) -> None:
    """A change of a figure has to be seen in the record."""
    tile: Any = tuple(map(int, row["tile"].split("x")))
    m, n = map(int, row["grid"].split("x"))
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), tile, ((m, n, 1), (n, 1, 0)))
    sizes: Any = {name: int(row[name]) for name in "MNK"}
    estimate = cx.cost(cx.kernel.gemm(mma, d_type=row["d"]), row["device"], **sizes)
    done = 2 * math.prod(sizes.values()) / 1e12
    assert f"{done / estimate.most:.1f}" == row["cost least"]
    assert f"{done / estimate.least:.1f}" == row["cost most"]
    assert estimate.binds == row["binds"]


@pytest.mark.parametrize("by", ["cost", "timing", "count"])
def test_what_is_said_of_a_row_follows_from_its_numbers(by: str) -> None:
    """``inside`` and ``off`` by hand; rounded to a tenth, a count alone is a point."""
    for row in ANSWERED:
        low, high, rate = (float(row[k]) for k in (f"{by} least", f"{by} most", "measured"))
        if not math.isclose(low, rate, rel_tol=0.03) and not math.isclose(high, rate, rel_tol=0.03):
            assert (row[f"{by} inside"] == "yes") == (low <= rate <= high), row
        middle = math.exp((math.log(low) + math.log(high)) / 2)
        assert abs(float(row[f"{by} off"].rstrip("%")) / 100 - (middle / rate - 1)) < 0.02, row


def test_there_are_enough_rows_and_all_that_were_read_stand_here() -> None:
    """Failures too: what was refused and what was missed is in the table."""
    assert len(ROWS) == 17
    assert sum(row["timing inside"] == "no" for row in ROWS) == 9
    assert sum(row["binds"].startswith(("emit(", "cost(")) for row in ROWS) == 2
