"""Floor 9: a scene as text, in colour where there is a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pycute_xe.drawing.palette import INK, colour
from pycute_xe.drawing.scene import Cell, Panel, Scene

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["as_ansi", "as_plain", "as_rich", "terminal_width"]

Piece = tuple[str, int | None, bool]
"""A piece of text, the colour behind it (modulo 16), and whether it is emphasised."""

LEAST_WIDTH = 40
"""A terminal narrower than this is treated as if it had so many columns."""


def terminal_width() -> int:
    """Return the columns of this terminal; 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def as_plain(scene: Scene, width: int) -> str:
    """Return the scene as text without colours."""
    lines = ("".join(text for text, _, _ in line).rstrip() for line in _lines(scene, width))
    return "\n".join(lines)


def as_rich(scene: Scene, width: int) -> Text:
    """Return the scene as rich text."""
    from rich.text import Text

    out = Text(no_wrap=True, overflow="crop")
    for number, line in enumerate(_lines(scene, width)):
        if number:
            out.append("\n")
        for text, index, strong in line:
            style = "bold" if strong else ""
            if index is not None:
                style += f" {INK} on {colour(index)}"
            out.append(text, style=style.strip())
    return out


def as_ansi(scene: Scene, width: int) -> str:
    """Return the scene with ANSI colours, as many as the terminal says it has."""
    import io

    from rich.console import Console

    widest = max(
        (sum(len(text) for text, _, _ in line) for line in _lines(scene, width)), default=1
    )
    target = io.StringIO()
    console = Console(file=target, force_terminal=True, width=max(width, widest), highlight=False)
    console.print(as_rich(scene, width), soft_wrap=True, end="")
    return target.getvalue()


def _lines(scene: Scene, width: int) -> Iterator[list[Piece]]:
    yield [(scene.title, None, True)]
    for line in scene.caption:
        strong = line.startswith(("WRONG", "Note"))
        for part in textwrap.wrap(line, max(width, LEAST_WIDTH), break_on_hyphens=False):
            yield [(part, None, strong)]
    alone = len(scene.panels) == 1
    for panel in scene.panels:
        for part in _pieces(panel, width):
            yield []
            yield from _panel_lines(part, width, alone, scene.legend_title)


def _pieces(panel: Panel, width: int) -> Iterator[Panel]:
    """Cut a panel that is too wide for one digit a column into pieces that are not."""
    room = max(width, LEAST_WIDTH) - _gutter(panel) - 1
    if len(panel.cols) <= room:
        yield panel
        return
    step = 1 << (room.bit_length() - 1)
    for first in range(0, len(panel.cols), step):
        part = slice(first, first + step)
        cols = panel.cols[part]
        kept = tuple(cell for cell in panel.cells if cols[0] <= cell.col <= cols[-1])
        names, colours = panel.col_names[part], panel.col_colours[part]
        yield replace(panel, cells=kept, cols=cols, col_names=names, col_colours=colours)


def _gutter(panel: Panel) -> int:
    return max(len(panel.row_name(i)) for i in range(len(panel.rows)))


def _panel_lines(panel: Panel, width: int, alone: bool, colours: str) -> Iterator[list[Piece]]:
    gutter = _gutter(panel)
    room = (width - gutter) // len(panel.cols) - 1
    cells: dict[tuple[int, int], Cell] = {}
    for cell in panel.cells:
        cells.setdefault((cell.row, cell.col), cell)
    labels, size, gap, hint = _labels(panel, room, colours)
    axes = f"{panel.row_axis} ↓ {panel.col_axis} →" if panel.row_axis else f"{panel.col_axis} →"
    yield [(axes if alone else f"{panel.name}: {axes}", None, True), (hint, None, False)]
    # Numbers above the columns, as many as there is room for.
    names = [panel.col_name(i).lstrip("T") for i in range(len(panel.cols))]
    longest = max(map(len, names))
    step = next(n for n in (1, 2, 4, 8, 16, 1 << 20) if n * (size + gap) > longest)
    numbers = [name if i % step == 0 else "" for i, name in enumerate(names)]
    head = _spread(numbers, size + gap, step)
    yield [(" " * (gutter + 1) + head, None, False)]
    for i, row in enumerate(panel.rows):
        line: list[Piece] = [(f"{panel.row_name(i):>{gutter}} ", None, False)]
        for col in panel.cols:
            cell = cells.get((row, col))
            text = labels.get((row, col), "")
            line.append(
                (f"{text:^{size}}", cell.colour if cell else None, bool(cell and cell.wrong))
            )
            line.append((" " * gap, None, False))
        yield line


def _spread(numbers: list[str], size: int, step: int) -> str:
    """Write each number over its column, taking the room of the columns left out after it."""
    if step == 1:
        return "".join(f"{number:^{size - 1}} " if size > 1 else number for number in numbers)
    return "".join(f"{number:<{size * step}}" for number in numbers[::step])


def _labels(
    panel: Panel, room: int, colours: str
) -> tuple[dict[tuple[int, int], str], int, int, str]:
    """Return the labels of all places, their width, the gap between them, and a word on them.

    The longest form that fits: whole labels, work-items by number, colours by one digit. What
    ``colours`` stand for is the word on them.
    """
    owners = colours == "work-item"
    forms = (
        ({(c.row, c.col): c.label for c in panel.cells}, 1, ""),
        (
            {(c.row, c.col): c.short or c.lines[0].lstrip("T") for c in panel.cells},
            1,
            f"  ({panel.short or 'T'})" if owners else "",
        ),
        (
            {(c.row, c.col): _digit(c) for c in panel.cells},
            0,
            f"  ({panel.short or 'T' if owners else colours or 'colour'}, hexadecimal)",
        ),
    )
    for labels, gap, hint in forms:
        size = max(map(len, labels.values()))
        if size <= room:
            return labels, size, gap, hint
    labels, gap, hint = forms[2]
    return labels, 1, gap, hint


def _digit(cell: Cell) -> str:
    """The work-item, or the number of the colour, as one hexadecimal digit."""
    if cell.is_padding:
        return "·"
    if cell.colour is None:
        return "–"
    return f"{int(cell.short or cell.colour) % 16:x}"
