"""GEMMs that the field builds: a sample of all configurations; all of them in `make fuzz`."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from family_gemms import PAGE, RESULTS, Row, expected, judged, page, rows, twins
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import KernelError


def told(row: Row) -> str:
    return f"{row.A}-{row.B}-{row.acc}-{row.tile}-{row.subgroups}-{row.orders}"


def proved_and_run(row: Row, reference: bool = False) -> None:
    found = judged(row, reference=reference)
    assert found["built"], found
    assert found["verdict"] == "proved"
    assert not found["wrong"]
    assert set(found["check"]) == set(row.targets)
    assert set().union(*found["check"].values()) <= {"register-file"}


@pytest.mark.parametrize("row", sampled(rows(), 2), ids=told)
@pytest.mark.long
def test_a_configuration_is_described_verified_and_run(row: Row) -> None:
    proved_and_run(row)


KINDS = ("bf16", "f16", "s8", "tf32", "s4", "u8")
DEEP = [row for row in twins() if row.tile[2] % cx.XE_DPAS_TT(8, row.acc, row.A, row.B).K == 0]


@pytest.mark.parametrize("row", sampled(DEEP, 2), ids=told)
@pytest.mark.long
def test_the_same_tiles_in_other_types(row: Row) -> None:
    proved_and_run(row)


def test_a_tile_less_deep_than_an_instruction_is_refused() -> None:
    for row in set(twins()) - set(DEEP):
        found = judged(row, run=False)
        assert not found["built"]
        assert "K of the tile" in found["refused"]


@pytest.mark.parametrize(("kind", "orders"), sampled(product(KINDS, ["rr", "rc", "cr", "cc"]), 5))
@pytest.mark.long
def test_every_type_and_order_on_both_executors(kind: str, orders: str) -> None:
    """The smallest tile of the field in each type and order, on the reference machine too."""
    acc = "f32" if kind in ("bf16", "f16", "tf32") else "s32"
    other = {"u8": "s8"}.get(kind, kind)
    row = Row("small", kind, other, acc, "-", acc, orders + "rr", (16, 64, 64), (2, 4), 2, 8, ())
    proved_and_run(row, reference=True)


def test_what_is_computed_wrongly_is_noticed() -> None:
    """The bounds of the comparison are small enough to see one missing product."""
    for acc, kind in (("f32", "bf16"), ("f16", "f16"), ("bf16", "bf16"), ("s32", "s8")):
        row = Row("", kind, kind, acc, "-", acc, "rrrr", (16, 32, 32), (2, 2), 2, 8, ())
        given = {"A": np.full((3, 40), 0.75), "B": np.full((40, 5), 0.75)}
        value, off = expected(row, given)
        assert (off < 0.75 * 0.75 * (1 if acc != "bf16" else 2)).all()
        assert (value == 22.5).all()


@pytest.mark.long
def test_accumulators_that_need_more_registers_than_there_are_are_refused() -> None:
    row = next(row for row in rows() if row.tile == (256, 256, 32) and row.A == "bf16")
    crowded = dataclasses.replace(row, subgroups=(4, 2))
    rules = judged(crowded, run=False)["check"]
    assert rules
    assert all("register-file" in broken for broken in rules.values())


@pytest.mark.parametrize(
    ("kind", "dpas_m", "tile", "operand", "order", "words"),
    [
        ("s2", 8, (16, 32, 64), "a", "col", "8 values of s2 .16 bits.; .* moves whole dwords"),
        ("s4", 4, (8, 32, 64), "a", "col", "4 values of s4 .16 bits.; .* moves whole dwords"),
        ("s8", 1, (2, 32, 32), "a", "col", "1 value of s8 .8 bits.; .* moves whole dwords"),
        ("bf16", 1, (2, 32, 16), "a", "col", "1 value of bf16 .16 bits.; .* moves whole dwords"),
        ("bf16", 1, (2, 32, 16), "d", "col", "1 value of f32 .32 bits., and no block-2D message"),
    ],
)
def test_a_share_that_no_message_moves_is_refused_in_words_of_the_gemm(
    kind: str, dpas_m: int, tile: tuple[int, int, int], operand: str, order: str, words: str
) -> None:
    op = cx.XE_DPAS_TT(dpas_m, "f32" if kind == "bf16" else "s32", kind)
    mma = cx.workgroup_mma(op, tile=tile, subgroups=((2, 2, 1), (2, 1, 0)))
    given: dict[str, Any] = {operand: order}
    with pytest.raises(KernelError, match=words) as refused:
        cx.kernel.gemm(mma, **given)
    assert refused.value.operation == "gemm"
    assert 'as "row"' in refused.value.fix
    assert cx.verify(cx.kernel.gemm(mma)), "the way out is one"


# ------------------------------------------------------------------ the results and their page


def test_the_page_shows_the_results() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, results) == text, "run python tests/family_gemms.py"


def test_the_results_are_of_every_row() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))["groups"]
    wanted = Counter(row.heading for row in (*rows(), *twins()))
    assert {name: found["configurations"] for name, found in results.items()} == wanted
    for name, found in results.items():
        assert found["wrong"] == 0, name
        assert set(found["verdicts"]) <= {"proved"}, name
        refused = sum(found["refused"].values())
        assert found["built"] + refused == found["configurations"], name
