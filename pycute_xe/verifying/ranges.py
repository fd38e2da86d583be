"""Floor 9: where a term is not zero, and where it is taken from outside an operand."""

from __future__ import annotations

from collections.abc import Mapping

from pycute_xe.verifying.differences import Difference, spread
from pycute_xe.verifying.formula import Term
from pycute_xe.verifying.matching import conjunction, inside, spans, told
from pycute_xe.verifying.regions import Names, Region

__all__ = ["Extents", "Ranges"]

Extents = Mapping[str, tuple[str, ...]]


class Ranges:
    """The ranges of terms, given the extents of operands as texts."""

    def __init__(self, extents: Extents) -> None:
        self.extents = extents

    def beyond(self, points: Region, *terms: Term) -> Difference | None:
        """A maximum takes zeros from outside an operand for elements."""
        for term in terms:
            everything = self.range(points, term)
            where = everything - everything.within(conjunction(inside(term, self.extents)))
            if not where.is_empty:
                words = f"{told(term)} is zero outside, which counts"
                return Difference(where.to(points.names), "outside", words, term)
        return None

    def range(self, points: Region, term: Term) -> Region:
        """Return the points and the values of a term's variables, be it zero there or not."""
        region = spread(points, tuple(b.name for b in term.over))
        return region.within(conjunction(spans(term), term.guards))

    def domain(
        self, points: Region, term: Term, links: tuple[str, ...], more: Names = ()
    ) -> Region:
        """Return the points and the values of a term's variables at which it is not zero."""
        names = (*(b.name for b in term.over), *more)
        texts = (*spans(term), *term.guards, *inside(term, self.extents), *links)
        region = spread(points, names) if names else points
        return region.within(conjunction(texts)) if texts else region
