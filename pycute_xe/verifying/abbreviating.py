"""Floor 9: sums of products inside functions, named: elements of something with coordinates.

``exp2(sum(d, Q[m,d]·K[n,d]))`` is ``exp2`` of an element of "sum of Q·K" at (m, n). Two sums have
one name where they are equal whatever their coordinates are, which is asked once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pycute_xe.errors import UndecidableError
from pycute_xe.verifying.formula import (
    MAXIMA,
    SUM_OF,
    WHOLE,
    Atom,
    Formula,
    Place,
    Term,
    abbreviates,
    add,
    alike,
)
from pycute_xe.verifying.regions import Region

__all__ = ["Definition", "defined", "shortened"]

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
    names = _Names(_never, sizes, {})
    short = names.formula(formula, inside=False)
    return short, {name: (_formals(count), term) for name, _, count, term in names.known}


def _never(_: Region, _one: Formula, _other: Formula) -> bool:
    return False


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
        if any(bound & set(_words(guard)) for guard in term.guards):
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
                if bound & set(_words(outer)):
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
        positive = " and ".join(f"{size} >= 1" for size in self.sizes)
        points = Region.where((*self.sizes, *formals), positive)
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
