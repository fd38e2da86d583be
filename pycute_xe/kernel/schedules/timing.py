"""Floor 7: a plan in time: when each work-group computes, when it waits, and for whom.

A tile of K takes one step, everything else none. Work-groups start in the order of their numbers,
so many at a time, and none gives way before it is done.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from pycute_xe.errors import KernelError
from pycute_xe.kernel.schedules.plan import Piece, Plan
from pycute_xe.signatures import held_fields, typed

__all__ = ["Slot", "Timeline", "timeline"]


@held_fields
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


@held_fields
@dataclass(frozen=True)
class Timeline:
    """A plan in time. ``stuck`` are the pieces that wait for ever, with their units."""

    plan: Plan
    resident: int
    slots: tuple[Slot, ...]
    stuck: tuple[tuple[int, Piece], ...] = ()

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
            self.plan, self.resident, tuple(self.slots), tuple(sorted(stuck, key=_unit))
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


def _unit(stuck: tuple[int, Piece]) -> int:
    return stuck[0]
