"""Floor 9: sets of integer points with named coordinates; the only module that names islpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

__all__ = ["Names", "Region"]

Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Region:
    """A set of integer points whose coordinates have names, decided exactly by isl.

    A map is a region too: the coordinates of its graph. Constraints are isl text: affine in the
    names, with constant multiples, ``mod`` and ``floor``.

    >>> small = Region.where(("x", "y"), "0 <= x and 0 <= y and x + y < 4")
    >>> small.least(), small.within("x > y").least()
    ({'x': 0, 'y': 0}, {'x': 1, 'y': 0})
    """

    names: Names
    points: isl.Set

    @classmethod
    def where(cls, names: Names, constraints: str) -> Region:
        """Return the points that satisfy constraints."""
        return cls(names, isl.Set(f"{{ [{','.join(names)}] : {constraints or 'true'} }}"))

    @classmethod
    def nothing(cls, names: Names) -> Region:
        """Return the empty set of points."""
        return cls.where(names, "false")

    def to(self, names: Names, constraints: str = "") -> Region:
        """Return the points over other names that some point of this region is linked to.

        Names on both sides are equal; ``constraints`` link the rest. Names that are left out are
        projected away.

        >>> Region.where(("x",), "0 <= x < 3").to(("y",), "y = 2*x + 1").least()
        {'y': 1}
        """
        old, new = ",".join(self.names), ",".join(names)
        link = isl.Map(f"{{ [{old}] -> [{new}] : {constraints or 'true'} }}")
        return Region(names, self.points.apply(link))

    def within(self, constraints: str) -> Region:
        """Return the points that satisfy constraints too."""
        return self & Region.where(self.names, constraints)

    def __and__(self, other: Region) -> Region:
        """Return the common points of two regions over the same names."""
        return Region(self.names, self.points.intersect(other.points))

    def __or__(self, other: Region) -> Region:
        """Return the points of either of two regions over the same names."""
        return Region(self.names, self.points.union(other.points))

    def __sub__(self, other: Region) -> Region:
        """Return the points that are not in another region over the same names.

        >>> box = Region.where(("x",), "0 <= x < 4")
        >>> (box - Region.where(("x",), "exists (d : x = 2*d)")).least()
        {'x': 1}
        """
        return Region(self.names, self.points.subtract(other.points))

    @property
    def is_empty(self) -> bool:
        """Whether there is no point at all."""
        return self.points.is_empty()

    def least(self, order: Sequence[str] = ()) -> dict[str, int] | None:
        """Return the lexicographically least point, ``None`` when there is none.

        ``order`` names the coordinates that count, first things first; the others follow.
        """
        rest = tuple(name for name in self.names if name not in order)
        region = self.to((*order, *rest)) if order else self
        if region.is_empty:
            return None
        point = region.points.lexmin().sample_point()
        return {
            name: point.get_coordinate_val(isl.dim_type.set, i).to_python()
            for i, name in enumerate(region.names)
        }

    def _split(self, domain: Names) -> tuple[Names, isl.Map]:
        """Return the region as a map from some of its coordinates to the others."""
        codomain = tuple(name for name in self.names if name not in domain)
        names, inside = ",".join(self.names), ",".join(domain)
        graph = isl.Map(f"{{ [{names}] -> [[{inside}] -> [{','.join(codomain)}]] }}")
        return codomain, self.points.apply(graph).unwrap()

    def decides(self, domain: Names) -> bool:
        """Tell whether some coordinates fix all others: whether a map is single valued.

        >>> pairs = Region.where(("x", "y"), "0 <= x < 4 and y = 2*x")
        >>> pairs.decides(("y",)), pairs.to(("x", "z"), "0 <= z < 2").decides(("x",))
        (True, False)
        """
        return self._split(domain)[1].is_single_valued()

    def first(self, domain: Names) -> Region:
        """Keep the lexicographically first of the other coordinates for each ``domain``."""
        codomain, graph = self._split(domain)
        return Region((*domain, *codomain), graph.lexmin().wrap().flatten()).to(self.names)

    def last(self, domain: Names) -> Region:
        """Keep the lexicographically last of the other coordinates for each ``domain``.

        >>> pairs = Region.where(("x", "y"), "0 <= x < 4 and x <= y <= 7")
        >>> pairs.last(("x",)).least()
        {'x': 0, 'y': 7}
        """
        codomain, graph = self._split(domain)
        return Region((*domain, *codomain), graph.lexmax().wrap().flatten()).to(self.names)
