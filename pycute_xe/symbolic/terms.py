"""Floor 4: sympy's expressions, as this package uses them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias

import sympy  # pyright: ignore[reportMissingTypeStubs]

__all__ = ["Expr", "FloorDiv", "coefficients", "divided", "evaluated", "factors", "sp"]

# sympy ships no types, so to the type checker all of it is Any.
sp: Any = sympy
Expr: TypeAlias = Any


class FloorDiv(sp.Function):
    """``a`` divided by ``b`` and rounded down, unevaluated: what is left when nothing simplifies.

    >>> FloorDiv(sp.Symbol("m"), 3)
    FloorDiv(m, 3)
    """

    nargs = 2
    is_integer = True
    is_extended_real = True


def coefficients(value: Expr) -> list[tuple[Expr, Expr]]:
    """Return the terms of a sum with their coefficients; 1 is the term of a constant.

    >>> coefficients(sp.Symbol("m") * 3 + 5)
    [(1, 5), (m, 3)]
    """
    pairs = sp.expand(value).as_coefficients_dict().items()
    return sorted(pairs, key=lambda pair: sp.default_sort_key(pair[0]))


def factors(term: Expr) -> list[tuple[Expr, int]]:
    """Return the factors of a product with their powers.

    >>> factors(sp.Symbol("m") ** 2 * sp.Symbol("n"))
    [(m, 2), (n, 1)]
    """
    pairs = (factor.as_base_exp() for factor in sp.Mul.make_args(term))
    return sorted(((b, int(p)) for b, p in pairs), key=lambda pair: sp.default_sort_key(pair[0]))


def divided(dividend: Expr, divisor: Expr) -> tuple[Expr, Expr]:
    """Divide polynomials with integer coefficients; what does not divide is the rest.

    >>> divided(sp.Symbol("m") * sp.Symbol("n") + 3, sp.Symbol("m"))
    (n, 3)
    """
    if not divisor.is_Integer and not dividend.is_Integer:
        (whole,), rest = sp.reduced(dividend, [divisor], domain=sp.ZZ)
        return sp.expand(whole), sp.expand(rest)
    whole, rest = sp.Integer(0), sp.Integer(0)
    for term, c in coefficients(dividend):
        times = c // divisor if divisor.is_Integer else 0
        whole += times * term
        rest += (c - times * divisor) * term
    return whole, sp.expand(rest)


def evaluated(value: Expr, of_symbol: Callable[[Expr], Any]) -> Any:
    """Compute an expression from what its symbols stand for.

    >>> evaluated(FloorDiv(sp.Symbol("m") ** 2 + 1, 3), lambda m: 5)
    8
    """
    if value.is_Integer:
        return int(value)
    if isinstance(value, sp.Symbol):
        return of_symbol(value)
    parts = [evaluated(arg, of_symbol) for arg in value.args]
    if isinstance(value, FloorDiv):
        return parts[0] // parts[1]
    if isinstance(value, sp.Pow):
        return parts[0] ** parts[1]
    return reduce(operator.add if isinstance(value, sp.Add) else operator.mul, parts)
