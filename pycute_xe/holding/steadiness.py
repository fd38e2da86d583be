"""Floor 8: whether a problem that was followed is large enough to tell of larger ones.

The argument is that of `pycute_xe.holding.problems`: how far apart the trips are that rounds of
barriers join, and how many cuts lie between the reaches of starts and ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from pycute_xe.holding.events import Event, Key, Mover
from pycute_xe.holding.problems import Shape

__all__ = ["is_steady"]


def is_steady(shape: Shape, movers: Sequence[Mover], trips: Mapping[int, int]) -> bool:
    """Whether a larger problem with a fault has a smaller one, where this one has none.

    ``trips`` are the fewest trips of each long loop, by the loop's identity.
    """
    joins = len(movers)
    for depth, (longs, start, cell) in enumerate(shape.depths()):
        done = [one for one in longs if id(one.loop) in trips]
        if not done:
            return False
        room = min((trips[id(one.loop)] - one.end) // one.unit for one in done) - start
        shift = _shift(movers, depth, range(start, start + room), cell)
        if shift is None:
            return False
        needed = max(
            3 * joins * shift + 3 * cell,  # an access, or an arrival, in no order
            joins * (cell + shift) + cell,  # a cycle of waits, or one round
        )
        if room < needed:
            return False
    return True


def _shift(movers: Sequence[Mover], depth: int, cuts: range, cell: int) -> int | None:
    """Return how many cuts the trips that rounds join are apart; None where they do not tell."""
    if len(cuts) < cell:
        return None
    first = cuts[(len(cuts) - cell) // 2]
    shift = 0
    for barrier in {number for mover in movers for number in mover.arrivals}:
        joined = [m.arrivals[barrier] for m in movers if barrier in m.arrivals]
        for mine, theirs in permutations(joined, 2):
            found = _between(mine, theirs, depth, cuts, range(first, first + cell))
            if found is None:
                return None
            shift = max(shift, found)
    return shift


def _between(
    mine: list[Event], theirs: list[Event], depth: int, cuts: range, cell: range
) -> int | None:
    """Return how far the arrivals of two classes are apart in a cell of each run of a loop.

    None where one does not arrive as often as the other, or elsewhere.
    """
    ours, others = (_in_cell(events, depth, cell) for events in (mine, theirs))
    if list(map(len, ours)) != list(map(len, others)):
        return None
    shift = 0
    for numbers, paired in zip(ours, others, strict=True):
        run, _ = theirs[paired[0]].cuts[depth]
        for number in numbers:
            one, other = mine[number], theirs[number]
            if len(other.cuts) <= depth or other.cuts[depth][0] != run:
                return None
            if other.cuts[depth][1] not in cuts:
                return None
            shift = max(shift, abs(one.cuts[depth][1] - other.cuts[depth][1]))
    return shift


def _in_cell(events: list[Event], depth: int, cell: range) -> list[list[int]]:
    """Return the numbers of the arrivals in a cell, those of each run of a loop together."""
    found: dict[Key, list[int]] = {}
    for number, event in enumerate(events):
        if len(event.cuts) > depth and event.cuts[depth][1] in cell:
            found.setdefault(event.cuts[depth][0], []).append(number)
    return list(found.values())
