"""Floor 9: where two formulas differ, and how: points, a kind, and words."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.verifying.formula import (
    Term,
)
from pycute_xe.verifying.matching import (
    told,
)
from pycute_xe.verifying.regions import Names, Region

__all__ = ["Difference", "joined", "judged", "more", "repeats", "spread"]


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
    found: list[Difference] = []
    for kind, left, right, words in (
        ("missing", yours, mine, "is not summed"),
        ("foreign", mine, yours, "is summed and should not be"),
    ):
        rest = left - right
        if not rest.is_empty:
            found.append(Difference(rest.to(points.names), kind, f"{told(term)} {words}", term))
    if repeated is not None:
        found.append(
            Difference(repeated, "repeated", f"{told(term)} is summed more than once", term)
        )
    return joined(found)


def joined(found: list[Difference]) -> Difference | None:
    """Join differences; the words are those of the first."""
    if not found:
        return None
    points = found[0].points
    for other in found[1:]:
        points = points | other.points
    return Difference(points, found[0].kind, found[0].words, found[0].term)


def spread(points: Region, names: Names) -> Region:
    """Return points with every value of further names."""
    return points.to((*points.names, *names))


def repeats(full: Region, points: Region, names: Names) -> Region:
    """Return the points at which something is taken more than once."""
    return full.repeats((*points.names, *names)).to(points.names)


def more(old: Region | None, new: Region) -> Region:
    """Return both regions, where there are two."""
    return new if old is None else old | new
