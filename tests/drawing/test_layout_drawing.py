"""Drawings of layouts: plain ones, swizzled ones, and those that have none."""

from __future__ import annotations

import re
from typing import Any

import pytest
from every import every
from hypothesis import given
from strategies import layouts
from svg_cells import cells_of

import pycute_xe as cx
from pycute_xe.drawing import draw
from pycute_xe.errors import CuteError, RankError, ShapeError

L = cx.Layout
Layout, E = cx.Layout, cx.E
SWIZZLED = cx.composition(cx.Swizzle(2, 0, 3), L((8, 8), (8, 1)))


@pytest.mark.parametrize("layout", [SWIZZLED, SWIZZLED[1], SWIZZLED(3, None)], ids=str)
def test_swizzled_cells_carry_swizzled_offsets(layout: Any) -> None:
    cells = cells_of(draw(layout))
    assert len(cells) == cx.size(layout)
    for cell in cells:
        where = (cell["row"], cell["col"]) if len(layout) == 2 else (cell["col"],)
        assert cell["offset"] == layout(*where)


@given(layouts(max_size=32, negative=True).filter(lambda a: len(a) <= 2))
def test_cells_carry_offsets(layout: cx.Layout) -> None:
    cells = cells_of(draw(layout))
    assert len(cells) == cx.size(layout)
    for cell in cells:
        where = (cell["row"], cell["col"]) if len(layout) == 2 else (cell["col"],)
        assert cell["offset"] == layout(*where)


def test_the_caption_of_a_swizzle_says_what_it_does() -> None:
    drawing = draw(SWIZZLED)
    assert drawing.title == f"Layout {SWIZZLED}"
    moved = sum(SWIZZLED(i) != SWIZZLED.layout(i) for i in range(64))
    caption = " ".join(drawing.scene.caption)
    assert "0b11000" in caption
    assert f"{moved} of the offsets change" in caption


def test_the_caption_of_a_swizzled_row_counts_from_its_offset() -> None:
    """Bits 3 and 4 of an offset decide: those of row 3 are set, those of row 4 are not."""
    for row, moved, below in ((3, 8, 32), (4, 0, 40)):
        caption = " ".join(draw(SWIZZLED(row, None)).scene.caption)
        assert f": {moved} of the offsets change" in caption
        assert f"without the swizzle, below {below}." in caption


def test_narrow_text_says_what_its_digits_are() -> None:
    text = draw(L((2, 64), (64, 1))).text(width=80, colour=False)
    assert "(offset mod 16, hexadecimal)" in text
    assert "(T" not in text
    row = text.splitlines()[-1].split()[1]
    assert row == "0123456789abcdef" * 4
    atom = cx.make_mma_atom(cx.XE_DPAS_TT(8, "f32", "bf16"))
    assert re.search(r"\(T", draw(atom, "A").text(width=40, colour=False))


def test_a_piece_of_a_wide_panel_is_labelled_as_if_it_stood_alone() -> None:
    """Two pieces of 32 columns: the offsets of the first have one digit, of the second three."""
    text = draw(L((2, (32, 2)), (1, (0, 100)))).text(width=65, colour=False)
    alone = draw(L((2, 32), (1, 0))).text(width=65, colour=False)
    assert text.split("\n\n")[1] == alone.split("\n\n")[1]
    assert alone.splitlines()[-1] == "1 " + " ".join("1" * 32)


@every(
    ("error", "layout"),
    [
        (RankError, L((2, 2, 2))),
        (RankError, L(())),
        (ShapeError, L((1 << 20, 1 << 20))),
        (RankError, cx.composition(cx.Swizzle(1, 0, 1), L((2, 2, 2)))),
        (ShapeError, cx.composition(cx.Swizzle(1, 0, 1), L((1 << 20, 1 << 20)))),
    ],
    ids=str,
)
def test_what_has_no_drawing_is_refused(error: type[CuteError], layout: Any) -> None:
    with pytest.raises(error) as info:
        draw(layout)
    assert info.value.operation == "draw"
    assert info.value.fix


def test_notebooks_show_layouts_as_pictures_and_the_rest_as_text() -> None:
    for layout in (L((2, 2)), SWIZZLED, cx.make_identity_layout((2, 3))):
        assert layout._repr_mimebundle_()["image/svg+xml"] == draw(layout).svg
    for layout in (L((2, 2, 2)), L((1 << 20, 1 << 20)), L((cx.symbol("M"), 4))):
        assert [*layout._repr_mimebundle_()] == ["text/plain"]


@every(
    ("layout", "said"),
    [
        (Layout(4, -2), "4 coordinates to offsets from -6 to 0."),
        (Layout((4, 2), (1, -8)), "8 coordinates to offsets from -8 to 3."),
        (Layout((4, 2), (-1, 4)), "8 coordinates to offsets from -3 to 4."),
        (Layout((4, 2), (1, 8)), "8 coordinates to offsets below 12."),
        (Layout(3, -1 * E(0)), "3 coordinates to coordinates from (-2,) to (0,)."),
        (Layout((3, 2), (2 * E(0), E(1))), "6 coordinates to coordinates in (5, 2)."),
    ],
)
def test_the_caption_names_the_range_of_the_values(layout: Layout, said: str) -> None:
    assert cx.draw(layout).scene.caption == (said,)


@every(
    ("layout", "coord", "coloured"),
    [
        (Layout((4, 6), (6, 1)), (2, None), {12, 13, 14, 15, 16, 17}),
        (Layout((4, 6), (6, 1)), (None, 1), {1, 7, 13, 19}),
        (Layout(((2, 2), 3), ((1, 6), 2)), ((1, None), 2), {5, 11}),
        (Layout((4, 2), (0, 0)), (1, 0), {0}),
        (SWIZZLED, (3, None), {SWIZZLED(3, j) for j in range(8)}),
    ],
)
def test_a_slice_is_coloured_alone(layout: Any, coord: Any, coloured: set[int]) -> None:
    cells = cx.draw(layout, coord=coord).scene.panels[0].cells
    shown = [cell for cell in cells if cell.colour is not None]
    assert {int(cell.lines[0]) for cell in shown} == coloured
    assert len(shown) == max(1, cx.size(cx.slice_(coord, Layout(layout.shape))))


def test_slices_that_do_not_fit_are_rejected() -> None:
    for options in ({"coord": (1, 2, None)}, {"coord": (1, None), "view": "grid"}):
        with pytest.raises(CuteError):
            cx.draw(Layout((4, 6)), **options)
    with pytest.raises(CuteError):
        cx.draw({"A": Layout(4)}, coord=(None,))
