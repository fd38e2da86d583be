"""Small pictures of who owns what: the panels of a drawing without words, a path per work-item.

A whole drawing of a block has a label and a tip in each cell, up to 300 KB; these have 5 KB, so
that each atom can have one. The site's script lights a work-item in them as in whole drawings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from pycute_xe.drawing.scene import Cell, Panel
from pycute_xe.drawing.style import COLOURS

GAP = 24
TOP = 20
WIDEST = 448
FINEST = 8
"""Pixels of a cell from which on there are lines between cells."""
Place = tuple[int, int]
"""Row and column of a grid, from 0 on."""


@dataclass(frozen=True)
class Area:
    """A grid, and who owns which places of it: owners, rows and columns, those of values in order.

    Places without an owner have none; what several share has several. ``values`` is text as a
    drawing's script reads it, empty where values do not count the places.
    """

    heading: str
    rows: int
    columns: int
    owned: tuple[tuple[tuple[int, ...], list[Place], str], ...]


def picture(name: str, panels: Sequence[Panel]) -> str:
    """Return the panels below each other as SVG; colours and frames are those of work-items."""
    return areas_picture(name, list(map(as_area, panels)))


def as_area(panel: Panel) -> Area:
    """Return the places of each owner of a panel, with those of its values in their order."""
    rows = {row: at for at, row in enumerate(panel.rows)}
    cols = {col: at for at, col in enumerate(panel.cols)}
    owned: dict[int | None, list[Cell]] = defaultdict(list)
    for cell in panel.cells:
        owned[cell.colour].append(cell)
    parts = (
        (
            () if colour is None else (colour,),
            [(rows[c.row], cols[c.col]) for c in cells],
            _at(cells, rows, cols),
        )
        for colour, cells in owned.items()
    )
    return Area(panel.heading, len(rows), len(cols), tuple(parts))


def areas_picture(
    name: str, areas: Sequence[Area], widest: int = WIDEST, owner: str = "work-item"
) -> str:
    """Return areas below each other as SVG, at most so many pixels wide."""
    key = "".join(c if c.isalnum() else "-" for c in name)
    parts: list[str] = []
    y, width = 0, 0
    step = min(20, max(4, widest // max(area.columns for area in areas)))
    for area in areas:
        heading = escape(area.heading)
        parts.append(f'<text class="small-label" x="0" y="{y + 13}">{heading}</text>')
        parts += (_path(*part, step, y + TOP) for part in area.owned)
        if step >= FINEST:
            parts.append(_grid(area, step, y + TOP))
        y += TOP + step * area.rows + GAP
        width = max(width, step * area.columns, 7 * len(area.heading) + 8)
    owners = "" if owner == "work-item" else f' data-owners="{owner}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="cx-{key}" class="small"{owners} role="img" '
        f'aria-label="Who owns what in {escape(name)}" viewBox="0 0 {width} {y - GAP + 2}" '
        f'width="{width}" height="{y - GAP + 2}">{"".join(parts)}</svg>'
    )


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


def _drawn(places: list[Place], step: int, top: int) -> str:
    """Rectangles of cells as the text of a path: runs of a row, those below each other as one."""
    runs: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, line in groupby(sorted(places), key=lambda place: place[0]):
        for first, wide in _runs([col for _, col in line]):
            runs[first, wide].append(row)
    return "".join(
        f"M{step * col} {top + step * row}h{step * wide}v{step * high}h-{step * wide}z"
        for (col, wide), rows in runs.items()
        for row, high in _runs(rows)
    )


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Runs of rising numbers, each as its first and how many there are."""
    groups = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in run] for _, run in groups]
    return [(run[0], len(run)) for run in runs]


def _grid(area: Area, step: int, top: int) -> str:
    """Lines between cells."""
    wide, high = step * area.columns, step * area.rows
    across = "".join(f"M0 {top + step * row}h{wide}" for row in range(1, area.rows))
    down = "".join(f"M{step * col} {top}v{high}" for col in range(1, area.columns))
    return f'<path class="small-grid" d="{across}{down}"/>'


def _path(owners: tuple[int, ...], places: list[Place], at: str, step: int, top: int) -> str:
    drawn = _drawn(places, step, top)
    if not owners:
        return f'<path class="small-rest" d="{drawn}"/>'
    values = f' data-at="{at}" data-step="{step}" data-top="{top}"' if at else ""
    names = " ".join(f"t{owner}" for owner in owners)
    return (
        f'<g class="c o {names}" data-cells="{len(places)}"{values}>'
        f'<path fill="{COLOURS[owners[0] % len(COLOURS)]}" d="{drawn}"/></g>'
    )
