"""Sympy's expressions, as this package uses them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any, TypeAlias, cast
from zlib import crc32

import sympy  # pyright: ignore[reportMissingTypeStubs]

from pycute_xe.errors import InputError
from pycute_xe.identifiers import name_fault

__all__ = [
    "Expr",
    "FloorDiv",
    "coefficients",
    "divided",
    "evaluated",
    "factors",
    "sp",
    "Assumed",
    "Known",
    "joined",
    "relevant",
]

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


@lru_cache(maxsize=4096)
def coefficients(value: Expr) -> tuple[tuple[Expr, Expr], ...]:
    """Return the terms of a sum with their coefficients; 1 is the term of a constant.

    >>> coefficients(sp.Symbol("m") * 3 + 5)
    ((1, 5), (m, 3))
    """
    pairs = sp.expand(value).as_coefficients_dict().items()
    return tuple(sorted(pairs, key=lambda pair: sp.default_sort_key(pair[0])))


@lru_cache(maxsize=4096)
def factors(term: Expr) -> tuple[tuple[Expr, int], ...]:
    """Return the factors of a product with their powers.

    >>> factors(sp.Symbol("m") ** 2 * sp.Symbol("n"))
    ((m, 2), (n, 1))
    """
    pairs = (factor.as_base_exp() for factor in sp.Mul.make_args(term))
    parts = ((base, int(power)) for base, power in pairs)
    return tuple(sorted(parts, key=lambda part: sp.default_sort_key(part[0])))


def divided(dividend: Expr, divisor: Expr) -> tuple[Expr, Expr]:
    """Divide polynomials with integer coefficients; what does not divide is the rest.

    >>> divided(sp.Symbol("m") * sp.Symbol("n") + 3, sp.Symbol("m"))
    (n, 3)
    """
    if not divisor.is_Integer and not dividend.is_Integer:
        if not divisor.is_Add:
            return _divided_by_term(dividend, divisor)
        (whole,), rest = sp.reduced(dividend, [divisor], domain=sp.ZZ)
        return sp.expand(whole), sp.expand(rest)
    whole, rest = sp.Integer(0), sp.Integer(0)
    for term, c in coefficients(dividend):
        times = c // divisor if divisor.is_Integer else 0
        whole += times * term
        rest += (c - times * divisor) * term
    return whole, sp.expand(rest)


def _divided_by_term(dividend: Expr, divisor: Expr) -> tuple[Expr, Expr]:
    """Divide by one product: every term that has its factors is divided."""
    ((product, count),) = coefficients(divisor)
    wanted = factors(product)
    whole, rest = list[Expr](), list[Expr]()
    for term, c in coefficients(dividend):
        powers = dict(factors(term))
        fits = c % count == 0 and all(powers.get(base, 0) >= power for base, power in wanted)
        (whole if fits else rest).append(c * term / divisor if fits else c * term)
    return sp.Add(*whole), sp.Add(*rest)


def multiplied(one: Expr, other: Expr) -> Expr:
    """Return the product of two sums of terms as such a sum: what expanding does, without a search.

    >>> multiplied(sp.Symbol("m") + 1, sp.Symbol("m") - 1)
    m**2 - 1
    """
    terms = sp.Add.make_args(other)
    return sp.Add(*(left * right for left in sp.Add.make_args(one) for right in terms))


def greatest_common(one: Expr, other: Expr) -> Expr:
    """Return the greatest common divisor of two values, of which the second may be one product.

    >>> greatest_common(6 * sp.Symbol("m") + 4 * sp.Symbol("m") ** 2, 8 * sp.Symbol("m"))
    2*m
    """
    if other.is_Add or one.is_Integer or other.is_Integer:
        return sp.gcd(one, other)
    ((product, count),) = coefficients(other)
    common = dict(factors(product))
    for term, c in coefficients(one):
        count, powers = sp.igcd(count, c), dict(factors(term))
        common = {base: min(power, powers.get(base, 0)) for base, power in common.items()}
    return count * sp.Mul(*(base**power for base, power in common.items()))


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


# ------------------------------------------------------------ assumed
# What is assumed of a symbol, and the sympy terms that stand for it.


@dataclass(frozen=True)
class Assumed:
    """A symbol: every multiple of ``multiple_of`` from ``at_least`` up to ``at_most``, if given.

    The sympy symbol `unit` stands for the value divided by ``multiple_of``, so that divisibility
    is arithmetic and needs no proof.
    """

    name: str
    multiple_of: int = 1
    at_least: int = 1
    at_most: Any = None  # an integer or a symbolic value

    def __post_init__(self) -> None:
        """Refuse texts that are not names and assumptions that nothing meets."""
        given = {k: v for k, v in vars(self).items() if v is not None}
        name = cast("object", self.name)
        if name_fault(name) is not None or not self.name.isascii():
            wanted = "a name must be letters, digits and _, and not a keyword of Python"
            raise InputError("symbol", given, wanted, 'symbol("M")')
        if type(self.multiple_of) is not int or self.multiple_of < 1:
            raise InputError("symbol", given, "multiple_of must be 1 or more", "multiple_of=32")
        if type(self.at_least) is not int:
            way_out = 'at_least=0; one that is at least M is M + symbol("more", at_least=0)'
            raise InputError("symbol", given, "at_least must be an integer", way_out)
        if type(self.at_most) is int and self.at_most // self.multiple_of < self.least:
            raise InputError("symbol", given, "no value meets all assumptions", "widen the bounds")

    @cached_property
    def unit(self) -> Expr:
        """The sympy symbol of the value divided by ``multiple_of``."""
        return sp.Symbol(self.name, integer=True)

    @property
    def least(self) -> int:
        """The least value of the unit."""
        return -(-self.at_least // self.multiple_of)

    @property
    def most(self) -> int | None:
        """The greatest value of the unit, where it is a number."""
        return self.at_most // self.multiple_of if type(self.at_most) is int else None

    def sample(self, most: int | None, turn: int = 0) -> int:
        """Return one value of the unit at each turn, the same in every process; the least at 1."""
        if turn == 1:
            return self.least
        drawn = 3 + crc32(f"{self.name}{turn or ''}".encode()) % 89
        return self.least + (drawn if most is None else drawn % (most - self.least + 1))

    def code(self, **changed: Any) -> str:
        """Return the Python text that makes the symbol, with some assumptions changed."""
        assumed: dict[str, Any] = {"multiple_of": self.multiple_of, "at_least": self.at_least}
        assumed |= {"at_most": self.at_most} | changed
        plain: dict[str, Any] = {"multiple_of": 1, "at_most": None}
        plain["at_least"] = assumed["multiple_of"]
        if 1 <= assumed["at_least"] <= assumed["multiple_of"]:
            assumed["at_least"] = plain["at_least"]  # the first multiple, as it is untold
        parts = [f"{k}={v}" for k, v in assumed.items() if v != plain[k]]
        return f"symbol({', '.join([repr(self.name), *parts])})".replace("'", '"')

    def __str__(self) -> str:
        """The assumptions in words."""
        factor = f"a multiple of {self.multiple_of}, " if self.multiple_of > 1 else ""
        limit = "" if self.at_most is None else f" and <= {self.at_most}"
        return f"{self.name} is {factor}>= {self.least * self.multiple_of}{limit}"


Known = Mapping[str, Assumed]
"""The symbols of a value by name."""

CHOICES = (1, 2, 3)
"""The turns at which `sampled` chooses, the least values first."""

FAR = 1 << 99
"""How far above its least value a symbol is that is chosen to be great."""


def sampled(value: Expr, known: Known, turn: int = 0, far: str = "") -> Any:
    """Return the value at one choice of the symbols, the same wherever it is asked.

    ``None`` where the choice does not meet what is assumed, after the first turn. The symbol that
    is named as ``far`` takes a great value.

    >>> M = Assumed("M", at_most=9)
    >>> sampled(M.unit + 1, {"M": M}, 1), sampled(M.unit + 1, {"M": M}, 1, far="M")
    (2, 10)
    """
    chosen: dict[str, int] = {}
    at_odds: list[str] = []

    def of_symbol(symbol: Expr) -> int:
        name = symbol.name
        if name not in chosen:
            assumed = known[name]
            limit: Any = assumed.at_most
            most = assumed.most
            if limit is not None and most is None:
                reached = evaluated(limit.expr, of_symbol) // assumed.multiple_of
                most = max(reached, assumed.least)
                at_odds.extend([name] if reached < most and turn else [])
            chosen[name] = assumed.sample(most, turn)
            if name == far:
                chosen[name] = assumed.least + FAR if most is None else most
        return chosen[name]

    result = evaluated(value, of_symbol)
    return None if at_odds else result


def joined(one: Known, other: Known) -> Known:
    """Return the symbols of both. Raises `InputError` where a name means two different symbols."""
    if one is other or not other:
        return one
    for name in one.keys() & other.keys():
        if one[name] is not other[name] and one[name] != other[name]:
            raise InputError(
                "symbol",
                {"one": one[name], "other": other[name]},
                f"{name} stands for two different symbols",
                "make each symbol once, or name them differently",
            )
    return {**one, **other}


def relevant(known: Known, terms: Iterable[Expr]) -> Known:
    """Return the symbols that occur in some terms, and those that bound them."""
    wanted = {s.name for term in terms for s in term.free_symbols if isinstance(s, sp.Symbol)}
    out: dict[str, Assumed] = {}
    while wanted:
        name = wanted.pop()
        out[name] = known[name]
        limit = known[name].at_most
        if limit is not None and type(limit) is not int:
            wanted |= limit.known.keys() - out.keys()
    return out
