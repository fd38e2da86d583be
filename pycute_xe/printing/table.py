"""Floor 9: a layout as a table of boxes, as CuTe prints it."""

from __future__ import annotations

from collections.abc import Iterator

from pycute_xe.basis import ArithTuple
from pycute_xe.composed import ComposedLayout
from pycute_xe.grid import Grid, grid_of
from pycute_xe.layout import Layout, cosize
from pycute_xe.signatures import typed

__all__ = ["TABLE_LIMIT", "layout_table", "print_layout"]

TABLE_LIMIT = 8192
"""A table with more cells is refused: it would be unreadable."""


def print_layout(layout: Layout | ComposedLayout) -> None:
    """Print a layout and the table of its offsets, mode 0 down and mode 1 across.

    Law: the lines of `layout_table`. Raises as that does. C++: ``print_layout``.

    >>> print_layout(Layout((2, 4), (4, 1)))
    (2,4):(4,1)
          0   1   2   3
        +---+---+---+---+
     0  | 0 | 1 | 2 | 3 |
        +---+---+---+---+
     1  | 4 | 5 | 6 | 7 |
        +---+---+---+---+
    """
    print(layout_table(layout))  # noqa: T201 - what it is for


@typed
def layout_table(layout: Layout | ComposedLayout) -> str:
    """Return the table that `print_layout` prints: the layout, numbered columns, numbered rows.

    Cells hold offsets in elements, or coordinates for basis strides. A layout of rank 1 is one row
    without a number. Blank for blank what C++ prints, where its numbers fit its columns: these are
    as wide as the cosize, here also as the widest number. Raises `RankError` for other ranks than
    1 and 2, `ShapeError` for more than 8192 cells and for leaves that are not integers.
    C++: ``print_layout``, for rank 2 and integer strides.

    >>> print(layout_table(Layout((2, 2), (100, 1))))
    (2,2):(100,1)
            0     1
        +-----+-----+
     0  |   0 |   1 |
        +-----+-----+
     1  | 100 | 101 |
        +-----+-----+
    """
    grid = grid_of("print_layout", layout, TABLE_LIMIT)
    return "\n".join([str(layout), *_lines(grid, _width(layout, grid))])


def _width(layout: Layout | ComposedLayout, grid: Grid) -> int:
    inner = layout.layout if isinstance(layout, ComposedLayout) else layout
    reach = "" if _is_coordinate(grid.values[0]) else str(cosize(inner))
    texts = (reach, str(grid.cols - 1), *map(_text, grid.values))
    return max(map(len, texts))


def _lines(grid: Grid, width: int) -> Iterator[str]:
    gutter = max(2, len(str(grid.rows - 1)))
    blank = " " * (gutter + 2)
    rule = blank + f"+{'-' * (width + 2)}" * grid.cols + "+"
    yield blank + "".join([f"  {col:>{width}} " for col in range(grid.cols)])
    yield rule
    for row in range(grid.rows):
        head = "" if grid.flat else str(row)
        cells = [f"| {_text(grid.at(row, col)):>{width}} " for col in range(grid.cols)]
        yield f"{head:>{gutter}}  {''.join(cells)}|"
        yield rule


def _is_coordinate(value: object) -> bool:
    return isinstance(value, tuple)


def _text(value: object) -> str:
    return str(value).replace(" ", "") if isinstance(value, ArithTuple) else str(value)
