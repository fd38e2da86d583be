"""Reorders of whole operands of a DPAS, or of whole blocks of a store: renamed, not moved."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from compiled_cases import filled, held_against_run, needs_compiler
from visa_reader import computed

import pycute_xe as cx
from pycute_xe.kernel import Kernel, Load, Map, Reorder, Slot
from pycute_xe.kernel.ir.listing import renamings

BF16 = cx.XE_DPAS_TT(8, "f32", "bf16")
LARGE = cx.workgroup_mma(BF16)
SMALL = cx.workgroup_mma(BF16, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
TALL = "XE_2D_U16x32x32_LD_V"


def field(order: str, copies: tuple[str, str]) -> Kernel:
    return cx.kernel.gemm(LARGE, order, copy_a=copies[0], copy_b=copies[1])


@pytest.mark.parametrize("target", ["pvc", "bmg"])
@pytest.mark.parametrize(
    ("order", "copies", "most"),
    [("col", ("XE_2D_U16x16x16_LD_T", TALL), 240), ("row", ("XE_2D_U16x32x32_LD_N", TALL), 224)],
)
def test_the_field_s_large_tiles_with_older_copies_fit(
    order: str, copies: tuple[str, str], most: int, target: str
) -> None:
    """CUTLASS's benchmarks run both, so neither may be refused for its registers."""
    report = cx.check(field(order, copies), target)
    assert report, report
    assert report.registers == most


def made(**more: Any) -> Kernel:
    return cx.kernel.gemm(SMALL, **more)


RENAMED: dict[str, tuple[dict[str, Any], set[str]]] = {
    "B by two blocks": ({"copy_b": TALL}, {"tCrA", "tCrB"}),
    "A by rows of an operand": ({"copy_a": "XE_2D_U16x8x32_LD_N"}, {"tCrA", "tCrB"}),
    "both": ({"copy_a": "XE_2D_U16x8x32_LD_N", "copy_b": TALL}, {"tCrA", "tCrB"}),
    "A in VNNI, B by two blocks": (
        {"a": "col", "copy_a": "XE_2D_U16x16x16_LD_T", "copy_b": TALL},
        {"tCrB"},
    ),
}


def reordered(kernel: Kernel) -> dict[str, Reorder]:
    return {s.destination: s for s in kernel.statements() if isinstance(s, Reorder)}


@pytest.mark.parametrize("name", RENAMED)
def test_a_renamed_reorder_is_not_an_instruction(name: str) -> None:
    given, wanted = RENAMED[name]
    kernel = made(**given)
    assert set(renamings(kernel)) == wanted
    text = cx.emit(kernel, "visa")
    for destination, statement in reordered(kernel).items():
        moved = re.findall(rf"mov .* {destination}\w*\(", str(text))
        assert bool(moved) == (destination not in wanted), (destination, moved[:2])
        told = [line for line in str(kernel).splitlines() if f"→ {destination} " in line]
        free = any("moves nothing" in x or "renames registers" in x for x in told)
        assert free == (destination in wanted), statement


@pytest.mark.parametrize("name", ["both", "A in VNNI, B by two blocks"])
def test_the_text_computes_what_the_kernel_does(name: str) -> None:
    found, expected = computed(made(**RENAMED[name][0]), (29, 61, 69))
    assert np.array_equal(found, expected)


@needs_compiler
@pytest.mark.long
def test_the_binary_computes_what_the_kernel_does() -> None:
    kernel = made(**RENAMED["both"][0])
    assert held_against_run(kernel, filled(kernel, (9, 33, 69))) == []


def test_what_a_statement_could_tell_apart_is_not_renamed() -> None:
    kernel = made(copy_b=TALL)
    mine = reordered(kernel)["tCrB"]
    assert "tCrB" in renamings(kernel)
    # Someone else reads it, element by element.
    doubled = Map("tCrB", Slot("tCrB") + Slot("tCrB"))
    assert "tCrB" not in renamings(kernel.replace(mine, (mine, doubled)))
    # The source is loaded again before the operand is read.
    again = next(
        s for s in kernel.statements() if isinstance(s, Load) and s.fragment == mine.source
    )
    overwritten = kernel.replace(mine, (mine, again))
    assert "tCrB" not in renamings(overwritten)
    fits = [cx.check(k, "bmg").registers for k in (kernel, overwritten)]
    share = -(-kernel.fragment("tCrB").bytes // 64)
    assert fits[1] == fits[0] + share  # both live at once
    # Half an operand moves.
    halves = replace(mine, slots=cx.Layout((128, 2, 4), (1, 512, 128)))
    assert "tCrB" not in renamings(kernel.replace(mine, halves))


def test_each_byte_is_read_where_the_reorder_leaves_it() -> None:
    kernel = made(copy_b=TALL)
    found, slots = renamings(kernel)["tCrB"], reordered(kernel)["tCrB"].slots
    for element in range(0, kernel.fragment("tBrB").elements, 7):
        assert found.place(2 * slots(element)) == 2 * element
