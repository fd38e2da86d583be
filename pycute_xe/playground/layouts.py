"""Expressions of the algebra: value, table, law, steps, drawing and code."""

from __future__ import annotations

from typing import Any

from pycute_xe.composed import ComposedLayout
from pycute_xe.drawing import draw
from pycute_xe.errors import CuteError
from pycute_xe.explaining import explain
from pycute_xe.expressions import outermost, python_text
from pycute_xe.f2 import F2Layout
from pycute_xe.layout import Layout
from pycute_xe.naming import is_expression, subject_of
from pycute_xe.playground.fields import Request, Shown, drawn, field, or_reason, script
from pycute_xe.printing import layout_table
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import is_tuple

__all__ = ["of_expression"]


def of_expression(request: Request) -> Shown:
    """Return what is shown for an expression."""
    text = field(request, "text")
    value = subject_of("layout", text)
    parts = [["Value", _text(value)]]
    steps = _steps(text) if is_expression(text) else None
    if steps is not None:
        parts += [["Law", steps.rule], ["Steps", str(steps)]] if steps.rule else []
    shown: Shown = {"parts": parts, "python": script(f"print({_code(text, value)})")}
    if isinstance(value, (Layout, ComposedLayout)):
        table = or_reason(lambda: layout_table(value))
        parts.insert(1, ["Table", str(table)])
        shown = drawn(shown, lambda: draw(value))
    if isinstance(value, (Layout, ComposedLayout, Swizzle)):
        cpp = or_reason(value.to_cpp)
        shown["cpp"] = f"using namespace cute;\n\nusing L = {cpp};\nprint(L{{}});\n"
    return shown


def _code(text: str, value: Any) -> str:
    return python_text(text) if is_expression(text) else repr(value)


def _steps(text: str) -> Any:
    """The steps of the outermost operation; nothing where none are written down."""
    try:
        operation, operands = outermost(text)
        return explain(operation, *operands)
    except CuteError:
        return None


def _text(value: Any) -> str:
    if is_tuple(value):
        return f"({','.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, F2Layout):
        return str(value)
    return "_" if value is None else str(value)
