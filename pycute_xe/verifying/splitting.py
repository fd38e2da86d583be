"""Floor 9: sums of functions that a program splits and a claim does not: groups, and the last one.

Which parts there are, and that each element is in one of them, is told by the elements that stand
beside the functions; the functions are compared where these are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from pycute_xe.verifying.differences import Difference
from pycute_xe.verifying.formula import Atom, Term, substituted
from pycute_xe.verifying.matching import coordinate_names, coordinates, links, orders, picked
from pycute_xe.verifying.regions import Names, Region

__all__ = ["split"]

Domain: TypeAlias = Callable[[Region, Term, tuple[str, ...], Names], Region]
Atoms: TypeAlias = Callable[[Region, tuple[Atom, ...], tuple[Atom, ...], Region], Difference | None]


def split(
    points: Region, parts: list[Term], whole: Term, domain: Domain, atoms: Atoms
) -> Difference | bool | None:
    """Return where a function of a part differs from the claimed one; None where none does.

    False where the elements beside the functions do not tell which summand of the claim a summand
    of a part is: nothing can be said then. What the parts are together is judged elsewhere.
    """
    names = coordinate_names(whole)
    if not names:
        return False
    claimed = substituted(whole, {b.name: f"w_{b.name}" for b in whole.over})
    link = links(names, coordinates(claimed))
    yours = domain(points, claimed, link, names)
    if not yours.decides((*points.names, *names)):
        return False
    for part in parts:
        places, order = next(orders(part, claimed))
        mine = replace(
            part,
            places=tuple(part.places[i] for i in places),
            atoms=picked(part.atoms, order),
        )
        here = domain(points, mine, links(names, coordinates(mine)), names)
        both = (*points.names, *(b.name for b in (*mine.over, *claimed.over)))
        joint = here.to((*both, *names)) & yours.to((*both, *names))
        found = atoms(joint.to(both), mine.atoms, claimed.atoms, points)
        if found is not None:
            return found
    return None
