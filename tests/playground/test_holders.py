"""Who holds an element, formulas of ownership, and tiles in place of a refused one."""

from __future__ import annotations

import re

import pytest

import pycute_xe as cx
from pycute_xe.cutlass import LegacyCopyAtom, get_atom, shipped_names
from pycute_xe.playground import answer
from pycute_xe.playground.formulas import ownership_formula

MMA = "XE_DPAS_TT<8,f32,bf16>"
EXCHANGED = {
    "XE_2D_U16x16x8_LD_T",
    "XE_2D_U32x16x2_LD_T",
    "XE_2D_U4x16x8_LD_T",
    "XE_2D_U8x16x32_LD_T",
    "XE_2D_U8x16x8_LD_T",
}
"""Whose layouts, CUTLASS's, exchange the sides of the block: no formula is read off them."""


def _first(**request: str) -> tuple[str, str]:
    shown = answer(request)
    assert "error" not in shown, shown["error"]
    heading, text = shown["parts"][0]
    return heading, text


def test_who_holds_an_element_of_an_operand_is_counted_in_packed_bytes() -> None:
    # Four rows share a dword: element (5, 7) is byte 5 % 4 of dword 16 * (5 // 4) + 7.
    byte = 4 * (16 * (5 // 4) + 7) + 5 % 4
    held = _first(kind="atom", name="XE_DPAS_TT<8,s32,s8>", operand="B", element="5,7")
    assert held[0] == "Who holds it"
    owner = f"work-item {byte % 16}, value {byte // 16}"
    assert held[1].startswith(f"B(k=5, n=7) of XE_DPAS_TT<8,s32,s8,s8,s32>: {owner} by its layout")
    assert f"register {byte // 64}, byte {byte % 64}\n" in held[1]
    assert "read in 32 bits (4 values of k, as VNNI packs them): work-item 7" in held[1]
    by_name = _first(kind="atom", name="XE_DPAS_TT<8,s32,s8>", operand="", element="k=5, n=7")
    assert by_name == held


def test_what_layouts_say_and_registers_hold_is_told_apart() -> None:
    _, text = _first(kind="atom", name="XE_2D_U8x32x16_LD_V", element="(5, 7)")
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0].endswith("work-item 7, value 5 by its layout")
    assert "read in 8 bits: work-item 13, value 5" in lines
    assert "read in 32 bits: work-item 7, value 5" in lines


def test_every_operand_with_the_element_is_told() -> None:
    _, text = _first(kind="atom", name="XE_DPAS_TT<8,s32,s8>", element="25,7")
    assert re.match(r"(?s)A has 8 rows and 32 columns\nB\(k=25, n=7\) of .*\nC has 8 rows", text)


def test_of_a_tile_every_subgroup_that_holds_it_is_told() -> None:
    asked = {"kind": "tile", "mma": MMA, "tile": "64,128,32", "subgroups": "2,4,1"}
    _, text = _first(**asked, operand="B", element="5,70")
    assert re.findall(r"subgroup (\d+)", text) == ["2", "6"]
    assert text.startswith("B(k=5, n=70) of ")


@pytest.mark.parametrize("element", ["x", "5", "5,7,9", "-1,2"])
def test_what_is_not_an_element_is_refused(element: str) -> None:
    shown = answer({"kind": "atom", "name": MMA, "element": element})
    assert "is not a row and a column" in shown["error"]


@pytest.mark.parametrize(("tile", "subgroups"), [("256,256,32", "4,2,1"), ("256,256,64", "4,4,1")])
@pytest.mark.long
def test_in_place_of_a_refused_tile_others_are_named_that_check_takes(
    tile: str, subgroups: str
) -> None:
    heading, text = _first(kind="tile", mma=MMA, tile=tile, subgroups=subgroups)
    assert heading == "Refused"
    named = re.findall(r"([\d,]+) by ([\d,]+)", text)
    assert len(named) == 3
    for other, grid in named:
        heading, _ = _first(kind="tile", mma=MMA, tile=other, subgroups=grid)
        assert heading == "Thread-value layouts"


@pytest.mark.parametrize("name", [n for n in shipped_names() if n.startswith("XE_2D_")])
def test_a_formula_says_what_is_owned(name: str) -> None:
    atom = get_atom(name)
    assert isinstance(atom, LegacyCopyAtom)
    formula = ownership_formula(atom)
    if formula is None:
        assert name in EXCHANGED
        return
    for t, held in enumerate(atom.ownership()):
        for v, place in enumerate(held):
            said = tuple(eval(text, {"t": t, "v": v}) for text in formula)
            assert said == place, (t, v)


def test_a_formula_that_is_told_is_proved() -> None:
    shown = answer({"kind": "atom", "name": "XE_2D_Packed_U8x8x32_LD_N"})
    told = dict(shown["parts"])["Formula"]
    found = re.fullmatch(r"value v of work-item t: row (.*), column (.*)", told)
    assert found is not None
    assert cx.verify("XE_2D_Packed_U8x8x32_LD_N", row=found[1], column=found[2])
