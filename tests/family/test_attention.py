"""Attention that the field builds: a sample of all configurations, and the page's table."""

from __future__ import annotations

import json

import pytest
from family_attention import PAGE, RESULTS, Row, judged, page, rows
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


def test_the_page_shows_what_was_found() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, results) == text
    assert sum(found["rows"] for found in results.values()) == sum(row.rows for row in rows())
    assert all(found["equal"] == found["described"] for found in results.values())
