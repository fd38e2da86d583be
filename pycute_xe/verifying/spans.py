"""Between which numbers the values of a formula lie, and whether they are integers.

What is known of elements is their type: inputs are finite. Everything else follows from how a
formula is built; where that says nothing, its values may be anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite

import numpy as np

from pycute_xe.converting import bounds, convert, greatest
from pycute_xe.kernel.spec.functions import CHOOSING, FUNCTIONS, Function
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.verifying.formula import MAXIMA, WHOLE, Atom, Formula, Term

__all__ = ["Span", "element", "kept_type", "may_be_nan", "span"]


@dataclass(frozen=True, slots=True)
class Span:
    """The least and the greatest value there may be, and whether all are integers."""

    low: float = -inf
    high: float = inf
    whole: bool = False

    def __add__(self, other: Span) -> Span:
        low = -inf if -inf in (self.low, other.low) else self.low + other.low
        high = inf if inf in (self.high, other.high) else self.high + other.high
        return Span(low, high, self.whole and other.whole)

    def __mul__(self, other: Span) -> Span:
        ends = [_times(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        return Span(min(ends), max(ends), self.whole and other.whole)

    def __or__(self, other: Span) -> Span:
        whole = self.whole and other.whole
        return Span(min(self.low, other.low), max(self.high, other.high), whole)


ANY, ZERO = Span(), Span(0.0, 0.0, True)


def _times(x: float, y: float) -> float:
    return 0.0 if x == 0 or y == 0 else x * y


def of_type(numeric: Numeric) -> Span:
    """Return the span of a type's finite numbers.

    >>> of_type(as_numeric("u4"))
    Span(low=0.0, high=15.0, whole=True)
    """
    high = greatest(numeric)
    if numeric.kind != "float":
        return Span(float(bounds(numeric)[0]), high, True)
    return Span(0.0 if numeric.row.positive else -high, high)


def span(formula: Formula) -> Span:
    """Return between which numbers the values of a formula lie; elements outside are zero.

    >>> from pycute_xe.verifying.formula import number
    >>> span(number(3))
    Span(low=3.0, high=3.0, whole=True)
    """
    out = ZERO
    for term in formula:
        out = out + _of_term(term)
    return out


def _of_term(term: Term) -> Span:
    out = Span(term.scale, term.scale, isfinite(term.scale) and term.scale.is_integer())
    types = (place.numeric for place in term.places)
    factors = [of_type(t) | ZERO if t is not None else ANY for t in types]
    factors += map(_of_atom, term.atoms)
    keys = [*term.places, *term.atoms]
    for key in dict.fromkeys(keys):
        count, one = keys.count(key), factors[keys.index(key)]
        for _ in range(count // 2):
            square = one * one
            out = out * Span(max(0.0, square.low), square.high, square.whole)
        out = out * one if count % 2 else out
    if term.over:
        return Span(-inf if out.low < 0 else 0.0, inf if out.high > 0 else 0.0, out.whole)
    return out | ZERO if term.guards else out


def element(term: Term) -> Span:
    """Return between which numbers the elements of a maximum's family lie."""
    return _of_term(replace(term, over=(), guards=()))


def _of_atom(atom: Atom) -> Span:
    kind, _, name = atom.name.rpartition(" ")
    if kind == "to":
        return _converted(span(atom.arguments[0]), as_numeric(name))
    if kind == "lowest bits of":
        return of_type(as_numeric(name))
    if atom.name == MAXIMA:
        return _of_extreme(atom)
    if atom.name in _OF:
        return _OF[atom.name](*map(span, atom.arguments))
    if atom.name in FUNCTIONS:
        return _of_function(FUNCTIONS[atom.name], *map(span, atom.arguments))
    return ANY


def _converted(inner: Span, to: Numeric) -> Span:
    if may_be_nan(to, inner):
        return ANY
    low, high = convert(np.array([inner.low, inner.high]), to).astype(np.float64).tolist()
    return Span(low, high, to.kind != "float" or inner.whole)


def may_be_nan(to: Numeric, inner: Span) -> bool:
    """Whether a conversion may give a NaN: where numbers are too large for a type without infinity.

    >>> may_be_nan(as_numeric("f8e4m3"), of_type(as_numeric("s8")))
    False
    >>> may_be_nan(as_numeric("f8e4m3"), of_type(as_numeric("f16")))
    True
    """
    ends = np.array([inner.low, inner.high])
    return bool(np.isnan(convert(ends, to).astype(np.float64)).any())


def _of_extreme(atom: Atom) -> Span:
    families = [(t, element(t)) for t in atom.arguments[0]]
    every = [one for _, one in families]
    sure = [one for t, one in families if not t.over and not t.guards]
    low = max((one.low for one in sure), default=-inf)
    high = max(one.high for one in every)
    return Span(low, high, bool(sure) and all(one.whole for one in every))


def _of_function(row: Function, *inner: Span) -> Span:
    """Return the span of a function by its row; where it rises, by what it makes of the ends."""
    out = Span(row.low, row.high, row.whole)
    if not row.rises:
        return out
    (one,) = inner
    least, most = _end(row, one.low, row.low), _end(row, one.high, row.high)
    # A last bit is left to how the function is computed.
    low, high = least - abs(least) * 1e-3, most + abs(most) * 1e-3
    return Span(max(row.low, low), min(row.high, high))


def _end(row: Function, at: float, beyond: float) -> float:
    return float(row.meaning(np, at)) if isfinite(at) and abs(at) < 700 else beyond


def _absolute(inner: Span) -> Span:
    most = max(abs(inner.low), abs(inner.high))
    least = 0.0 if inner.low <= 0 <= inner.high else min(abs(inner.low), abs(inner.high))
    return Span(least, most, inner.whole)


def _same(inner: Span) -> Span:
    return inner


def _extreme(of: Callable[[float, float], float], one: Span, other: Span) -> Span:
    whole = one.whole and other.whole
    return Span(of(one.low, other.low), of(one.high, other.high), whole)


def _one_over(inner: Span) -> Span:
    return Span(0.0 if inner.low >= 0 else -inf, 0.0 if inner.high <= 0 else inf)


_OF: dict[str, Callable[..., Span]] = {
    WHOLE: _same,
    "abs": _absolute,
    "max": partial(_extreme, max),
    "min": partial(_extreme, min),
    "1/": _one_over,
}


def kept_type(formula: Formula) -> Numeric | None:
    """Return the type of which a formula's values are; None where it is not one element of one.

    What lies outside an operand is zero, which every type but one without a zero has.
    """
    if len(formula) != 1 or formula[0].over or abs(formula[0].scale) != 1:
        return None
    (term,) = formula
    if len(term.places) + len(term.atoms) != 1:
        return None
    found = term.places[0].numeric if term.places else _kept_by(term.atoms[0])
    return None if term.scale < 0 and found is not None and found.kind != "float" else found


def _kept_by(atom: Atom) -> Numeric | None:
    kind, _, name = atom.name.rpartition(" ")
    if kind in ("to", "lowest bits of"):
        return as_numeric(name)
    if atom.name not in CHOOSING:
        return None
    numbers = [f for f in atom.arguments if all(not t.places and not t.atoms for t in f)]
    types = {kept_type(f) for f in atom.arguments if f not in numbers}
    found = types.pop() if len(types) == 1 else None
    if found is None or (atom.name == "abs" and found.kind == "signed"):
        return None
    values = np.array([sum(t.scale for t in f) for f in numbers])
    kept = convert(values, found).astype(np.float64)
    return found if np.array_equal(kept, values) else None
