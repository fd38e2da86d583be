"""Tables of layouts, as CuTe prints them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from strategies import layouts, ranked

import pycute_xe as cx
from pycute_xe.errors import CuteError, RankError, ShapeError

L = cx.Layout


def cells(text: str) -> list[list[str]]:
    """The cells of a table, row by row."""
    rows = [line for line in text.splitlines()[1:] if "|" in line]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]


def test_it_is_what_cute_prints() -> None:
    # Written down from the format strings of cute::print_layout: a gutter of four, columns as wide
    # as the digits of the cosize plus two, a blank at the end of the line of column numbers.
    assert cx.layout_table(L((4, 3), (1, 5))).splitlines() == [
        "(4,3):(1,5)",
        "       0    1    2 ",
        "    +----+----+----+",
        " 0  |  0 |  5 | 10 |",
        "    +----+----+----+",
        " 1  |  1 |  6 | 11 |",
        "    +----+----+----+",
        " 2  |  2 |  7 | 12 |",
        "    +----+----+----+",
        " 3  |  3 |  8 | 13 |",
        "    +----+----+----+",
    ]


@given(ranked(layouts(negative=True)))
def test_cells_are_the_offsets(layout: cx.Layout) -> None:
    pair = cx.make_layout(layout, L(2, 3))
    found = cells(cx.layout_table(pair))
    assert found == [
        [str(pair(i, j)) for j in range(cx.size(pair, 1))] for i in range(cx.size(pair, 0))
    ]


@given(layouts(negative=True).filter(lambda a: len(a) <= 2))
def test_every_line_is_equally_wide(layout: cx.Layout) -> None:
    _, head, *lines = cx.layout_table(layout).splitlines()
    assert {len(line) for line in lines} == {len(head) + 1}, "the last rule closes the table"


def test_one_mode_is_one_row_without_a_number() -> None:
    for layout in (L(3, 7), L((3,), (7,)), L(((3, 1),), ((7, 0),))):
        assert cx.layout_table(layout).splitlines()[1:] == [
            "       0    1    2 ",
            "    +----+----+----+",
            "    |  0 |  7 | 14 |",
            "    +----+----+----+",
        ]


def test_coordinates_are_cells_too() -> None:
    table = cx.layout_table(cx.make_identity_layout((2, 2)))
    assert cells(table) == [["(0,0)", "(0,1)"], ["(1,0)", "(1,1)"]]
    nested = cx.layout_table(cx.make_identity_layout(((1, 2), 1)))
    assert cells(nested) == [["((0,0),0)"], ["((0,1),0)"]]


def test_a_swizzle_is_in_the_cells() -> None:
    swizzled = cx.composition(cx.Swizzle(1, 0, 1), L((2, 2), (2, 1)))
    table = cx.layout_table(swizzled)
    assert table.splitlines()[0] == "Sw<1,0,1> o 0 o (2,2):(2,1)"
    assert cells(table) == [["0", "1"], ["3", "2"]]


def test_numbers_wider_than_the_offsets_stay_in_their_columns() -> None:
    _, head, rule, row, _ = cx.layout_table(L((1, 101), (0, 0))).splitlines()
    assert head.endswith("  100 ")
    assert len(head) + 1 == len(rule) == len(row)
    tall = cx.layout_table(L((1001, 1), (0, 0))).splitlines()
    assert tall[-2] == "1000  | 0 |"
    assert tall[2] == "      +---+"


def test_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    layout = L((2, 2))
    assert cx.print_layout(layout) is None
    assert capsys.readouterr().out == cx.layout_table(layout) + "\n"


@pytest.mark.parametrize(
    ("error", "layout", "said"),
    [
        (RankError, L((2, 2, 2)), "two modes"),
        (RankError, L(()), "two modes"),
        (ShapeError, L((1 << 20, 1 << 20)), "cells are more than can be shown (8192)"),
        (ShapeError, L((8193, 1)), "8193 cells"),
    ],
)
def test_what_makes_no_table_is_refused(
    error: type[CuteError], layout: cx.Layout, said: str
) -> None:
    with pytest.raises(error, match=re.escape(said)) as info:
        cx.layout_table(layout)
    assert info.value.operation == "print_layout"
    assert info.value.operands == {"layout": layout}
    assert info.value.fix


def test_the_limit_is_met() -> None:
    assert len(cells(cx.layout_table(L((8, 1024))))) == 8
