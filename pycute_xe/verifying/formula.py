"""What is held and what is claimed, in one form: sums of products over bounded variables.

Indices are texts in the variables of the points at which two formulas are compared. A span is
between which numbers the values of a formula lie, and whether they are integers. What is known of
elements is their type: inputs are finite. Everything else follows from how a formula is built;
where that says nothing, its values may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import inf, isfinite
from typing import TypeAlias

import numpy as np

from pycute_xe.converting import bounds, convert, greatest
from pycute_xe.holding.patience import charge, remembered
from pycute_xe.kernel.spec.functions import CHOOSING, FUNCTIONS, Function
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.verifying.guards import Guard, renamed
from pycute_xe.verifying.refusing import undecided

__all__ = [
    "Atom",
    "Bounds",
    "Formula",
    "Limits",
    "Place",
    "SUM_OF",
    "Term",
    "abbreviates",
    "add",
    "alike",
    "assuming",
    "atoms_within",
    "MAXIMA",
    "UNNAMED",
    "WHOLE",
    "call",
    "choose",
    "conditions_of",
    "depends_on",
    "mentioned",
    "multiply",
    "number",
    "signature",
    "substituted",
    "summed",
    "Span",
    "element",
    "kept_type",
    "may_be_nan",
    "span",
]


@dataclass(frozen=True, slots=True)
class Bounds:
    """A variable of a sum: ``low <= name < high``, both texts."""

    name: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Place:
    """An element of an operand at places that are texts, and its type where that is known."""

    operand: str
    at: tuple[str, ...]
    numeric: Numeric | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Atom:
    """A function of formulas of which nothing is known but its name."""

    name: str
    arguments: tuple[Formula, ...]
    _hash: int = field(init=False, compare=False, repr=False)
    level: int = field(init=False, compare=False, repr=False)
    """How many functions it has inside of one another."""

    def __post_init__(self) -> None:
        level = max((term.level for f in self.arguments for term in f), default=-1)
        object.__setattr__(self, "level", level)
        object.__setattr__(self, "_hash", hash((self.name, self.arguments)))

    def __hash__(self) -> int:
        """Return the hash, which is asked often."""
        return self._hash


@dataclass(frozen=True, slots=True)
class Term:
    """A multiple of a product of elements and atoms, summed over variables, where guards hold."""

    scale: float
    places: tuple[Place, ...] = ()
    atoms: tuple[Atom, ...] = ()
    over: tuple[Bounds, ...] = ()
    guards: tuple[Guard, ...] = ()
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        parts = self.scale, self.places, self.atoms, self.over, self.guards
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        """Return the hash, which is asked often."""
        return self._hash

    @property
    def level(self) -> int:
        """How many functions it has inside of one another."""
        return max((atom.level for atom in self.atoms), default=-1) + 1

    @property
    def signature(self) -> str:
        """What two terms must have in common to be equal, whatever their indices."""
        places = sorted(place.operand for place in self.places)
        atoms = sorted(f"{a.name}({','.join(map(signature, a.arguments))})" for a in self.atoms)
        return f"{self.scale:.17g}*{'*'.join([*places, *atoms])}"


Formula: TypeAlias = "tuple[Term, ...]"
"""A sum of terms."""

MAXIMA = "max over"
"""The function that is the greatest of the elements of its argument's terms, or minus infinity."""

UNNAMED = "no element is claimed of"
"""The function that is 1 where so many elements as its argument are none, and 0 elsewhere."""

WHOLE = "the whole of"
"""The function that gives its argument back, and keeps it together."""


TERM, TEXT = 15, 12
"""Units for a term of a sum, and for what it is made of where variables are renamed."""
SUM_OF = "sum of "
"""What names of abbreviated sums begin with; no operand's name has a space."""


def abbreviates(operand: str) -> bool:
    """Whether a name stands for a sum: nothing lies outside of that."""
    return operand.startswith(SUM_OF)


def signature(formula: Formula) -> str:
    """Return what equal formulas have in common."""
    return "+".join(sorted({term.signature for term in formula}))


def number(value: float) -> Formula:
    """Return a constant."""
    return (Term(float(value)),) if value else ()


def add(*formulas: Formula) -> Formula:
    """Return a sum; terms that are alike to the letter are collected."""
    out: dict[Term, float] = {}
    for term in (t for formula in formulas for t in formula):
        charge(TERM)
        key = _renamed(replace(term, scale=1.0))
        out[key] = out.get(key, 0.0) + term.scale
    return tuple(replace(term, scale=scale) for term, scale in out.items() if scale)


def alike(terms: Formula) -> Formula:
    """Return terms that differ, in their order: of those alike to the letter the first."""
    return tuple(dict.fromkeys(map(_renamed, terms)))


def _renamed(term: Term) -> Term:
    """Name the variables of a sum by their order, so that equal terms look alike."""
    if not term.over:
        return term
    # A level for each sum inside, so that no inner variable takes an outer one's name.
    names = {b.name: f"b{term.level}_{i}" for i, b in enumerate(term.over)}
    return substituted(term, {old: new for old, new in names.items() if old != new})


def multiply(left: Formula, right: Formula) -> Formula:
    """Return a product, distributed over the sums."""
    products: list[Term] = []
    for x in left:
        for y in right:
            first, other = x, y
            if x.over or x.atoms:  # else no variable of one could be taken for one of the other
                first, other = _apart(x, 0), _apart(y, len(x.over))
            products.append(
                Term(
                    first.scale * other.scale,
                    (*first.places, *other.places),
                    (*first.atoms, *other.atoms),
                    (*first.over, *other.over),
                    tuple(dict.fromkeys((*first.guards, *other.guards))),
                )
            )
    return add(tuple(products))


def _apart(term: Term, taken: int) -> Term:
    """Give the variables of a sum names that the other factor, which has so many, does not have."""
    return substituted(term, {b.name: f"c{taken + i}" for i, b in enumerate(term.over)})


def call(name: str, *arguments: Formula) -> Formula:
    """Return an opaque function of formulas; of constants it stays one."""
    return (Term(1.0, (), (Atom(name, arguments),)),)


def choose(index: str, below: str, then: Formula, otherwise: Formula) -> Formula:
    """Return one formula where ``index < below``, and another elsewhere."""
    guard = Guard(index, "<", below)
    first = tuple(replace(t, guards=(*t.guards, guard)) for t in then)
    second = tuple(replace(t, guards=(*t.guards, guard.contrary)) for t in otherwise)
    return add(first, second)


def summed(over: tuple[Bounds, ...], formula: Formula) -> Formula:
    """Return the sum of a formula over variables; nothing where one has no values."""
    if any(bounds.low == bounds.high for bounds in over):
        return ()
    return add(tuple(_counted(replace(t, over=(*over, *t.over))) for t in formula))


def _counted(term: Term) -> Term:
    """Return a multiple in the place of sums over what nothing depends on."""
    for one in term.over:
        others = replace(term, over=tuple(b for b in term.over if b != one))
        times = int(one.high) - int(one.low) if (one.low + one.high).isdecimal() else 0
        if times > 0 and one.name not in mentioned(Atom("", ((others,),))):
            term = replace(others, scale=term.scale * times)
    return term


def substituted(term: Term, names: dict[str, str]) -> Term:
    """Return a term with variables renamed everywhere."""
    if not names:
        return term
    key = "substituted", term, tuple(sorted(names.items()))
    return remembered(key, lambda: _substituted(term, names))


def _substituted(term: Term, names: dict[str, str]) -> Term:
    charge(TERM + TEXT * (len(term.places) + len(term.over) + len(term.guards)))
    return Term(
        term.scale,
        tuple(replace(p, at=tuple(renamed(t, names) for t in p.at)) for p in term.places),
        tuple(
            Atom(a.name, tuple(tuple(substituted(t, names) for t in f) for f in a.arguments))
            for a in term.atoms
        ),
        tuple(
            Bounds(names.get(b.name, b.name), renamed(b.low, names), renamed(b.high, names))
            for b in term.over
        ),
        tuple(guard.renamed(names) for guard in term.guards),
    )


def conditions_of(formulas: tuple[Formula, ...], names: tuple[str, ...]) -> tuple[Guard, ...]:
    """Return the conditions of `choose` that depend on names alone, without their contraries."""
    conditions: dict[Guard, None] = {}
    for term in (t for formula in formulas for t in formula):
        for guard in term.guards:
            condition = guard.less
            if condition is not None and guard.names <= set(names):
                conditions[condition] = None
        for atom in term.atoms:
            conditions |= dict.fromkeys(conditions_of(atom.arguments, names))
    return tuple(conditions)


def assuming(formula: Formula, condition: Guard, holds: bool) -> Formula:
    """Return a formula where a condition of `choose` is known to hold, or not to."""
    kept = condition if holds else condition.contrary
    out: list[Term] = []
    for term in formula:
        if kept.contrary not in term.guards:
            guards = tuple(g for g in term.guards if g != kept)
            atoms = tuple(
                Atom(a.name, tuple(assuming(f, condition, holds) for f in a.arguments))
                for a in term.atoms
            )
            out.append(replace(term, guards=guards, atoms=atoms))
    return add(tuple(out))


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", text)


def mentioned(atom: Atom) -> set[str]:
    """Return every name that an atom's indices, guards and bounds mention."""
    terms = [t for f in atom.arguments for t in f]
    texts = [text for t in terms for place in t.places for text in place.at]
    texts += [text for t in terms for b in t.over for text in (b.low, b.high)]
    guards = (guard.names for t in terms for guard in t.guards)
    inner = (mentioned(a) for t in terms for a in t.atoms)
    return set[str]().union(*map(_words, texts), *guards, *inner)


def depends_on(atom: Atom) -> set[str]:
    """Return the names that a function depends on: those of its own sums are left out."""
    out: set[str] = set()
    for term in (t for f in atom.arguments for t in f):
        texts = [text for place in term.places for text in place.at]
        texts += [text for b in term.over for text in (b.low, b.high)]
        guards = (guard.names for guard in term.guards)
        free = set[str]().union(*map(_words, texts), *guards, *map(depends_on, term.atoms))
        out |= free - {b.name for b in term.over} - {"floor", "mod"}
    return out


def atoms_within(formula: Formula) -> Iterator[Atom]:
    """Yield every atom, outer before inner."""
    for term in formula:
        for atom in term.atoms:
            yield atom
            for argument in atom.arguments:
                yield from atoms_within(argument)


@dataclass
class Limits:
    """How large a formula may grow before its comparison is given up."""

    terms: int = field(default=64)

    def check(self, formula: Formula) -> Formula:
        """Return the formula; `UndecidableError` where it has too many terms."""
        if len(formula) > self.terms:
            raise undecided(
                f"an expression has more than {self.terms} terms once it is multiplied out",
                "claim it in parts",
                terms=len(formula),
            )
        return formula


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


@cache
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
    return remembered(("span", atom), lambda: _computed(atom))


def _computed(atom: Atom) -> Span:
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
    kind = term.places[0].numeric if term.places else _kept_by(term.atoms[0])
    return None if term.scale < 0 and kind is not None and kind.kind != "float" else kind


def _kept_by(atom: Atom) -> Numeric | None:
    kind, _, name = atom.name.rpartition(" ")
    if kind in ("to", "lowest bits of"):
        return as_numeric(name)
    if atom.name not in CHOOSING:
        return None
    numbers = [f for f in atom.arguments if all(not t.places and not t.atoms for t in f)]
    types = {kept_type(f) for f in atom.arguments if f not in numbers}
    numeric = types.pop() if len(types) == 1 else None
    if numeric is None or (atom.name == "abs" and numeric.kind == "signed"):
        return None
    values = np.array([sum(t.scale for t in f) for f in numbers])
    kept = convert(values, numeric).astype(np.float64)
    return numeric if np.array_equal(kept, values) else None
