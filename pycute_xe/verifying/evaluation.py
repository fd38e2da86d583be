"""Formulas as numbers: do two that are written differently really differ at a point?"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial, reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert
from pycute_xe.errors import UndecidableError
from pycute_xe.holding.nodes import BESIDE
from pycute_xe.holding.patience import charge, remembered
from pycute_xe.kernel.spec.functions import FUNCTIONS
from pycute_xe.numeric import as_numeric
from pycute_xe.verifying.formula import (
    MAXIMA,
    SUM_OF,
    UNNAMED,
    WHOLE,
    Atom,
    Formula,
    Place,
    Term,
    abbreviates,
    add,
    alike,
    mentioned,
)
from pycute_xe.verifying.guards import Guard, Sign
from pycute_xe.verifying.lookups import current
from pycute_xe.verifying.making import MADE, element_at
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Region

__all__ = ["Extents", "Value", "differ", "value_with", "shortened"]

# ------------------------------------------------------------ abbreviating
# Sums of products inside functions, named: elements of something with coordinates.
#
# ``exp2(sum(d, Q[m,d]·K[n,d]))`` is ``exp2`` of an element of "sum of Q·K" at (m, n). Two sums have
# one name where they are equal whatever their coordinates are, which is asked once.

Equal = Callable[[Region, Formula, Formula], bool]
Texts: TypeAlias = tuple[str, ...]


def shortened(
    points: Region, formulas: tuple[Formula, Formula], equal: Equal, extents: dict[str, Texts]
) -> tuple[Formula, Formula]:
    """Return two formulas with names for the sums inside functions; as they are if it is not clear.

    ``extents`` takes in below what the coordinates of a name must be, or it is zero; empty texts
    where that is not known.

    ``equal`` decides whether two sums are equal at all points. It is not clear where sums of the
    same operands have several names: they may still be equal at the points in question.
    """
    names = _Names(equal, tuple(n for n in points.names if n.startswith("S_")), extents)
    first, second = (names.formula(f, inside=False) for f in formulas)
    return (first, second) if names.are_clear else formulas


Definition = tuple[tuple[str, ...], Term]
"""A named sum: the names of its coordinates, and what is summed."""


def defined(formula: Formula, sizes: tuple[str, ...]) -> tuple[Formula, dict[str, Definition]]:
    """Return a formula with names for the sums inside functions, and what they stand for."""
    names = _Names(lambda _points, _one, _other: False, sizes, {})
    short = names.formula(formula, inside=False)
    return short, {name: (_formals(count), term) for name, _, count, term in names.known}


def _formals(count: int) -> tuple[str, ...]:
    return tuple(f"a_{i + 1}" for i in range(count))


@dataclass
class _Names:
    """The names given so far; ``equal`` decides whether two sums are equal at all points.

    ``sizes`` are the names of the problem's sizes, of which each is 1 or more.
    """

    equal: Equal
    sizes: tuple[str, ...]
    extents: dict[str, Texts]
    known: list[tuple[str, str, int, Term]] = field(
        default_factory=list[tuple[str, str, int, Term]]
    )

    @property
    def are_clear(self) -> bool:
        """Whether sums of the same operands have one name."""
        kinds = [kind for _, kind, _, _ in self.known]
        return len({name for name, *_ in self.known}) == len(set(kinds))

    def formula(self, formula: Formula, inside: bool) -> Formula:
        """Return a formula with names for the sums inside its functions."""
        terms = [self._term(term, inside) for term in formula]
        return add(*((t,) for t in terms)) if inside else tuple(terms)

    def _term(self, term: Term, inside: bool) -> Term:
        atoms = tuple(map(self._atom, term.atoms))
        short = _unwrapped(replace(term, atoms=atoms))
        return self._named(short) if inside and short.over and not short.atoms else short

    def _atom(self, atom: Atom) -> Atom:
        if atom.name == MAXIMA:
            families = (self._term(t, False) for f in atom.arguments for t in f)
            return Atom(atom.name, (alike(tuple(families)),))
        return Atom(atom.name, tuple(self.formula(f, True) for f in atom.arguments))

    def _named(self, term: Term) -> Term:
        """Return a sum as an element of its name."""
        bound = {b.name for b in term.over}
        texts = [t for b in term.over for t in (b.low, b.high)]
        if any(word not in self.sizes for t in texts for word in _words(t)):
            return term
        if any(bound & guard.names for guard in term.guards):
            return term
        free, summed, coordinates = list[Place](), list[Place](), list[str]()
        limits = list[str]()
        for place in sorted(term.places, key=lambda p: p.operand):
            if not any(bound & set(_words(text)) for text in place.at):
                free.append(place)
                continue
            at: list[str] = []
            for mode, text in enumerate(place.at):
                inner, outer = _parted(text, bound)
                if bound & set(_words(outer)) or {*_words(inner)} - bound - {*self.sizes}:
                    return term
                if inner == "0" or _words(outer):
                    coordinates.append(outer)
                    known = inner == "0" and place.operand in self.extents
                    limits.append(self.extents[place.operand][mode] if known else "")
                    outer = f"a_{len(coordinates)}"
                at.append(f"{inner} + {outer}")
            summed.append(replace(place, at=tuple(at)))
        definition = Term(1.0, tuple(summed), (), term.over)
        name = self._name(definition, len(coordinates))
        self.extents.setdefault(name, tuple(limits))
        places = (*free, Place(name, tuple(coordinates)))
        return Term(term.scale, places, (), (), term.guards)

    def _name(self, definition: Term, count: int) -> str:
        kind = "·".join(place.operand for place in definition.places)
        formals = _formals(count)
        for name, other, number, earlier in self.known:
            if other == kind and number == count and self._same(formals, definition, earlier):
                return name
        number = sum(1 for _, other, _, _ in self.known if other == kind)
        name = f"{SUM_OF}{kind}" + (f" ({number + 1})" if number else "")
        self.known.append((name, kind, count, definition))
        return name

    def _same(self, formals: tuple[str, ...], one: Term, other: Term) -> bool:
        if one == other:
            return True
        key = ("same", current(), self.sizes, formals, one, other)
        return remembered(key, lambda: self._is_equal(formals, one, other))

    def _is_equal(self, formals: tuple[str, ...], one: Term, other: Term) -> bool:
        sizes = tuple(name for name in self.sizes if name != MADE)  # tables are of no region
        positive = " and ".join(f"{size} >= 1" for size in sizes)
        points = Region.where((*sizes, *formals), positive)
        try:
            return self.equal(points, (one,), (other,))
        except UndecidableError:
            return False


def _unwrapped(term: Term) -> Term:
    """Return a term without a function that only keeps a product together."""
    if len(term.atoms) != 1 or term.places or term.atoms[0].name != WHOLE:
        return term
    (inner,) = term.atoms[0].arguments
    if len(inner) != 1 or inner[0].over or inner[0].guards or inner[0].atoms:
        return term
    if any(place.at and not abbreviates(place.operand) for place in inner[0].places):
        return term  # outside of an operand it is not taken for zero
    return replace(term, scale=term.scale * inner[0].scale, places=inner[0].places, atoms=())


def _parted(text: str, bound: set[str]) -> tuple[str, str]:
    """Part the summands of an index into those with variables of the sum and the others."""
    inner, outer = list[str](), list[str]()
    for part in _summands(text):
        (inner if bound & set(_words(part)) else outer).append(part)
    return " + ".join(inner) or "0", " + ".join(p for p in outer if p != "0") or "0"


def _summands(text: str) -> list[str]:
    parts, depth, start = list[str](), 0, 0
    for i, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth and text.startswith(" + ", i):
            parts.append(text[start:i])
            start = i + 3
    return [*parts, text[start:]]


def _words(text: str) -> list[str]:
    return [w for w in re.findall(r"[A-Za-z_]\w*", text) if w not in ("floor", "mod")]


# ------------------------------------------------------------ evaluating

PRODUCT, PLACE, DRAWN = 20, 20, 300
"""Units for a product, for each element and function of it, and for an input that is new."""
MOST = 200_000
"""Products that are summed before a question is given up."""

Extents = Mapping[str, tuple[str, ...]]
Value: TypeAlias = "float | NDArray[np.float64]"
"""A number, or one for each of several choices of inputs, evaluated side by side."""

Inputs = Callable[[str, tuple[int, ...]], Value]
Sizes = Mapping[str, int]
Number = Callable[[Mapping[str, int]], float]
TABLE = "_table_"


def differ(
    actual: Formula,
    wanted: Formula,
    point: Mapping[str, int],
    extents: Extents,
    seeds: range = range(16),
) -> bool:
    """Tell whether two formulas have different values at a point, for some inputs that are tried.

    Raises `UndecidableError` where the sums are too long to try.
    """

    def inputs(name: str, at: tuple[int, ...]) -> Value:
        return remembered((name, at, seeds), lambda: _input(name, at, seeds))

    left, right = (value_with(f, point, extents, inputs) for f in (actual, wanted))
    with np.errstate(all="ignore"):
        most = np.maximum(1e-9 * np.maximum(np.abs(left), np.abs(right)), 1e-12)
        near = np.isfinite(most) & (np.abs(left - right) <= most)
        return not np.all((left == right) | near)


class _Values:
    def __init__(
        self, extents: Extents, inputs: Inputs, sums: Mapping[str, Definition], sizes: Sizes
    ) -> None:
        self.extents, self.inputs, self.left = extents, inputs, MOST
        self.sums, self.sizes = sums, sizes
        self.sum_at: dict[tuple[str, tuple[int, ...]], Value] = {}
        self.mentioned: dict[int, tuple[int, tuple[str, ...]]] = {}
        self.numbers: dict[Atom, int] = {}
        self.known: dict[tuple[int | None, ...], Value] = {}

    def formula(self, formula: Formula, names: Mapping[str, int]) -> Value:
        return sum((self.term(term, names) for term in formula), 0.0)

    def term(self, term: Term, names: Mapping[str, int]) -> Value:
        return sum(self.products(term, names), 0.0)

    def products(self, term: Term, names: Mapping[str, int]) -> Iterator[Value]:
        for inner in self.spans(term, 0, dict(names)):
            self.left -= 1
            charge(PRODUCT)
            if self.left < 0:
                raise undecided("a sum is too long to be tried")
            if not all(_holds(guard, inner) for guard in term.guards):
                continue
            value: Value = term.scale
            charge(PLACE * (len(term.guards) + len(term.places) + len(term.atoms)))
            for place in term.places:
                value = value * self.element(
                    place.operand, tuple(_number(t, inner) for t in place.at), inner
                )
            for atom in term.atoms:
                value = value * self.atom(atom, inner)
            yield value

    def spans(self, term: Term, depth: int, names: dict[str, int]) -> Iterator[dict[str, int]]:
        if depth == len(term.over):
            yield names
            return
        bound = term.over[depth]
        for number in range(_number(bound.low, names), _number(bound.high, names)):
            yield from self.spans(term, depth + 1, {**names, bound.name: number})

    def element(self, operand: str, at: tuple[int, ...], names: Mapping[str, int]) -> Value:
        if abbreviates(operand):
            return self.named_sum(operand, at)
        limits = (_number(text, names) for text in self.extents[operand])
        if not all(0 <= i < n for i, n in zip(at, limits, strict=True)):
            return 0.0
        return self.inputs(operand, at)

    def named_sum(self, name: str, at: tuple[int, ...]) -> Value:
        """Evaluate a sum that many terms share once for all of them."""
        if (name, at) not in self.sum_at:
            formals, term = self.sums[name]
            inner = {**self.sizes, **dict(zip(formals, at, strict=True))}
            self.sum_at[name, at] = self.term(term, inner)
        return self.sum_at[name, at]

    def atom(self, atom: Atom, names: Mapping[str, int]) -> Value:
        """Evaluate a function once for all trips of a sum on which it does not depend."""
        if id(atom) not in self.mentioned:
            number = self.numbers.setdefault(atom, len(self.numbers))
            self.mentioned[id(atom)] = number, tuple(sorted(mentioned(atom)))
        number, inside = self.mentioned[id(atom)]
        key = (number, *map(names.get, inside))
        if key not in self.known:
            self.known[key] = self.called(atom, names)
        return self.known[key]

    def called(self, atom: Atom, names: Mapping[str, int]) -> Value:
        if atom.name == MAXIMA:  # what is minus infinity is left out of it
            values = (v for term in atom.arguments[0] for v in self.products(term, names))
            return reduce(np.maximum, values, -math.inf)
        return _meaning(atom.name)(
            *(np.float64(1) * self.formula(f, names) for f in atom.arguments)
        )


def value_with(
    formula: Formula, point: Mapping[str, int], extents: Extents, inputs: Inputs
) -> Value:
    """Return the value of a formula at a point, for given elements of its operands.

    Raises `UndecidableError` where a sum is too long to try.
    """
    sizes = {name: value for name, value in point.items() if name.startswith(("S_", MADE))}
    names = tuple(sizes)
    short, sums = remembered((defined, formula, names), lambda: defined(formula, names))
    with np.errstate(all="ignore"):
        return _Values(extents, inputs, sums, sizes).formula(short, point)


def _input(operand: str, at: tuple[int, ...], seeds: range) -> NDArray[np.float64]:
    """An input that depends on its place: any sign, around 1, 10 or, seldom, 10000."""
    charge(DRAWN)
    place = [*(ord(letter) for letter in operand), *(index & 0xFFFFFFFF for index in at)]
    drawn = (
        np.random.default_rng([seed, *place]).normal() * (1, 10, 1, 10, 1e4)[seed % 5]
        for seed in seeds
    )
    return np.array(list(drawn))


def _meaning(name: str) -> Callable[..., Value]:
    kind, _, numeric = name.rpartition(" ")
    if kind in ("to", "accumulated in", "summed in"):
        return partial(_rounded, numeric)
    if kind.removesuffix(" in") in FUNCTIONS:
        return partial(_computed, kind.removesuffix(" in"), numeric)
    if kind == "lowest bits of":
        return partial(_wrapped, numeric)
    if name == BESIDE:
        raise undecided(f"{name} is asked for", "store and load inside rows")
    if name == WHOLE:
        return np.positive
    if name == UNNAMED:
        return _none
    if name == "1/":
        return partial(np.divide, 1.0)
    if name in FUNCTIONS:
        return partial(FUNCTIONS[name].meaning, np)
    return lambda *_: math.nan  # what was never written equals nothing, itself included


def _none(count: Value) -> Value:
    return np.where(np.equal(count, 0), 1.0, 0.0)


def _wrapped(name: str, value: Value) -> Value:
    numeric = as_numeric(name)
    low = -(1 << (numeric.bits - 1)) if numeric.kind == "signed" else 0
    return (np.rint(value) - low) % (1 << numeric.bits) + low


def _computed(function: str, name: str, *arguments: Value) -> Value:
    return _rounded(name, FUNCTIONS[function].meaning(np, *arguments))


def _rounded(name: str, value: Value) -> Value:
    return convert(np.atleast_1d(value), name).astype(np.float64).reshape(np.shape(value))


_SIGNS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.Div: lambda x, y: x / y,
}
_COMPARE: Mapping[Sign, Callable[[int, int], bool]] = {
    "<": operator.lt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


def _holds(guard: Guard, names: Mapping[str, int]) -> bool:
    return _COMPARE[guard.sign](_number(guard.left, names), _number(guard.right, names))


def _number(text: str, names: Mapping[str, int]) -> int:
    return int(_compiled(text)(names))


@lru_cache(maxsize=65536)
def _compiled(text: str) -> Number:
    form = text.replace(" mod ", " % ").replace(MADE, TABLE)
    return _evaluator(ast.parse(form, mode="eval").body)


def _evaluator(node: ast.expr) -> Number:
    """Return what an index comes to, as a function of its names."""
    match node:
        case ast.Constant(value) if isinstance(value, int):
            return lambda _: value
        case ast.Name(name):
            return operator.itemgetter(name)
        case ast.BinOp(left, sign, right) if type(sign) in _SIGNS:
            return _both(_SIGNS[type(sign)], left, right)
        case ast.UnaryOp(ast.USub(), inner):
            return _both(operator.sub, ast.Constant(0), inner)
        case ast.Call(ast.Name(name), arguments, []) if name.startswith(TABLE):
            at, table = tuple(map(_evaluator, arguments)), int(name.removeprefix(TABLE))
            return lambda names: element_at(
                names.get(MADE), table, tuple(int(f(names)) for f in at)
            )
        case ast.Call(ast.Name("floor"), [inner], []):
            below = _evaluator(inner)
            return lambda names: math.floor(below(names))
        case _:
            form = type(node).__name__
            raise undecided("an index has an unknown form", form=form)


def _both(sign: Callable[[float, float], float], left: ast.expr, right: ast.expr) -> Number:
    one, other = _evaluator(left), _evaluator(right)
    return lambda names: sign(one(names), other(names))
