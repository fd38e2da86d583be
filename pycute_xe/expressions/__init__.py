"""Expressions of the layout algebra as text, as the command line and the playground take them.

`reading` makes a tree of the text, and nothing in it can name an attribute, assign, loop or import.
`evaluation` computes its value by the operations of a table; `writing` says it in Python.
"""

from __future__ import annotations

from pycute_xe.expressions.evaluation import OPERATIONS, evaluate, outermost
from pycute_xe.expressions.reading import ExpressionError, parse_expression
from pycute_xe.expressions.writing import python_text

__all__ = [
    "OPERATIONS",
    "ExpressionError",
    "evaluate",
    "outermost",
    "parse_expression",
    "python_text",
]
