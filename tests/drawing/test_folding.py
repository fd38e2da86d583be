"""Wide swizzles in the width of a page: nothing is lost by folding."""

from __future__ import annotations

import pytest

import pycute_xe as cx
from pycute_xe.drawing import Drawing, draw
from pycute_xe.drawing.scene import REPEAT, Plan


def swizzled(bits: int, base: int, shift: int, rows: int, cols: int) -> cx.ComposedLayout:
    return cx.composition(cx.Swizzle(bits, base, shift), cx.Layout((rows, cols), (cols, 1)))


def unfolded(drawing: Drawing, rows: int, cols: int) -> dict[tuple[int, int], int]:
    """All offsets, by what cells, marks and captions say."""
    cells = [c for panel in drawing.scene.panels for c in panel.cells]
    marks = {c.row for c in cells if c.label == REPEAT}
    shown = [c for c in cells if c.label != REPEAT]
    starts = sorted({c.col for c in shown})
    run = starts[1] - starts[0]
    (period,) = marks or {rows}
    words = " ".join(drawing.scene.caption)
    further = int(words.split("each time ")[1].split()[0]) if marks else 0
    assert (f"Each cell is {run} elements" in words) == (run > 1)
    return {
        (c.row + k * period, c.col + i): int(c.label) + i + k * further
        for c in shown
        for i in range(run)
        for k in range(rows // period)
    }


@pytest.mark.parametrize(
    ("swizzle", "shape"),
    [
        ((3, 4, 3), (8, 64)),
        ((3, 4, 3), (32, 128)),
        ((3, 0, 3), (16, 64)),
        ((2, 3, 3), (8, 64)),
        ((3, 3, 3), (64, 64)),
        ((1, 0, 9), (4, 256)),
        ((3, 4, -3), (8, 64)),
        ((2, 4, 3), (10, 128)),
    ],
)
def test_a_folded_swizzle_says_every_offset(
    swizzle: tuple[int, int, int], shape: tuple[int, int]
) -> None:
    layout = swizzled(*swizzle, *shape)
    drawing = draw(layout)
    found = unfolded(drawing, *shape)
    assert found == {(i, j): layout(i, j) for i in range(shape[0]) for j in range(shape[1])}
    plan = Plan(drawing.scene)
    assert plan.width <= 1100
    assert plan.cells.lines


def test_columns_that_fit_are_not_folded() -> None:
    assert draw(swizzled(3, 0, 3, 8, 32)).scene.cells == 8 * 32
    assert draw(swizzled(3, 4, 3, 8, 64), view="grid").scene.cells == 8 * 64


def test_runs_of_two_colours_are_not_one_cell() -> None:
    layout = swizzled(3, 4, 3, 8, 64)
    for halves, run in ((16, 16), (4, 4), (1, 1)):
        drawing = draw(layout, colour=lambda offset, n=halves: offset // n)
        cells = [c for panel in drawing.scene.panels for c in panel.cells]
        assert len(cells) == 8 * 64 // run
        assert {c.colour for c in cells} == {
            5 * (layout(i, j) // halves) % 16 for i in range(8) for j in range(64)
        }


def test_two_digit_colours_of_runs_differ() -> None:
    """Offsets of runs are multiples of 16: colours number the runs."""
    cells = draw(swizzled(3, 4, 3, 8, 64)).scene.panels[0].cells
    assert {(c.colour or 0) % 16 for c in cells} == set(range(16))


def test_a_folded_layout_among_others_says_so() -> None:
    drawing = draw({"a": swizzled(3, 4, 3, 8, 64), "b": swizzled(3, 0, 3, 8, 8)})
    words = " ".join(drawing.scene.caption)
    assert "a: Each cell is 16 elements" in words
    assert "XORed" not in words  # each layout has one line of its own
