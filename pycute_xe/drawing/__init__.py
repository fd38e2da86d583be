"""Drawing who owns what, as SVG and in the terminal.

`draw` (`dispatch`) takes a layout, a message, an atom, a tiling, a plan or a kernel: `side_by_side`
draws layouts, `values` all the others, which a layout does not load. `of_copy`, `of_mma`, `zooms`,
`side_by_side`, `accounts` and `images` make a `scene` of it, panels of labelled cells, `of_rows` of
work that tables deal out; `tiles` frames what divides leave, `folding` narrows swizzles. A
`drawing` is that scene as SVG in a `style`, as text, or by `png` as pixels, written whole by
`saving`. What a kernel's registers hold `holding` says. `notebook` shows values by themselves.
"""

from __future__ import annotations

from pycute_xe.drawing.dispatch import draw
from pycute_xe.drawing.drawing import Drawing

__all__ = ["Drawing", "draw"]
