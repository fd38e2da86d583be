"""A drawing as a value."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha1
from html import escape
from itertools import accumulate
from math import hypot
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pycute_xe.drawing.png import as_png
from pycute_xe.drawing.saving import write_files
from pycute_xe.drawing.scene import (
    HEADING,
    LABELS,
    MARGIN,
    MARKS,
    Cell,
    Cells,
    Panel,
    Plan,
    Scene,
    Spot,
    frames,
)
from pycute_xe.drawing.style import INK, colour, style_sheet
from pycute_xe.drawing.widget import as_widget
from pycute_xe.errors import InputError, ShapeError
from pycute_xe.signatures import typed_fields

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Drawing"]

# ------------------------------------------------------------ svg


def render(scene: Scene) -> str:
    """Return the SVG of a scene: a valid XML document without declaration, no blank lines.

    Each cell is an element of class ``c`` and ``t`` with the number of its colour, which carries
    its data attributes.
    """
    plan = Plan(scene)
    body = "\n".join(_body(plan))
    # Ids must differ between drawings in one page, and be equal for equal drawings.
    scope = "cx-" + sha1(body.encode(), usedforsecurity=False).hexdigest()[:10]
    colours = {c.colour % 16 for p in scene.panels for c in p.cells if c.colour is not None}
    legend = range(len(scene.legend))
    style = style_sheet(scope, colours | set(legend), plan.cells.font)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{scope}" role="img" '
        f'aria-labelledby="{scope}-t {scope}-d" viewBox="0 0 {plan.width} {plan.height}" '
        f'width="{plan.width}" height="{plan.height}">'
    )
    about = " ".join(scene.caption)
    return "\n".join(
        [
            head,
            f'<title id="{scope}-t">{escape(scene.title)}</title>',
            f'<desc id="{scope}-d">{escape(about)}</desc>',
            f"<style>{style.rstrip()}</style>",
            body,
            "</svg>",
        ]
    )


def _body(plan: Plan) -> Iterator[str]:
    yield (
        f'<rect class="card" x="0.5" y="0.5" width="{plan.width - 1}" '
        f'height="{plan.height - 1}" rx="10"/>'
    )
    for i, line in enumerate(plan.title):
        yield f'<text class="h" x="{MARGIN}" y="{plan.title_y + 23 * i}">{escape(line)}</text>'
    for i, (line, warns) in enumerate(plan.caption):
        kind = "p bad" if warns else "p"
        y = plan.caption_y + 18 * i
        yield f'<text class="{kind}" x="{MARGIN}" y="{y}">{escape(line)}</text>'
    yield from _legend(plan)
    yield from _arrows(plan)
    for spot in plan.spots:
        yield from _panel(spot)


def _arrows(plan: Plan) -> Iterator[str]:
    """Lines from below a cell to above the heading over another, with a head."""
    spots = plan.spots
    for ends in plan.scene.arrows:
        (x, y), (u, v) = (
            (spots[p].x(c) + spots[p].cells.width / 2, spots[p].y(r + 1 - end) - end * HEADING)
            for end, (p, r, c) in enumerate(ends)
        )
        far = hypot(u - x, v - y) or 1.0
        along, across = (u - x) / far, (v - y) / far
        head = "".join(
            f"M{u:g} {v:g}L{u - 7 * along + s * 3 * across:g} {v - 7 * across - s * 3 * along:g}"
            for s in (1, -1)
        )
        yield f'<path class="f arrow" d="M{x:g} {y:g}L{u:g} {v:g}{head}"/>'


def _legend(plan: Plan) -> Iterator[str]:
    title = plan.scene.legend_title
    y = plan.legend_y
    wide = plan.chip_width
    yield f'<text class="k0" x="{MARGIN}" y="{y + 15}">{escape(title)}</text>'
    for i, (name, (left, top)) in enumerate(zip(plan.scene.legend, plan.chips, strict=True)):
        box = f'x="{left}" y="{top}" width="{wide}" height="22" rx="4"'
        yield (
            f'<g class="k o t{i}"><rect {box}/>'
            f'<text x="{left + wide // 2}" y="{top + 15}">{escape(name)}</text></g>'
        )


def _panel(spot: Spot) -> Iterator[str]:
    panel, size = spot.panel, spot.cells
    kind = "panel s" if panel.compact else "panel"
    yield f'<g class="{kind}" data-operand="{escape(panel.name)}">'
    yield from _axes(spot)
    row_at = {row: i for i, row in enumerate(panel.rows)}
    col_at = {col: i for i, col in enumerate(panel.cols)}
    shared: dict[tuple[int, int], int] = {}
    seen: dict[tuple[int, int], int] = {}
    # Of small cells all in one path: there may be thousands.
    corners: list[str] = []
    for cell in panel.cells:
        shared[cell.row, cell.col] = shared.get((cell.row, cell.col), 0) + 1
    for cell in panel.cells:
        place = cell.row, cell.col
        nth = seen[place] = seen.get(place, -1) + 1
        x, y = spot.x(col_at[cell.col]), spot.y(row_at[cell.row])
        yield _cell(size, cell, x, y, (nth, shared[place]))
        if cell.wrong and not size.lines:
            corners.append(_corner(x + size.width - 1, y, size.height - 1))
    if corners:
        yield f'<path class="m" d="{"".join(corners)}"/>'
    if panel.tile_names:
        yield from _tiles(spot)
    elif panel.framed and frames(panel):
        yield _frames(spot)
    yield "</g>"


def _cell(size: Cells, cell: Cell, x: int, y: int, share: tuple[int, int]) -> str:
    """One cell; several that hold the same element share its place, one below the other."""
    data = "".join(f' data-{name}="{value}"' for name, value in cell.data)
    nth, count = share
    top = y + nth * size.height / count
    height = size.height / count - 1
    kind = "none" if cell.colour is None else f"t{cell.colour % 16}"
    fill = 'class="x" ' if cell.colour is None else ""
    if cell.is_padding:
        kind, fill = "pad", 'class="v" '
    box = f'x="{x}" y="{top:g}" width="{size.width - 1}" height="{height:g}"'
    if not size.lines:
        # Cells this small show their colour alone.
        return f'<g class="c o {kind}"{data}><rect {fill}{box}/></g>'
    mark = f'<path class="m" d="{_corner(x + size.width - 1, top, height)}"/>' if cell.wrong else ""
    text = _label(size, cell, x, y) if count == 1 else ""
    tip = f"<title>{escape(cell.tip)}</title>" if size.tips else ""
    return f'<g class="c o {kind}"{data}>{tip}<rect {fill}{box}/>{mark}{text}</g>'


def _corner(right: float, top: float, height: float) -> str:
    """A red corner, which leaves the label readable."""
    leg = min(7, height / 2)
    return f"M{right - leg:g} {top:g}h{leg:g}v{leg:g}z"


def _label(size: Cells, cell: Cell, x: int, y: int) -> str:
    middle = f"{x + (size.width - 1) / 2:g}"
    if size.lines == 0:
        return ""
    if size.lines == 1 or len(cell.lines) == 1:
        baseline = y + size.height / 2 + size.font * 0.35 - 0.5
        return f'<text x="{middle}" y="{baseline:.4g}">{escape(cell.label)}</text>'
    first, second = cell.lines
    return (
        f'<text x="{middle}" y="{y + size.height // 2 - 2}">{first}<tspan class="d">·</tspan>'
        f'<tspan x="{middle}" dy="{round(size.font) + 1}">{second}</tspan></text>'
    )


def _axes(spot: Spot) -> Iterator[str]:
    panel, size = spot.panel, spot.cells
    yield '<g class="a">'
    names = panel.names
    across = accumulate(panel.runs[:-1], initial=0)
    if size.width * min(panel.runs) < panel.name_width:
        across = range(0, len(names), panel.tile[1] or (2 if size.lines else 8))
    down = range(0, len(panel.rows), 1 if size.height >= 20 else panel.tile[0] or 8)
    if panel.col_colours:
        yield from _holders(spot)
    for i in () if panel.col_colours else across:
        x = spot.x(i) + (size.width - 1) / 2
        yield f'<text x="{x:g}" y="{spot.top - 6}">{escape(names[i])}</text>'
    for i in down:
        y = spot.y(i) + (size.height - 1) / 2 + 3.5
        yield f'<text class="w" x="{spot.left - 6}" y="{y:g}">{escape(panel.row_name(i))}</text>'
    if panel.row_axis:
        name = escape(panel.row_axis)
        yield f'<text class="n w" x="{spot.left - 6}" y="{spot.top - 6}">{name} ↓</text>'
    # From the first column on, where it is seen however far the columns go.
    heading = escape(panel.heading)
    yield f'<text class="n l" x="{spot.left}" y="{spot.top - 22}">{heading}</text>'
    yield "</g>"


def _holders(spot: Spot) -> Iterator[str]:
    """The work-item of each column, in its colour."""
    size = spot.cells
    for i, number in enumerate(spot.panel.col_colours):
        x, wide = spot.x(i), size.width - 1
        box = f'x="{x}" y="{spot.top - 17}" width="{wide}" height="14" rx="3"'
        name = escape(spot.panel.col_name(i))
        text = f'<text x="{x + wide / 2:g}" y="{spot.top - 6}">{name}</text>' if size.lines else ""
        yield f'<g class="k o t{number % 16}"><rect {box}/>{text}</g>'


def _frames(spot: Spot) -> str:
    path = "".join(_frame(spot, *box) for box in frames(spot.panel))
    return f'<path class="f" d="{path}"/>'


def _tiles(spot: Spot) -> Iterator[str]:
    """A thick frame around each tile, and its name above it."""
    (height, width), (lines, columns) = spot.panel.tile, spot.panel.tiles
    corners = [(i * height, j * width) for i in range(lines) for j in range(columns)]
    path = "".join(_frame(spot, top, left, height, width) for top, left in corners)
    yield f'<path class="f tile" d="{path}"/>'
    yield '<g class="a">'
    for (top, left), name in zip(corners, spot.panel.tile_names, strict=True):
        x = spot.x(left) + (spot.cells.width * width - 1) / 2
        yield f'<text class="u" x="{x:g}" y="{spot.y(top) - 5}">{escape(name)}</text>'
    yield "</g>"


def _frame(spot: Spot, top: int, left: int, height: int, width: int) -> str:
    wide, high = spot.cells.width * width, spot.cells.height * height
    return f"M{spot.x(left) - 0.5:g} {spot.y(top) - 0.5:g}h{wide}v{high}h-{wide}z"


# ------------------------------------------------------------ terminal
# A scene as text, in colour where there is a terminal.

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


# ------------------------------------------------------------ drawing

_MODES = ("N", "T", "V", "packed")


@typed_fields
@dataclass(frozen=True)
class Drawing:
    """A drawing: SVG for pages and notebooks, text for terminals. Made by `draw`.

    ``print`` shows it in the terminal, a notebook shows the SVG.

    >>> from pycute_xe.layout import Layout
    >>> from pycute_xe.drawing import draw
    >>> draw(Layout((2, 2))).svg.startswith("<svg ")
    True
    """

    scene: Scene

    def __post_init__(self) -> None:
        """Refuse what is not a scene."""
        if not isinstance(self.scene, Scene):  # pyright: ignore[reportUnnecessaryIsInstance]
            given = {"scene": type(self.scene).__name__}
            raise ShapeError("Drawing", given, "it is not a scene", "draw(x) returns a drawing")

    @property
    def title(self) -> str:
        """What is drawn, in a few words."""
        return self.scene.title

    @cached_property
    def svg(self) -> str:
        """The drawing as SVG: one element of class ``c`` for each cell, with data attributes."""
        return render(self.scene)

    def _repr_svg_(self) -> str:
        """Notebooks show this."""
        return self.svg

    def widget(self, **others: Drawing) -> Any:
        """Return a widget for notebooks: point at a cell, or step through work-items and values.

        ``others`` are drawings that its buttons exchange it for, named by N, T, V or packed; the
        name that is left is this one's: ``draw(n).widget(V=draw(v))``. Raises `InputError` for
        another name, `ToolError` without the extra ``pycute-xe[widget]``.
        """
        wrong = next((name for name in others if name not in _MODES), None)
        if wrong is not None:
            condition = f"{wrong} is not a mode"
            raise InputError("widget", {"mode": wrong}, condition, f"use {', '.join(_MODES)}")
        mine = next((name for name in _MODES if name not in others), "")
        return as_widget(self.svg, {name: other.svg for name, other in others.items()}, mine)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the drawing to a file, whole or not at all; return its path.

        It is SVG, or PNG where the name ends in ``.png``: the same picture, light, at twice its
        size. Raises `OSError` when that cannot be done, `InputError` for a name that ends like
        another format, `ToolError` for PNG without the extra ``pycute-xe[png]``.
        """
        where = Path(path)
        match where.suffix.lower():
            case ".png":
                content = as_png(self.svg)
            case ".svg" | "":
                content = self.svg.encode()
            case other:
                condition = f"{other} is not a format of drawings"
                raise InputError("save", {"path": where}, condition, "name it .svg or .png")
        write_files({where: content})
        return where

    def text(self, width: int | None = None, colour: bool | None = None) -> str:
        """Return the drawing for a terminal of ``width`` columns (by default this one's).

        Labels shorten until a row fits: ``T3·V5``, then the work-item alone. ``colour`` sets ANSI
        colours; by default they are there when standard output is a terminal.
        """
        wide = width or terminal_width()
        coloured = sys.stdout.isatty() if colour is None else colour
        return as_ansi(self.scene, wide) if coloured else as_plain(self.scene, wide)

    def __rich__(self) -> Text:
        """Let a rich console print it."""
        return as_rich(self.scene, terminal_width())

    def __str__(self) -> str:
        """As `text` gives it."""
        return self.text()

    def __repr__(self) -> str:
        """The title and how much there is to see."""
        return f"<Drawing: {self.title}, {self.scene.cells} cells>"
