"""Floor 9: sums and maxima of functions that a program splits and a claim does not.

Which parts there are, and that each element is in one of them, is told by the places beside and
inside the functions; the functions are compared where these are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from pycute_xe.errors import UndecidableError
from pycute_xe.verifying.differences import Difference, judged, more, repeats
from pycute_xe.verifying.formula import Atom, Term, substituted
from pycute_xe.verifying.matching import (
    coordinates,
    links,
    mentions,
    orders,
    picked,
    told,
    witnesses,
)
from pycute_xe.verifying.regions import Names, Region

__all__ = ["split"]

Domain: TypeAlias = Callable[[Region, Term, tuple[str, ...], Names], Region]
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
    keys = tuple(b for b in pairs[0] if all(b in found for found in pairs))
    if not keys:
        raise _untold()
    names = tuple(f"u_{i}" for i in range(len(keys)))
    by = (*points.names, *names)
    yours = domain(points, claimed, links(names, [*keys]), names)
    if not as_set and not yours.decides(by):
        raise _untold()
    whole_of_mine: Region | None = None
    twice: Region | None = None
    for part, found in zip(mine, pairs, strict=True):
        here = domain(points, part, links(names, [found[key] for key in keys]), names)
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
        if not as_set and whole_of_mine is not None and not (whole_of_mine & taken).is_empty:
            twice = more(twice, (whole_of_mine & taken).to(points.names))
        whole_of_mine = more(whole_of_mine, taken)
    return judged(points, whole_of_mine or Region.nothing(by), yours.to(by), twice, parts[0])


def _untold() -> UndecidableError:
    return UndecidableError(
        "verify", {}, "sums of functions are split differently", "claim them alike"
    )


def _in_order(part: Term, claimed: Term) -> Term:
    places, order = next(orders(part, claimed))
    return replace(
        part,
        places=tuple(part.places[i] for i in places),
        atoms=picked(part.atoms, order),
    )


def _pairs(part: Term, claimed: Term) -> dict[str, str]:
    """Return places of the claim that depend on its sums, and those of a part in their stead."""
    found = [*zip(coordinates(claimed), coordinates(part), strict=True)]
    found += [(b, a) for a, b in witnesses(part.atoms, claimed.atoms, ())]
    return {b: a for b, a in reversed(found) if mentions(b, claimed.over)}


def _elsewhere(joint: Region, part: Term, claimed: Term, points: Region) -> Difference | None:
    """Return where a part takes other elements than the claim, beside its functions."""
    both = zip(coordinates(part), coordinates(claimed), strict=True)
    differ = dict.fromkeys(f"{a} != {b}" for a, b in both if a != b)
    wrong = joint.within(" or ".join(differ)) if differ else None
    if wrong is None or wrong.is_empty:
        return None
    return Difference(wrong.to(points.names), "elements", f"{told(part)} is taken elsewhere", part)
