"""What a drawing shows, before it is SVG or text: panels of labelled cells."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import ceil
from typing import Protocol, TypeAlias, runtime_checkable

from pycute_xe.arch.target import grf_bytes
from pycute_xe.drawing.style import text_width
from pycute_xe.errors import ShapeError

__all__ = [
    "CELL_LIMIT",
    "LABELS",
    "REPEAT",
    "MARKS",
    "Arrow",
    "Cell",
    "Panel",
    "Pictured",
    "Scene",
    "demand_room",
    "frames",
    "make_panel",
    "marked",
    "no_parts",
    "owned",
    "LABELLED",
    "MARGIN",
    "Cells",
    "Plan",
    "Spot",
]

CELL_LIMIT = 8192
"""A drawing with more cells is refused: it would be unreadable, and its file would exceed 1 MB."""

MARKS = "red corners"
"""What a caption calls the marks of wrong cells, which are bold in a terminal."""
REPEAT = "⋮"
"""The label of a cell that stands for all cells below it, which repeat those above it."""
LABELS = "Two numbers in a cell"
"""How the line of a caption begins that a terminal leaves to the panels, which may abbreviate."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One element: where it is drawn, its colour, label lines, data attributes and tooltip.

    ``row`` and ``col`` are tile coordinates. ``colour`` is a number taken modulo 16, ``None`` for
    an element that no work-item holds. ``short`` is the label where there is no room for lines,
    their first one if it is empty. ``group`` numbers the instruction or message it belongs to.
    """

    row: int
    col: int
    colour: int | None
    lines: tuple[str, ...]
    data: tuple[tuple[str, int], ...] = ()
    tip: str = ""
    group: int = 0
    wrong: bool = False
    joint: str = "·"
    short: str = ""

    @property
    def label(self) -> str:
        """The label on one line."""
        return self.joint.join(self.lines)

    @property
    def is_padding(self) -> bool:
        """Whether it is a slot that holds nothing, and need not."""
        return self.lines in (("·",), (REPEAT,))


@dataclass(frozen=True, slots=True)
class Panel:
    """A grid of cells: the coordinates of its rows and columns, and what they count.

    ``slot`` is the panel's (column, row) among the panels of a scene. Names and colours of columns
    say whose each column is, where it belongs to a work-item. ``short`` says what short labels are,
    ``full`` what whole ones are where they do not tell it themselves. ``tile`` counts the rows and
    columns of a tile: tiles stand apart in thick frames, with ``tile_names`` above them, line by
    line. The cells of a ``compact`` panel are as small as their labels allow.
    """

    name: str
    cells: tuple[Cell, ...]
    rows: tuple[int, ...]
    cols: tuple[int, ...]
    row_axis: str
    col_axis: str
    framed: bool = True
    slot: tuple[int, int] = (0, 0)
    row_names: tuple[str, ...] = ()
    col_names: tuple[str, ...] = ()
    col_colours: tuple[int, ...] = ()
    short: str = ""
    full: str = ""
    tile: tuple[int, int] = (0, 0)
    tile_names: tuple[str, ...] = ()
    compact: bool = False

    @property
    def tiles(self) -> tuple[int, int]:
        """Lines and columns of tiles, none without tiles."""
        if not self.tile_names:
            return 0, 0
        return len(self.rows) // self.tile[0], len(self.cols) // self.tile[1]

    @property
    def names(self) -> tuple[str, ...]:
        """What is written above the columns."""
        return tuple(self.col_name(i) for i in range(len(self.cols)))

    @property
    def runs(self) -> tuple[int, ...]:
        """Columns that share a name with those beside them, run by run."""
        return tuple(sum(1 for _ in run) for _, run in groupby(self.names))

    @property
    def name_width(self) -> int:
        """Room for the name of a column, in pixels, so that it does not meet the next."""
        return max(20, round(max(map(len, self.names)) * 10 * MONO) + 4)

    @property
    def heading(self) -> str:
        """The name of the panel and what its columns count."""
        return f"{self.name}:  {self.col_axis} →" if self.name else f"{self.col_axis} →"

    def headed(
        self,
        about: str,
        col_names: tuple[str, ...],
        col_colours: tuple[int, ...],
        row_names: tuple[str, ...] = (),
        short: str = "",
        full: str = "",
    ) -> Panel:
        """Return the panel with names, and colours, in place of the numbers of its columns."""
        return replace(
            self,
            col_axis=about,
            col_names=col_names,
            col_colours=col_colours,
            row_names=row_names,
            short=short,
            full=full,
        )

    def row_name(self, index: int) -> str:
        """What is written beside a row: its name, or its number."""
        return self.row_names[index] if self.row_names else str(self.rows[index])

    def col_name(self, index: int) -> str:
        """What is written above a column: its name, or its number."""
        return self.col_names[index] if self.col_names else str(self.cols[index])


Cellular: TypeAlias = tuple[int, int, int]
Arrow: TypeAlias = tuple[Cellular, Cellular]


def demand_room(title: str, cells: int) -> None:
    """Raise `ShapeError` when there are more cells than a drawing can show; best before any is."""
    if cells > CELL_LIMIT:
        raise ShapeError(
            "draw",
            {"drawing": title},
            f"{cells} cells are more than a drawing can show ({CELL_LIMIT})",
            "draw one operand, or a part: a mode, a slice, an atom",
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """A title, a caption of several lines, panels, and the meaning of the colours.

    ``arrows`` go from cell to cell; a cell is the number of its panel, its row and its column.

    Raises `ShapeError` when there are more cells than a drawing can show.
    """

    title: str
    caption: tuple[str, ...]
    panels: tuple[Panel, ...]
    legend_title: str = "work-item"
    legend: tuple[str, ...] = tuple(f"T{t}" for t in range(16))
    arrows: tuple[Arrow, ...] = ()

    def __post_init__(self) -> None:
        """Refuse too many cells."""
        demand_room(self.title, self.cells)

    @property
    def cells(self) -> int:
        """Cells of all panels."""
        return sum(len(panel.cells) for panel in self.panels)


@runtime_checkable
class Pictured(Protocol):
    """A value of a higher floor, which says itself what is drawn of it."""

    @property
    def scene(self) -> Scene:
        """What is drawn."""
        ...


def owned(
    place: tuple[int, int],
    owner: tuple[int, int],
    byte: int,
    what: str,
    group: int = 0,
    wrong: str = "",
) -> Cell:
    """Return the cell of an element that a (work-item, value) holds at a register byte.

    >>> owned((3, 5), (5, 3), 106, "A[m=3, k=5]").tip
    'T5·V3 holds A[m=3, k=5] in register 1, byte 42 of it'
    """
    lane, value = owner
    number, within = divmod(byte, grf_bytes())
    tip = f"T{lane}·V{value} holds {what} in register {number}, byte {within} of it"
    data = (("lane", lane), ("value", value), ("row", place[0]), ("col", place[1]), ("byte", byte))
    return Cell(
        *place,
        colour=lane,
        lines=(f"T{lane}", f"V{value}"),
        data=data,
        tip=f"{tip}; {wrong}" if wrong else tip,
        group=group,
        wrong=bool(wrong),
    )


def make_panel(
    name: str,
    cells: Iterable[Cell],
    axes: tuple[str, str],
    framed: bool = True,
    slot: tuple[int, int] = (0, 0),
) -> Panel:
    """Return the panel whose rows and columns are those that the cells have.

    >>> make_panel("L", [Cell(0, 4, 0, ("7",)), Cell(2, 4, 0, ("8",))], ("i", "j")).rows
    (0, 2)
    """
    kept = tuple(cells)
    rows = tuple(sorted({cell.row for cell in kept}))
    cols = tuple(sorted({cell.col for cell in kept}))
    return Panel(name, kept, rows, cols, *axes, framed=framed, slot=slot)


def frames(panel: Panel) -> tuple[tuple[int, int, int, int], ...]:
    """Return (row, column, rows, columns), in positions, of each group that fills a rectangle."""
    row_at = {row: i for i, row in enumerate(panel.rows)}
    col_at = {col: i for i, col in enumerate(panel.cols)}
    groups: dict[int, set[tuple[int, int]]] = {}
    for cell in panel.cells:
        place = row_at[cell.row], col_at[cell.col]
        groups.setdefault(cell.group, set()).add(place)
    out: list[tuple[int, int, int, int]] = []
    for places in groups.values():
        rows, cols = zip(*places, strict=True)
        top, left = min(rows), min(cols)
        height, width = max(rows) - top + 1, max(cols) - left + 1
        if height * width == len(places):
            out.append((top, left, height, width))
    return tuple(out)


# ------------------------------------------------------------ measure
# Where everything in an SVG drawing goes, in pixels.

MARGIN = 24
MONO = 0.605
"""Width of a character of a monospaced font, in font sizes (the widest in common use)."""
PANEL_GAP, ARROW_GAP = 28, 110
"""Between panels, and between those that arrows join."""
HEADING = 38
"""What stands above the cells of a panel: arrows end above it."""
LABELLED, EXPLAINED = 3200, 2400
"""More cells than this have no labels, or no tooltips: the file would exceed 1 MB."""
TILE_GAP, TILE_LABEL = 8, 20
"""Between tiles that stand side by side, and the height of the name above each."""
LINE_WIDTH = 720
"""Lines of text longer than this are hard to follow, however wide the drawing."""
LEAST_WIDTH, NAME_WIDTH = 320, 640
"""A drawing is so wide at least, wider for a name in its title, which up to here stays whole."""
GOOD_WIDTH = 1100
"""Panels stand side by side as long as a drawing is no wider."""


def marked(scene: Scene, words: str, *places: tuple[int, ...] | None) -> Scene:
    """Return a scene whose marks are at some elements alone, with words as its caption.

    Elements that a scene does not show are left to the words.
    """
    kept = {place for place in places if place is not None}
    panels = tuple(
        replace(
            panel,
            cells=tuple(replace(c, wrong=(c.row, c.col) in kept) for c in panel.cells),
        )
        for panel in scene.panels
    )
    return replace(scene, panels=panels, caption=(f"{words} ({MARKS}).",))


@dataclass(frozen=True, slots=True)
class Cells:
    """The size of a cell and of its text, in pixels; ``lines`` of text: 2, 1 or none.

    One line while a row is short, two lines while labels can be read, then colours alone.
    """

    width: int
    height: int
    font: float
    lines: int
    tips: bool = True

    @classmethod
    def compact(cls, panel: Panel) -> Cells:
        """Choose the smallest cells in which labels can be read."""
        lines = max(len(cell.lines) for cell in panel.cells)
        longest = max(len(line) for cell in panel.cells for line in cell.lines)
        return cls(round(longest * 9 * MONO) + 4, 3 + 11 * lines, 9, lines)

    @classmethod
    def of(cls, scene: Scene) -> Cells:
        """Choose the cells of a scene."""
        slots = {panel.slot[1] for panel in scene.panels}
        across = max(sum(len(p.cols) for p in scene.panels if p.slot[1] == y) for y in slots)
        every = [cell for panel in scene.panels for cell in panel.cells]
        if len(every) > LABELLED:
            return cls(12, 12, 0, 0)
        tips = len(every) <= EXPLAINED
        one = max(len(cell.label) for cell in every)
        two = max(len(line) for cell in every for line in cell.lines)
        named = (p for p in scene.panels if not p.col_colours and not p.compact)
        head = max((-(-p.name_width // min(p.runs)) for p in named), default=0)
        if across <= 16 or one == two:
            return cls(max(28, head, round(one * 11 * MONO) + 10), 24, 11, 1, tips)
        return cls(max(26, head, round(two * 10 * MONO) + 6), 28, 10, 2, tips)


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the cells of a panel are, counted from its first one, in pixels."""

    panel: Panel
    cells: Cells

    @property
    def gap(self) -> int:
        """Room between tiles side by side, so much that their names do not meet."""
        longest = max(map(len, self.panel.tile_names), default=0)
        tile = self.cells.width * self.panel.tile[1]
        return max(TILE_GAP, round(longest * 10 * MONO) + 6 - tile)

    def x(self, col: int) -> int:
        """Left end of a column, or the right end of the last one."""
        before = (
            min(col // self.panel.tile[1], self.panel.tiles[1] - 1) if self.panel.tiles[1] else 0
        )
        return self.cells.width * col + self.gap * before

    def y(self, row: int) -> int:
        """Top of a row, or the bottom of the last one."""
        lines = self.panel.tiles[0]
        above = 1 + min(row // self.panel.tile[0], lines - 1) if lines else 0
        return self.cells.height * row + TILE_LABEL * above

    @property
    def width(self) -> int:
        """Width of all columns."""
        return self.x(len(self.panel.cols))

    @property
    def height(self) -> int:
        """Height of all rows."""
        return self.y(len(self.panel.rows))


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a panel's cells begin."""

    grid: Grid
    left: int
    top: int

    @property
    def panel(self) -> Panel:
        """The panel."""
        return self.grid.panel

    @property
    def cells(self) -> Cells:
        """The size of its cells."""
        return self.grid.cells

    def x(self, col: int) -> int:
        """Left end of a column."""
        return self.left + self.grid.x(col)

    def y(self, row: int) -> int:
        """Top of a row."""
        return self.top + self.grid.y(row)


@dataclass(frozen=True)
class Plan:
    """Positions of title, caption, legend and panels of a scene."""

    scene: Scene

    @cached_property
    def cells(self) -> Cells:
        """The size of every cell."""
        return Cells.of(self.scene)

    @cached_property
    def gutter(self) -> tuple[int, int]:
        """Room for row labels at the left and column labels above."""
        digits = max(
            len(panel.row_name(i)) for panel in self.scene.panels for i in range(len(panel.rows))
        )
        name = max(len(panel.row_axis) for panel in self.scene.panels)
        return max(round(digits * 10 * MONO) + 14, round((name + 2) * 11 * MONO) + 14), 40

    @cached_property
    def inset(self) -> bool:
        """Whether the heading fits into the corner that the panels leave free."""
        corner_free = all(panel.slot != (0, 0) for panel in self.scene.panels)
        return corner_free and self._extent(0, 0) >= LEAST_WIDTH

    def _grid(self, panel: Panel) -> Grid:
        return Grid(panel, Cells.compact(panel) if panel.compact else self.cells)

    def _size(self, panel: Panel, index: int) -> int:
        """Width (0) or height (1) of a panel with its labels."""
        grid = self._grid(panel)
        if index:
            return self.gutter[1] + grid.height
        heading = round(len(panel.heading) * 11 * MONO)
        return self.gutter[0] + max(grid.width, heading)

    @cached_property
    def spanning(self) -> tuple[Panel | None, Panel | None]:
        """The panel whose width, and the one whose height, no other panel has to make room for.

        Three panels in the shape of an L leave a corner free: the one above or below reaches into
        it, or the one at the right does, where that keeps the drawing narrow enough.
        """
        by_slot = {panel.slot: panel for panel in self.scene.panels}
        if sorted(by_slot) == [(0, 0), (0, 1), (1, 1)]:
            return by_slot[0, 0], None
        if sorted(by_slot) != [(0, 0), (0, 1), (1, 0)]:
            return None, None
        corner, below, right = (self._size(by_slot[at], 0) for at in ((0, 0), (0, 1), (1, 0)))
        beside = max(corner, below) + right
        if beside <= max(corner + right, below, GOOD_WIDTH):
            return None, by_slot[1, 0]
        return by_slot[0, 1], None

    def _extent(self, slot: int, index: int) -> int:
        """Width (0) or height (1) of the panels that stand in a column or row."""
        sizes = [
            self._size(panel, index)
            for panel in self.scene.panels
            if panel.slot[index] == slot and panel is not self.spanning[index]
        ]
        return max(sizes, default=0)

    def _start(self, slot: int, index: int) -> int:
        before = [self._extent(earlier, index) for earlier in range(slot)]
        gap = ARROW_GAP if index and self.scene.arrows else PANEL_GAP
        return sum(extent + gap for extent in before if extent)

    @cached_property
    def panels_width(self) -> int:
        """Width of all panels."""
        return max(self._start(p.slot[0], 0) + self._size(p, 0) for p in self.scene.panels)

    @cached_property
    def panels_height(self) -> int:
        """Height of all panels."""
        return max(self._start(p.slot[1], 1) + self._size(p, 1) for p in self.scene.panels)

    @cached_property
    def width(self) -> int:
        """Width of the drawing."""
        names = (text_width(name, 17, bold=True) for name in self.scene.title.split())
        name = min(ceil(max(names, default=0)), NAME_WIDTH)
        return max(self.panels_width, LEAST_WIDTH, name) + 2 * MARGIN

    @cached_property
    def title(self) -> tuple[str, ...]:
        """The title, broken into lines."""
        return self._wrapped(self.scene.title, 17, bold=True)

    @cached_property
    def caption(self) -> tuple[tuple[str, bool], ...]:
        """The caption, broken into lines, and whether each is part of a warning."""
        lines = ((line, line.startswith(("WRONG", "Note"))) for line in self.scene.caption)
        return tuple(
            (part, warns) for line, warns in lines for part in self._wrapped(line, 12, warns)
        )

    def _wrapped(self, line: str, font: int, bold: bool) -> tuple[str, ...]:
        room = min(self._extent(0, 0) if self.inset else self.width - 2 * MARGIN, LINE_WIDTH)
        for columns in range(min(len(line), 150), 1, -1):
            parts = textwrap.wrap(line, columns, break_on_hyphens=False)
            if all(text_width(part, font, bold) <= room for part in parts):
                return tuple(parts)
        return (line,)

    @cached_property
    def title_y(self) -> int:
        """Baseline of the first line of the title."""
        return MARGIN + 16

    @cached_property
    def caption_y(self) -> int:
        """Baseline of the first line of the caption."""
        return self.title_y + 23 * (len(self.title) - 1) + 25

    @cached_property
    def legend_y(self) -> int:
        """Top of the legend."""
        return self.caption_y + 18 * (len(self.caption) - 1) + 16

    @cached_property
    def chip_width(self) -> int:
        """Width of every chip of the legend: room for the longest name."""
        longest = max(map(len, self.scene.legend), default=0)
        return max(30, round(longest * 11 * MONO) + 8)

    @cached_property
    def chips(self) -> tuple[tuple[int, int], ...]:
        """Where each chip of the legend stands, in as many lines as the drawing is narrow."""
        left = MARGIN + round(len(self.scene.legend_title) * 7.4) + 12
        step = self.chip_width + 2
        right = self._extent(0, 0) if self.inset else self.width - MARGIN
        fit = max((right - left) // step, 1)
        return tuple(
            (left + step * (i % fit), self.legend_y + 26 * (i // fit))
            for i in range(len(self.scene.legend))
        )

    @cached_property
    def panels_y(self) -> int:
        """Top of the panels."""
        below = self.chips[-1][1] + 32 if self.chips else self.legend_y
        if not self.inset:
            return below
        # The first row of panels starts beside the heading, the second well below it.
        return max(MARGIN - 12, below + PANEL_GAP - self._start(1, 1))

    @cached_property
    def height(self) -> int:
        """Height of the drawing."""
        return self.panels_y + self.panels_height + MARGIN

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Where each panel's first cell stands."""
        left, top = self.gutter
        return tuple(
            Spot(
                self._grid(panel),
                MARGIN + self._start(panel.slot[0], 0) + left,
                self.panels_y + self._start(panel.slot[1], 1) + top,
            )
            for panel in self.scene.panels
        )


def no_parts(x: object, what: str | None) -> ShapeError:
    """Return the refusal of a part, of what has none."""
    return ShapeError(
        "draw",
        {"x": type(x).__name__, "what": what},
        "only kernels, MMAs and copy atoms have parts to choose",
        "leave what out",
    )
