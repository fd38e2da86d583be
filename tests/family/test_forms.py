"""The field's kernels with conversions, scales, groups and schedules: a sample of all of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from family_forms import FORMS, PAGE, RESULTS, Row, expected, judged, page, rows
from sampling import sampled

ROWS = rows()
BUILT = [row for row in ROWS if row.form != "none"]
SMALL = [row for row in BUILT if row.tile[0] * row.tile[1] <= 8192]


def told(row: Row) -> str:
    return f"{row.group}-{row.name or row.form}-{row.A}-{row.B}-{row.tile}"


def test_every_form_has_a_builder() -> None:
    assert {row.form for row in ROWS} == set(FORMS)


@pytest.mark.parametrize("row", sampled(BUILT, 0, sampled(SMALL, 5)), ids=told)
def test_a_configuration_is_described_verified_and_run(row: Row) -> None:
    found = judged(row)
    assert found["built"], found
    assert found["verdict"] == "proved"
    assert not found["wrong"]
    assert set().union(*found["check"].values()) <= {"register-file"}


def test_block_scaled_products_are_refused_by_name() -> None:
    for row in ROWS:
        if row.form == "none":
            assert "block-scaled DPAS is not described" in judged(row)["refused"]


def test_what_is_computed_wrongly_is_noticed() -> None:
    """One group's scale taken for another's is further off than the bound."""
    how: dict[str, Any] = {"transform_b": "(B - zero[k/2,n]) * scale[k/2,n]"}
    types = ("bf16", "s4", "bf16", "f32", "-", "f32")
    row = Row("", "", "gemm", *types, "rrrr", (8, 16, 16), (1, 1), 2, (), how)
    scale, zero = np.array([[1.0], [2.0]]), np.array([[0.0], [1.0]])
    given = {"A": np.ones((1, 4)), "B": np.arange(4.0)[:, None], "scale": scale, "zero": zero}
    value, off = expected(row, given)
    assert value == 0 + 1 + 2 * (1 + 2)
    swapped, _ = expected(row, given | {"scale": scale[::-1]})
    assert abs(swapped - value) > off


def test_the_page_has_the_table_of_the_results() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert sum(found["configurations"] for found in results["groups"].values()) == len(ROWS)
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, results) == text, "run: python tests/family_forms.py"
