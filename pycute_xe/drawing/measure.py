"""Floor 9: where everything in an SVG drawing goes, in pixels."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property

from pycute_xe.drawing.scene import Panel, Scene

__all__ = ["LABELLED", "MARGIN", "Cells", "Plan", "Spot", "heading_width"]

MARGIN = 24
MONO = 0.605
"""Width of a character of a monospaced font, in font sizes (the widest in common use)."""
PROSE = 0.62
"""Width of a character of running text, in font sizes: the mean of a wide sans serif."""
PANEL_GAP = 28
LABELLED, EXPLAINED = 3200, 2400
"""More cells than this have no labels, or no tooltips: the file would exceed 1 MB."""
LEAST_WIDTH = 640
GOOD_WIDTH = 1100
"""Panels stand side by side as long as a drawing is no wider."""


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
        if across <= 16 or one == two:
            return cls(max(28, round(one * 11 * MONO) + 10), 24, 11, 1, tips)
        return cls(max(26, round(two * 10 * MONO) + 6), 28, 10, 2, tips)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a panel's cells begin."""

    panel: Panel
    x: int
    y: int


def heading_width(panel: Panel) -> int:
    """Width of a panel's heading, in pixels."""
    return round(len(panel.heading) * 11 * MONO)


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

    def _size(self, panel: Panel, index: int) -> int:
        """Width (0) or height (1) of a panel with its labels."""
        if index:
            return self.gutter[1] + self.cells.height * len(panel.rows)
        return self.gutter[0] + max(self.cells.width * len(panel.cols), heading_width(panel))

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
        return sum(extent + PANEL_GAP for extent in before if extent)

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
        return max(self.panels_width, LEAST_WIDTH) + 2 * MARGIN

    @cached_property
    def title(self) -> tuple[str, ...]:
        """The title, broken into lines."""
        return self._wrapped(self.scene.title, 17)

    @cached_property
    def caption(self) -> tuple[tuple[str, bool], ...]:
        """The caption, broken into lines, and whether each is part of a warning."""
        return tuple(
            (part, line.startswith(("WRONG", "Note")))
            for line in self.scene.caption
            for part in self._wrapped(line, 12)
        )

    def _wrapped(self, line: str, font: int) -> tuple[str, ...]:
        # Lines longer than this are hard to follow, however wide the drawing.
        room = self._extent(0, 0) if self.inset else self.width - 2 * MARGIN
        columns = min(int(room / (font * PROSE)), 150)
        return tuple(textwrap.wrap(line, columns, break_on_hyphens=False))

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
                panel,
                MARGIN + self._start(panel.slot[0], 0) + left,
                self.panels_y + self._start(panel.slot[1], 1) + top,
            )
            for panel in self.scene.panels
        )
