"""Floor 9: a scene as SVG.

Plain elements and one style sheet, no script: it works in a page, as an image, and in viewers.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha1
from html import escape
from math import hypot

from pycute_xe.drawing.measure import MARGIN, Plan, Spot, heading_width
from pycute_xe.drawing.scene import Cell, Panel, Scene, frames
from pycute_xe.drawing.style import style_sheet

__all__ = ["render"]


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
    style = style_sheet(scope, colours | set(legend), plan.cells.font, crossed=bool(scene.arrows))
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
        yield from _panel(plan, spot)


def _arrows(plan: Plan) -> Iterator[str]:
    """Lines from below a cell to above another, with a head."""
    size, spots = plan.cells, plan.spots
    for ends in plan.scene.arrows:
        (x, y), (u, v) = (
            (spots[p].x + size.width * (c + 0.5), spots[p].y + size.height * (r + 1 - end))
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


def _panel(plan: Plan, spot: Spot) -> Iterator[str]:
    panel = spot.panel
    yield f'<g class="panel" data-operand="{escape(panel.name)}">'
    yield from _axes(plan, spot)
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
        x = spot.x + plan.cells.width * col_at[cell.col]
        y = spot.y + plan.cells.height * row_at[cell.row]
        yield _cell(plan, cell, x, y, (nth, shared[place]))
        if cell.wrong and not plan.cells.lines:
            corners.append(_corner(x + plan.cells.width - 1, y, plan.cells.height - 1))
    if corners:
        yield f'<path class="m" d="{"".join(corners)}"/>'
    if panel.framed and frames(panel):
        yield _frames(plan, spot, panel)
    yield "</g>"


def _cell(plan: Plan, cell: Cell, x: int, y: int, share: tuple[int, int]) -> str:
    """One cell; several that hold the same element share its place, one below the other."""
    size = plan.cells
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
    text = _label(plan, cell, x, y) if count == 1 else ""
    tip = f"<title>{escape(cell.tip)}</title>" if size.tips else ""
    return f'<g class="c o {kind}"{data}>{tip}<rect {fill}{box}/>{mark}{text}</g>'


def _corner(right: float, top: float, height: float) -> str:
    """A red corner, which leaves the label readable."""
    leg = min(7, height / 2)
    return f"M{right - leg:g} {top:g}h{leg:g}v{leg:g}z"


def _label(plan: Plan, cell: Cell, x: int, y: int) -> str:
    size = plan.cells
    middle = f"{x + (size.width - 1) / 2:g}"
    if size.lines == 0:
        return ""
    if size.lines == 1 or len(cell.lines) == 1:
        baseline = y + size.height / 2 + size.font * 0.35 - 0.5
        return f'<text x="{middle}" y="{baseline:.4g}">{escape(cell.label)}</text>'
    first, second = cell.lines
    return (
        f'<text x="{middle}" y="{y + 12}">{first}<tspan class="d">·</tspan>'
        f'<tspan x="{middle}" dy="11">{second}</tspan></text>'
    )


def _axes(plan: Plan, spot: Spot) -> Iterator[str]:
    panel, size = spot.panel, plan.cells
    yield '<g class="a">'
    across, down = _shown(panel.cols, size.width), _shown(panel.rows, size.height)
    if panel.col_colours:
        yield from _holders(plan, spot)
    for i in () if panel.col_colours else across:
        if panel.col_names and i and panel.col_name(i) == panel.col_name(i - 1):
            continue  # one name for a run of columns
        x = spot.x + size.width * i + (size.width - 1) / 2
        yield f'<text x="{x:g}" y="{spot.y - 6}">{escape(panel.col_name(i))}</text>'
    for i in down:
        y = spot.y + size.height * i + (size.height - 1) / 2 + 3.5
        yield f'<text class="w" x="{spot.x - 6}" y="{y:g}">{escape(panel.row_name(i))}</text>'
    if panel.row_axis:
        name = escape(panel.row_axis)
        yield f'<text class="n w" x="{spot.x - 6}" y="{spot.y - 6}">{name} ↓</text>'
    wide = size.width * len(panel.cols)
    heading = escape(panel.heading)
    # Over the middle of the columns; from the first one on where it is wider than they are.
    fits = heading_width(panel) <= wide
    where, kind = (f"{spot.x + wide / 2:g}", "n") if fits else (str(spot.x), "n l")
    yield f'<text class="{kind}" x="{where}" y="{spot.y - 22}">{heading}</text>'
    yield "</g>"


def _holders(plan: Plan, spot: Spot) -> Iterator[str]:
    """The work-item of each column, in its colour."""
    size = plan.cells
    for i, colour in enumerate(spot.panel.col_colours):
        x, wide = spot.x + size.width * i, size.width - 1
        box = f'x="{x}" y="{spot.y - 17}" width="{wide}" height="14" rx="3"'
        name = escape(spot.panel.col_name(i))
        text = f'<text x="{x + wide / 2:g}" y="{spot.y - 6}">{name}</text>' if size.lines else ""
        yield f'<g class="k o t{colour % 16}"><rect {box}/>{text}</g>'


def _shown(coords: tuple[int, ...], pixels: int) -> range:
    """Number every row or column that has room for it, else every eighth."""
    return range(0, len(coords), 1 if pixels >= 20 else 8)


def _frames(plan: Plan, spot: Spot, panel: Panel) -> str:
    size = plan.cells
    path = "".join(
        f"M{spot.x + size.width * left - 0.5:g} {spot.y + size.height * top - 0.5:g}"
        f"h{size.width * width}v{size.height * height}h-{size.width * width}z"
        for top, left, height, width in frames(panel)
    )
    return f'<path class="f" d="{path}"/>'
