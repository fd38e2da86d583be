"""GEMMs that the field builds: a sample of all configurations, the same in every run."""

from __future__ import annotations

import dataclasses
import random

import pytest
from family_gemms import Row, judged, rows, twins
from sampling import WHOLE

SAMPLE = random.Random(7).sample(rows(), 24 if WHOLE else 9)
TWINS = random.Random(8).sample(tuple(twins()), 9 if WHOLE else 5)


@pytest.mark.parametrize("row", SAMPLE, ids=lambda row: f"{row.A}-{row.tile}-{row.orders}")
def test_a_configuration_is_described_verified_and_run(row: Row) -> None:
    found = judged(row)
    assert found["built"]
    assert found["verdict"] == "proved"
    assert not found["wrong"]
    assert set(found["check"]) == set(row.targets)


@pytest.mark.parametrize("row", TWINS, ids=lambda row: f"{row.A}-{row.tile}-{row.orders}")
def test_the_same_tiles_in_other_types(row: Row) -> None:
    found = judged(row)
    if not found["built"]:
        assert "multiple of" in found["refused"] or "divide" in found["refused"], found["refused"]
        return
    assert found["verdict"] == "proved"
    assert not found["wrong"]


def test_accumulators_that_need_more_registers_than_there_are_are_refused() -> None:
    row = next(row for row in rows() if row.tile == (256, 256, 32) and row.A == "bf16")
    crowded = dataclasses.replace(row, subgroups=(4, 2))
    rules = judged(crowded, run=False)["check"]
    assert rules
    assert all("register-file" in broken for broken in rules.values())
