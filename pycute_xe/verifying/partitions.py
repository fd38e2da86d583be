"""Tables that rise share rows out: each row has one owner.

``starts`` rises from 0 to the number of rows; row ``t`` belongs to the one ``b`` with
``starts[b] <= t < starts[b+1]``. That there is one lets coverage name the writer of a row; that
there is no other turns a claim's sum over all ``b`` into the summand of the owner.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pycute_xe.kernel.index import Index, Looked
from pycute_xe.kernel.spec.tables import Law
from pycute_xe.verifying.arguments import looks_up_by
from pycute_xe.verifying.formula import Atom, Bounds, Formula, Term, add, substituted
from pycute_xe.verifying.guards import Guard
from pycute_xe.verifying.lookups import (
    Tables,
    as_index,
    current,
    is_lookup,
    table_name,
    text_of,
    variables_of,
)
from pycute_xe.verifying.matching import spans, spread
from pycute_xe.verifying.regions import Region, conjunction

__all__ = ["Owner", "collapsed", "owners"]

# ------------------------------------------------------------ sums over owners


def collapsed(points: Region, formula: Formula) -> Formula:
    """Return a formula whose sums over owners are the summand of the one there is at a point."""
    if not any(map(is_lookup, points.names)):
        return formula
    return add(*((_term(points, term),) for term in formula))


def _term(points: Region, term: Term) -> Term:
    for one in term.over:
        own = frozenset({one.name})
        if any(looks_up_by(side, own) for guard in term.guards for side in guard.sides):
            owner = _owner(points, term, one)
            if owner is not None:
                return _term(points, owner)
    if not term.atoms:
        return term
    inside = spread(points, tuple(b.name for b in term.over)) if term.over else points
    return replace(term, atoms=tuple(_atom(inside, atom) for atom in term.atoms))


def _atom(points: Region, atom: Atom) -> Atom:
    return replace(atom, arguments=tuple(collapsed(points, f) for f in atom.arguments))


def _owner(points: Region, term: Term, one: Bounds) -> Term | None:
    """Return a term with the only value of a variable that its guards allow; None if not known."""
    mine = tuple(g for g in term.guards if one.name in g.names)
    others = tuple(b for b in term.over if b is not one)
    if any(b.name in variables_of(one.low) | variables_of(one.high) for b in others):
        return None
    mine = tuple(g for g in mine if not any(b.name in g.names for b in others))
    every = spread(points, (one.name,))
    for value in _candidates(points, mine, one.name):
        text = text_of(value)
        apart = Guard(one.name, "!=", text)
        if not every.within(
            conjunction(spans(replace(term, over=(one,))), mine, (apart,))
        ).is_empty:
            continue
        named = {one.name: f"({text})"}
        rest = replace(term, over=others, guards=tuple(g for g in term.guards if g not in mine))
        kept = substituted(Term(1.0, guards=(*mine, *_inside(one))), named).guards
        wrong = points - points.within(conjunction(kept))
        collapsed = substituted(rest, named)
        return (
            collapsed if wrong.is_empty else replace(collapsed, guards=(*collapsed.guards, *kept))
        )
    return None


def _inside(one: Bounds) -> tuple[Guard, Guard]:
    return Guard(one.name, ">=", one.low), Guard(one.name, "<", one.high)


def _candidates(points: Region, guards: tuple[Guard, ...], name: str) -> list[Index]:
    """Return values at which a lookup of the guards is one that the points know."""
    out: dict[Index, None] = {}
    tables = current()
    known = [tables.by_name[lookup] for lookup in points.lookups]
    for looked in _looked(guards):
        for place, at in enumerate(looked.at):
            if dict(at.terms).get(name) != 1:
                continue
            for one in known:
                if table_name(one.table) == looked.operand:
                    given = as_index(one.arguments[place])
                    out |= {} if given is None else {given - (at - Index(name)): None}
    return [value for value in out if name not in value.names]


def _looked(guards: tuple[Guard, ...]) -> list[Looked]:
    sides = (side for guard in guards if guard.less is not None for side in guard.sides)
    indices = (as_index(side) for side in sides)
    return [x for index in indices if index is not None for x in index.looked_up]


# ------------------------------------------------------------ owners of rows


def _tables_in(law: Law) -> set[str]:
    return {one.operand for one in law.looked}


@dataclass(frozen=True)
class Owner:
    """A variable that tells whose rows those of a mode of an output are, and what is so of it."""

    variable: str
    constraints: tuple[str, ...]


def owners(
    tables: Tables, targets: tuple[str, ...], names: tuple[str, ...], extents: tuple[str, ...]
) -> tuple[Owner, ...]:
    """Return the owners that the places of a store name, for elements at ``names``."""
    out: list[Owner] = []
    for target, name, extent in zip(targets, names, extents, strict=True):
        index = as_index(target)
        for looked in index.looked_up if index is not None else ():
            number = int(looked.operand[1:])
            if tables.shared.get(number) != extent or not str(looked.at[0]).isidentifier():
                continue
            mine = (law for law in tables.laws if looked.operand in _tables_in(law))
            tables.used.update(*(law.source for law in mine))
            var = str(looked.at[0])
            begins, ends = (f"{looked.operand}({var} + {i})" for i in (0, 1))
            (count,) = tables.extents[number]
            constraints = (f"0 <= {var} < {count} - 1", f"{begins} <= {name} < {ends}")
            out.append(Owner(var, constraints))
    return tuple(out)
