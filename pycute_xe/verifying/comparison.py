"""Whether two formulas are equal at all points of a region, and where they first differ.

Terms are matched by what they are made of; that each sum runs over the same elements, each once,
is a question about sets of integers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import islice, permutations
from math import inf, isfinite
from typing import TypeAlias

from pycute_xe.errors import UndecidableError
from pycute_xe.verifying.blame import smallest_difference
from pycute_xe.verifying.evaluation import shortened
from pycute_xe.verifying.formula import (
    MAXIMA,
    WHOLE,
    Atom,
    Formula,
    Term,
    assuming,
    conditions_of,
    depends_on,
    element,
    substituted,
)
from pycute_xe.verifying.guards import Guard
from pycute_xe.verifying.least import is_nothing
from pycute_xe.verifying.lookups import canonical, has_lookups
from pycute_xe.verifying.matching import (
    MOST_ORDERS,
    Difference,
    Extents,
    Ranges,
    are_alike,
    by_arguments,
    coordinate_names,
    coordinates,
    coordinates_of,
    grouped,
    is_untold,
    joined,
    judged,
    links,
    mentions,
    more,
    orders,
    parted,
    picked,
    repeats,
    term_words,
    witnesses,
)
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Names, Region

__all__ = ["compare"]

# ------------------------------------------------------------ splitting
# Sums and maxima of functions that a program splits and a claim does not.
#
# Which parts there are, and that each element is in one of them, is told by the places beside and
# inside the functions; the functions are compared where these are the same.

Domain: TypeAlias = Callable[[Region, Term, tuple[Guard, ...], Names], Region]
Atoms: TypeAlias = Callable[[Region, tuple[Atom, ...], tuple[Atom, ...], Region], Difference | None]


def split(
    points: Region,
    parts: list[Term],
    wholes: list[Term],
    as_set: bool,
    domain: Domain,
    atoms: Atoms,
) -> Difference | None:
    """Return where parts together differ from what is claimed, one sum; None where they do not.

    Raises `UndecidableError` where the places beside and inside the functions do not tell which
    summand of the claim a summand of a part is.
    """
    if len(wholes) != 1:
        raise _untold()
    (whole,) = wholes
    claimed = substituted(whole, {b.name: f"w_{b.name}" for b in whole.over})
    mine = [_in_order(part, claimed) for part in parts]
    pairs = [_pairs(part, claimed) for part in mine]
    keys = tuple(b for b in pairs[0] if all(b in pair for pair in pairs))
    if not keys:
        raise _untold()
    names = tuple(f"e_{i}" for i in range(len(keys)))
    by = (*points.names, *names)
    yours = domain(points, claimed, links(names, [*keys]), names)
    if not as_set and not yours.decides(by):
        raise _untold()
    whole_of_mine: Region | None = None
    twice: Region | None = None
    for part, pair in zip(mine, pairs, strict=True):
        here = domain(points, part, links(names, [pair[key] for key in keys]), names)
        both = (*points.names, *(b.name for b in (*part.over, *claimed.over)))
        joint = (here.to((*both, *names)) & yours.to((*both, *names))).to(both)
        difference = _elsewhere(joint, part, claimed, points) or atoms(
            joint, part.atoms, claimed.atoms, points
        )
        if difference is not None:
            return difference
        taken = here.to(by)
        if not as_set and not here.decides(by):
            twice = more(twice, repeats(here, points, names))
        if not as_set and whole_of_mine is not None and not is_nothing(whole_of_mine & taken):
            twice = more(twice, (whole_of_mine & taken).to(points.names))
        whole_of_mine = more(whole_of_mine, taken)
    return judged(points, whole_of_mine or Region.nothing(by), yours.to(by), twice, parts[0])


def _untold() -> UndecidableError:
    return undecided("sums of functions are split differently", "claim them alike")


def _in_order(part: Term, claimed: Term) -> Term:
    places, order = next(orders(part, claimed))
    return replace(
        part,
        places=tuple(part.places[i] for i in places),
        atoms=picked(part.atoms, order),
    )


def _pairs(part: Term, claimed: Term) -> dict[str, str]:
    """Return places of the claim that depend on its sums, and those of a part in their stead."""
    mapped = [*zip(coordinates(claimed), coordinates(part), strict=True)]
    mapped += [(b, a) for a, b in witnesses(part.atoms, claimed.atoms, ())]
    mapped = by_arguments(mapped, claimed, part)
    return {b: a for b, a in reversed(mapped) if mentions(b, claimed.over)}


def _elsewhere(joint: Region, part: Term, claimed: Term, points: Region) -> Difference | None:
    """Return where a part takes other elements than the claim, beside its functions."""
    both = zip(coordinates(part), coordinates(claimed), strict=True)
    differ = dict.fromkeys(f"{a} != {b}" for a, b in both if a != b)
    wrong = joint.within(" or ".join(differ)) if differ else None
    if wrong is None or is_nothing(wrong):
        return None
    return Difference(
        wrong.to(points.names), "elements", f"{term_words(part)} is taken elsewhere", part
    )


# ------------------------------------------------------------ floors
# Numbers among the elements of a maximum that another element reaches at every point.
#
# A running maximum that begins at the least number of its type, or one of squares that begins at
# zero, is the maximum of its elements: where there are any.


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


# ------------------------------------------------------------ comparing

CASES = 5
"""Conditions by whose cases formulas are compared."""


def compare(
    points: Region, actual: Formula, wanted: Formula, extents: Extents, least: float = -inf
) -> Difference | None:
    """Return where two formulas differ; None where they are equal at every point.

    ``extents`` gives the extents of each operand as texts: an element outside is zero. ``least`` is
    a number below which no value lies.
    Raises `UndecidableError` where the terms cannot be matched.
    """
    known = dict(extents)
    actual, wanted = _where_known(points, actual, wanted)
    comparison = _Comparison(known, points)
    bare = Floors(known, least)
    both = bare.without(points, actual), bare.without(points, wanted)
    actual, wanted = shortened(points, both, comparison.are_equal, known)
    conditions = conditions_of((actual, wanted), points.names)
    if not 0 < len(conditions) <= CASES:
        return comparison.formulas(points, actual, wanted, as_set=False)
    try:
        if comparison.formulas(points, actual, wanted, as_set=False) is None:
            return None
    except UndecidableError:
        pass  # by cases it may be decided
    return comparison.cases(points, actual, wanted, conditions)


def _where_known(points: Region, actual: Formula, wanted: Formula) -> tuple[Formula, Formula]:
    """Return formulas without the conditions on tables that are so, or are not, at all points."""
    ours, theirs = (set(conditions_of((f,), points.names)) for f in (actual, wanted))
    for condition in sorted(ours ^ theirs, key=lambda guard: guard.text):
        if not any(map(has_lookups, condition.sides)):
            continue
        always = points.within(condition.contrary).is_empty
        if always or points.within(condition).is_empty:
            actual, wanted = (assuming(f, condition, always) for f in (actual, wanted))
    return actual, wanted


class _Comparison(Ranges):
    """A comparison at the points of a region, and of parts of it."""

    def __init__(self, extents: Extents, points: Region) -> None:
        super().__init__(extents)
        self.whole = points
        self.known: dict[tuple[Atom, Atom], bool] = {}

    def are_equal(self, points: Region, one: Formula, other: Formula) -> bool:
        return self.formulas(points, one, other, as_set=False) is None

    def cases(
        self, points: Region, actual: Formula, wanted: Formula, conditions: tuple[Guard, ...]
    ) -> Difference | None:
        """Compare where a condition holds, and where it does not: terms may cancel there."""
        if points.is_empty:
            return None
        if not conditions:
            return self.formulas(points, actual, wanted, as_set=False)
        condition, *rest = conditions
        there = points.within(condition)
        differences: list[Difference] = []
        for where, holds in ((there, True), (points - there, False)):
            ours, theirs = (assuming(f, condition, holds) for f in (actual, wanted))
            difference = self.cases(where, ours, theirs, tuple(rest))
            if difference is not None:
                differences.append(difference)
        return joined(differences)

    def formulas(
        self, points: Region, actual: Formula, wanted: Formula, as_set: bool
    ) -> Difference | None:
        if points.is_empty:
            return None
        ours, theirs = grouped(actual), grouped(wanted)
        differences: list[Difference] = []
        for key in {**ours, **theirs}:
            mine, yours = ours.get(key, []), theirs.get(key, [])
            if mine and yours:
                difference = self.groups(points, mine, yours, as_set)
            else:
                difference = self.one_sided(points, (actual, wanted), mine, yours, as_set)
            if difference is not None:
                differences.append(difference)
        return joined(differences)

    def one_sided(
        self,
        points: Region,
        formulas: tuple[Formula, Formula],
        mine: list[Term],
        yours: list[Term],
        as_set: bool,
    ) -> Difference | None:
        """A term that only one side has is zero, or a difference; zeros count in a maximum."""
        for term in mine or yours:
            where = self.range(points, term) if as_set else self.domain(points, term, ())
            if not is_nothing(where):
                words = str(smallest_difference(*formulas))
                kind = "foreign" if mine else "missing"
                return Difference(where.to(points.names), kind, words, term)
        return None

    def groups(
        self, points: Region, ours: list[Term], theirs: list[Term], as_set: bool
    ) -> Difference | None:
        """Compare sums of terms that are made of the same things."""
        first: Difference | None = None
        if len(ours) == len(theirs):
            for number, order in enumerate(permutations(theirs)):
                if number >= MOST_ORDERS:
                    break
                each = [self.terms(points, x, y, as_set) for x, y in zip(ours, order, strict=True)]
                differences = [d for d in each if d is not None]
                if not differences:
                    return None
                first = first or joined(differences)
            if len(ours) == 1:
                return first
        return self.united(points, ours, theirs, as_set, first)

    def united(
        self,
        points: Region,
        ours: list[Term],
        theirs: list[Term],
        as_set: bool,
        first: Difference | None,
    ) -> Difference | None:
        """Compare sums that are split into different numbers of terms, as sets of elements."""
        if as_set:
            outside = self.beyond(points, *ours, *theirs)
            if outside is not None:
                return outside
        if any(t.atoms for t in (*ours, *theirs)):
            try:
                return split(points, ours, theirs, as_set, self.domain, self.atoms)
            except UndecidableError:  # what they are functions of is not compared
                if first is not None:
                    return first
                raise
        every = coordinates_of([*ours, *theirs])
        mine, repeated = self.elements(points, ours, every[: len(ours)])
        yours, doubled = self.elements(points, theirs, every[len(ours) :])
        if doubled is not None:
            raise undecided("the specification sums an element twice", "collect its terms")
        return judged(points, mine, yours, None if as_set else repeated, ours[0])

    def elements(
        self, points: Region, terms: list[Term], coordinates: list[list[str]]
    ) -> tuple[Region, Region | None]:
        """Return the elements that terms take at each point, and the points that take one twice."""
        names = coordinate_names(coordinates[0])
        whole: Region | None = None
        twice: Region | None = None
        for term, texts in zip(terms, coordinates, strict=True):
            full = self.domain(points, term, links(names, texts), names)
            taken = full.to((*points.names, *names))
            if not full.decides((*points.names, *names)):
                twice = more(twice, repeats(full, points, names))
            if whole is not None:
                both = whole & taken
                if not is_nothing(both):
                    twice = more(twice, both.to(points.names))
            whole = taken if whole is None else whole | taken
        return (whole if whole is not None else Region.nothing((*points.names, *names))), twice

    def terms(self, points: Region, x: Term, y: Term, as_set: bool) -> Difference | None:
        """Compare two terms made of the same things, in every order that fits."""
        y = substituted(y, {b.name: f"w_{b.name}" for b in y.over})
        first: Difference | None = None
        for number, (places, atoms) in enumerate(orders(x, y)):
            if number >= MOST_ORDERS:
                raise undecided("its factors fit in too many orders", term=term_words(x))
            mine = replace(
                x, places=tuple(x.places[i] for i in places), atoms=picked(x.atoms, atoms)
            )
            difference = self.aligned(points, mine, y, as_set)
            if difference is None or self.alike(points, mine, y):
                return None
            first = first or difference
        return first

    def alike(self, points: Region, x: Term, y: Term) -> bool:
        """Whether sums of functions, in one order, have the same summands at the same values."""
        if not x.atoms or not x.over:
            return False
        for order in islice(permutations(x.over), MOST_ORDERS if len(x.over) == len(y.over) else 0):
            other = substituted(y, {b.name: a.name for a, b in zip(order, y.over, strict=True)})
            mine, yours = self.range(points, x), self.range(points, other)
            if not (mine - yours).is_empty or not (yours - mine).is_empty:
                continue
            summands = (replace(term, over=(), guards=()) for term in (x, other))
            with suppress(UndecidableError):
                if self.at_points(mine, *summands) is None:
                    return True
        return False

    def aligned(self, points: Region, x: Term, y: Term, as_set: bool) -> Difference | None:
        """Compare two terms factor by factor."""
        if as_set:
            outside = self.beyond(points, x, y)
            if outside is not None:
                return outside
        if not x.over and not y.over and are_alike(x.guards, y.guards):
            inside = points.within(*x.guards) if x.guards else points
            return self.at_points(inside, x, y)
        plain, bound = parted(x, y)
        bound += [pair for pair in witnesses(x.atoms, y.atoms, ()) if pair not in bound]
        bound = by_arguments(bound, x, y)
        if is_untold(bound, x, y):
            return Difference(points, "elements", f"{term_words(x)} is looked up elsewhere", x)
        if plain:
            differ = " or ".join(f"{a} != {b}" for a, b in plain)
            wrong = points.within(differ)
            if not is_nothing(wrong):
                active = self.domain(wrong, x, ()).to(wrong.names)
                active = active | self.domain(wrong, y, ()).to(wrong.names)
                if not is_nothing(active):
                    return Difference(active, "elements", f"{term_words(x)} is taken elsewhere", x)
        names = tuple(f"e_{i}" for i in range(len(bound)))
        mine = self.domain(points, x, links(names, [a for a, _ in bound]), names)
        yours = self.domain(points, y, links(names, [b for _, b in bound]), names)
        by = (*points.names, *names)
        repeated = None if as_set or mine.decides(by) else repeats(mine, points, names)
        if not as_set and not yours.decides(by):
            raise undecided("the specification sums an element twice", term=term_words(y))
        difference = judged(points, mine.to(by), yours.to(by), repeated, x)
        if difference is not None or not x.atoms:
            return difference
        both = (*points.names, *(b.name for b in x.over), *(b.name for b in y.over))
        joint = mine.to((*both, *names)) & yours.to((*both, *names))
        return self.atoms(joint.to(both), x.atoms, y.atoms, points)

    def at_points(self, points: Region, x: Term, y: Term) -> Difference | None:
        """Compare two terms without sums: the same elements at every point."""
        pairs = list(zip(coordinates(x), coordinates(y), strict=True))
        differ = [f"{a} != {b}" for a, b in pairs if canonical(a) != canonical(b)]
        if differ:
            wrong = points.within(" or ".join(differ))
            if not is_nothing(wrong):
                active = self.domain(wrong, x, ()) | self.domain(wrong, y, ())
                if not is_nothing(active):
                    return Difference(active, "elements", f"{term_words(x)} is taken elsewhere", x)
        return self.atoms(points, x.atoms, y.atoms, points)

    def atoms(
        self, joint: Region, ours: tuple[Atom, ...], theirs: tuple[Atom, ...], points: Region
    ) -> Difference | None:
        for mine, yours in zip(ours, theirs, strict=True):
            if self.are_the_same(mine, yours):
                continue
            as_set = mine.name == MAXIMA
            for a, b in zip(mine.arguments, yours.arguments, strict=True):
                difference = self.formulas(joint, a, b, as_set)
                if difference is not None:
                    where = difference.points.to(points.names)
                    return Difference(where, difference.kind, difference.words, difference.term)
        return None

    def are_the_same(self, mine: Atom, yours: Atom) -> bool:
        """Whether functions of a point, sums left out, are equal at every point: asked once."""
        if not (depends_on(mine) | depends_on(yours)) <= {*self.whole.names}:
            return False
        if (mine, yours) not in self.known:
            self.known[mine, yours] = False  # as long as it is not shown
            extreme = mine.name == MAXIMA
            pairs = list(zip(mine.arguments, yours.arguments, strict=True))
            with suppress(UndecidableError):
                differences = (self.formulas(self.whole, a, b, extreme) for a, b in pairs)
                self.known[mine, yours] = all(difference is None for difference in differences)
        return self.known[mine, yours]
