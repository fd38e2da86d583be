"""Claims that scatter, at the points of a store: which element of the claim is stored where.

A claim says ``D[slots[t], h] = K[t, h]``. A store to ``D[slots[v], p]`` is for ``t = v`` and
``h = p``: what is looked up is told by its arguments, the rest by the place. That no other element
of the claim names that place is asked, and follows where slots differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations, product

from pycute_xe.holding.contents import Write
from pycute_xe.kernel.index import Index, Looked, Quotient
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.numeric import Numeric
from pycute_xe.verifying.arguments import replaced
from pycute_xe.verifying.formula import (
    UNNAMED,
    Bounds,
    Formula,
    Place,
    Term,
    add,
    call,
    multiply,
    number,
    summed,
)
from pycute_xe.verifying.guards import Guard, renamed
from pycute_xe.verifying.lookups import as_index, text_of
from pycute_xe.verifying.points import Naming, Space, View
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.translation import claimed

__all__ = ["Named", "covered", "solved"]


@dataclass(frozen=True)
class Named:
    """A scatter in the names of formulas: variables with their extents, and the places it names."""

    claim: Scatter
    naming: Naming
    numeric: Numeric
    names: tuple[str, ...]
    extents: tuple[str, ...]
    at: tuple[str, ...]
    when: tuple[Guard, ...]

    @classmethod
    def of(cls, space: Space, claim: Scatter) -> Named:
        """Return a claim with variables that no formula of a kernel has."""
        own = {name: f"c_{number}" for number, name in enumerate(claim.variables)}
        extents = tuple(space.naming.text(extent, own) for _, extent in claim.over)
        at = tuple(space.naming.text(index, own) for index in claim.at)
        numeric = space.kernel.operand(claim.output).value_type
        when = tuple(
            Guard(space.naming.text(one, own), "<", space.naming.text(other, own))
            for one, other in claim.when
        )
        return cls(claim, space.naming, numeric, tuple(own.values()), extents, at, when)

    @property
    def spans(self) -> tuple[str, ...]:
        """How far its variables run."""
        spans = (f"0 <= {n} < {e}" for n, e in zip(self.names, self.extents, strict=True))
        return (*spans, *(guard.text for guard in self.when))

    def value(self, places: dict[str, str]) -> Formula:
        """Return what is claimed where its variables are texts."""
        names = {v: f"({places[n]})" for v, n in zip(self.claim.variables, self.names, strict=True)}
        return claimed(self.claim.value, self.naming, names, self.numeric)

    # ------------------------------------------------------------------ what is to be written

    def everything(self, space: Space) -> Region:
        """Return the elements of the claim: sizes and variables at which it names a place."""
        limits = space.extents(self.claim.output)
        inside = (f"0 <= {at} < {n}" for at, n in zip(self.at, limits, strict=True))
        texts = [*space.sizes, *self.spans, *inside]
        return Region.where((*space.naming.sizes, *self.names), _all(texts))

    def written(self, space: Space, write: Write, view: View) -> Region:
        """Return elements that a store is for, each by arguments of what is looked up.

        Elements of one table are the same where their arguments are: it is enough to look at those.
        """
        return covered(space, write, view, self.at, self.names).within(_all([*self.spans]))

    # ------------------------------------------------------------------ what a store is for

    def element(self, targets: Names) -> dict[str, str] | None:
        """Return the element of the claim that a store is for, as texts; None if that is unclear.

        It is one that may name the place: whether it does is asked.
        """
        known: dict[str, Index] = {}
        pairs = [(_index(at), _index(target)) for at, target in zip(self.at, targets, strict=True)]
        looked = [p for t, a in zip(targets, self.at, strict=True) for p in _paired(t, a)]
        arguments = [p for mine, yours in looked for p in zip(yours.at, mine.at, strict=True)]
        parted = [p for at, target in (*arguments, *pairs) for p in _parted_alike(at, target)]
        for _ in self.names:
            for at, target in (*arguments, *pairs, *parted):
                rest = at.substitute(known)
                known |= solved(rest, target, {*self.names} & rest.names)
        if known.keys() != {*self.names}:
            return None
        return {name: text_of(index) for name, index in known.items()}

    def holds(self, targets: Names, element: dict[str, str]) -> tuple[str, ...]:
        """Return the conditions under which an element of the claim names a place."""
        return tuple(_put(text, element) for text in (*self.spans, *self.links(targets)))

    def links(self, targets: Names) -> tuple[str, ...]:
        """Return that the place is one that the claim names.

        A quotient and its remainder are equal to others where the number that they part is.
        """
        at, places = list(map(as_index, self.at)), list(map(as_index, targets))
        out = [f"({at}) = ({t})" for at, t in zip(self.at, targets, strict=True)]
        for i, j in permutations(range(len(at)), 2):
            whole, by = _parted(at[i], at[j])
            one, other = places[i], places[j]
            if by and one is not None and other is not None:
                mine = one * by + other
                both = f"({text_of(whole)}) = ({text_of(mine)})"
                out[i] = both if one == mine // by else f"{out[i]} and {both}"
                out[j] = both if other == mine % by else out[j]
        return tuple(dict.fromkeys(out))

    def there(self, points: Region, targets: Names, element: dict[str, str] | None) -> Region:
        """Return the points of stores whose place an element of the claim names."""
        return points.within("false" if element is None else _all([*self.holds(targets, element)]))

    def others(self, points: Region, targets: Names, element: dict[str, str] | None) -> Region:
        """Return the points of stores with other elements of the claim that name their place."""
        every = points.to((*points.names, *self.names))
        texts = [*self.spans, *self.links(targets)]
        if element is not None:
            texts.append(" or ".join(f"{n} != {text}" for n, text in element.items()))
        return every.within(_all(texts))

    def whole(self, targets: Names, actual: Formula, keeps: bool) -> Formula:
        """Return what is claimed at a place, as a sum over all elements that name it, or none does.

        Where none does, what lay there is kept, or whatever is stored is right.
        """
        fixed = {
            at: target for at, target in zip(self.at, targets, strict=True) if at in self.names
        }
        places = {name: fixed.get(name, name) for name in self.names}
        over = tuple(
            Bounds(name, "0", extent)
            for name, extent in zip(self.names, self.extents, strict=True)
            if name not in fixed
        )
        put = _places_of(fixed)
        guards = tuple(guard.renamed(put) for guard in self._guards(targets, fixed))
        value = tuple(replace(term, guards=(*term.guards, *guards)) for term in self.value(places))
        there = summed(over, (Term(1.0, guards=guards),))
        kept: Formula = (Term(1.0, (Place(self.claim.output, targets, self.numeric),)),)
        none = call(UNNAMED, there) if there else number(1)
        return add(summed(over, value), multiply(none, kept if keeps else actual))

    def _guards(self, targets: Names, fixed: dict[str, str]) -> tuple[Guard, ...]:
        pairs = zip(self.at, targets, strict=True)
        guards = [Guard(f"({at})", "=", f"({t})") for at, t in pairs if at not in fixed]
        for name, extent in zip(self.names, self.extents, strict=True):
            if name in fixed:
                guards += [Guard(name, ">=", "0"), Guard(name, "<", extent)]
        return (*guards, *self.when)


def covered(space: Space, write: Write, view: View, at: Names, names: Names) -> Region:
    """Return values of names at which a store writes to a place that they tell.

    What a store looks up is told by its arguments: it is enough to look at those that are the same.
    """
    links: dict[Guard, None] = {}
    same: dict[Index, str] = {}
    for target, text in zip(space.targets(write, view), at, strict=True):
        index = as_index(target)
        if index is None:
            raise undecided("a store goes to a place that is not an index", place=target)
        links[Guard(text_of(index), "=", text)] = None
        for mine, yours in _paired(target, text):
            links |= dict.fromkeys(
                Guard(text_of(a), "=", text_of(b)) for a, b in zip(mine.at, yours.at, strict=True)
            )
            same[Index.of({mine: 1}, 0)] = text_of(Index.of({yours: 1}, 0))
    own, texts = space.written_at(write, view)
    put = _variables(links)
    known = [replaced(_put(text, put), same) for text in (*texts, *(link.text for link in links))]
    known += [f"{name} = {text}" for name, text in put.items()]
    return Region.where((*own, *names), _all(known)).to((*space.naming.sizes, *names))


def _index(text: str) -> Index:
    index = as_index(text)
    return Index() if index is None else index


def _paired(target: str, at: str) -> list[tuple[Looked, Looked]]:
    """Return the lookups of a store's place beside those of the claim's, in their order."""
    mine, yours = _index(target).looked_up, _index(at).looked_up
    out: list[tuple[Looked, Looked]] = []
    for table in dict.fromkeys(x.operand for x in yours):
        sides = ([x for x in side if x.operand == table] for side in (mine, yours))
        out += zip(*sides, strict=False)
    return out


def _parted_alike(at: Index, target: Index) -> list[tuple[Index, Index]]:
    """Return the numbers of which two indices take the same quotients."""
    mine, yours = ([a for a, _ in i.terms if isinstance(a, Quotient)] for i in (at, target))
    pairs = product(mine, yours)
    return [(a.index, b.index) for a, b in pairs if a.divisor == b.divisor]


def _variables(links: dict[Guard, None]) -> dict[str, str]:
    """Return what variables of a store are where links are so, of those that one tells alone."""
    out: dict[str, str] = {}
    for link in links:
        mine, yours = map(as_index, link.sides)
        if mine is None or yours is None:
            continue
        free = {n for n in mine.names if n.startswith("v_")} - out.keys()
        out |= {name: text_of(index) for name, index in solved(mine, yours, free).items()}
    return out


def solved(mine: Index, yours: Index, free: set[str]) -> dict[str, Index]:
    """Return what the one free variable of an index is where it is another one; else nothing."""
    name = next(iter(free), "")
    scale = dict(mine.terms).get(name, 0)
    rest = mine - Index(name) * scale if scale else mine
    known = len(free) == 1 and abs(scale) == 1 and name not in rest.names | yours.names
    return {name: (yours - rest) * scale} if known else {}


def _parted(quotient: Index | None, rest: Index | None) -> tuple[Index, int]:
    """Return the number whose quotient and remainder two indices are, and by what; 0 if none is."""
    match quotient:
        case Index(terms=((Quotient(whole, by), 1),), offset=0) if rest == whole % by:
            return whole, by
        case _:
            return Index(), 0


def _put(text: str, places: dict[str, str]) -> str:
    """Return a text with texts for variables."""
    return renamed(text, _places_of(places))


def _places_of(places: dict[str, str]) -> dict[str, str]:
    return {name: f"({place})" for name, place in places.items()}


def _all(texts: list[str]) -> str:
    return " and ".join(f"({text})" for text in texts) or "true"
