"""Floor 9: layouts in colours of one's own, and several side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import index
from typing import Any, SupportsIndex, cast

from pycute_xe.composed import ComposedLayout
from pycute_xe.drawing.of_layout import of_layout
from pycute_xe.drawing.scene import Cell, Panel, Scene
from pycute_xe.errors import ShapeError
from pycute_xe.layout import Layout

__all__ = ["Colour", "Colours", "coloured", "of_layouts"]

Colour = Callable[[Any], int]
"""From a value of a layout, an offset or a coordinate, to the number of its colour."""
Colours = Colour | Mapping[str, Colour]
"""One such function for all layouts of a drawing, or one for each by its name."""

# Cells that a row of panels may have before the panels stand below each other.
_ROW = 28


def coloured(layout: Layout | ComposedLayout, colour: Colour | None = None) -> Scene:
    """Return the grid of a layout whose cells have the colours that a function of the value says.

    Numbers count modulo 16. Without a function it is `of_layout`, whose errors it raises; and
    `ShapeError` where the function gives no integer.

    >>> coloured(Layout(4), lambda offset: offset // 2).legend
    ()
    """
    scene = of_layout(layout)
    if colour is None:
        return scene
    panel = scene.panels[0]
    flat = not panel.row_axis

    def painted(cell: Cell) -> Cell:
        value = layout(cell.col) if flat else layout(cell.row, cell.col)
        # Colours of neighbouring numbers look alike, so that a subgroup reads as a scale; five
        # steps apart they do not.
        return replace(cell, colour=5 * _number(colour(value), value) % 16)

    cells = tuple(map(painted, panel.cells))
    return replace(scene, panels=(replace(panel, cells=cells),), legend_title="", legend=())


def _of(colours: Colours | None, name: str) -> Colour | None:
    return (
        cast("Mapping[str, Colour]", colours).get(name) if isinstance(colours, Mapping) else colours
    )


def _number(found: object, value: object) -> int:
    try:
        return index(cast("SupportsIndex", found))
    except TypeError:
        raise ShapeError(
            "draw",
            {"value": value, "colour": found},
            "the colour of the value is not an integer",
            "let colour return a number for each value, such as offset // 16",
        ) from None


def of_layouts(named: Mapping[Any, Any], colour: Colours | None = None) -> Scene:
    """Return the grids of several layouts by name, side by side where there is room.

    Raises `ShapeError` for values that are not layouts, or none at all, and as `of_layout` does.

    >>> of_layouts({"A": Layout(4), "B": Layout(4, 2)}).caption
    ('A = 4:1: 4 coordinates to offsets below 4.', 'B = 4:2: 4 coordinates to offsets below 7.')
    """
    if not named or not all(isinstance(v, Layout | ComposedLayout) for v in named.values()):
        raise ShapeError(
            "draw",
            {"x": named},
            "the mapping must hold layouts, at least one",
            'write draw({"A": A, "B": B}) for two layouts',
        )
    scenes = {str(name): coloured(layout, _of(colour, name)) for name, layout in named.items()}
    beside = sum(len(scene.panels[0].cols) for scene in scenes.values()) <= _ROW
    panels: list[Panel] = []
    for i, (name, scene) in enumerate(scenes.items()):
        panels.append(replace(scene.panels[0], name=name, slot=(i, 0) if beside else (0, i)))
    captions = tuple(
        f"{name} = {layout}: {scene.caption[0]}"
        for (name, scene), layout in zip(scenes.items(), named.values(), strict=True)
    )
    # Offsets and coordinates have different legends; where both are drawn, none fits.
    legends = {(scene.legend_title, scene.legend) for scene in scenes.values()}
    title, legend = legends.pop() if len(legends) == 1 else ("", ())
    return Scene(", ".join(scenes), captions, tuple(panels), title, legend)
