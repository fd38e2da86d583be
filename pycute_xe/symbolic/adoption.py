"""Sympy's expressions as symbolic integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pycute_xe.basis import ArithTuple, Basis, BasisSum, basis_sum
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import InputError
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed
from pycute_xe.symbolic.terms import Assumed, Expr, Known, evaluated, sp
from pycute_xe.symbolic.value import SymbolicInt, symbol
from pycute_xe.typing import is_tuple

__all__ = ["from_sympy", "substitute"]

# ------------------------------------------------------------ substitution
# Numbers for symbols.


@typed
def substitute(value: Any, given: Any = None, /, **more: Any) -> Any:
    """Put numbers, or other symbolic values, in place of symbols, named as they were made.

    Takes a symbolic integer, a layout (swizzled or not), a stride or a tuple of those. Law:
    substituting commutes with every operation of the algebra, as functions. A mapping may name
    symbols that do not occur, so that one serves many layouts, but not only those of a value that
    has symbols; a keyword may not. Raises
    `InputError` for that, for a number that the assumptions on a symbol exclude, and for other
    values. There is no counterpart in C++.

    >>> from pycute_xe.symbolic import symbol
    >>> M = symbol("M", multiple_of=32)
    >>> print(substitute(Layout((M, 4), (4, 1)), M=64))
    (64,4):(4,1)
    """
    if not _is_by_name(given):
        raise InputError(
            "substitute",
            {"value": value, "given": given},
            "numbers must be given by the names of symbols",
            'substitute(layout, {"M": 512}) or substitute(layout, M=512)',
        )
    known = names_in(value)
    named: dict[str, Any] = {**cast("Mapping[str, Any]", given or {}), **more}
    unknown = set(more) - known
    if known and named and not known & set(named):
        unknown = set(named)
    if unknown:
        raise InputError(
            "substitute",
            {"value": value},
            f"{', '.join(sorted(unknown))} does not occur in the value",
            f"the symbols of the value are {', '.join(sorted(known)) or 'none'}",
        )
    return _substituted(value, named)


def _is_by_name(given: Any) -> bool:
    if given is None:
        return True
    return isinstance(given, Mapping) and all(isinstance(n, str) for n in cast("Any", given))


def names_in(value: Any) -> set[str]:
    """Return the names of the symbols in a value: an integer, a layout, or a tuple of them.

    >>> from pycute_xe.symbolic import symbol
    >>> sorted(names_in((symbol("M"), Layout((4, 2 * symbol("K"))))))
    ['K', 'M']
    """
    if isinstance(value, SymbolicInt):
        return set(value.known)
    if isinstance(value, Basis):
        return names_in(value.value)
    if isinstance(value, BasisSum):
        return names_in(value.terms)
    if isinstance(value, ComposedLayout):
        return names_in((value.offset, value.layout))
    parts = (value.shape, value.stride) if isinstance(value, Layout) else value
    return set[str]().union(*map(names_in, parts)) if is_tuple(parts) else set()


def _substituted(value: Any, given: Mapping[str, Any]) -> Any:
    if isinstance(value, SymbolicInt):
        return _evaluated(value, given)
    if isinstance(value, Basis):
        return _substituted(value.value, given) * Basis(1, value.modes)
    if isinstance(value, BasisSum):
        return basis_sum(sum(_substituted(value.terms, given), ArithTuple(())))
    if isinstance(value, Layout):
        return Layout(_substituted(value.shape, given), _substituted(value.stride, given))
    if isinstance(value, ComposedLayout):
        offset, layout = _substituted((value.offset, value.layout), given)
        return ComposedLayout(value.swizzle, offset, layout)
    if is_tuple(value):
        return tuple(_substituted(entry, given) for entry in value)
    if value is None or isinstance(value, int):
        return value
    raise InputError(
        "substitute",
        {"value": repr(value)},
        f"nothing can be substituted in a {type(value).__name__}",
        "substitute in its layout, in integers or in a tuple of those",
    )


def _evaluated(value: SymbolicInt, given: Mapping[str, Any]) -> Any:
    """Return a value with others in place of some of its symbols."""
    known = value.known
    return evaluated(value.expr, lambda symbol: _unit(known[symbol.name], known, given))


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
        limit = _evaluated(limit, given)
    within = limit is None or value == limit or _below(value, limit)
    return value % symbol.multiple_of == 0 and _below(symbol.at_least - 1, value) and within


def _below(a: Any, b: Any) -> bool:
    """Whether one value is below another, as far as is known."""
    difference = b - a
    return difference.at_least(1) if isinstance(difference, SymbolicInt) else difference >= 1


# ------------------------------------------------------------ adoption


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
