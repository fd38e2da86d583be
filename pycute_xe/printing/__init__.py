"""Layouts as tables of text and as LaTeX."""

from __future__ import annotations

from pycute_xe.printing.table import latex_math, layout_table, print_layout, to_latex

__all__ = ["latex_math", "layout_table", "print_layout", "to_latex"]
