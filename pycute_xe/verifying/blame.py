"""The smallest part in which two formulas differ, in words.

Two formulas are taken apart as long as they are made of the same things: the part that is named is
the first in which they are not. `bf16(gelu(x))` and `bf16(silu(x))` differ in gelu and silu, not in
the conversion.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

from pycute_xe.kernel.spec.functions import FUNCTIONS
from pycute_xe.verifying.formula import SUM_OF, Atom, Formula, Term, abbreviates, signature
from pycute_xe.verifying.laws import applied
from pycute_xe.verifying.matching import grouped, term_words

__all__ = ["Blame", "smallest_difference"]


@dataclass(frozen=True, slots=True)
class Blame:
    """What a kernel does and its specification does not; either may be empty.

    ``how`` says what is done with it: a part is computed, a function applied, a summand added.
    """

    computed: str
    specified: str
    how: Literal["computes", "applies", "adds"] = "computes"

    def __str__(self) -> str:
        """Return a clause; empty where both are made of the same things."""
        if self.computed == self.specified:
            return ""
        if not self.specified:
            return f"the kernel {self.how} {self.computed}, the specification does not"
        if not self.computed:
            return f"the specification {self.how} {self.specified}, the kernel does not"
        return f"the kernel {self.how} {self.computed}, the specification {self.specified}"


def smallest_difference(actual: Formula, wanted: Formula) -> Blame:
    """Return the smallest parts in which two formulas differ, which differ in what they are of."""
    ours, theirs = _unmatched(actual, wanted), _unmatched(wanted, actual)
    if not ours or not theirs:
        how = "adds" if actual and wanted else "computes"
        return Blame(_words(ours), _words(theirs), how)
    enclosing = _wrapped(ours, theirs) or _wrapped(theirs, ours)
    if enclosing is not None:
        name, inside = enclosing
        return Blame(name, "", "applies") if inside == ours else Blame("", name, "applies")
    pair = _only_pair(ours, theirs)
    if pair is not None and pair[0].name == pair[1].name:
        arguments = [*zip(pair[0].arguments, pair[1].arguments, strict=False)]
        differing = [(a, b) for a, b in arguments if signature(a) != signature(b)]
        if len(differing) == 1 and len(pair[0].arguments) == len(pair[1].arguments):
            return smallest_difference(*differing[0])
    return Blame(_words(ours), _words(theirs))


def _unmatched(formula: Formula, other: Formula) -> Formula:
    """Return the terms that the other formula has none like."""
    theirs = grouped(other)
    return tuple(t for key, terms in grouped(formula).items() if key not in theirs for t in terms)


def _wrapped(outer: Formula, inner: Formula) -> tuple[str, Formula] | None:
    """Return the function that one formula is of the other, and the formula that it is."""
    if len(outer) != 1 or len(outer[0].atoms) != 1 or outer[0].places:
        return None
    (atom,) = outer[0].atoms
    bare = {signature((replace(t, scale=abs(t.scale)),)) for t in inner}
    if any(
        {signature((replace(t, scale=abs(t.scale)),)) for t in f} == bare for f in atom.arguments
    ):
        return _words(outer), outer
    return None


def _only_pair(ours: Formula, theirs: Formula) -> tuple[Atom, Atom] | None:
    """Return the only functions in which two products differ; None where more differs."""
    if len(ours) != 1 or len(theirs) != 1 or ours[0].scale != theirs[0].scale:
        return None
    left, right = (Counter(_factor_keys(term)) for term in (ours[0], theirs[0]))
    mine, yours = left - right, right - left
    if sum(mine.values()) != 1 or sum(yours.values()) != 1:
        return None
    atoms = (
        _atom_of(term, next(iter(keys))) for term, keys in ((ours[0], mine), (theirs[0], yours))
    )
    one, other = atoms
    return None if one is None or other is None else (one, other)


def _factor_keys(term: Term) -> list[str]:
    places = [place.operand for place in term.places]
    return places + [signature((Term(1.0, (), (atom,)),)) for atom in term.atoms]


def _made_of(term: Term) -> Counter[str]:
    """Return the factors of a term, those of abbreviated sums one by one."""
    out: Counter[str] = Counter()
    for key in _factor_keys(term):
        out.update(key.removeprefix(SUM_OF).split("·") if abbreviates(key) else [key])
    return out


def _atom_of(term: Term, key: str) -> Atom | None:
    return next((a for a in term.atoms if signature((Term(1.0, (), (a,)),)) == key), None)


def _words(formula: Formula) -> str:
    """Return what the terms of a formula are made of."""
    return " + ".join(dict.fromkeys(_named(term) for term in formula)).replace(" + -", " - ")


def _named(term: Term) -> str:
    """Return the name of the function that a term is by a row; else what it is made of."""
    scale = "" if term.scale == 1 else f"{term.scale:g}·"
    for atom in term.atoms:
        for row in FUNCTIONS.values():
            if row.of is None or row.arity != 1:
                continue
            for argument in atom.arguments:
                again = applied(row.name, (argument,))
                if len(again) == 1 and again[0].scale == 1 and _made_of(again[0]) == _made_of(term):
                    return scale + row.name
    if len(term.atoms) == 1 and not term.places:
        kind, _, numeric = term.atoms[0].name.rpartition(" ")
        noun = {"to": "a conversion to", "accumulated in": "a sum accumulated in"}.get(kind)
        if noun is not None:
            return f"{scale}{noun} {numeric}"
    return term_words(term)
