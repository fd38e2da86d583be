"""Floor 9: sets of integer points with named coordinates; the only module that names islpy."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

import islpy as isl

from pycute_xe.verifying.patience import TooHardError, in_time, time_left

__all__ = ["Names", "Region", "effort", "further", "session"]

Names = tuple[str, ...]

_context: ContextVar[isl.Context | None] = ContextVar("_context", default=None)
_most: ContextVar[int] = ContextVar("_most", default=0)

SLOWEST = 10_000
"""The steps that such a question takes in a second, where it is slowest."""
FEWEST = 5_000
"""Steps that it may take in any case."""


@contextmanager
def session() -> Generator[None]:
    """Make one account of steps for the regions of a proof; they must not be mixed with others'.

    `effort` inside counts from zero each time.
    """
    token = _context.set(isl.Context())
    try:
        yield
    finally:
        _context.reset(token)


@contextmanager
def effort(operations: int) -> Generator[None]:
    """Let isl take so many steps and no more, so that no kernel keeps a user waiting for ever.

    The default GEMM takes some hundred thousand; 0 lifts the limit. Regions of one `session` share
    its account. Raises `TooHardError` where isl gives up.

    >>> with effort(3):
    ...     Region.where(("x",), "exists (d : x = 2*d)").least()
    Traceback (most recent call last):
    pycute_xe.holding.patience.TooHardError: verify(steps=3): the question is too hard...
    """
    context = _context.get() or isl.Context()
    context.reset_operations()
    context.set_max_operations(operations)
    token, most = _context.set(context), _most.set(operations)
    try:
        yield
    except isl.Error as error:
        raise TooHardError(
            "verify",
            {"steps": operations},
            "the question is too hard to decide",
            "fix some sizes with params, or use strides that nest evenly",
        ) from error
    finally:
        context.set_max_operations(0)
        _context.reset(token)
        _most.reset(most)


@contextmanager
def further(operations: int) -> Generator[None]:
    """Let isl take so many steps more inside `effort`, for a question that may stay open.

    Raises `TooHardError` where isl gives up.
    """
    context = _context.get()
    if context is None:
        raise TooHardError("verify", {}, "no effort was allowed", "")
    context.reset_operations()
    context.set_max_operations(operations)
    most = _most.set(operations)
    try:
        yield
    except isl.Error as error:
        raise TooHardError(
            "verify", {"steps": operations}, "the question is too hard to decide", ""
        ) from error
    finally:
        _most.reset(most)


@contextmanager
def _soon() -> Generator[None]:
    """Let isl take no more steps than fit into the time that is left, however slow they are.

    A step of a search for a least point or of a difference takes up to a hundred times as long as
    others do.
    """
    context, most = _context.get(), _most.get()
    left = time_left()
    if context is None or left is None or not most:
        yield
        return
    context.reset_operations()
    context.set_max_operations(int(min(most, max(FEWEST, left * SLOWEST))))
    try:
        yield
    finally:
        context.reset_operations()
        context.set_max_operations(most)


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
        in_time()
        text = f"{{ [{','.join(names)}] : {constraints or 'true'} }}"
        return cls(names, isl.Set(text, _context.get()))

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
        in_time()
        old, new = ",".join(self.names), ",".join(names)
        link = isl.Map(f"{{ [{old}] -> [{new}] : {constraints or 'true'} }}", _context.get())
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
        with _soon():
            return Region(self.names, self.points.subtract(other.points))

    @property
    def divisions(self) -> int:
        """How many quotients its description needs, over all its convex pieces."""
        pieces = self.points.coalesce().get_basic_sets()
        return sum(map(_quotients, pieces))

    @property
    def is_empty(self) -> bool:
        """Whether there is no point at all."""
        return self.points.is_empty()

    @property
    def is_bounded(self) -> bool:
        """Whether there are only finitely many points.

        >>> Region.where(("x",), "0 <= x").is_bounded, Region.where(("x",), "0 <= x < 9").is_bounded
        (False, True)
        """
        return self.points.is_bounded()

    def told(self, given: Region, without: str = "") -> str:
        """Return the constraints beyond those given as text, a piece of all names left out.

        >>> even = Region.where(("x",), "x >= 1 and x mod 2 = 0")
        >>> even.told(Region.where(("x",), "x >= 1"))
        '(x) mod 2 = 0'
        """
        simple = self.points.gist(given.points).coalesce()
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
            with _soon():
                point = None if rest.is_empty else rest._point(getattr(rest.points, end)())
            if point is not None and (best is None or _is_before(point, best, end)):
                best = point
        return best

    def _ordered(self, order: Names) -> Region:
        return self.to((*order, *(n for n in self.names if n not in order))) if order else self

    def _point(self, single: isl.Set) -> dict[str, int]:
        point = single.sample_point()
        values = (point.get_coordinate_val(isl.dim_type.set, i) for i in range(len(self.names)))
        return {name: int(v.to_python()) for name, v in zip(self.names, values, strict=True)}

    def _split(self, domain: Names) -> tuple[Names, isl.Map]:
        """Return the region as a map from some of its coordinates to the others."""
        codomain = tuple(name for name in self.names if name not in domain)
        names, inside = ",".join(self.names), ",".join(domain)
        text = f"{{ [{names}] -> [[{inside}] -> [{','.join(codomain)}]] }}"
        graph = isl.Map(text, _context.get())
        return codomain, self.points.apply(graph).unwrap()

    def decides(self, domain: Names) -> bool:
        """Tell whether some coordinates fix all others: whether a map is single valued.

        >>> pairs = Region.where(("x", "y"), "0 <= x < 4 and y = 2*x")
        >>> pairs.decides(("y",)), pairs.to(("x", "z"), "0 <= z < 2").decides(("x",))
        (True, False)
        """
        return self._split(domain)[1].is_single_valued()

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
