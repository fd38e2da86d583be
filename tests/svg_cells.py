"""Reads drawings back."""

from __future__ import annotations

from functools import lru_cache
from xml.etree import ElementTree

from pycute_xe.drawing import Drawing

SVG = "{http://www.w3.org/2000/svg}"
Cell = dict[str, int]


@lru_cache(maxsize=32)
def root_of(svg: str) -> ElementTree.Element:
    """The SVG of a drawing as XML, which several tests look at and none changes."""
    return ElementTree.fromstring(svg)


def cells_of(drawing: Drawing, operand: str | None = None) -> list[Cell]:
    """The data attributes of every cell of a drawing, or of one of its panels, parsed as XML."""
    root = root_of(drawing.svg)
    panels = [
        panel
        for panel in root.iter(f"{SVG}g")
        if panel.get("class") == "panel" and operand in (None, panel.get("data-operand"))
    ]
    return [
        {k.removeprefix("data-"): int(v) for k, v in g.attrib.items() if k.startswith("data-")}
        for panel in panels
        for g in panel.iter(f"{SVG}g")
        if "c" in g.get("class", "").split()
    ]
