"""Floor 4: numbers for symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pycute_xe.basis import Basis
from pycute_xe.errors import InputError
from pycute_xe.layout import Layout
from pycute_xe.symbolic.assumed import Assumed, Known
from pycute_xe.symbolic.terms import Expr, FloorDiv, sp
from pycute_xe.symbolic.value import SymbolicInt
from pycute_xe.typing import is_tuple

__all__ = ["evaluated", "substitute"]


def substitute(value: Any, given: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
    """Put numbers, or other symbolic values, in place of symbols, named as they were made.

    Takes a symbolic integer, a layout, a stride or a tuple of those. Law: substituting commutes
    with every operation of the algebra, as functions. Raises `InputError` for a number that
    the assumptions on a symbol exclude. There is no counterpart in C++.

    >>> from pycute_xe.symbolic import symbol
    >>> M = symbol("M", multiple_of=32)
    >>> print(substitute(Layout((M, 4), (4, 1)), M=64))
    (64,4):(4,1)
    """
    return _substituted(value, {**(given or {}), **more})


def _substituted(value: Any, given: Mapping[str, Any]) -> Any:
    if isinstance(value, SymbolicInt):
        return evaluated(value.expr, value.known, given)
    if isinstance(value, Basis):
        return _substituted(value.value, given) * Basis(1, value.modes)
    if isinstance(value, Layout):
        return Layout(_substituted(value.shape, given), _substituted(value.stride, given))
    if is_tuple(value):
        return tuple(_substituted(entry, given) for entry in value)
    return value


def evaluated(expr: Expr, known: Known, given: Mapping[str, Any]) -> Any:
    """Return an expression with values in place of some of its symbols."""
    if expr.is_Integer:
        return int(expr)
    if isinstance(expr, sp.Symbol):
        return _unit(known[expr.name], known, given)
    parts = [evaluated(arg, known, given) for arg in expr.args]
    if isinstance(expr, FloorDiv):
        return parts[0] // parts[1]
    if isinstance(expr, sp.Pow):
        base, power = parts
        out: Any = 1
        for _ in range(power):
            out = out * base
        return out
    total: Any = parts[0]
    for part in parts[1:]:
        total = total + part if isinstance(expr, sp.Add) else total * part
    return total


def _unit(symbol: Assumed, known: Known, given: Mapping[str, Any]) -> Any:
    """Return the value for a symbol, divided by what the symbol is a multiple of."""
    if symbol.name not in given:
        return SymbolicInt(symbol.unit, known)
    value = given[symbol.name]
    if not _meets(value, symbol, given):
        raise InputError(
            "substitute",
            {symbol.name: value},
            f"{symbol}",
            "use a value that meets the assumptions",
        )
    return value // symbol.multiple_of


def _meets(value: Any, symbol: Assumed, given: Mapping[str, Any]) -> bool:
    """Whether a value, for all values of its own symbols, is one that the symbol may have."""
    if type(value) is not int and not isinstance(value, SymbolicInt):
        return False
    limit = symbol.at_most
    if isinstance(limit, SymbolicInt):
        limit = evaluated(limit.expr, limit.known, given)
    within = limit is None or value == limit or _below(value, limit)
    return value % symbol.multiple_of == 0 and _below(symbol.at_least - 1, value) and within


def _below(a: Any, b: Any) -> bool:
    """Whether one value is below another, as far as is known."""
    difference = b - a
    return difference.at_least(1) if isinstance(difference, SymbolicInt) else difference >= 1
