"""Small pictures of who owns what: the panels of a drawing without words, a path per work-item.

A whole drawing of a block has a label and a tip in each cell, up to 300 KB; these have 5 KB, so
that each atom can have one. The site's script lights a work-item in them as in whole drawings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from itertools import groupby

from pycute_xe.drawing.scene import Cell, Panel
from pycute_xe.drawing.style import COLOURS

GAP = 24
TOP = 20
WIDEST = 640


def picture(name: str, panels: Sequence[Panel]) -> str:
    """Return the panels below each other as SVG; colours and frames are those of work-items."""
    key = "".join(c if c.isalnum() else "-" for c in name)
    parts: list[str] = []
    y, width = 0, 0
    for panel in panels:
        step = min(20, max(4, WIDEST // max(len(panel.cols), 1)))
        heading = escape(panel.heading)
        parts.append(f'<text class="small-label" x="0" y="{y + 13}">{heading}</text>')
        parts += _owners(panel, step, y + TOP)
        y += TOP + step * len(panel.rows) + GAP
        width = max(width, step * len(panel.cols), 7 * len(panel.heading) + 8)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="cx-{key}" class="small" role="img" '
        f'aria-label="Who owns what in {escape(name)}" viewBox="0 0 {width} {y - GAP + 2}" '
        f'width="{width}" height="{y - GAP + 2}">{"".join(parts)}</svg>'
    )


def _owners(panel: Panel, step: int, top: int) -> list[str]:
    """A path per owner, of runs of cells, with the places of its values in their order."""
    rows = {row: at for at, row in enumerate(panel.rows)}
    cols = {col: at for at, col in enumerate(panel.cols)}
    owned: dict[int | None, list[Cell]] = defaultdict(list)
    for cell in panel.cells:
        owned[cell.colour].append(cell)
    return [
        _path(
            colour, [(rows[c.row], cols[c.col]) for c in cells], step, top, _at(cells, rows, cols)
        )
        for colour, cells in owned.items()
    ]


def _at(cells: list[Cell], rows: dict[int, int], cols: dict[int, int]) -> str:
    """Column and row of each value from 0 on; nothing where values do not count the cells."""
    by_value = {dict(cell.data).get("value"): cell for cell in cells}
    if set(by_value) != set(range(len(cells))):
        return ""
    each = (by_value[value] for value in range(len(cells)))
    return " ".join(f"{cols[cell.col]},{rows[cell.row]}" for cell in each)


def thumbnail(panel: Panel, widest: int = 120) -> str:
    """Return a panel's colours alone, at most so many pixels wide and high."""
    rows = {row: at for at, row in enumerate(panel.rows)}
    cols = {col: at for at, col in enumerate(panel.cols)}
    step = max(2, min(widest // 6, widest // max(len(rows), len(cols))))
    seen: dict[int | None, set[tuple[int, int]]] = defaultdict(set)
    for cell in panel.cells:
        colour = None if cell.colour is None else cell.colour % len(COLOURS)
        seen[colour].add((rows[cell.row], cols[cell.col]))
    paths = "".join(
        f'<path fill="{"#8b95a333" if colour is None else COLOURS[colour]}" '
        f'd="{_drawn(list(places), step, 0)}"/>'
        for colour, places in seen.items()
    )
    wide, high = step * len(cols), step * len(rows)
    return (
        f'<svg class="thumb" aria-hidden="true" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}">{paths}</svg>'
    )


def words(text: str) -> str:
    """Return a thumbnail of what has no picture: its text."""
    return f'<span class="thumb">{escape(text)}</span>'


def _drawn(places: list[tuple[int, int]], step: int, top: int) -> str:
    """Runs of cells as the text of a path."""
    drawn: list[str] = []
    for row, line in groupby(sorted(places), key=lambda place: place[0]):
        for _, run in groupby(
            enumerate(col for _, col in line), key=lambda pair: pair[1] - pair[0]
        ):
            at = [col for _, col in run]
            wide = step * len(at)
            drawn.append(f"M{step * at[0]} {top + step * row}h{wide}v{step}h-{wide}z")
    return "".join(drawn)


def _path(colour: int | None, places: list[tuple[int, int]], step: int, top: int, at: str) -> str:
    drawn = _drawn(places, step, top)
    if colour is None:
        return f'<path class="small-rest" d="{drawn}"/>'
    values = f' data-at="{at}" data-step="{step}" data-top="{top}"' if at else ""
    return (
        f'<g class="c o t{colour}" data-cells="{len(places)}"{values}>'
        f'<path fill="{COLOURS[colour % len(COLOURS)]}" d="{drawn}"/></g>'
    )
