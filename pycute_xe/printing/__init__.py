"""Floor 9: layouts as tables of text and as LaTeX."""

from __future__ import annotations

from pycute_xe.printing.latex import latex_math, to_latex
from pycute_xe.printing.table import layout_table, print_layout

__all__ = ["latex_math", "layout_table", "print_layout", "to_latex"]
