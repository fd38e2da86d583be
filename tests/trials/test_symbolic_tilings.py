"""`verify` of tilings with symbols: what is proved holds for numbers, what is wrong at one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe.errors import InputError
from pycute_xe.layout import Layout

M = cx.symbol("M")
EVEN = cx.symbol("E", multiple_of=2)
BF16 = cx.XE_DPAS_TT(8, "f32", "bf16")


def copy(tv: Any, rows: Any) -> cx.atom.TiledCopy:
    one = cx.make_block_2d_copy(cx.XE_LOAD_2D(16, 8, 16), ("ld", 1), "bf16")
    return replace(one, layout_tv_tiled=Layout(*tv), tiler_mn=(rows, 16))


def rows_of(count: Any) -> Any:
    """The messages of a subgroup, one below the other."""
    return ((16, (8, count)), (8 * count, (1, 8))), 8 * count


def subgroups_of(count: Any) -> Any:
    """The subgroups, one below the other."""
    return (((16, count), 8), ((8 * count, 8), 1)), 8 * count


@pytest.mark.parametrize("tiling", [rows_of, subgroups_of])
@pytest.mark.parametrize("extent", [M, EVEN], ids=str)
def test_a_tile_of_whole_messages_is_proved(tiling: Any, extent: Any) -> None:
    verdict = cx.verify(copy(*tiling(extent)))
    assert verdict, str(verdict)
    assert [p.property for p in verdict.proofs] == ["owners", "values"]
    assert f"for all values of {extent}" in str(verdict)
    for number in (2, 4, 6):
        assert cx.verify(copy(*tiling(number)))


WRONG = {
    "work-items exchanged": ((((2, 8), (8, M)), ((64 * M, 8 * M), (1, 8))), 8 * M),
    "rows left out": (((16, (8, M)), (8 * M, (1, 16))), 8 * M),
    "one message": (((16, 8), (8 * M, 1)), 8 * M),
    "a tile too high": (((16, (8, M)), (16 * M, (1, 8))), 16 * M),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_shown_at_a_number(name: str) -> None:
    verdict = cx.verify(copy(*WRONG[name]))
    assert verdict.answer == "disproved", str(verdict)
    shown = verdict.counterexample
    assert shown is not None
    number = shown.sizes["M"]
    at = cx.substitute(WRONG[name][0], M=number), cx.substitute(WRONG[name][1], M=number)
    assert cx.verify(copy(*at)).answer == "disproved"


def test_owners_of_a_tiled_mma_are_proved_and_its_product_is_left_open() -> None:
    one = Layout((1, 1, 1))
    for mma in (
        cx.make_tiled_mma(BF16, one, (Layout(8 * M), 16, 16)),
        cx.make_tiled_mma(BF16, Layout((M, 1, 1))),
    ):
        verdict = cx.verify(mma)
        assert verdict.answer == "undecided", str(verdict)
        answers = {p.property: p.answer for p in verdict.proofs}
        assert answers.pop("product") == "undecided"
        assert answers == dict.fromkeys(("A owners", "B owners", "C owners"), "proved")
        assert "put numbers in" in str(verdict)


def test_what_the_algebra_does_not_say_is_undecided_by_name() -> None:
    legacy = cx.make_tiled_copy("XE_2D_U16x8x16_LD_N", Layout((1, 16)), Layout((8 * M, 1)))
    verdict = cx.verify(legacy)
    assert verdict.answer == "undecided"
    assert "XE_2D_U16x8x16_LD_N is not a template" in str(verdict)
    with pytest.raises(InputError, match="its tile has the symbols M"):
        cx.verify(copy(*rows_of(M)), row="v", column="t")
