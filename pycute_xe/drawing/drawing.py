"""Floor 9: a drawing as a value."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from pycute_xe.drawing.saving import write_files
from pycute_xe.drawing.scene import Scene
from pycute_xe.drawing.svg import render
from pycute_xe.drawing.terminal import as_ansi, as_plain, as_rich, terminal_width
from pycute_xe.errors import ShapeError

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Drawing"]


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

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the SVG to a file, whole or not at all; return its path.

        Raises `OSError` when that cannot be done.
        """
        where = Path(path)
        write_files({where: self.svg.encode()})
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
