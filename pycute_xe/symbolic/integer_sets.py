"""Questions about symbolic integers, put to isl.

isl decides linear questions over the integers, rounded quotients by numbers included. A product of
symbols, or a quotient by one, becomes a parameter of its own of which only linear facts are told
to isl; so "holds for all values" is always right, and "does not" may mean "not seen".
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pycute_xe.symbolic.terms import (
    CHOICES,
    Expr,
    FloorDiv,
    Known,
    coefficients,
    divided,
    factors,
    sampled,
    sp,
)

if TYPE_CHECKING:
    import islpy as isl

__all__ = ["HOLDS", "always", "is_possible", "least_of", "normalised"]


HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
"""The relations that may be asked about, on numbers."""


MOST_SPLIT = 3
"""How many factors of a product are told apart one by one: these have 8 products, 8 have 256."""


class _Parameters:
    """isl's names for the terms of some expressions, and the constraints known of them."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.names: dict[Expr, str] = {}
        self.constraints: list[str] = []

    def text(self, value: Expr) -> str:
        """Return an expression as isl reads it."""
        terms = coefficients(value)
        return " + ".join(f"{c}*{self.term(term)}" for term, c in terms) or "0"

    def term(self, term: Expr) -> str:
        """Return one product of symbols and quotients, without its coefficient."""
        if term == 1:
            return "1"
        if isinstance(term, FloorDiv) and term.args[1].is_Integer:
            return f"floor(({self.text(term.args[0])})/{term.args[1]})"
        if term not in self.names:
            self.names[term] = f"p{len(self.names)}"
            self.constraints += self.facts(term)
        return self.names[term]

    def facts(self, term: Expr) -> list[str]:
        """Return linear constraints on a parameter."""
        name = self.names[term]
        if isinstance(term, sp.Symbol):
            symbol = self.known[term.name]
            out = [f"{name} >= {symbol.least}"]
            if symbol.at_most is not None:
                limit = symbol.at_most
                most = str(limit) if type(limit) is int else self.text(limit.expr)
                out.append(f"{symbol.multiple_of}*{name} <= {most}")
            return out
        if isinstance(term, FloorDiv):
            dividend, divisor = term.args
            reached = self.text(divisor * term)
            return [
                f"{reached} <= {self.text(dividend)}",
                f"{self.text(dividend)} < {reached} + {self.text(divisor)}",
                *self.limited(term),
                *([f"{name} >= 0"] if _is_natural(term, self.known) else []),
            ]
        parts = [base for base, _ in factors(term)]
        if len(parts) > MOST_SPLIT:
            parts = [*parts[:1], *(term / inner for inner in self.within(term))]
        return [fact for part in parts for fact in self.grown(term, part)]

    def within(self, term: Expr) -> list[Expr]:
        """Return what was named before and is a product of some factors of a term."""
        own = dict(factors(term))
        named = [(one, factors(one)) for one in self.names if one != term]
        return [one for one, parts in named if all(own.get(b, 0) >= power for b, power in parts)]

    def limited(self, quotient: Expr) -> list[str]:
        """Return how far a quotient reaches whose dividend ends at a multiple of its divisor."""
        dividend, divisor = quotient.args
        limit = self.known[dividend.name].at_most if isinstance(dividend, sp.Symbol) else None
        if limit is None or type(limit) is int or self.known[dividend.name].multiple_of > 1:
            return []
        count, rest = divided(limit.expr + 1, divisor)
        return [f"{self.names[quotient]} <= {self.text(count)} - 1"] if rest == 0 else []

    def scale(self) -> bool:
        """Add what bounds the remainders by symbols, times what multiplies them; tell if any."""
        quotients = [q for q in self.names if isinstance(q, FloorDiv)]
        terms = list(self.names)
        for quotient in quotients:
            dividend, divisor = quotient.args
            for factor in self.multipliers(quotient, terms):
                remainder = sp.expand(factor * (dividend - divisor * quotient))
                most = sp.expand(factor * (divisor - 1) - remainder)
                self.constraints += [f"0 <= {self.text(part)}" for part in (remainder, most)]
        return bool(quotients)

    def multipliers(self, quotient: Expr, terms: list[Expr]) -> list[Expr]:
        """Return what is never negative and multiplies the remainder of a quotient somewhere."""
        candidates: list[Expr] = [term for term in terms if isinstance(term, sp.Symbol)]
        for term in terms:
            if term != quotient and any(base == quotient for base, _ in factors(term)):
                whole, rest = divided(sp.expand(term / quotient), quotient.args[1])
                candidates += [whole] if rest == 0 and whole not in (1, *candidates) else []
        return [factor for factor in candidates if _is_natural(factor, self.known)]

    def grown(self, term: Expr, base: Expr) -> list[str]:
        """Return what some factors at their least say of a product of what is not negative."""
        rest = term / base
        least, others = least_of(base, self.known), least_of(rest, self.known)
        if least is None or others is None or least < 0 or others < 0:
            return []
        return [f"{self.names[term]} >= {least}*({self.text(rest)})"]

    def refute(self, claim: str) -> bool:
        """Tell whether no choice of the symbols meets a claim."""
        return _is_empty(f"{self.space} -> {{ : {self.context} and {claim} }}")

    @property
    def space(self) -> str:
        """The parameters, as isl declares them."""
        return f"[{', '.join(self.names.values())}]"

    @property
    def context(self) -> str:
        """All constraints."""
        return " and ".join(self.constraints) or "1 = 1"


def is_possible(known: Known) -> bool:
    """Tell whether any choice of the symbols meets what is assumed of them, as far as isl sees."""
    parameters = _Parameters(known)
    for symbol in known.values():
        parameters.term(symbol.unit)
    return not parameters.refute("1 = 1")


def least_of(value: Expr, known: Known) -> int | None:
    """Return a number that a value is never below, ``None`` where none is seen."""
    total = 0
    for term, c in coefficients(value):
        bound = _least_term(term, known) if c > 0 else _most_term(term, known)
        if bound is None:
            return None
        total += int(c) * bound
    return total


def _is_natural(value: Expr, known: Known) -> bool:
    least = least_of(value, known)
    return least is not None and least >= 0


def _least_term(term: Expr, known: Known) -> int | None:
    if term == 1:
        return 1
    if isinstance(term, sp.Symbol):
        return known[term.name].least
    if isinstance(term, FloorDiv):
        return 0 if all(_is_natural(arg, known) for arg in term.args) else None
    total = 1
    for base, power in factors(term):
        least = _least_term(base, known)
        if least is None or least < 0:
            return None
        total *= least**power
    return total


def _most_term(term: Expr, known: Known) -> int | None:
    if term == 1:
        return 1
    return known[term.name].most if isinstance(term, sp.Symbol) else None


def always(relation: str, value: Expr, known: Known) -> bool:
    """Tell whether ``value <relation> 0`` for all values of the symbols, as far as isl sees.

    The relation is a key of `HOLDS`.
    """
    holds = HOLDS[relation]
    for turn in CHOICES:  # a counterexample is found much sooner than isl finds none
        chosen = sampled(value, known, turn)
        if chosen is not None and not holds(chosen, 0):
            return False
    least = least_of(value, known) if relation in (">=", ">") else None
    if least is not None and holds(least, 0):
        return True
    for symbol in sorted(value.free_symbols, key=str):  # one of them great, the others least
        chosen = sampled(value, known, CHOICES[0], symbol.name)
        if chosen is not None and not holds(chosen, 0):
            return False
    if _seen(relation, value, known):
        return True
    multiplied = _without_quotient(relation, value)
    return multiplied is not None and always(*multiplied, known)


def _seen(relation: str, value: Expr, known: Known) -> bool:
    parameters = _Parameters(known)
    text = parameters.text(value)
    against = {"=": "!=", "!=": "=", "<=": ">", "<": ">=", ">=": "<", ">": "<="}[relation]
    if parameters.refute(f"{text} {against} 0"):
        return True
    return (
        relation not in ("=", "!=")
        and parameters.scale()
        and parameters.refute(f"{text} {against} 0")
    )


def _without_quotient(relation: str, value: Expr) -> tuple[str, Expr] | None:
    """Multiply out one quotient by symbols: ``a//b < c`` where ``a < b*c``."""
    if relation not in ("<=", "<", ">=", ">"):
        return None
    for quotient in sorted(value.atoms(FloorDiv), key=sp.default_sort_key):
        c = value.coeff(quotient)
        if abs(c) != 1 or quotient.args[1].is_Integer:
            continue
        below = (relation in ("<=", "<")) == (c == 1)
        strict = relation in ("<", ">")
        limit = sp.expand(-c * (value - c * quotient))
        dividend, divisor = quotient.args
        # quotient < limit, or quotient >= limit, with the limit moved by one where it must be.
        limit = limit + 1 if below != strict else limit
        return ("<" if below else ">="), sp.expand(dividend - divisor * limit)
    return None


@lru_cache(maxsize=4096)
def _is_empty(text: str) -> bool:
    import islpy as isl

    return bool(isl.Set(text).is_empty())


def normalised(value: Expr, known: Known) -> Expr:
    """Return the same value with its quotients by numbers in isl's normal form."""
    parameters = _Parameters(known)
    text = parameters.text(value)
    pieces = _pieces(parameters.space, text, parameters.context)
    if pieces is None:
        return value
    terms = list(parameters.names)
    return sp.expand(_read(pieces, terms))


@lru_cache(maxsize=1024)
def _pieces(space: str, text: str, context: str) -> Any:
    """Return the one affine function that a text is on a context, ``None`` for several."""
    import islpy as isl

    function = isl.PwAff(f"{space} -> {{ [{text}] }}")
    function = function.gist_params(isl.Set(f"{space} -> {{ : {context} }}")).coalesce()
    pieces = function.get_pieces()
    return pieces[0][1] if len(pieces) == 1 else None


def _read(aff: isl.Aff, terms: list[Expr]) -> Expr:
    """Return isl's affine function as an expression."""
    import islpy as isl

    quotients: list[Expr] = []

    def linear(aff: isl.Aff, scale: int) -> Expr:
        def whole(value: isl.Val) -> int:
            # Through text, since the accessors of numerators stop at 64 bits.
            ratio = Fraction(value.to_str())
            return int(ratio * scale)

        total = sp.Integer(whole(aff.get_constant_val()))
        for i, term in enumerate(terms):
            total += whole(aff.get_coefficient_val(isl.dim_type.param, i)) * term
        for i in range(len(quotients)):
            total += whole(aff.get_coefficient_val(isl.dim_type.div, i)) * quotients[i]
        return total

    for i in range(aff.dim(isl.dim_type.div)):
        div = aff.get_div(i)
        scale = int(div.get_denominator_val().to_str())
        quotients.append(_upright(linear(div, scale), scale))
    return linear(aff, 1)


def _upright(dividend: Expr, divisor: int) -> Expr:
    """Return a quotient with a positive leading coefficient and a constant below the divisor."""
    constant, moving = sp.expand(dividend).as_coeff_Add()
    if coefficients(moving)[-1][1] < 0:
        return -_upright(-dividend + divisor - 1, divisor)
    whole, rest = divmod(int(constant), divisor)
    return whole + FloorDiv(moving + rest, divisor)
