"""The field's kernels with conversions, scales, groups and schedules: a sample of all of them."""

from __future__ import annotations

import json
import re
from typing import Any

import family_gemms
import numpy as np
import pytest
from family_forms import FORMS, PAGE, RESULTS, Row, edges, expected, judged, page, rows
from sampling import sampled

from pycute_xe.kernel.schedules import StreamK, tile_counts

ROWS = rows()
BUILT = [row for row in ROWS if row.form != "none"]
SMALL = [row for row in BUILT if row.tile[0] * row.tile[1] <= 8192]


def told(row: Row) -> str:
    return f"{row.group}-{row.name or row.form}-{row.A}-{row.B}-{row.tile}"


def test_every_form_has_a_builder() -> None:
    assert {row.form for row in ROWS} == set(FORMS)


@pytest.mark.parametrize("row", sampled(BUILT, 0, sampled(SMALL, 5)), ids=told)
@pytest.mark.long
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


def test_the_names_of_mixed_benchmarks_say_their_types() -> None:
    """The types of A, B, C, MMA, scale and zero point, in that order, and D is of the type of C."""
    called = {"FP16": "f16", "F16": "f16", "BF16": "bf16", "U4": "u4", "S8": "s8", "S4": "s4"}
    words = re.compile("|".join(sorted(called, reverse=True)))
    mixed = [row for row in ROWS if row.group == "benchmarks_legacy"]
    assert len(mixed) == 7
    for row in mixed:
        named = [called[word] for word in words.findall(row.name)]
        types = row.how["types"]
        assert named == [row.A, row.B, row.D, row.compute, types["scale"], types["zero"]], row
        assert row.acc == ("s32" if row.compute == "s8" else "f32")
        # The operand of another kind than the MMA's is the one that has a scale.
        assert ("transform_a" in row.how, "transform_b" in row.how) == (
            (True, False) if row.compute == "s8" else (False, True)
        )


def test_experts_of_the_field_are_matrices_of_their_own() -> None:
    experts = [row for row in ROWS if row.form == "experts"]
    assert {row.group.split("_")[0] for row in experts} == {"vllm", "sgl", "examples"}
    for row in experts[:2]:
        kernel = row.kernel()
        assert [str(mode) for mode in kernel.inputs[0].modes] == ["L", "M", "K"]


def test_rows_of_stream_k_are_followed_with_their_plan() -> None:
    """Some tiles of the problem that is run have several pieces."""
    streamed = [row for row in ROWS if row.form == "stream_k" and row.group != "examples"]
    plain = [row for row in family_gemms.rows() if row.streamed]
    assert sum(row.rows for row in streamed) == sum(row.streamed for row in plain) == 811
    for name in ("A", "acc", "C", "D", "orders", "tile", "subgroups"):
        assert {getattr(row, name) for row in streamed} == {getattr(row, name) for row in plain}
    assert {row.acc for row in streamed} == {"f16", "f32"}  # no atomics on bf16
    for row in streamed[::20]:
        (sizes,) = edges(row)
        plan = StreamK(5, least=1).plan(tile_counts(*(sizes[x] for x in "MNK"), row.tile))
        assert plan.pieces > plan.groups[0][0] * plan.groups[0][1]
