"""Floor 9: small problems tried in turn, where maps are too wild for questions of sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pycute_xe.holding.follower import Write
from pycute_xe.kernel import Loop
from pycute_xe.verifying.evaluating import differ
from pycute_xe.verifying.formula import Formula, atoms_within
from pycute_xe.verifying.patience import a_while
from pycute_xe.verifying.points import Space
from pycute_xe.verifying.views import View

__all__ = ["quotients", "tried"]

WORK = 500_000
"""Units of work before the question is asked in another way."""

LARGEST = 12
"""The sum of sizes up to which problems are tried."""


def quotients(formula: Formula) -> int:
    """Return how many quotients and remainders the indices of a formula take."""
    terms = [*formula, *(t for a in atoms_within(formula) for f in a.arguments for t in f)]
    texts = [text for term in terms for place in term.places for text in place.at]
    return sum(text.count("floor") + text.count("mod") for text in texts)


def tried(
    write: Write,
    view: View,
    space: Space,
    actual: Formula,
    wanted: Formula,
    extents: Mapping[str, tuple[str, ...]],
) -> dict[str, int] | None:
    """Return the first point of the first work-group, in the smallest problem, that is wrong.

    None where no small problem shows it, which proves nothing.
    """
    if any(isinstance(one, Loop) for one in write.around):
        return None
    places = [digits.table(view.shape) for digits in view.places]
    zeros = dict.fromkeys((*space.naming.grid,), 0)
    goes_on = a_while(WORK)
    for sizes in _problems(space):
        limits = space.shape(write.statement.operand, sizes)
        inside = np.ones(view.shape, dtype=bool)
        for index, place, limit in zip(write.base, places, limits, strict=True):
            start = index.at(sizes | dict.fromkeys(space.naming.variable_of, 0))
            inside &= (start + place >= 0) & (start + place < limit)
        for place in np.argwhere(inside)[:64]:
            if not goes_on():
                return None
            named = dict(zip(view.names, map(int, place), strict=True))
            point = {space.naming.size_of[n]: v for n, v in sizes.items()} | zeros | named
            if differ(actual, wanted, point, extents, range(2)):
                return point
    return None


def _problems(space: Space) -> Iterator[dict[str, int]]:
    """Yield sizes, the smallest sum first, then in order."""
    names = tuple(space.naming.size_of)
    fixed = space.fixed
    spans = [(fixed[n],) if n in fixed else range(1, LARGEST) for n in names]
    for total in range(LARGEST + 1):
        for sizes in _summing_to(total, spans):
            yield dict(zip(names, sizes, strict=True))


def _summing_to(total: int, spans: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Yield one number of each span, in order, that together are a total."""
    if not spans:
        yield from () if total else ((),)
        return
    for first in spans[0]:
        if first <= total:
            yield from ((first, *rest) for rest in _summing_to(total - first, spans[1:]))
