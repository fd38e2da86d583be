"""Drawing who owns what, as SVG and in the terminal."""

from __future__ import annotations

from pycute_xe.drawing.dispatch import draw
from pycute_xe.drawing.drawing import Drawing
from pycute_xe.drawing.notebook import register_ipython

__all__ = ["Drawing", "draw", "register_ipython"]

register_ipython()
