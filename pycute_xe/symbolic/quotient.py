"""Floor 4: division of symbolic integers, rounded down."""

from __future__ import annotations

from math import gcd
from typing import Any

from pycute_xe.symbolic.assumed import Assumed, Known
from pycute_xe.symbolic.integer_sets import always, normalised
from pycute_xe.symbolic.terms import Expr, FloorDiv, coefficients, divided, evaluated, sp

__all__ = ["floor_div", "sampled"]


def floor_div(dividend: Expr, divisor: Expr, known: Known) -> Expr:
    """Return the quotient, rounded down, of a value by one that is known to be positive.

    Law: ``0 <= dividend - divisor * floor_div(dividend, divisor) < divisor``.
    """
    if divisor == 1:
        return dividend
    if divisor.is_Integer:
        return normalised(FloorDiv(dividend, divisor), known)
    whole, rest = divided(dividend, divisor)
    if rest == 0:
        return whole
    rest, divisor = _cancelled(rest, divisor, known)
    if divisor.is_Integer:
        return sp.expand(whole + floor_div(rest, divisor, known))
    while isinstance(rest, FloorDiv):  # a quotient of a quotient is one
        divisor, rest = sp.expand(divisor * rest.args[1]), rest.args[0]
    guess = _guessed(rest, divisor, known)
    return sp.expand(whole + (FloorDiv(rest, divisor) if guess is None else guess))


def _cancelled(rest: Expr, divisor: Expr, known: Known) -> tuple[Expr, Expr]:
    """Divide both by their common factor, and by the number that the divisor is a multiple of."""
    factor = sp.gcd(rest, divisor)
    smaller = sp.expand(sp.cancel(divisor / factor))
    if factor not in (1, -1) and always(">=", smaller - 1, known):
        rest, divisor = sp.expand(sp.cancel(rest / factor)), smaller
    content = gcd(*(int(c) for _, c in coefficients(divisor)))
    if content > 1 and rest.free_symbols and not divisor.is_Integer:
        # Rounding down twice is rounding down once.
        return floor_div(rest, sp.Integer(content), known), sp.expand(divisor / content)
    return rest, divisor


def _guessed(rest: Expr, divisor: Expr, known: Known) -> Expr | None:
    """Return the quotient where it is one number, or one of the quotients in the dividend."""
    above, below = sampled(rest, known), sampled(divisor, known)
    if below <= 0:
        return None
    inside = sorted(rest.atoms(FloorDiv), key=sp.default_sort_key)
    for guess in (sp.Integer(above // below), *inside):
        left = sp.expand(rest - guess * divisor)
        if (
            sampled(guess, known) == above // below
            and always(">=", left, known)
            and always("<", sp.expand(left - divisor), known)
        ):
            return guess
    return None


def sampled(value: Expr, known: Known) -> int:
    """Return the value at one choice of the symbols, the same wherever it is asked."""
    return _sampled(value, known, {})


def _sampled(value: Expr, known: Known, chosen: dict[str, int]) -> int:
    def of_symbol(symbol: Expr) -> int:
        if symbol.name not in chosen:
            chosen[symbol.name] = _chosen(known[symbol.name], chosen)
        return chosen[symbol.name]

    return evaluated(value, of_symbol)


def _chosen(symbol: Assumed, chosen: dict[str, int]) -> int:
    limit: Any = symbol.at_most
    if limit is None or type(limit) is int:
        return symbol.sample(symbol.most)
    most = _sampled(limit.expr, limit.known, chosen) // symbol.multiple_of
    return symbol.sample(max(most, symbol.least))
