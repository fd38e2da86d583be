"""Expressions of the layout algebra in Python, with the library as ``cx``."""

from __future__ import annotations

from pycute_xe.expressions import reading as syntax

__all__ = ["python_text"]


def python_text(text: str) -> str:
    """Return the Python of an expression. Raises `ExpressionError` for what cannot be read.

    Law: it evaluates to what `evaluate` returns.

    >>> print(python_text("composition((6,2):(8,2), 4:3)"))
    cx.composition(cx.Layout((6, 2), (8, 2)), cx.Layout(4, 3))
    >>> print(python_text("((4,8):(8,1))(2, _)[0]"), python_text("Sw<2,0,3> o 8:1"))
    cx.Layout((4, 8), (8, 1))(2, None)[0] cx.composition(cx.Swizzle(2, 0, 3), cx.Layout(8, 1))
    """
    return _python(syntax.parse_expression(text))


def _python(node: syntax.Node) -> str:
    match node:
        case syntax.Number(_, value, path):
            return (
                f"cx.Basis({value}, {_tuple([str(i) for i in path[::-1]])})" if path else f"{value}"
            )
        case syntax.Keep():
            return "None"
        case syntax.Name(_, text):
            return f"cx.{text}"
        case syntax.SwizzleText(_, numbers):
            return f"cx.Swizzle({', '.join(map(str, numbers))})"
        case syntax.Tuple(_, items):
            return _tuple([_python(item) for item in items])
        case syntax.Group(_, item):
            return _python(item)
        case syntax.Pair(_, shape, stride):
            return f"cx.Layout({_leaf(shape)}, {_leaf(stride)})"
        case _:
            return _applied(node)


def _applied(node: syntax.Node) -> str:
    match node:
        case syntax.Product(_, factors, negative):
            return f"{'-' * negative}{' * '.join(map(_python, factors))}"
        case syntax.Call(_, callee, arguments, named):
            given = [_python(argument) for argument in arguments]
            given += [f"{name.text}={_python(value)}" for name, value in named]
            return f"{_python(callee)}({', '.join(given)})"
        case syntax.Index(_, of, mode):
            return f"{_python(of)}[{mode}]"
        case syntax.Compose(_, parts):
            whole = "ComposedLayout" if len(parts) == 3 else "composition"
            return f"cx.{whole}({', '.join(map(_python, parts))})"
        case _:
            raise TypeError(type(node).__name__)


def _leaf(node: syntax.Node) -> str:
    """A shape or strides: one expression in brackets is a tuple of one, as CuTe prints it."""
    match node:
        case syntax.Group(_, item):
            return _tuple([_leaf(item)])
        case syntax.Tuple(_, items):
            return _tuple(list(map(_leaf, items)))
        case _:
            return _python(node)


def _tuple(parts: list[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
