"""What texts say of moves, against the moves that stand in them."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from compiled_kinds import CASES
from sampling import sampled
from visa_reader import computed

import pycute_xe as cx
from pycute_xe.costing import facts_of
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Reorder
from pycute_xe.kernel.ir.listing import renamings

BF16 = cx.XE_DPAS_TT(8, "f32", "bf16")
SMALL = cx.workgroup_mma(BF16, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
FREE = ("moves nothing", "renames registers")


def told(text: str) -> list[tuple[str, int]]:
    """The line of each reorder, and the moves under it: up to the line of the next statement."""
    out: list[tuple[str, int]] = []
    inside = False
    for stripped in map(str.strip, text.splitlines()):
        if stripped.startswith("// "):
            inside = stripped.startswith("// reorder ")
            if inside:
                out.append((stripped, 0))
        elif inside and re.match(r"(asm.*)?\"?\(?mov\b|.*\bmov \(", stripped):
            out[-1] = (out[-1][0], out[-1][1] + 1)
    return out


def held(kernel: Kernel, language: Any) -> list[tuple[str, int]]:
    """Hold reorders said to move nothing to no moves in the text, and others to some; all found."""
    text = str(cx.emit(kernel, language)).partition("{")[2] or cx.emit(kernel, language)
    head = {line.strip() for line in f"{kernel}".splitlines()}
    lines = told(text)
    for line, count in lines:
        if any(words in line for words in FREE):
            assert count == 0, (line, count)
        elif "copies" in line:
            assert count > 0, line
        assert any(line.removeprefix("// ").strip() == each for each in head), line
    return lines


@pytest.mark.parametrize("name", sampled([*CASES], 12))
@pytest.mark.long
def test_texts_of_every_kind_say_what_moves(name: str) -> None:
    kernel, _ = CASES[name].make()
    for language in ("opencl", "visa"):
        with suppress(KernelError):  # a language without words for a statement
            held(kernel, language)


SHARED = cx.kernel.slm_gemm(SMALL)


def reorders(kernel: Kernel, name: str) -> list[Reorder]:
    return [s for s in kernel.statements() if isinstance(s, Reorder) and s.destination == name]


def test_a_reorder_that_is_repeated_moves_nothing() -> None:
    """The tiles of the first trip and of the next are copied by two statements that are equal."""
    assert len(reorders(SHARED, "tBsB")) == 2
    assert {"tAsA", "tBsB"} <= set(renamings(SHARED))
    for language in ("opencl", "visa"):
        assert ["moves nothing" in line for line, _ in held(SHARED, language)] == [True] * 4
    assert facts_of(SHARED).at({"M": 64, "N": 64, "K": 64}, 20).moves == 0


def test_what_writes_between_is_a_copy_everywhere() -> None:
    """A source that is loaded again before the read: text, listing, cost and check all say so."""
    first = reorders(SHARED, "tBsB")[0]
    loads = [s for s in SHARED.statements() if getattr(s, "fragment", "") == first.source]
    changed = replace(SHARED, computes=None)
    body = list(changed.body)
    at = body.index(first)
    body.insert(at + 1, loads[0])
    changed = replace(changed, body=tuple(body))
    assert "tBsB" not in renamings(changed)
    assert f"reorder   {first.source} → tBsB  copies" in str(changed)
    share = SHARED.fragment("tBsB").bytes // 64
    for language in ("opencl", "visa"):
        counts = [count for line, count in held(changed, language) if "tBsB" in line]
        assert counts == [share // 2] * 2  # a move writes two registers
    assert facts_of(changed).at({"M": 64, "N": 64, "K": 64}, 20).moves > 0
    registers = [cx.check(k, "bmg").registers for k in (SHARED, changed)]
    assert registers[1] == registers[0] + share


def test_the_text_without_moves_computes_the_same() -> None:
    kernel = cx.kernel.gemm(SMALL, copy_b="XE_2D_U16x32x32_LD_V")
    found, expected = computed(kernel, (29, 61, 69))
    assert np.array_equal(found, expected)
