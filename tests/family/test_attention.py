"""Attention that the field builds: a sample of all configurations, and the page's table."""

from __future__ import annotations

import json

import pytest
from attention_problems import off
from family_attention import ALLOWED, PAGE, RESULTS, THERE, Row, judged, page, proved, rows
from sampling import sampled

from pycute_xe import run

SMALL = [row for row in rows() if row.tile[0] <= 16 and row.out >= row.columns and row.head <= 64]
RAGGED = [row for row in rows() if row.form == "paged" and row.tile[0] <= 16 and row.head <= 64]
SOON = [row for row in SMALL if row.head == 16 and row.subgroups[1] <= 2]


def told(row: Row) -> str:
    return f"{row.kind}-{row.type}-{row.tile}-{row.head}"


@pytest.mark.parametrize("row", sampled(SMALL, 2), ids=told)
@pytest.mark.long
def test_a_configuration_is_described_and_run(row: Row) -> None:
    found = judged(row)
    assert not found["refused"], found
    assert found["wrong"] == 0
    assert set(found["check"]) == set(row.targets)


@pytest.mark.parametrize("row", sampled(RAGGED, 1), ids=told)
@pytest.mark.long
def test_requests_of_any_length_are_right(row: Row) -> None:
    """Some have no keys, or one; behind every length there is NaN."""
    for given in row.ragged_problems():
        found = off(run(given.kernel, **given.operands), given)
        assert found <= ALLOWED[row.multiplied]


@pytest.mark.long
@pytest.mark.parametrize("row", sampled(RAGGED, 1), ids=told)
def test_requests_of_any_length_are_proved(row: Row) -> None:
    verdict = proved(row)
    assert verdict, str(verdict)


@pytest.mark.parametrize("row", sampled(SOON, 1), ids=told)
@pytest.mark.long
def test_a_configuration_is_proved(row: Row) -> None:
    verdict = proved(row)
    assert verdict, str(verdict)


def test_tiles_of_keys_are_rounded_up_to_a_dpas_for_each_subgroup() -> None:
    """What C++ prints as the tiles of these rows: intel/sycl-tla at 6601377, g++ on the host."""
    found = {
        row.subgroups[1]: [mma.tile_mnk for mma in row.mmas()] for row in SMALL if row.head == 16
    }
    assert found == {
        1: [(1, 16, 16), (1, 16, 16)],
        2: [(1, 32, 16), (1, 16, 32)],
        8: [(1, 128, 16), (1, 16, 128)],
        16: [(1, 256, 16), (1, 16, 256)],
    }


def test_a_tile_of_more_columns_than_the_output_is_refused_as_in_cpp() -> None:
    (row,) = (row for row in rows() if row.out < row.columns)
    (why,) = THERE.values()
    assert judged(row)["refused"].endswith(why)


def test_the_page_shows_what_was_found() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, results) == text
    assert sum(found["rows"] for found in results.values()) == sum(row.rows for row in rows())
    assert all(found["equal"] == found["described"] for found in results.values())
    left = {form: count for found in results.values() for form, count in found["undecided"].items()}
    assert set(left) <= {"undecided: packed", "undecided: paged", "undecided: keys over subgroups"}
    for found in results.values():
        assert found["proved"] + sum(found["undecided"].values()) == found["described"]
