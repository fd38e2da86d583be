"""Tilings of older names are proved and run, and formulas in both orders of their values.

All names, types and tilings are in ``benchmarks/tiled_names.py``; here is a sample.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tiled_names
from executed_images import as_type, executed_places
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe.cutlass import catalogue
from pycute_xe.errors import CuteError, ShapeError
from pycute_xe.layout import Layout

CASES = tiled_names.cases()
TILINGS = [
    ("XE_2D_U16x32x16_LD_N", "bf16", (32, 16)),
    ("XE_2D_Packed_U8x8x32_LD_N", "s8", (8, 32)),
    ("XE_2D_U16x16x16_LD_V", "f16", (16, 16)),
    ("XE_2D_U16x16x16_LD_T", "bf16", (16, 16)),
    ("XE_2D_U32x8x16_ST_N", "f32", (8, 16)),
]


def tiling(name: str, kind: str, shape: tuple[int, int]) -> cx.TiledCopy:
    """As C++ writes it: 16 work-items side by side, each with its rows of its columns."""
    rows, columns = shape
    atom = cx.get_atom(name, kind)
    return cx.make_tiled_copy(
        atom, Layout((1, 16)), Layout((rows, columns // 16), (columns // 16, 1))
    )


def test_a_block_of_eight_values_leaves_half_of_the_work_items_without_one() -> None:
    atom = cx.get_atom("XE_2D_U64x8x1_LD_T", "s64")
    lanes = atom.in_order("registers")
    assert [len(lane) for lane in lanes] == [1] * 8 + [0] * 8
    with pytest.raises(ShapeError, match="some hold none"):
        atom.formula(order="registers")
    assert not cx.verify(atom)


@pytest.mark.parametrize(("name", "kind", "shape"), TILINGS)
@pytest.mark.long
def test_a_tiling_of_an_older_name_is_proved_and_run(name: str, kind: str, shape: Any) -> None:
    copy = tiling(name, kind, shape)
    verdict = cx.verify(copy)
    assert verdict, str(verdict)
    assert copy.op == cx.template_of(name)
    threads, values = copy.layout_tv_tiled
    tags = np.arange(1, shape[0] * shape[1] + 1).reshape(shape) % 120
    held = np.array([[tags[place(copy, t, v)] for v in range(cx.size(values))]
                     for t in range(cx.size(threads))])[None]  # fmt: skip
    if copy.block.is_store:
        assert (cx.run(copy, held, into=np.zeros(shape)) == tags).all()
    else:
        assert (cx.run(copy, tags).astype(int) == held).all()


def place(copy: cx.TiledCopy, thread: int, value: int) -> tuple[int, int]:
    offset = copy.layout_tv_tiled(thread, value)
    return offset % copy.tiler_mn[0], offset // copy.tiler_mn[0]


def test_a_tiling_that_messages_do_not_bring_is_disproved() -> None:
    copy = cx.make_tiled_copy("XE_2D_U16x8x16_LD_N", Layout((1, 16)), Layout((8, 1)))
    lanes, values = copy.layout_tv_tiled
    turned = cx.make_tiled_copy(copy.atom, cx.make_layout(Layout((2, 8), (64, 8)), values), (8, 16))
    assert cx.size(lanes) == 16
    assert cx.verify(turned).answer == "disproved"


# The older LD_V and LD_T say what work-items find in dwords; of A, the templates do not.
OPERANDS = [
    ("XE_2D_U16x8x16_LD_N", "A", "proved", "proved"),
    ("XE_2D_U16x16x16_LD_V", "A", "proved", "disproved"),
    ("XE_2D_U16x16x16_LD_N", "B", "disproved", "disproved"),
    ("XE_2D_U16x16x16_LD_V", "B", "proved", "proved"),
    ("XE_2D_U16x16x16_LD_T", "B", "proved", "proved"),
    ("XE_2D_U32x8x16_LD_N", "C", "proved", "proved"),
]


@pytest.mark.parametrize(("name", "operand", "older", "newer"), OPERANDS)
@pytest.mark.long
def test_tilings_of_operands(name: str, operand: str, older: str, newer: str) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 32, 32), ((1, 1, 1), (1, 1, 0)))
    make = getattr(cx, f"make_tiled_copy_{operand}")
    kind = "f32" if operand == "C" else "bf16"
    template = cx.make_copy_atom(cx.template_of(name), kind)
    answers = [cx.verify(make(x, mma)).answer for x in (cx.get_atom(name, kind), template)]
    assert answers == [older, newer]


@pytest.mark.parametrize(
    "name", ["XE_2D_U16x32x32_LD_N", "XE_2D_U16x32x32_LD_V", "XE_2D_Packed_U8x8x64_LD_N"]
)
@pytest.mark.long
def test_a_formula_is_proved_in_the_order_it_is_written_in(name: str) -> None:
    atom: Any = cx.get_atom(name)
    held = as_type(executed_places(atom), atom.unit_bits // atom.value_type.bits)
    for order in ("layout", "registers"):
        row, column = atom.formula(order=order)
        places = held if order == "registers" else np.array(atom.ownership())
        for t, v in ((0, 1), (7, 5), (15, atom.values - 1)):
            at = {"t": t, "v": v}
            got = [int(x.subs({s: at[s.name] for s in x.free_symbols})) for x in (row, column)]
            assert got == places[t][v].tolist()
        assert cx.verify(name, row=row, column=column, order=order)
        assert cx.verify(name, row=row, column=column).kernel.endswith(f"order of its {order}")
        other: Any = {"layout": "registers", "registers": "layout"}[order]
        assert cx.verify(name, row=row, column=column, order=other).answer == "disproved"


def test_every_name_has_a_formula_in_both_orders_or_is_refused() -> None:
    """Of U64x8x1 eight work-items hold nothing, which its layout does not say."""
    for name in catalogue():
        atom: Any = cx.get_atom(name)
        for order in ("layout", "registers") if hasattr(atom, "formula") else ():
            try:
                formula = atom.formula(order=order)
            except CuteError:
                assert order == "registers"
                continue
            assert len(formula) == 2
    with pytest.raises(ShapeError, match="some hold none"):
        cx.get_atom("XE_2D_U64x8x1_LD_T").formula(order="registers")


def test_an_order_that_there_is_not_is_refused_by_a_row() -> None:
    with pytest.raises(ShapeError, match="padding between the values"):
        cx.get_atom("XE_2D_U16x1x32_LD_N").formula(order="registers")
    with pytest.raises(ShapeError, match="reaches no register"):
        cx.get_atom("XE_2D_U16x8x16_LD_N::PREFETCH").formula(order="registers")
    with pytest.raises(ShapeError, match="do not hold all that its layout gives"):
        cx.verify("XE_2D_TF32x32x16_LD_N", row="v", column="t", order="layout")
    with pytest.raises(ShapeError, match="unknown order"):
        cx.get_atom("XE_2D_U16x8x16_LD_N").formula(order="memory")
    with pytest.raises(CuteError, match="messages of several sizes"):
        cx.template_of("XE_2D_U16x40x16_LD_N")


def test_a_tiling_feeds_what_its_atom_feeds() -> None:
    copy = cx.make_tiled_copy("XE_2D_U16x8x16_LD_N", Layout((1, 16)), Layout((8, 1)))
    verdict = cx.verify(copy, feeds=("XE_DPAS_TT<8,f32,bf16>", "A"))
    assert verdict.proofs[0].statement.startswith("XE_2D_U16x8x16_LD_N feeds A of ")


@pytest.mark.parametrize("seed", range(400 if WHOLE else 1))
@pytest.mark.long
def test_names_types_and_tilings_at_random(seed: int) -> None:
    case = random.Random(seed).choice(CASES)
    counts = tiled_names.judge([case], seed)
    assert [found for _, found in counts if found.startswith("wrong")] == [], case
