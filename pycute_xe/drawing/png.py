"""A drawing as pixels, made of its SVG by resvg, where that is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pycute_xe.drawing.style import MONO_FAMILY, SANS_FAMILY
from pycute_xe.errors import ToolError

__all__ = ["as_png"]

SCALE = 2
"""Pixels of the picture for one of the SVG, so that it stays sharp on screens with fine pixels."""


def as_png(svg: str) -> bytes:
    """Return the PNG of an SVG drawing, light, two pixels for each of its own.

    Raises `ToolError` where resvg-py is not installed, and where it finds no font.
    """
    try:
        resvg: Any = import_module("resvg_py")
    except ImportError:
        raise _refusal("resvg-py is not installed", "pip install 'pycute-xe[png]'") from None
    empty = _probe("")
    if any(_pixels(resvg, _probe(family)) == _pixels(resvg, empty) for family in _FAMILIES):
        condition = "resvg finds none of the fonts of a drawing"
        raise _refusal(condition, "install a font, such as DejaVu (Debian: fonts-dejavu)")
    # A dot that is there for copied text alone is text of no size, after which resvg loses places.
    return _pixels(resvg, svg.replace('<tspan class="d">·</tspan>', ""))


_FAMILIES = (MONO_FAMILY, SANS_FAMILY)


def _pixels(resvg: Any, svg: str) -> bytes:
    return bytes(resvg.svg_to_bytes(svg_string=svg, zoom=SCALE))


def _probe(family: str) -> str:
    """A picture of a letter, which is empty where resvg has no font of the family."""
    letter = f'<text y="9" font-family=\'{family}\' font-size="9">T</text>' if family else ""
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{letter}</svg>'


def _refusal(condition: str, fix: str) -> ToolError:
    return ToolError("save", {"format": "PNG"}, condition, f"{fix}, or save it as .svg")
