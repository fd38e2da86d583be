"""Floor 9: a scene as text, in colour where there is a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pycute_xe.drawing.palette import INK, colour
from pycute_xe.drawing.scene import LABELS, MARKS, Cell, Panel, Scene

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["as_ansi", "as_plain", "as_rich", "terminal_width"]

Piece = tuple[str, int | None, bool]
"""A piece of text, the colour behind it (modulo 16), and whether it is emphasised."""

LEAST_WIDTH = 40
"""A terminal narrower than this is treated as if it had so many columns."""


def terminal_width() -> int:
    """Return the columns of this terminal; 80 without one."""
    return shutil.get_terminal_size((80, 24)).columns


def as_plain(scene: Scene, width: int) -> str:
    """Return the scene as text without colours."""
    unmarked = _captioned(scene, "")
    lines = ("".join(text for text, _, _ in line).rstrip() for line in _lines(unmarked, width))
    return "\n".join(lines)


def as_rich(scene: Scene, width: int) -> Text:
    """Return the scene as rich text."""
    from rich.text import Text

    out = Text(no_wrap=True, overflow="crop")
    for number, line in enumerate(_lines(_captioned(scene, " (bold)"), width)):
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


def _captioned(scene: Scene, marks: str) -> Scene:
    """Return the scene with the caption of a terminal: how it marks cells; no line on labels."""
    kept = (line for line in scene.caption if not line.startswith(LABELS))
    return replace(scene, caption=tuple(line.replace(f" ({MARKS})", marks) for line in kept))


def _lines(scene: Scene, width: int) -> Iterator[list[Piece]]:
    yield [(scene.title, None, True)]
    for line in scene.caption:
        strong = line.startswith(("WRONG", "Note"))
        for part in textwrap.wrap(line, max(width, LEAST_WIDTH), break_on_hyphens=False):
            yield [(part, None, strong)]
    alone = len(scene.panels) == 1
    parts = [part for panel in scene.panels for part in _pieces(panel, width)]
    # Panels that abbreviate do it alike.
    least = max((_form(part, width, 0) for part in parts), default=0)
    for part in parts:
        yield []
        yield from _panel_lines(part, alone, scene.legend_title, _form(part, width, least))


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


def _panel_lines(panel: Panel, alone: bool, colours: str, form: int) -> Iterator[list[Piece]]:
    gutter = _gutter(panel)
    # The first of several owners of a place is shown.
    cells = {(cell.row, cell.col): cell for cell in reversed(panel.cells)}
    labels = {at: _FORMS[form](cell) for at, cell in cells.items()}
    size, gap = max(map(len, labels.values())), 0 if form == 2 else 1
    hint = _hint(panel, form, colours)
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


def _whole(cell: Cell) -> str:
    return cell.label


def _short(cell: Cell) -> str:
    """The work-item by number."""
    return cell.short or cell.lines[0].lstrip("T")


def _form(panel: Panel, width: int, least: int) -> int:
    """Which of the forms of labels fits: the longest, or if it must be shorter from ``least`` on.

    0: whole labels, 1: work-items by number, 2: colours by one digit.
    """
    room = (width - _gutter(panel)) // len(panel.cols) - 1
    fits = [max(map(len, map(form, panel.cells))) <= room for form in _FORMS[:2]]
    return 0 if fits[0] else max(least, 1 if fits[1] else 2)


def _hint(panel: Panel, form: int, colours: str) -> str:
    """A word on the labels; on those that are not whole, what ``colours`` stand for."""
    owners = colours == "work-item"
    hints = (
        f"  ({panel.full})" if panel.full else "",
        f"  ({panel.short or 'T'})" if owners else "",
        f"  ({panel.short or 'T' if owners else colours or 'colour'}, hexadecimal)",
    )
    return hints[form]


def _digit(cell: Cell) -> str:
    """The work-item, or the number of the colour, as one hexadecimal digit."""
    if cell.is_padding:
        return "·"
    if cell.colour is None:
        return "–"
    return f"{int(cell.short or cell.colour) % 16:x}"


_FORMS = (_whole, _short, _digit)
