"""Floor 9: what a drawing shows, before it is SVG or text: panels of labelled cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from pycute_xe.arch.target import grf_bytes
from pycute_xe.errors import ShapeError

__all__ = [
    "CELL_LIMIT",
    "LABELS",
    "MARKS",
    "Arrow",
    "Cell",
    "Panel",
    "Scene",
    "frames",
    "make_panel",
    "owned",
]

CELL_LIMIT = 8192
"""A drawing with more cells is refused: it would be unreadable, and its file would exceed 1 MB."""

MARKS = "red corners"
"""What a caption calls the marks of wrong cells, which are bold in a terminal."""
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
        return self.lines == ("·",)


@dataclass(frozen=True, slots=True)
class Panel:
    """A grid of cells: the coordinates of its rows and columns, and what they count.

    ``slot`` is the panel's (column, row) among the panels of a scene. Names and colours of columns
    say whose each column is, where it belongs to a work-item. ``short`` says what short labels are,
    ``full`` what whole ones are where they do not tell it themselves.
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
        if self.cells > CELL_LIMIT:
            raise ShapeError(
                "draw",
                {"drawing": self.title},
                f"{self.cells} cells are more than a drawing can show ({CELL_LIMIT})",
                "draw one operand, or a part: a mode, a slice, an atom",
            )

    @property
    def cells(self) -> int:
        """Cells of all panels."""
        return sum(len(panel.cells) for panel in self.panels)


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
