"""Drawings of block-2D messages, against the machine on memory that holds its own numbers."""

from __future__ import annotations

import numpy as np
import pytest
from every import every

import pycute_xe as cx
from pycute_xe.arch import Block2D, Surface
from pycute_xe.drawing import Drawing
from pycute_xe.drawing.values import of_block2d
from pycute_xe.errors import ShapeError
from pycute_xe.machine import Memory, RegisterFile, block2d

MESSAGES = [
    Block2D("load", 16, 4, 16),
    Block2D("load", 16, 4, 16, vnni=True),
    Block2D("load", 32, 16, 4, transpose=True),
    Block2D("load", 16, 3, 12, count=2),
    Block2D("load", 32, 5, 3, count=2),
    Block2D("load", 8, 4, 20, vnni=True),
]


def labels(cells: tuple[cx.drawing.scene.Cell, ...], wide: int) -> dict[int, str]:
    return {cell.row * wide + cell.col: cell.label for cell in cells}


@every("message", MESSAGES, ids=str)
@every(("x", "y"), [(0, 0), (-4, -1), (8, 2)])
def test_what_is_drawn_is_what_is_loaded(message: Block2D, x: int, y: int) -> None:
    wide, high = message.width * message.count, message.height
    # A surface as large as the block, whose elements are their numbers in it, from 1 on.
    memory, registers = Memory(), RegisterFile(64 * 64)
    kind = np.dtype(f"u{message.element_bytes}")
    numbers = np.arange(1, wide * high + 1, dtype=kind)
    row_bytes = wide * kind.itemsize
    surface = Surface(memory.place(numbers), row_bytes, high, row_bytes)
    block2d.load(memory, registers, message, surface, x, y, 0)
    held = registers.read(0, message.register_bytes("bmg"), "the test").view(kind)

    def inside(column: int, row: int) -> bool:
        return 0 <= column + x < wide and 0 <= row + y < high

    panels = {panel.name: panel.cells for panel in of_block2d(message, inside).panels}
    drawn = labels(panels["in registers"], 64 // kind.itemsize)
    assert len(drawn) == held.size
    for slot, value in enumerate(held.tolist()):
        number = int(value) - 1 - x - wide * y
        assert drawn[slot] == str(number) if value else drawn[slot] in "·–"
    assert labels(panels["in work-items"], 16) == drawn
    assert len(panels["in memory"]) == wide * high
    assert sum(cell.colour is None for cell in panels["in memory"]) == sum(
        not inside(column, row) for column in range(wide) for row in range(high)
    )


def test_rows_keep_their_colour() -> None:
    scene = of_block2d(MESSAGES[0])
    colours = {row: {c.colour for c in scene.panels[0].cells if c.row == row} for row in range(4)}
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == 4
    assert cx.draw(MESSAGES[0]) == Drawing(scene)
    assert scene.caption == (
        "64 elements of 16 bits fill 2 registers; 0 slots are padding (dots).",
        "Numbers count elements in memory, row by row; colours are its rows.",
    )


def test_a_packed_row_below_the_block_is_padding() -> None:
    """Three rows are packed in pairs: half of the second pair holds no element."""
    scene = of_block2d(Block2D("load", 16, 3, 16, vnni=True))
    assert scene.caption[0] == (
        "48 elements of 16 bits fill 2 registers; 16 slots are padding (dots)."
    )
    for panel in scene.panels[1:]:
        shown = [cell.label for cell in panel.cells]
        assert sorted(shown) == sorted([*map(str, range(48)), *["·"] * 16])


def test_a_prefetch_has_no_registers() -> None:
    with pytest.raises(ShapeError, match="a prefetch reaches no register"):
        cx.draw(Block2D("prefetch", 16, 8, 16))
