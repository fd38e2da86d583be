"""Sums and products of integers whose lowest bits are kept: arithmetic modulo a power of two.

What keeps the lowest bits of a sum or a product may take its parts before their own were kept.
Nothing of the kind holds of a maximum, a conversion or a comparison.
"""

from __future__ import annotations

from pycute_xe.holding.adding import LOWEST_BITS
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.verifying.formula import Atom, Bounds, Formula, Term, add, substituted
from pycute_xe.verifying.refusing import undecided

__all__ = ["without_lowest_bits"]

MOST_TERMS = 64
EXACT = 2.0**53
"""Multiples beyond are not exact here."""


def without_lowest_bits(to: Numeric, formula: Formula) -> Formula:
    """Return a sum of products of integers that is the same modulo the numbers of a type.

    Factors that are lowest bits of at least as many bits are what these are taken of; multiples
    are reduced. Raises `UndecidableError` for too many terms and for multiples that are not exact.

    >>> from pycute_xe.verifying.formula import Place, call
    >>> s32, x = as_numeric("s32"), (Term(1.0, (Place("A", ("0",)),)),)
    >>> doubled = call("lowest bits of s32", add(x, x))
    >>> without_lowest_bits(s32, doubled) == add(x, x)
    True
    """
    terms: list[Term] = []
    waiting = list(formula)
    while waiting:
        term = waiting.pop()
        parts = _expanded(to, term)
        if parts is None:
            terms.append(_reduced(to, term))
        else:
            waiting += parts
        if len(terms) + len(waiting) > MOST_TERMS:
            raise undecided("sums of lowest bits have too many terms", "specify them in parts")
    return tuple(_reduced(to, term) for term in add(*((t,) for t in terms)) if _scale(to, term))


def _expanded(to: Numeric, term: Term) -> list[Term] | None:
    """Return the products of a term with what one factor has the lowest bits of."""
    for number, atom in enumerate(term.atoms):
        if not atom.name.startswith(LOWEST_BITS):
            continue
        kept = as_numeric(atom.name.removeprefix(LOWEST_BITS))
        (inner,) = atom.arguments
        if kept.bits < to.bits or not all(t.scale.is_integer() for t in inner):
            continue
        rest = (*term.atoms[:number], *term.atoms[number + 1 :])
        return [_times(term, rest, part) for part in inner]
    return None


def _times(term: Term, atoms: tuple[Atom, ...], part: Term) -> Term:
    """Return a term with a summand in the place of a factor; variables of its sums are new."""
    first = len(term.over)
    own = substituted(part, {b.name: f"z{first + i}" for i, b in enumerate(part.over)})
    over: tuple[Bounds, ...] = (*term.over, *own.over)
    guards = tuple(dict.fromkeys((*term.guards, *own.guards)))
    scale = term.scale * own.scale
    return Term(scale, (*term.places, *own.places), (*atoms, *own.atoms), over, guards)


def _scale(to: Numeric, term: Term) -> float:
    if abs(term.scale) >= EXACT:
        raise undecided("a multiple is too large to be exact", "specify smaller ones")
    size = 1 << to.bits
    rest = int(term.scale) % size
    return float(rest - size if rest > size // 2 else rest)


def _reduced(to: Numeric, term: Term) -> Term:
    return Term(_scale(to, term), term.places, term.atoms, term.over, term.guards)
