"""Functions of one element, compared at every number of its type.

What is only moved, converted, chosen and compared takes one element to one number. Types of 16 bits
and less have few numbers, and all of them are tried. Wider ones are parted into intervals, until
both functions are constant in each: conversions to narrow types, and limits, are steps. A number at
which the functions differ is an input that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.bulk import numpy_dtype
from pycute_xe.converting import bounds, convert, greatest
from pycute_xe.holding.patience import a_while, charge
from pycute_xe.kernel.probes import edges
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.verifying.blame import smallest_difference
from pycute_xe.verifying.formula import WHOLE, Atom, Formula, Place, Term, abbreviates, atoms_within
from pycute_xe.verifying.matching import Difference, Extents
from pycute_xe.verifying.regions import Region

__all__ = ["Answer", "Outcome", "different", "enumerated", "Interval", "between"]

# ------------------------------------------------------------ intervals
# Between which numbers a formula of one element lies, where that lies between two.
#
# Bounds are numbers of f64, rounded outwards: where both are one number, the formula is that
# number, exactly, whatever types its value goes through on the way.

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
    ends = np.full(like.low.shape, value)
    return Interval.of(ends, ends)


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


def _known(interval: Interval, *given: Interval) -> Interval:
    """Return what was computed of numbers; NaN of NaN alone, anything where one may be NaN."""
    wrong = np.isnan(interval.low) | np.isnan(interval.high)
    some = reduce(np.logical_or, (x.nan for x in given), wrong)
    alone = reduce(np.logical_or, (x.is_nan for x in given))
    return _where(alone, _nan(interval), _where(some, _unknown(interval), interval))


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


def _extreme(of: Callable[..., Numbers], x: Interval, y: Interval) -> Interval:
    return _known(Interval.of(of(x.low, y.low), of(x.high, y.high)), x, y)


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
    "max": partial(_extreme, np.maximum),
    "min": partial(_extreme, np.minimum),
    "abs": _absolute,
    "at_least": _at_least,
    WHOLE: _same,
}


# ------------------------------------------------------------ enumerating

Keys: TypeAlias = "NDArray[np.int64]"

NUMBER = 0.1
"""Units for a function of a number."""
WORK = 2_000_000
"""Units of work after which two functions are given up."""
SAMPLE = 4096
"""Numbers of a wide type that are tried first, and the edges of types."""
MOST = 1 << 18
"""Intervals that are left to be parted, at most."""


@dataclass(frozen=True)
class Outcome:
    """What is known of two functions: that they are equal everywhere, or a number where not."""

    equal: bool = False
    number: float | None = None


@dataclass(frozen=True)
class Answer:
    """Where two formulas differ; None where they are equal."""

    difference: Difference | None = None


def different(
    points: Region, formulas: tuple[Formula, Formula], stored: Numeric, extents: Extents
) -> Answer | None:
    """Return whether two functions of one element differ, as an output of a type has them.

    None where they are not such functions, or where it is not clear.
    """
    place = _one_element(points, formulas)
    if place is None or place.numeric is None:
        return None
    outcome = enumerated(formulas, place.numeric, stored)
    if outcome.equal:
        return Answer()
    if outcome.number is None:
        return None
    limits = zip(place.at, extents[place.operand], strict=True)
    inside = points.within(" and ".join(f"0 <= {t} < {n}" for t, n in limits) or "true")
    blame = str(smallest_difference(*formulas)) or "the values differ"
    words = f"{blame}, as where {place.operand} is {outcome.number:.17g}"
    return Answer(Difference(inside, "elements", words, filled=((place.operand, outcome.number),)))


def _one_element(points: Region, formulas: tuple[Formula, Formula]) -> Place | None:
    """Return the one element that two formulas are functions of, the same at all points."""
    if not all(map(is_of_elements, formulas)):
        return None
    places = list(dict.fromkeys(p for f in formulas for p in _places(f)))
    if not places:
        return None
    first = places[0]
    if first.numeric is None or first.numeric.name in _WITHOUT:
        return None
    for other in places[1:]:
        if (other.operand, other.numeric) != (first.operand, first.numeric):
            return None
        pairs = zip(other.at, first.at, strict=True)
        elsewhere = " or ".join(f"{a} != {b}" for a, b in pairs if a != b)
        if elsewhere and not points.within(elsewhere).is_empty:
            return None
    return first


_WITHOUT = frozenset({"ue8m0", "u64"})
"""Types whose numbers are not tried: one without a zero, and one whose keys are not s64."""


def _places(formula: Formula) -> Iterator[Place]:
    for term in formula:
        yield from term.places
    for atom in atoms_within(formula):
        yield from (p for f in atom.arguments for t in f for p in t.places)


def enumerated(formulas: tuple[Formula, Formula], numeric: Numeric, stored: Numeric) -> Outcome:
    """Compare two functions of an element of a type, as an output of another type has them.

    Roundings to types in which nothing is computed are said: of those, nothing is stored.
    """
    kept = stored if stored.kind != "float" or stored.bits >= 32 else None
    both = _Functions(formulas, kept, _Codes.of(numeric))
    return both.at_numbers() if numeric.bits <= 16 else both.in_intervals()


@dataclass(frozen=True)
class _Codes:
    """The finite numbers of a type in order, each by a key; all of them where there are few."""

    numeric: Numeric
    every: NDArray[np.float64] | None
    least: int
    most: int

    @classmethod
    def of(cls, numeric: Numeric) -> _Codes:
        if numeric.kind != "float":
            least, most = bounds(numeric)
            few = np.arange(least, most + 1.0) if numeric.bits <= 16 else None
            return cls(numeric, few, least, most)
        if numeric.bits <= 16:
            codes: NDArray[Any] = np.arange(1 << numeric.bits)
            raw = codes.astype(np.uint8 if numeric.bits <= 8 else np.uint16)
            with np.errstate(invalid="ignore"):
                numbers = raw.view(numpy_dtype(numeric)).astype(np.float64)
            return cls(numeric, np.unique(numbers[np.isfinite(numbers)]), 0, 0)
        largest = np.array([greatest(numeric)]).astype(f"f{numeric.bits // 8}")
        most = int(largest.view(f"i{numeric.bits // 8}")[0])
        return cls(numeric, None, -most, most)

    def between(self, low: Keys, high: Keys) -> Interval:
        """Return the numbers of keys from ``low`` to ``high``."""
        if self.numeric.kind == "float":
            both = Interval.of(self._floats(low), self._floats(high))
            return converted(self.numeric, both)
        least, most = low.astype(np.float64), high.astype(np.float64)
        wide = (abs(least) >= 2.0**53) | (abs(most) >= 2.0**53)
        return Interval.of(
            np.where(wide, np.nextafter(least, -np.inf), least),
            np.where(wide, np.nextafter(most, np.inf), most),
        )

    def _floats(self, keys: Keys) -> NDArray[np.float64]:
        width = self.numeric.bits // 8
        return np.sign(keys) * abs(keys).astype(f"i{width}").view(f"f{width}").astype(np.float64)

    def near(self, low: Keys, high: Keys) -> NDArray[np.float64]:
        """Return numbers of f64 at the ends of intervals of keys, or next to them."""
        if self.numeric.kind == "float":
            numbers = [self.between(keys, keys).low for keys in (low, high)]
        else:
            ends = [low.astype(np.float64), high.astype(np.float64)]
            numbers = [ends[0], np.nextafter(ends[0], np.inf), np.nextafter(ends[1], -np.inf)]
            numbers = [np.rint(number) for number in (*numbers, ends[1])]
        return self._own(np.concatenate(numbers))

    def _own(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return those that are numbers of the type, in order."""
        least, most = (-np.inf, np.inf) if self.numeric.kind == "float" else (self.least, self.most)
        inside = (numbers >= least) & (numbers <= most) & (abs(numbers) != 2.0**63)
        return np.unique(numbers[inside & np.isfinite(numbers)])

    def some(self) -> NDArray[np.float64]:
        """Return numbers at the edges of the type, between them, and in no order."""
        random = np.random.default_rng(0)
        keys = random.integers(self.least, self.most, SAMPLE, dtype=np.int64, endpoint=True)
        drawn = self.between(keys, keys)
        own = edges(self.numeric).astype(np.float64)
        others = [convert(edges(as_numeric(n)).astype(np.float64), self.numeric) for n in _EDGES]
        halves = [n.astype(np.float64) + by for n in (own, *others) for by in (-0.5, 0.0, 0.5)]
        near = convert(np.concatenate(halves), self.numeric).astype(np.float64)
        return self._own(np.concatenate([own, near, drawn.low[drawn.low == drawn.high]]))


_EDGES = ("f32", "bf16", "f16", "f8e5m2", "f8e4m3", "s32", "u32", "s16", "u16", "s8", "u8", "s4")


class _Functions:
    def __init__(
        self, formulas: tuple[Formula, Formula], stored: Numeric | None, codes: _Codes
    ) -> None:
        self.formulas, self.stored, self.codes = formulas, stored, codes
        self.atoms = 2 + sum(len(list(atoms_within(f))) for f in formulas)

    def values(self, element: Interval) -> tuple[Interval, Interval]:
        charge(NUMBER * self.atoms * element.low.size)
        one, other = (self._stored(between(f, element)) for f in self.formulas)
        return one, other

    def _stored(self, value: Interval) -> Interval:
        return value if self.stored is None else converted(self.stored, value)

    def at_numbers(self) -> Outcome:
        """Compare at every number of a narrow type; an element outside of its operand is zero."""
        every = self.codes.every
        if every is None:
            return Outcome()
        return self.at(every)

    def at(self, numbers: NDArray[np.float64]) -> Outcome:
        """Compare at numbers."""
        one, other = self.values(Interval.of(numbers, numbers))
        wrong = numbers[one.apart(other)]
        if wrong.size:
            return Outcome(number=float(min(wrong.tolist(), key=_plain)))
        return Outcome(bool(one.same(other).all()))

    def in_intervals(self) -> Outcome:
        """Compare at some numbers, then in intervals that are parted until it is clear."""
        outcome = self.at(self.codes.some())
        if outcome.number is not None:
            return outcome
        least, most = self.codes.least, self.codes.most
        low, high = np.array([least, 0], np.int64), np.array([-1, most], np.int64)
        low, high = low[low <= high], high[low <= high]
        goes_on = a_while(WORK)
        while low.size:
            if low.size > MOST or not goes_on():
                return Outcome()
            one, other = self.values(self.codes.between(low, high))
            left = ~one.same(other)
            clear = left & (one.apart(other) | (low == high))
            if clear.any():
                outcome = self.at(self.codes.near(low[clear], high[clear]))
                return Outcome(number=outcome.number)
            low, high = low[left], high[left]
            middle = low + (high - low) // 2
            low, high = np.concatenate([low, middle + 1]), np.concatenate([middle, high])
        return Outcome(True)


def _plain(number: float) -> tuple[bool, float, bool]:
    """Order numbers by how plain they are: integers first, small ones, positive ones."""
    return not number.is_integer(), abs(number), number < 0
