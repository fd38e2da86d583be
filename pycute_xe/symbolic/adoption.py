"""Floor 4: sympy's expressions as symbolic integers."""

from __future__ import annotations

from typing import Any

from pycute_xe.errors import InputError
from pycute_xe.signatures import typed
from pycute_xe.symbolic.terms import Expr, sp
from pycute_xe.symbolic.value import symbol

__all__ = ["from_sympy"]


@typed
def from_sympy(expr: Any) -> Any:
    """Return a sympy expression of integer symbols as a symbolic integer, or as an integer.

    Sums, products, powers, ``floor``, ``ceiling`` and ``Mod`` of quotients are read; a symbol's
    sign comes from its assumptions (``positive``, ``nonnegative``). Raises `InputError` for symbols
    that are not declared integers and for anything else.

    >>> M = sp.Symbol("M", integer=True, positive=True)
    >>> from_sympy(sp.ceiling(M / 32) * 32)
    32*((M + 31)//32)
    """
    if isinstance(expr, sp.Integer):
        return int(expr)
    if isinstance(expr, sp.Symbol):
        return _symbol(expr)
    if isinstance(expr, (sp.Add, sp.Mul, sp.Mod)) or (
        isinstance(expr, sp.Pow) and expr.exp.is_Integer and expr.exp >= 0
    ):
        return _combined(expr)
    if isinstance(expr, (sp.floor, sp.ceiling)):
        above, below = map(from_sympy, sp.fraction(sp.together(expr.args[0])))
        return above // below if isinstance(expr, sp.floor) else -(-above // below)
    raise _foreign(expr)


def _combined(expr: Expr) -> Any:
    if isinstance(expr, sp.Pow):
        return _product([from_sympy(expr.base)] * int(expr.exp))
    parts = [from_sympy(arg) for arg in expr.args]
    if isinstance(expr, sp.Mod):
        return parts[0] % parts[1]
    return sum(parts) if isinstance(expr, sp.Add) else _product(parts)


def _product(parts: list[Any]) -> Any:
    total: Any = 1
    for part in parts:
        total = total * part
    return total


def _symbol(expr: Expr) -> Any:
    if not expr.is_integer:
        raise _foreign(expr)
    if expr.is_positive:
        return symbol(expr.name)
    if expr.is_nonnegative:
        return symbol(expr.name, at_least=0)
    raise InputError(
        "symbol",
        {"expr": expr},
        f"the sign of {expr} is unknown",
        f'Symbol("{expr}", integer=True, positive=True)',
    )


def _foreign(expr: Any) -> InputError:
    return InputError(
        "symbol",
        {"expr": expr},
        f"{expr} is not an integer expression",
        'use integer symbols, + - * floor ceiling Mod, or cx.symbol("M", multiple_of=32)',
    )
