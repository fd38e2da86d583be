"""Wide grids of swizzled layouts in the width of a page: runs, what repeats, and pieces of rows."""

from __future__ import annotations

from dataclasses import replace

from pycute_xe.drawing.scene import REPEAT, Cell, Cells, Panel, Scene, make_panel

__all__ = ["WIDE", "folded"]

WIDE = 32
"""A grid with more columns is folded."""
_PAGE = 1000
"""Width of the cells of a row, in pixels."""


def folded(scene: Scene) -> Scene:
    """Return the scene of a swizzled grid in the width of a page.

    Elements that stay side by side, at one offset after the other and in one colour, become one
    cell, labelled by the first. Rows that repeat those above, a constant further on, become one row
    of marks. What is still too wide goes on in a panel below.

    >>> cells = [Cell(0, j, j ^ 4, (str(j ^ 4),), (("offset", j ^ 4),)) for j in range(64)]
    >>> panel = make_panel("", cells, ("", "mode 0"))
    >>> small = folded(Scene("line", (), (panel,)))
    >>> [cell.label for cell in small.panels[0].cells][:3], small.caption
    (['4', '0', '12'], ('Each cell is 4 elements side by side, labelled by the first offset.',))
    """
    panel = scene.panels[0]
    if len(panel.cols) <= WIDE:
        return scene
    at = {(cell.row, cell.col): cell for cell in panel.cells}
    rows = [[at[row, col] for col in panel.cols] for row in panel.rows]
    by_offset = bool(scene.legend)
    run, period = _run(rows, by_offset), _period(rows, by_offset)
    lines = [[_first(cell, run, by_offset) for cell in line[::run]] for line in rows[:period]]
    caption, names = list(scene.caption), tuple(map(str, range(period)))
    if run > 1:
        caption.append(f"Each cell is {run} elements side by side, labelled by the first offset.")
    if period < len(rows):
        further, last = _offset(rows[period][0]) - _offset(rows[0][0]), len(rows) - 1
        above = f"rows 0 to {period - 1}" if period > 1 else "row 0"
        words = f"rows {period} to {last} repeat {above}"
        caption.append(f"{words.capitalize()}, each time {further} further on ({REPEAT}).")
        lines.append([Cell(period, c.col, None, (REPEAT,), tip=words) for c in lines[0]])
        names += (f"to {last}",)
    title = "run mod 16" if by_offset and run > 1 else scene.legend_title
    panels = tuple(replace(piece, row_names=names) for piece in _pieces(panel, lines))
    return replace(scene, caption=tuple(caption), panels=panels, legend_title=title)


def _offset(cell: Cell) -> int:
    return dict(cell.data)["offset"]


def _run(rows: list[list[Cell]], by_offset: bool) -> int:
    """Return how many elements stay side by side in every row: a power of two."""
    run, cols = 1, len(rows[0])
    while cols % (2 * run) == 0 and all(
        _offset(line[j + run]) == _offset(line[j]) + run
        and (by_offset or line[j + run].colour == line[j].colour)
        for line in rows
        for j in range(0, cols, 2 * run)
    ):
        run *= 2
    return run


def _period(rows: list[list[Cell]], by_offset: bool) -> int:
    """Return after how many rows they repeat, a constant further on; all of them if they do not."""
    for period in range(1, len(rows) // 2 + 1):
        pairs = [
            (here, there)
            for above, below in zip(rows, rows[period:], strict=False)
            for here, there in zip(above, below, strict=True)
        ]
        steps = {_offset(there) - _offset(here) for here, there in pairs}
        alike = by_offset or all(here.colour == there.colour for here, there in pairs)
        if len(rows) % period == 0 and len(steps) == 1 and alike:
            return period
    return len(rows)


def _first(cell: Cell, run: int, by_offset: bool) -> Cell:
    """Return a cell that stands for all of its run."""
    if run == 1:
        return cell
    first = _offset(cell)
    words = f"columns {cell.col} to {cell.col + run - 1} → {first} to {first + run - 1}"
    tip = f"row {cell.row}, {words}"
    return replace(cell, colour=first // run if by_offset else cell.colour, tip=tip)


def _pieces(panel: Panel, lines: list[list[Cell]]) -> list[Panel]:
    """Cut the columns into panels below each other, as wide as a page at most."""
    axes, count = (panel.row_axis, panel.col_axis), len(lines[0])
    step = WIDE
    cells = [cell for line in lines for cell in line]
    width = Cells.of(Scene("", (), (make_panel("", cells, axes),))).width
    while step > 1 and step * width > _PAGE:
        step //= 2
    out: list[Panel] = []
    for number, start in enumerate(range(0, count, step)):
        part = [cell for line in lines for cell in line[start : start + step]]
        last = lines[0][min(start + step, count) - 1].col
        name = f"columns {part[0].col} to {last}" if count > step else ""
        out.append(make_panel(name, part, axes, framed=False, slot=(0, number)))
    return out
