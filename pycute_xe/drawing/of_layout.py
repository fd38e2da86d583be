"""Floor 9: a layout as a grid of its offsets."""

from __future__ import annotations

from typing import Any

from pycute_xe.drawing.scene import CELL_LIMIT, Cell, Scene, make_panel
from pycute_xe.errors import RankError, ShapeError
from pycute_xe.int_tuple import flatten_tuple
from pycute_xe.layout import Layout, coshape, cosize, size

__all__ = ["of_layout"]


def of_layout(layout: Layout) -> Scene:
    """Return the grid of a layout: mode 0 down, mode 1 across, one row for rank 1.

    Cells carry the offset (or the coordinate, for basis strides), coloured by it modulo 16.
    Raises `RankError` for more than two modes.
    """
    if len(layout) > 2:
        raise RankError(
            "draw",
            {"layout": layout},
            f"a grid has two modes, the layout has {len(layout)}",
            "group modes into two, or slice",
        )
    if size(layout) > CELL_LIMIT:
        raise ShapeError(
            "draw",
            {"layout": layout},
            f"{size(layout)} cells are more than a drawing can show ({CELL_LIMIT})",
            "draw a slice of it",
        )
    flat = len(layout) == 1
    rows = 1 if flat else size(layout[0])
    cells = [_cell(layout, i, flat, rows) for i in range(size(layout))]
    is_offset = _is_offset(layout)
    codomain = (
        f"offsets below {cosize(layout)}" if is_offset else f"coordinates in {coshape(layout)}"
    )
    legend = tuple(map(str, range(16)))
    panel = make_panel("", cells, ("", "mode 0") if flat else ("mode 0", "mode 1"), framed=False)
    return Scene(
        f"Layout {layout}",
        (f"{size(layout)} coordinates to {codomain}.",),
        (panel,),
        legend_title="offset mod 16" if is_offset else "mode 0 mod 16",
        legend=legend,
    )


def _cell(layout: Layout, index: int, flat: bool, rows: int) -> Cell:
    row, col = (0, index) if flat else (index % rows, index // rows)
    value: Any = layout(index)
    data = [("row", row), ("col", col)]
    if _is_offset(layout):
        data.append(("offset", value))
        colour, text = int(value), str(value)
    else:
        # Trailing zeros of a coordinate may have been left out of it.
        leaves = flatten_tuple(value)
        leaves += (0,) * (len(flatten_tuple(coshape(layout))) - len(leaves))
        colour, text = int(leaves[0]), ",".join(map(str, leaves))
    at = f"({col})" if flat else f"({row}, {col})"
    return Cell(row, col, colour, (text,), tuple(data), f"{at} → {text}")


def _is_offset(layout: Layout) -> bool:
    """Whether the layout maps to offsets, not to coordinates."""
    return not isinstance(coshape(layout), tuple)
