"""Floor 9: numbers among the elements of a maximum that another element reaches at every point.

A running maximum that begins at the least number of its type, or one of squares that begins at
zero, is the maximum of its elements: where there are any.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from pycute_xe.verifying.formula import MAXIMA, WHOLE, Atom, Formula, Term
from pycute_xe.verifying.ranges import Extents, Ranges
from pycute_xe.verifying.regions import Region
from pycute_xe.verifying.spans import element

__all__ = ["Floors"]


class Floors(Ranges):
    """Leaves such numbers out; no value lies below ``least``."""

    def __init__(self, extents: Extents, least: float) -> None:
        super().__init__(extents)
        self.least = least

    def without(self, points: Region, formula: Formula) -> Formula:
        """Return a formula without the numbers that change none of its maxima at some points."""
        if not any(map(_has_maxima, formula)):
            return formula
        return tuple(self._term(points, term) for term in formula)

    def _term(self, points: Region, term: Term) -> Term:
        if not _has_maxima(term):
            return term
        inside = self.range(points, term)
        return replace(term, atoms=tuple(self._atom(inside, atom) for atom in term.atoms))

    def _atom(self, points: Region, atom: Atom) -> Atom:
        arguments = tuple(self.without(points, f) for f in atom.arguments)
        if atom.name != MAXIMA:
            return replace(atom, arguments=arguments)
        (families,) = arguments
        kept = list(families)
        for family in families:
            others = [other for other in kept if other is not family]
            if self._is_reached(points, family, others):
                kept = others
        return replace(atom, arguments=(tuple(kept),))

    def _is_reached(self, points: Region, floor: Term, others: list[Term]) -> bool:
        """Whether a family is one number, and one of the others has an element at or above it."""
        value = _number(floor)
        if value is None:
            return False
        there: Region | None = None
        for other in others:
            if max(element(other).low, self.least) >= value:
                there = self.range(points, floor).to(points.names) if there is None else there
                if (there - self.range(points, other).to(points.names)).is_empty:
                    return True
        return False


def _has_maxima(term: Term) -> bool:
    inner = (t for atom in term.atoms for f in atom.arguments for t in f)
    return any(atom.name == MAXIMA for atom in term.atoms) or any(map(_has_maxima, inner))


def _number(term: Term) -> float | None:
    """Return the finite number that a family is; None where it is anything else."""
    if term.atoms == (Atom(WHOLE, ((),)),) and not term.places:
        return 0.0
    return term.scale if not term.places and not term.atoms and isfinite(term.scale) else None
