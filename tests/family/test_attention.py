"""Attention that the field builds: a sample of all configurations, and the page's table."""

from __future__ import annotations

import pytest
from family_attention import Row, judged, rows
from sampling import sampled

SMALL = [row for row in rows() if row.tile[0] <= 16 and row.out >= row.columns and row.head <= 64]


def told(row: Row) -> str:
    return f"{row.kind}-{row.type}-{row.tile}-{row.head}"


@pytest.mark.parametrize("row", sampled(SMALL, 3), ids=told)
def test_a_configuration_is_described_and_run(row: Row) -> None:
    found = judged(row)
    less = row.tile[1] // row.subgroups[1] < 16  # less than one DPAS for each subgroup
    assert bool(found["refused"]) == less, found
    assert found["wrong"] == 0
    assert less or set(found["check"]) == set(row.targets)
