"""Operands that find no room as a whole: made in pieces, each before the DPAS that read it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from compiled_cases import RECORDED, held_against_run, needs_compiler
from mixed_forms import inputs

import pycute_xe as cx
from pycute_xe.emitting.instructions import Registers
from pycute_xe.kernel import Fill, Kernel, Loop, Map, Mma, Reorder, Slot, Statement
from pycute_xe.kernel.ir.weaving import peak
from pycute_xe.kernel.spec.expression import Const

SCALED: dict[str, Any] = {
    "types": {"B": "s8", "zero": "s8", "scale": "f16"},
    "transform_b": "(B - zero[k/128,n]) * scale[k/128,n]",
}
# One subgroup with the fragments that each of 8x4 has for 256x256x32.
FORMS: dict[str, dict[str, Any]] = {
    "s8": {"types": {"B": "s8"}},
    "u4": {"types": {"B": "u4"}},
    "e4m3": {"types": {"B": "f8e4m3"}},
    "zeros and scales": SCALED,
    "A too": {"types": {"A": "s8", "B": "s8"}},
    "A by columns": {"a": "col"},
}


def gemm(tile: tuple[int, int, int] = (32, 64, 32), **more: Any) -> Kernel:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    return cx.kernel.gemm(cx.workgroup_mma(op, tile, ((1, 1, 1), (1, 1, 1))), **more)


@needs_compiler
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.long
def test_what_is_made_in_pieces_is_right_and_leaves_no_scratch(name: str) -> None:
    kernel = gemm(**FORMS[name])
    assert Registers(kernel).woven
    assert cx.native.compile(kernel, compiler=RECORDED).scratch == 0
    assert held_against_run(kernel, inputs(kernel, {"M": 33, "N": 66, "K": 140})) == []


def test_a_piece_is_made_behind_the_multiplications_by_the_one_that_it_follows() -> None:
    body = cx.emit(gemm(types={"B": "s8"})).rpartition("// mma ")[2]
    written = [int(n) // 8 for n in re.findall(r"mov \(M1_NM, 16\) tCrB_bf\((\d+),", body)]
    read = [int(n) // 512 for n in re.findall(r"XE_DPAS\(.*tCrB\.(\d+),", body)]
    # Eight pieces of eight registers, in turn in the first and the second.
    assert [slot for i, slot in enumerate(read) if i % 4 == 0] == [0, 1] * 4
    assert sorted(set(written)) == [0, 1]
    order = re.findall(r"mov .*tCrB_bf\(|XE_DPAS\(", body)
    runs = re.sub(r"(.)\1*", r"\1", "".join("d" if "D" in one else "m" for one in order))
    assert runs == "md" * 8


def test_registers_are_counted_as_they_are_declared() -> None:
    kernel = gemm(types={"B": "s8"})
    registers = Registers(kernel)
    assert peak(kernel, registers.taken_by) == 128 + 32 + 32 + 16
    assert cx.check(kernel).registers == 128 + 32 + 32 + 16
    assert {d.name: d.count for d in registers.declared}["tCrB"] == 16 * 16


@pytest.mark.parametrize("more", [{}, {"types": {"B": "s8"}}], ids=["alike", "converted"])
def test_what_fits_stays_whole(more: dict[str, Any]) -> None:
    tile = (32, 64, 32) if not more else (32, 32, 32)
    assert not Registers(gemm(tile, **more)).woven


def with_behind(kernel: Kernel, kind: type[Statement], *more: Statement) -> Kernel:
    """A kernel with statements behind the last one of a kind in its loop over K."""
    at, loop = next(
        (i, s) for i, s in enumerate(kernel.body) if isinstance(s, Loop) and s.var == "k"
    )
    last = max(i for i, s in enumerate(loop.body) if isinstance(s, kind))
    longer = (*loop.body[: last + 1], *more, *loop.body[last + 1 :])
    body = (*kernel.body[:at], replace(loop, body=longer), *kernel.body[at + 1 :])
    return replace(kernel, body=body, computes=None)


GATHER = Map("tCrB", Slot("tCrB"), (("tCrB", cx.Layout(2048, 1)),))
KEPT: dict[str, Kernel] = {
    "its source changes": with_behind(gemm(**FORMS["s8"]), Reorder, Fill("tBrB", 0)),
    "it is filled": with_behind(gemm(**FORMS["s8"]), Reorder, Fill("tCrB", 0)),
    "elements of it change places": with_behind(gemm(**FORMS["s8"]), Reorder, GATHER),
    "what a map of it reads changes": with_behind(
        gemm(**FORMS["s8"]),
        Reorder,
        Map("tCrB", Slot("tCrB") * Slot("tCrC")),
        Fill("tCrC", 0),
    ),
    "two multiplications read it": with_behind(
        gemm(**FORMS["s8"]),
        Mma,
        *(s for s in gemm(**FORMS["s8"]).statements() if isinstance(s, Mma)),
    ),
}


@pytest.mark.parametrize("why", KEPT)
def test_what_could_be_told_stays_whole(why: str) -> None:
    assert not Registers(KEPT[why]).woven


def test_a_map_of_single_elements_is_woven_in() -> None:
    kernel = with_behind(gemm(**FORMS["s8"]), Reorder, Map("tCrB", Slot("tCrB") * Const(2)))
    assert len(Registers(kernel).woven["tCrB"].maps) == 1
