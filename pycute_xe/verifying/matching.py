"""Which parts of two formulas stand for each other, and terms as constraints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import permutations, product
from typing import TypeVar

from pycute_xe.kernel.spec.functions import ZERO_OF_ZEROS
from pycute_xe.numeric import as_numeric, numerics
from pycute_xe.verifying.arguments import arguments_for, by_links, looks_up_by
from pycute_xe.verifying.formula import (
    Atom,
    Bounds,
    Formula,
    Term,
    abbreviates,
    element,
    signature,
)
from pycute_xe.verifying.guards import Guard
from pycute_xe.verifying.least import is_nothing
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Names, Region, conjunction

__all__ = [
    "are_alike",
    "coordinate_names",
    "coordinates",
    "coordinates_of",
    "grouped",
    "inside",
    "is_untold",
    "links",
    "mentions",
    "orders",
    "parted",
    "picked",
    "spans",
    "term_words",
    "by_arguments",
    "witnesses",
    "Extents",
    "Ranges",
    "Difference",
    "joined",
    "judged",
    "more",
    "repeats",
    "spread",
]

T = TypeVar("T")

MOST_ORDERS = 24
"""Orders of like factors that are tried."""


KEEP_ZERO = frozenset(f"to {name}" for name in numerics() if not as_numeric(name).row.positive)
"""Functions of which zero is zero: conversions to every type that has one."""


def inside(term: Term, extents: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the constraints outside which a term is zero: its elements lie inside their operands.

    Conversions and some functions are zero where all that they are taken of is.
    """
    out: list[str] = []
    for place in term.places:
        if abbreviates(place.operand):
            continue
        limits = extents[place.operand]
        out += [f"0 <= {t} < {n}" for t, n in zip(place.at, limits, strict=True)]
    for atom in term.atoms:
        out += _around(atom, extents)
    # What a sum looks up is told by its arguments: the same ones lie inside, or outside.
    own = frozenset(b.name for b in term.over)
    return tuple(text for text in out if not looks_up_by(text, own))


def _around(atom: Atom, extents: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the constraints outside which a function is zero: those that all its terms have."""
    if atom.name not in KEEP_ZERO | ZERO_OF_ZEROS:
        return []
    guards: list[list[Guard]] = []
    every: list[list[str]] = []
    for term in (t for f in atom.arguments for t in f):
        bound = {b.name for b in term.over}
        guards.append([guard for guard in term.guards if not bound & guard.names])
        texts = [*inside(term, extents), *_named(term, extents)]
        every.append([text for text in texts if not mentions(text, term.over)])
    return [*(guard.text for guard in _in_all(guards)), *_in_all(every)]


def _in_all(lists: list[list[T]]) -> list[T]:
    """Return what every list has, in the order of the first."""
    return [one for one in lists[0] if all(one in other for other in lists)] if lists else []


def _named(term: Term, extents: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield the constraints outside which sums that have names are zero."""
    for place in term.places:
        if abbreviates(place.operand):
            limits = zip(place.at, extents.get(place.operand, ()), strict=False)
            yield from (f"0 <= {t} < {n}" for t, n in limits if n)


def grouped(formula: Formula) -> dict[str, list[Term]]:
    """Return terms by what they are made of."""
    out: dict[str, list[Term]] = {}
    for term in formula:
        out.setdefault(term.signature, []).append(term)
    return out


def term_words(term: Term) -> str:
    """Return what a term is made of, in words."""
    parts = [place.operand for place in term.places] + [atom.name for atom in term.atoms]
    scale = "" if term.scale == 1 else f"{term.scale:g}·"
    return scale + "·".join(parts) if parts else f"{term.scale:g}"


def orders(x: Term, y: Term) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield which of x's factors stand for y's, in every way that fits."""
    places = matchings([p.operand for p in x.places], [p.operand for p in y.places])
    keys = [[f"{a.name}{[signature(f) for f in a.arguments]}" for a in t.atoms] for t in (x, y)]
    yield from product(places, matchings(*keys))


def matchings(ours: list[str], theirs: list[str]) -> list[tuple[int, ...]]:
    kinds = sorted(set(ours))
    mine = {kind: [i for i, o in enumerate(ours) if o == kind] for kind in kinds}
    out: list[tuple[int, ...]] = []
    for orders in product(*(permutations(mine[kind]) for kind in kinds)):
        left = {kind: list(order) for kind, order in zip(kinds, orders, strict=True)}
        out.append(tuple(left[kind].pop(0) for kind in theirs))
        if len(out) >= MOST_ORDERS:
            break
    return out


def picked(atoms: tuple[Atom, ...], order: tuple[int, ...]) -> tuple[Atom, ...]:
    """Return atoms in another order."""
    return tuple(atoms[i] for i in order)


def coordinates(term: Term) -> list[str]:
    """Return every coordinate of a term's elements."""
    return [text for place in term.places for text in place.at]


def coordinate_names(texts: list[str]) -> Names:
    """Return names for coordinates."""
    return tuple(f"e_{i}" for i in range(len(texts)))


def parted(x: Term, y: Term) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Part the pairs of coordinates: those without variables of the sums, and the others, once."""
    pairs = list(dict.fromkeys(zip(coordinates(x), coordinates(y), strict=True)))
    plain = [p for p in pairs if not mentions(p[0], x.over) and not mentions(p[1], y.over)]
    bound = [p for p in pairs if p not in plain]
    return [p for p in plain if p[0] != p[1]], bound


def by_arguments(pairs: list[tuple[str, str]], x: Term, y: Term) -> list[tuple[str, str]]:
    """Return pairs of coordinates with arguments in the place of what sums look up.

    Where all of them are the same, so are the coordinates.
    """
    bounds = [frozenset(b.name for b in term.over) for term in (x, y)]
    out: list[tuple[str, str]] = []
    for pair in pairs:
        apart = any(map(looks_up_by, pair, bounds)) and arguments_for(pair, bounds)
        out += [(one, other) for one, other in apart] if apart else [pair]
    return list(dict.fromkeys(out))


def is_untold(pairs: list[tuple[str, str]], x: Term, y: Term) -> bool:
    """Whether sums look elements up in different ways: nothing tells that they are the same."""
    bounds = [frozenset(b.name for b in term.over) for term in (x, y)]
    return any(any(map(looks_up_by, pair, bounds)) for pair in pairs)


def coordinates_of(terms: list[Term]) -> list[list[str]]:
    """Return the coordinates of terms, with arguments in the place of what sums look up.

    Raises `UndecidableError` where they look it up in different ways.
    """
    bounds = [frozenset(b.name for b in term.over) for term in terms]
    out: list[list[str]] = [[] for _ in terms]
    for each in zip(*map(coordinates, terms), strict=True):
        apart = [each]
        if any(map(looks_up_by, each, bounds)):
            apart = arguments_for(each, bounds)
        if apart is None:
            raise undecided("sums look elements up in different ways", "claim them alike")
        for texts in apart:
            for one, text in zip(out, texts, strict=True):
                one.append(text)
    return out


def witnesses(
    ours: tuple[Atom, ...], theirs: tuple[Atom, ...], inner: tuple[Bounds, ...]
) -> list[tuple[str, str]]:
    """Pair the places inside atoms that do not depend on sums inside: they tell which is which.

    Any pairing will do: what is paired is compared afterwards.
    """
    out: list[tuple[str, str]] = []
    for mine, yours in zip(ours, theirs, strict=True):
        for f, g in zip(mine.arguments, yours.arguments, strict=True):
            terms = (sorted(h, key=lambda t: t.signature) for h in (f, g))
            for x, y in zip(*terms, strict=False):
                if x.signature != y.signature:
                    continue
                hidden = (*inner, *x.over, *y.over)
                places = (sorted(t.places, key=lambda p: p.operand) for t in (x, y))
                pairs = (
                    c for p, q in zip(*places, strict=True) for c in zip(p.at, q.at, strict=True)
                )
                out += [c for c in pairs if not any(mentions(t, hidden) for t in c)]
                out += witnesses(x.atoms, y.atoms, hidden)
    return list(dict.fromkeys(out))


def mentions(text: str, over: tuple[Bounds, ...]) -> bool:
    """Whether an index depends on a variable of a sum."""
    return bool(set(re.findall(r"[A-Za-z_]\w*", text)) & {b.name for b in over})


def spans(term: Term) -> tuple[str, ...]:
    """Return the ranges of a term's variables as constraints."""
    return tuple(f"{b.low} <= {b.name} < {b.high}" for b in term.over)


def links(names: Names, texts: list[str]) -> tuple[Guard, ...]:
    """Return names set equal to texts."""
    return tuple(Guard(n, "=", t) for n, t in zip(names, texts, strict=True))


def are_alike(ours: tuple[Guard, ...], theirs: tuple[Guard, ...]) -> bool:
    """Whether conditions are the same, however their indices are written.

    >>> are_alike((Guard("(v_t) + 1", "<", "4"),), (Guard("v_t + 1", "<", "4"),))
    True
    """
    return ours == theirs or {x.canonical for x in ours} == {x.canonical for x in theirs}


# ------------------------------------------------------------ ranges
# Where a term is not zero, and where it is taken from outside an operand.

Extents = Mapping[str, tuple[str, ...]]


class Ranges:
    """The ranges of terms, given the extents of operands as texts."""

    def __init__(self, extents: Extents) -> None:
        self.extents = extents

    def beyond(self, points: Region, *terms: Term) -> Difference | None:
        """A maximum takes zeros from outside an operand for elements.

        They change nothing where no element is negative and one at least lies inside.
        """
        for term in terms:
            everything = self.range(points, term)
            within = everything.within(conjunction(inside(term, self.extents)))
            where = everything - within
            if not is_nothing(where) and element(term).low >= 0:
                where = where.to(points.names) - within.to(points.names)
            if not is_nothing(where):
                words = f"{term_words(term)} is zero outside, which counts"
                return Difference(where.to(points.names), "outside", words, term)
        return None

    def range(self, points: Region, term: Term) -> Region:
        """Return the points and the values of a term's variables, be it zero there or not."""
        region = spread(points, tuple(b.name for b in term.over))
        return region.within(conjunction(spans(term), term.guards))

    def domain(
        self, points: Region, term: Term, links: tuple[Guard, ...], more: Names = ()
    ) -> Region:
        """Return the points and the values of a term's variables at which it is not zero.

        What is looked up by a variable is looked up by the name that a link has for it, if one has.
        """
        own = tuple(b.name for b in term.over)
        names = (*own, *more)
        named = {link.left: link.right for link in links}
        guards = (g.with_sides(partial(by_links, links=named, own=own)) for g in term.guards)
        texts = (*spans(term), *guards, *inside(term, self.extents), *links)
        region = spread(points, names) if names else points
        return region.within(conjunction(texts)) if texts else region


# ------------------------------------------------------------ differences
# Where two formulas differ, and how: points, a kind, and words.


@dataclass(frozen=True, eq=False)
class Difference:
    """Points at which two formulas differ, and how: a kind, words, and the term in question.

    ``filled`` are inputs that show it, where they are one number everywhere.
    """

    points: Region
    kind: str
    words: str
    term: Term | None = None
    filled: tuple[tuple[str, float], ...] = ()


def judged(
    points: Region, mine: Region, yours: Region, repeated: Region | None, term: Term
) -> Difference | None:
    """Compare the elements that are summed with those that should be."""
    differences: list[Difference] = []
    for kind, left, right, words in (
        ("missing", yours, mine, "is not summed"),
        ("foreign", mine, yours, "is summed and should not be"),
    ):
        rest = left - right
        if not is_nothing(rest):
            differences.append(
                Difference(rest.to(points.names), kind, f"{term_words(term)} {words}", term)
            )
    if repeated is not None:
        differences.append(
            Difference(repeated, "repeated", f"{term_words(term)} is summed more than once", term)
        )
    return joined(differences)


def joined(differences: list[Difference]) -> Difference | None:
    """Join differences; the words are those of the first."""
    if not differences:
        return None
    points = differences[0].points
    for other in differences[1:]:
        points = points | other.points
    return Difference(points, differences[0].kind, differences[0].words, differences[0].term)


def spread(points: Region, names: Names) -> Region:
    """Return points with every value of further names."""
    return points.to((*points.names, *names))


def repeats(full: Region, points: Region, names: Names) -> Region:
    """Return the points at which something is taken more than once."""
    return full.repeats((*points.names, *names)).to(points.names)


def more(old: Region | None, new: Region) -> Region:
    """Return both regions, where there are two."""
    return new if old is None else old | new
