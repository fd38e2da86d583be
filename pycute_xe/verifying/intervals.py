"""Floor 9: between which numbers a formula of one element lies, where that lies between two.

Bounds are numbers of f64, rounded outwards: where both are one number, the formula is that number,
exactly, whatever types its value goes through on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import bounds, convert, greatest
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.verifying.formula import WHOLE, Atom, Formula, Term, abbreviates

__all__ = ["Interval", "between", "is_of_elements"]

Numbers: TypeAlias = "NDArray[np.float64]"
TINY = 2.0**-900
"""A product below this may have an error that is not a number of f64."""


@dataclass(frozen=True)
class Interval:
    """Numbers from ``low`` to ``high``, and perhaps ``nan``; NaN alone where ``low > high``."""

    low: Numbers
    high: Numbers
    nan: NDArray[np.bool_]

    @classmethod
    def of(cls, low: Numbers, high: Numbers) -> Interval:
        """Return numbers between two, none of them NaN."""
        return cls(low, high, np.zeros(np.shape(low), np.bool_))

    @property
    def is_nan(self) -> NDArray[np.bool_]:
        """Where there is no number."""
        return self.low > self.high

    @property
    def is_one(self) -> NDArray[np.bool_]:
        """Where there is one number, or NaN alone."""
        return (~self.nan & (self.low == self.high)) | self.is_nan

    def same(self, other: Interval) -> NDArray[np.bool_]:
        """Where both are one number, the same one."""
        equal = (self.low == other.low) | (self.is_nan & other.is_nan)
        return self.is_one & other.is_one & equal

    def apart(self, other: Interval) -> NDArray[np.bool_]:
        """Where no number lies in both."""
        numbers = ~self.nan & ~other.nan & ((self.high < other.low) | (other.high < self.low))
        alone = (self.is_nan & ~other.nan) | (other.is_nan & ~self.nan)
        return numbers | alone


def is_of_elements(formula: Formula) -> bool:
    """Whether a formula is made of elements by functions that have intervals, without sums."""
    return all(
        not term.over
        and not term.guards
        and not any(abbreviates(place.operand) for place in term.places)
        and all(_function(a.name) and all(map(is_of_elements, a.arguments)) for a in term.atoms)
        for term in formula
    )


def between(formula: Formula, element: Interval) -> Interval:
    """Return between which numbers a formula lies, all of whose elements are one."""
    with np.errstate(all="ignore"):
        return _formula(formula, element)


def _formula(formula: Formula, element: Interval) -> Interval:
    terms = [_term(term, element) for term in formula]
    return reduce(_sum, terms) if terms else _number(0.0, element)


def _number(value: float, like: Interval) -> Interval:
    found = np.full(like.low.shape, value)
    return Interval.of(found, found)


def _term(term: Term, element: Interval) -> Interval:
    factors = [element] * len(term.places) + [_atom(atom, element) for atom in term.atoms]
    if term.scale != 1 or not factors:
        factors.append(_number(term.scale, element))
    return reduce(_product, factors)


def _atom(atom: Atom, element: Interval) -> Interval:
    function = _function(atom.name)
    if function is None:
        raise TypeError(f"{atom.name} has no intervals")
    return function(*(_formula(f, element) for f in atom.arguments))


def _function(name: str) -> Callable[..., Interval] | None:
    """Return what a function makes of intervals, None where that is not known."""
    kind, _, numeric = name.rpartition(" ")
    if kind == "to":
        return partial(converted, as_numeric(numeric))
    if kind == "lowest bits of":
        return partial(_lowest_bits, as_numeric(numeric))
    if kind in _NEAREST and numeric in ("f32", "f64"):
        return partial(_nearest, _NEAREST[kind], as_numeric(numeric))
    return _KNOWN.get(name)


def converted(to: Numeric, x: Interval) -> Interval:
    """Return what a conversion, which never falls, makes of an interval.

    What is too large is infinite, NaN or the largest number, as the type has it; NaN is 0 as an
    integer.
    """
    low, high = (convert(end, to).astype(np.float64) for end in (x.low, x.high))
    if to.kind != "float":
        if to.bits == 64:  # an end may not be a number of f64
            low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
            small = (abs(x.low) < 2.0**53) & (abs(x.high) < 2.0**53)
            low = np.where(small, np.rint(x.low), low)
            high = np.where(small, np.rint(x.high), high)
            if to.kind == "unsigned":
                low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        zero = x.nan | x.is_nan
        low = np.where(x.is_nan, 0.0, np.where(zero, np.minimum(low, 0.0), low))
        high = np.where(x.is_nan, 0.0, np.where(zero, np.maximum(high, 0.0), high))
        return Interval.of(low, high)
    beyond, beneath = np.isnan(low), np.isnan(high)
    same_side = (x.low > 0) | (x.high < 0)
    none = x.is_nan | (beyond & beneath & same_side)
    most = greatest(to)
    low = np.where(none, np.inf, np.where(beyond, -most, low))
    high = np.where(none, -np.inf, np.where(beneath, most, high))
    return Interval(low, high, x.nan | beyond | beneath | none)


def _lowest_bits(to: Numeric, x: Interval) -> Interval:
    least, most = (float(end) for end in bounds(to))
    if to.bits == 64:
        inside = (x.low >= -(2.0**53)) & (x.high <= 2.0**53) & (x.low >= least)
        return _where(inside & ~x.nan, x, _unknown(x))
    size = 2.0**to.bits
    sure = ~x.nan & (abs(x.low) < 2.0**53) & (abs(x.high) < 2.0**53)
    sure &= (x.low == np.rint(x.low)) & (x.high == np.rint(x.high))
    turns = np.floor((np.where(sure, x.low, 0.0) - least) / size)
    one = sure & (turns == np.floor((np.where(sure, x.high, 0.0) - least) / size))
    moved = Interval.of(x.low - turns * size, x.high - turns * size)
    every = Interval.of(np.full(x.low.shape, least), np.full(x.low.shape, most))
    return _where(one, moved, every)


def _where(condition: NDArray[np.bool_], one: Interval, other: Interval) -> Interval:
    return Interval(
        np.where(condition, one.low, other.low),
        np.where(condition, one.high, other.high),
        np.where(condition, one.nan, other.nan),
    )


def _unknown(like: Interval) -> Interval:
    shape = like.low.shape
    return Interval(np.full(shape, -np.inf), np.full(shape, np.inf), np.ones(shape, np.bool_))


def _known(found: Interval, *given: Interval) -> Interval:
    """Return what was computed of numbers; NaN of NaN alone, anything where one may be NaN."""
    wrong = np.isnan(found.low) | np.isnan(found.high)
    some = reduce(np.logical_or, (x.nan for x in given), wrong)
    alone = reduce(np.logical_or, (x.is_nan for x in given))
    return _where(alone, _nan(found), _where(some, _unknown(found), found))


def _nan(like: Interval) -> Interval:
    shape = like.low.shape
    return Interval(np.full(shape, np.inf), np.full(shape, -np.inf), np.ones(shape, np.bool_))


def _sum(x: Interval, y: Interval) -> Interval:
    low, high = _rounded_sum(x.low, y.low, -np.inf), _rounded_sum(x.high, y.high, np.inf)
    return _known(Interval.of(low, high), x, y)


def _rounded_sum(x: Numbers, y: Numbers, towards: float) -> Numbers:
    """Return a sum, rounded towards an infinity. Source: Knuth, TAOCP 2, 4.2.2 (TwoSum)."""
    out = x + y
    back = out - x
    error = (x - (out - back)) + (y - back)
    exact = (error == 0) | np.isinf(x) | np.isinf(y)
    return np.where(exact, out, np.nextafter(out, towards))


def _product(x: Interval, y: Interval) -> Interval:
    ends = [(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    low = reduce(np.minimum, (_rounded_product(a, b, -np.inf) for a, b in ends))
    high = reduce(np.maximum, (_rounded_product(a, b, np.inf) for a, b in ends))
    return _known(Interval.of(low, high), x, y)


def _rounded_product(x: Numbers, y: Numbers, towards: float) -> Numbers:
    """Return a product, rounded towards an infinity. Source: Dekker 1971 (TwoProduct)."""
    out = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    error = ((a * c - out) + a * d + b * c) + b * d
    exact = (error == 0) & (abs(out) > TINY)
    exact |= (x == 0) | (y == 0) | np.isinf(x) | np.isinf(y) | (abs(x) == 1) | (abs(y) == 1)
    return np.where(exact, out, np.nextafter(out, towards))


def _halves(x: Numbers) -> tuple[Numbers, Numbers]:
    """Return two numbers of 26 bits whose sum is one of 53."""
    spread = x * (2.0**27 + 1)
    high = spread - (spread - x)
    return high, x - high


def _nearest(
    function: Callable[..., Interval], numeric: Numeric, x: Interval, y: Interval
) -> Interval:
    return converted(numeric, function(x, y))


def _larger(x: Interval, y: Interval) -> Interval:
    return _known(Interval.of(np.maximum(x.low, y.low), np.maximum(x.high, y.high)), x, y)


def _smaller(x: Interval, y: Interval) -> Interval:
    return _known(Interval.of(np.minimum(x.low, y.low), np.minimum(x.high, y.high)), x, y)


def _absolute(x: Interval) -> Interval:
    low = np.maximum(np.maximum(x.low, -x.high), 0.0)
    return _known(Interval.of(low, np.maximum(abs(x.low), abs(x.high))), x)


def _at_least(x: Interval, y: Interval) -> Interval:
    low, high = x.low >= y.high, x.high >= y.low
    return _known(Interval.of(low.astype(np.float64), high.astype(np.float64)), x, y)


def _same(x: Interval) -> Interval:
    return x


_NEAREST: dict[str, Callable[..., Interval]] = {"add in": _sum, "mul in": _product}
"""Functions of which a float is the nearest to the real result: IEEE 754-2019, 5.4.1."""

_KNOWN: dict[str, Callable[..., Interval]] = {
    "max": _larger,
    "min": _smaller,
    "abs": _absolute,
    "at_least": _at_least,
    WHOLE: _same,
}
