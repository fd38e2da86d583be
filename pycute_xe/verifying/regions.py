"""Floor 9: sets of integer points with named coordinates, decided by isl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import islpy as isl

from pycute_xe.verifying.calls import asked, read, session

__all__ = ["Names", "Region", "session"]

Names = tuple[str, ...]


def _is_before(one: dict[str, int], other: dict[str, int], end: str) -> bool:
    ours, theirs = (*one.values(),), (*other.values(),)
    return ours < theirs if end == "lexmin" else ours > theirs


def _quotients(piece: isl.BasicSet) -> int:
    return piece.dim(isl.dim_type.div)


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
        text = f"{{ [{','.join(names)}] : {constraints or 'true'} }}"
        return cls(names, read(isl.Set, text))

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
        link = read(isl.Map, f"{{ [{old}] -> [{new}] : {constraints or 'true'} }}")
        return Region(names, asked("apply", self.points, link))

    def within(self, constraints: str) -> Region:
        """Return the points that satisfy constraints too."""
        return self & Region.where(self.names, constraints)

    def __and__(self, other: Region) -> Region:
        """Return the common points of two regions over the same names."""
        return Region(self.names, asked("intersect", self.points, other.points))

    def __or__(self, other: Region) -> Region:
        """Return the points of either of two regions over the same names."""
        return Region(self.names, asked("union", self.points, other.points))

    def __sub__(self, other: Region) -> Region:
        """Return the points that are not in another region over the same names.

        >>> box = Region.where(("x",), "0 <= x < 4")
        >>> (box - Region.where(("x",), "exists (d : x = 2*d)")).least()
        {'x': 1}
        """
        return Region(self.names, asked("subtract", self.points, other.points))

    @property
    def divisions(self) -> int:
        """How many quotients its description needs, over all its convex pieces."""
        pieces = asked("coalesce", self.points).get_basic_sets()
        return sum(map(_quotients, pieces))

    @property
    def is_empty(self) -> bool:
        """Whether there is no point at all."""
        return asked("is_empty", self.points)

    @property
    def is_bounded(self) -> bool:
        """Whether there are only finitely many points.

        >>> Region.where(("x",), "0 <= x").is_bounded, Region.where(("x",), "0 <= x < 9").is_bounded
        (False, True)
        """
        return asked("is_bounded", self.points)

    def told(self, given: Region, without: str = "") -> str:
        """Return the constraints beyond those given as text, a piece of all names left out.

        >>> even = Region.where(("x",), "x >= 1 and x mod 2 = 0")
        >>> even.told(Region.where(("x",), "x >= 1"))
        '(x) mod 2 = 0'
        """
        simple = asked("coalesce", asked("gist", self.points, given.points))
        text = str(simple).partition(":")[2].rpartition("}")[0].strip()
        return text.replace(without, "") if without else text

    def least(self, order: Names = ()) -> dict[str, int] | None:
        """Return the lexicographically least point, ``None`` of an empty region.

        ``order`` names the coordinates that count, first things first; the others follow.
        """
        return self._ordered(order)._end("lexmin", ">=")

    def greatest(self, order: Names = ()) -> dict[str, int] | None:
        """Return the lexicographically greatest point, as `least`."""
        return self._ordered(order)._end("lexmax", "<=")

    def _end(self, end: Literal["lexmin", "lexmax"], sign: str) -> dict[str, int] | None:
        """Return the first or the last point; what is behind the best of a piece is left out.

        Piece by piece: isl compares the pieces' first points for minutes where there are many.
        """
        best: dict[str, int] | None = None
        for piece in sorted(self.points.get_basic_sets(), key=_quotients):
            rest = Region(self.names, isl.Set(piece))
            if best is not None:
                rest = rest.within(f"{best[self.names[0]]} {sign} {self.names[0]}")
            point = None if rest.is_empty else rest._point(asked(end, rest.points))
            if point is not None and (best is None or _is_before(point, best, end)):
                best = point
        return best

    def _ordered(self, order: Names) -> Region:
        return self.to((*order, *(n for n in self.names if n not in order))) if order else self

    def _point(self, single: isl.Set) -> dict[str, int]:
        point = asked("sample_point", single)
        values = (point.get_coordinate_val(isl.dim_type.set, i) for i in range(len(self.names)))
        return {name: int(v.to_python()) for name, v in zip(self.names, values, strict=True)}

    def _split(self, domain: Names) -> tuple[Names, isl.Map]:
        """Return the region as a map from some of its coordinates to the others."""
        codomain = tuple(name for name in self.names if name not in domain)
        names, inside = ",".join(self.names), ",".join(domain)
        text = f"{{ [{names}] -> [[{inside}] -> [{','.join(codomain)}]] }}"
        return codomain, asked("apply", self.points, read(isl.Map, text)).unwrap()

    def decides(self, domain: Names) -> bool:
        """Tell whether some coordinates fix all others: whether a map is single valued.

        >>> pairs = Region.where(("x", "y"), "0 <= x < 4 and y = 2*x")
        >>> pairs.decides(("y",)), pairs.to(("x", "z"), "0 <= z < 2").decides(("x",))
        (True, False)
        """
        return asked("is_single_valued", self._split(domain)[1])

    def repeats(self, by: Names, within: str = "true") -> Region:
        """Return the points that share some coordinates with an earlier point.

        Earlier means lexicographically, in the other coordinates; the earlier point's have an
        ``x`` after their names. ``within`` is a constraint on all points.

        >>> pairs = Region.where(("x", "y"), "0 <= y < 4 and y <= 2*x <= y + 1")
        >>> pairs.repeats(("x",)).least()
        {'x': 1, 'y': 2, 'yx': 1}
        """
        others = tuple(name for name in self.names if name not in by)
        names = (*by, *others, *(f"{name}x" for name in others))
        points = self.within(within)
        same = " and ".join(f"{name}x = {name}" for name in others)
        earlier = points.to((*by, *(f"{name}x" for name in others)), same)
        before = " or ".join(
            " and ".join([*(f"{n}x = {n}" for n in others[:i]), f"{name}x < {name}"])
            for i, name in enumerate(others)
        )
        return (points.to(names) & earlier.to(names)).within(before)
