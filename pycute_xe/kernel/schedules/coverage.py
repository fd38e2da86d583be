"""Whether a plan is right: each slice once, waits that end, sums that are whole."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from pycute_xe.errors import KernelError, plural
from pycute_xe.kernel.schedules.plan import Piece, Plan
from pycute_xe.signatures import checked_fields, typed
from pycute_xe.typing import glance, shown

__all__ = ["Cover", "covers", "Slot", "Timeline", "timeline"]

# ------------------------------------------------------------ timing
# A plan in time: when each work-group computes, when it waits, and for whom.
#
# A tile of K takes one step, everything else none. Work-groups start in the order of their numbers,
# so many at a time, and none gives way before it is done.


@checked_fields
@dataclass(frozen=True, slots=True)
class Slot:
    """A piece in time: its unit begins at ``start``, has computed at ``ready``, adds at ``end``.

    From ``ready`` to ``end`` it waits. ``place`` is which of the resident places its unit has.
    """

    unit: int
    piece: Piece
    start: int
    ready: int
    end: int
    place: int = 0


@checked_fields
@dataclass(frozen=True)
class Timeline:
    """A plan in time. ``stuck`` are the pieces that wait for ever, with their units."""

    plan: Plan
    resident: int
    slots: tuple[Slot, ...]
    stuck: tuple[tuple[int, Piece], ...] = ()

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The kind and the first line of the text."""
        return glance(self)

    @property
    def length(self) -> int:
        """Steps until all is done."""
        return max((slot.end for slot in self.slots), default=0)

    @property
    def waited(self) -> int:
        """Steps that work-groups wait for others."""
        return sum(slot.end - slot.ready for slot in self.slots)

    @property
    def busy(self) -> float:
        """The part of all steps of all resident places that computes."""
        room = self.length * self.resident
        return sum(s.ready - s.start for s in self.slots) / room if room else 0.0


@typed
def timeline(plan: Plan, resident: int | None = None) -> Timeline:
    """Return when each piece is computed, with so many work-groups resident at a time.

    All of them are without ``resident``. Raises `KernelError` unless it is 1 or more.

    >>> from pycute_xe.kernel.schedules import StreamK
    >>> done = timeline(StreamK(4, least=4).plan((3, 1, 16)))
    >>> done.length, done.waited, done.busy
    (12, 0, 1.0)
    """
    room = len(plan.units) if resident is None else resident
    if type(room) is not int or room < min(1, len(plan.units)):
        raise KernelError(
            "timeline",
            {"resident": resident},
            f"{resident!r} is not 1 or more",
            "timeline(plan, 20)",
        )
    return _Run(plan, room).run()


class _Run:
    """Units as they go on: the queue holds (time, unit, place) of those that can."""

    def __init__(self, plan: Plan, resident: int) -> None:
        self.plan, self.resident = plan, resident
        self.counter: dict[tuple[int, int, int], int] = {}
        self.waiting: dict[tuple[int, int, int], list[tuple[int, int, int, int]]] = {}
        self.next = [0] * len(plan.units)
        self.begun = 0
        self.queue: list[tuple[int, int, int, int, int]] = []
        self.slots: list[Slot] = []

    def run(self) -> Timeline:
        for place in range(min(self.resident, len(self.plan.units))):
            self._launch(0, place)
        while self.queue:
            time, unit, place, start, ready = heapq.heappop(self.queue)
            self._add(time, unit, place, start, ready)
        stuck = tuple(
            (unit, self.plan.units[unit][self.next[unit]])
            for places in self.waiting.values()
            for unit, *_ in places
        )
        return Timeline(
            self.plan, self.resident, tuple(self.slots), tuple(sorted(stuck, key=lambda x: x[0]))
        )

    def _launch(self, time: int, place: int) -> None:
        """Let the next unit begin, if any is left."""
        while self.begun < len(self.plan.units):
            unit = self.begun
            self.begun += 1
            if self.plan.units[unit]:
                self._compute(time, unit, place)
                return

    def _compute(self, time: int, unit: int, place: int) -> None:
        piece = self.plan.units[unit][self.next[unit]]
        ready = time + piece.stop - piece.start
        heapq.heappush(self.queue, (ready, unit, place, time, ready))

    def _add(self, time: int, unit: int, place: int, start: int, ready: int) -> None:
        """Add a piece that is computed to its tile, or let its unit wait."""
        piece = self.plan.units[unit][self.next[unit]]
        if self.counter.get(piece.tile, 0) < piece.needs:
            self.waiting.setdefault(piece.tile, []).append((unit, place, start, ready))
            return
        self.slots.append(Slot(unit, piece, start, ready, time, place))
        self.counter[piece.tile] = self.counter.get(piece.tile, 0) + piece.adds
        if piece.adds:
            for other in self.waiting.pop(piece.tile, []):
                heapq.heappush(self.queue, (time, *other))
        self.next[unit] += 1
        if self.next[unit] < len(self.plan.units[unit]):
            self._compute(time, unit, place)
        else:
            self._launch(time, place)


# ------------------------------------------------------------ covering

Placed = tuple[int, Piece]


@checked_fields
@dataclass(frozen=True)
class Cover:
    """The answer of `covers`: truthy where the plan is right, else a counterexample.

    ``tile`` is (group, m, n), ``k`` a tile of K in it, ``units`` the work-groups concerned.
    """

    right: bool
    message: str
    tile: tuple[int, int, int] | None = None
    k: int | None = None
    units: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        """Whether the plan is right."""
        return self.right

    def __str__(self) -> str:
        """What was found."""
        return self.message


@typed
def covers(plan: Plan, resident: int | None = None) -> Cover:
    """Tell whether a plan computes every tile and slice of K once, and comes to its end.

    Every case of the given counts is looked at. Asked are: is each (tile, tile of K) in one piece;
    does a work-group wait for ever when at most ``resident`` work-groups are there at a time, which
    begin in the order of their numbers; does everyone who adds to a tile find it begun, and the
    last piece find all others added, in whatever order work-groups go on; with the fix-up
    "ordered", is that order one and the same.

    >>> from pycute_xe.kernel.schedules import SplitK, StreamK
    >>> print(covers(StreamK(20).plan((3, 7, 64))))
    each of 1344 slices of 21 tiles once, in 37 pieces; every wait ends
    >>> print(covers(SplitK(3, 20, fixup="first").plan((1, 1, 12))))
    the last piece of tile (0, 0), k 8 to 11, may load before k 4 to 7 is added: units 2 and 1
    """
    tiles: dict[tuple[int, int, int], list[Placed]] = defaultdict(list)
    for unit, pieces in enumerate(plan.units):
        for piece in pieces:
            tiles[piece.tile].append((unit, piece))
    asked = (
        lambda: _slices(plan, tiles),
        lambda: _turns(tiles),
        lambda: _ends(plan, resident),
        lambda: _sums(plan, tiles),
    )
    for find in asked:
        fault = find()
        if fault is not None:
            return fault
    slices = sum(m * n * k for m, n, k in plan.groups)
    count = sum(m * n for m, n, _ in plan.groups)
    waits = "; every wait ends" if any(p.needs for u in plan.units for p in u) else ""
    text = f"each of {slices} slices of {count} tiles once, in {plan.pieces} pieces{waits}"
    return Cover(True, text)


def _slices(plan: Plan, tiles: dict[tuple[int, int, int], list[Placed]]) -> Cover | None:
    """Find a slice that is computed twice, never, or that the problem does not have."""
    for tile, placed in sorted(tiles.items()):
        group, m, n = tile
        known = 0 <= group < len(plan.groups)
        rows, columns, depth = plan.groups[group] if known else (0, 0, 0)
        for unit, piece in placed:
            inside = 0 <= piece.start < piece.stop <= depth
            if not (0 <= m < rows and 0 <= n < columns and inside):
                text = f"unit {unit} computes {piece}, which the problem does not have"
                return Cover(False, text, tile, piece.start, (unit,))
    for group, (rows, columns, depth) in enumerate(plan.groups):
        for m in range(rows):
            for n in range(columns):
                fault = _line((group, m, n), tiles.get((group, m, n), []), depth)
                if fault is not None:
                    return fault
    return None


def _line(tile: tuple[int, int, int], placed: list[Placed], depth: int) -> Cover | None:
    at, before = 0, -1
    for unit, piece in sorted(placed, key=lambda p: (p[1].start, p[1].stop)):
        if piece.start > at:
            break
        if piece.start < at:
            text = f"{_named(tile)}: k {piece.start} is computed by units {before} and {unit}"
            return Cover(False, text, tile, piece.start, (before, unit))
        at, before = piece.stop, unit
    if at < depth:
        return Cover(False, f"{_named(tile)}: k {at} is computed by no unit", tile, at)
    return None


def _turns(tiles: dict[tuple[int, int, int], list[Placed]]) -> Cover | None:
    """Find a tile whose pieces do not agree who stores first and who has the epilogue."""
    for tile, placed in sorted(tiles.items()):
        count = len(placed)
        turns = sorted(piece.turn for _, piece in placed)
        if turns != list(range(count)) or any(piece.parts != count for _, piece in placed):
            unit, piece = next(
                (p for p in placed if p[1].parts != count or turns.count(p[1].turn) > 1), placed[0]
            )
            text = (
                f"unit {unit} takes {piece}, for piece {piece.turn} of {piece.parts}, and the tile "
                f"has {count}: their turns must be 0 to {count - 1}"
            )
            return Cover(False, text, tile, piece.start, (unit,))
    return None


def _ends(plan: Plan, resident: int | None) -> Cover | None:
    """Find work-groups that wait for ever. Counters only grow, so that one run shows it."""
    done = timeline(plan, resident)
    if not done.stuck:
        return None
    unit, piece = done.stuck[0]
    units = tuple(u for u, _ in done.stuck)
    there = f" with {done.resident} work-groups resident" if resident is not None else ""
    text = (
        f"deadlock{there}: unit {unit} waits at {piece} for a counter of {piece.needs}, "
        f"which no piece gives; waiting: {plural(len(units), 'unit')}"
    )
    return Cover(False, text, piece.tile, piece.start, units)


def _sums(plan: Plan, tiles: dict[tuple[int, int, int], list[Placed]]) -> Cover | None:
    """Find a piece that may add before it should, in some order of the work-groups.

    Counters only grow: whatever can happen before a piece p at all, happens when everything goes
    on as far as it can without p.
    """
    if plan.fixup == "atomic":
        return None
    for tile, placed in sorted(tiles.items()):
        if len(placed) > 1:
            order = sorted(placed, key=lambda p: p[1].turn)
            behind = _behind(plan, order)
            for late, soon in _pairs(plan, order):
                if _possible(order, behind, without=soon, late=late):
                    return _early(tile, late, soon, last=late is order[-1])
    return None


def _pairs(plan: Plan, order: list[Placed]) -> Iterator[tuple[Placed, Placed]]:
    """Yield pieces of which the first must come after the second."""
    for i, late in enumerate(order[1:], 1):
        match plan.fixup:
            case "ordered":
                yield late, order[i - 1]  # who is further before follows from there
            case "unordered" | "first" | "atomic":
                for soon in order[:i] if late is order[-1] else order[:1]:
                    yield late, soon
            case _:
                assert_never(plan.fixup)


def _behind(plan: Plan, order: list[Placed]) -> set[tuple[Placed, Placed]]:
    """Return the pairs of pieces of a tile of which one unit does the first after the second."""
    mine = {(u, p): plan.units[u].index(p) for u, p in order}
    return {(x, y) for x in order for y in order if x[0] == y[0] and mine[x] > mine[y]}


def _possible(
    order: list[Placed], behind: set[tuple[Placed, Placed]], without: Placed, late: Placed
) -> bool:
    left, counter, going = list(order), 0, True
    while going:
        ready = [
            p
            for p in left
            if p != without
            and p[1].needs <= counter
            and not (behind and any((p, q) in behind for q in left))
        ]
        if late in ready:
            return True
        counter += sum(p[1].adds for p in ready)
        left = [p for p in left if p not in ready]
        going = bool(ready)
    return False


def _early(tile: tuple[int, int, int], late: Placed, soon: Placed, last: bool) -> Cover:
    which, does = ("last", "load") if last else ("next", "add")
    text = (
        f"the {which} piece of {_named(tile)}, {_range(late)}, may {does} before {_range(soon)} is "
        f"added: units {late[0]} and {soon[0]}"
    )
    return Cover(False, text, tile, late[1].start, (late[0], soon[0]))


def _named(tile: Iterable[int]) -> str:
    group, m, n = tile
    return f"tile ({m}, {n})" + (f" of group {group}" if group else "")


def _range(placed: Placed) -> str:
    return f"k {placed[1].start} to {placed[1].stop - 1}"
