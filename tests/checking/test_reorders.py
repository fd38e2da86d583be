"""`check` says of each reorder what it moves, and names a copy that needs no moves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe.cutlass.known_names import catalogue
from pycute_xe.errors import CuteError

TYPES = {"bf16": "f32", "f16": "f32", "tf32": "f32", "s8": "s32", "u8": "s32"}


def loads() -> Iterator[tuple[str, str, str, str]]:
    """Yield the shipped loads with an operand, its type, and its order in memory."""
    for name in catalogue():
        if not (name.startswith("XE_2D_") and "_LD_" in name) or "PREFETCH" in name:
            continue
        bits = int(re.findall(r"(\d+)x\d+x\d+_", name)[0])
        for kind in TYPES:
            if cx.as_numeric(kind).bits == bits:
                order = "col" if name.endswith("_T") else "row"
                for operand in "AB":
                    yield name, operand, kind, order


def found_of(kernel: Any, destination: str) -> list[Any]:
    report = cx.check(kernel)
    every = [*report.findings, *report.reorders]
    return [f for f in every if f.subject.startswith("reorder") and f.subject.endswith(destination)]


CASES = tuple(loads())


@pytest.mark.long
@pytest.mark.parametrize(("name", "operand", "kind", "order"), CASES)
def test_a_reorder_is_found_where_the_registers_of_a_copy_are_not_those_of_the_operand(
    name: str, operand: Any, kind: str, order: Any
) -> None:
    """What `feeds` says by the registers of one message, `check` says of the kernel."""
    op = cx.XE_DPAS_TT(8, TYPES[kind], kind)
    feed = cx.feeds(name, op, operand, order)
    mma = cx.workgroup_mma(op, (64, 64, 64), ((2, 2, 1), (2, 1, 0)))
    given: dict[str, Any] = {operand.lower(): order, f"copy_{operand.lower()}": name}
    kernel, refused = None, ""
    try:
        kernel = cx.kernel.gemm(mma, stages=0, **given)
    except CuteError as error:
        refused = error.condition
    if kernel is None:  # a block of more columns than a subgroup has, or of half a register
        assert f"do not make up a subgroup's share of {operand}" in refused
        return
    found = found_of(kernel, f"tCr{operand}")
    if feed.kind != "impossible":  # a block of less than an operand: there is nothing to compare
        assert bool(found) == (feed.kind == "reorder"), (feed, found)
    for finding in found:
        assert "moves in each subgroup" in str(finding)
        if isinstance(finding, cx.checking.Finding):
            better = re.search(r'="(XE_[^"]*)"', finding.broken.fix)
            assert better is not None
            given[f"copy_{operand.lower()}"] = better[1]
            again = cx.kernel.gemm(mma, stages=0, **given)
            assert found_of(again, f"tCr{operand}") == []


@pytest.mark.parametrize(
    ("kind", "given", "names"),
    [
        ("s8", {"copy_a": "XE_2D_U8x8x32_LD_N"}, "names Packed LD_N"),
        ("bf16", {"copy_a": "XE_2D_U16x16x16_LD_V"}, "names LD_N"),
        ("bf16", {"copy_b": "XE_2D_U16x32x32_LD_N"}, "names LD_V"),
        ("bf16", {"d": "col"}, "names no copy"),
    ],
)
def test_the_rule_of_the_document_is_said_with_the_moves_and_the_way_out(
    kind: str, given: dict[str, Any], names: str
) -> None:
    op = cx.XE_DPAS_TT(8, TYPES[kind], kind)
    mma = cx.workgroup_mma(op, (128, 128, 32), ((4, 4, 1), (4, 1, 0)))
    kernel = cx.kernel.gemm(mma, **given)
    (finding,) = cx.check(kernel).warnings
    assert (finding.broken.rule, names in finding.broken.condition) == ("reorder", True)
    assert "2D Copy Operations for Intel XE" in finding.broken.source
    report = cx.cost(kernel, "b580", M=128, N=128, K=32)
    in_each = int(re.search(r"needs (\d+) moves", finding.broken.condition)[1])  # pyright: ignore[reportOptionalSubscript]
    assert report.facts.moves == in_each * 16
    assert cx.check(cx.kernel.gemm(mma)).findings == ()


def test_a_reorder_that_no_copy_avoids_is_said_and_is_no_finding() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    report = cx.check(cx.kernel.gemm(mma, a="col"))
    assert report.findings == ()
    assert ["64 moves" in rule.condition for rule in report.reorders] == [True]
    assert "64 moves" in str(report)
