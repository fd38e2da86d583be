"""Floor 9: a layout, plain or swizzled, as a grid of its offsets."""

from __future__ import annotations

from typing import Any

from pycute_xe.composed import ComposedLayout
from pycute_xe.drawing.scene import CELL_LIMIT, Cell, Scene, make_panel
from pycute_xe.grid import grid_of
from pycute_xe.int_tuple import flatten_tuple
from pycute_xe.layout import Layout, coshape, cosize

__all__ = ["of_layout"]


def of_layout(layout: Layout | ComposedLayout) -> Scene:
    """Return the grid of a layout: mode 0 down, mode 1 across, one row for rank 1.

    Cells carry the offset (or the coordinate, for basis strides), coloured by it modulo 16.
    Raises `RankError` for other ranks than 1 and 2, `ShapeError` for leaves that are not integers
    and for more cells than a drawing can show.
    """
    grid = grid_of("draw", layout, CELL_LIMIT)
    cells = [
        _cell((i % grid.rows, i // grid.rows), value, grid.flat)
        for i, value in enumerate(grid.values)
    ]
    is_offset = not isinstance(grid.values[0], tuple)
    axes = ("", "mode 0") if grid.flat else ("mode 0", "mode 1")
    return Scene(
        f"Layout {layout}",
        _caption(layout, grid.values),
        (make_panel("", cells, axes, framed=False),),
        legend_title="offset mod 16" if is_offset else "mode 0 mod 16",
        legend=tuple(map(str, range(16))),
    )


def _caption(layout: Layout | ComposedLayout, values: tuple[Any, ...]) -> tuple[str, ...]:
    if isinstance(layout, Layout):
        box = coshape(layout)
        below = f"coordinates in {box}" if isinstance(box, tuple) else f"offsets below {box}"
        return (f"{len(values)} coordinates to {below}.",)
    swizzle, inner = layout.swizzle, layout.layout
    moved = sum(value != layout.offset + inner(i) for i, value in enumerate(values))
    read, changed = f"{swizzle.yyy_mask:#b}", f"{swizzle.zzz_mask:#b}"
    before = f"without the swizzle, below {layout.offset + cosize(inner)}"
    return (
        f"{len(values)} coordinates to offsets below {max(values) + 1}; {before}.",
        f"Bits {read} of an offset are XORed onto bits {changed}: {moved} of the offsets change.",
    )


def _cell(place: tuple[int, int], value: Any, flat: bool) -> Cell:
    row, col = place
    data = [("row", row), ("col", col)]
    if isinstance(value, tuple):
        leaves = flatten_tuple(value)
        colour, text = int(leaves[0]), ",".join(map(str, leaves))
    else:
        data.append(("offset", value))
        colour, text = int(value), str(value)
    at = f"({col})" if flat else f"({row}, {col})"
    return Cell(row, col, colour, (text,), tuple(data), f"{at} → {text}")
