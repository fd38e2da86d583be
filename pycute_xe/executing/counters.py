"""Floor 9: counters in memory: what was known when each became what it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from pycute_xe.machine import Progress
from pycute_xe.machine.progress import Clock

__all__ = ["Counters", "Place"]

Place: TypeAlias = tuple[str, tuple[int, ...]]


@dataclass(eq=False)
class Counters:
    """What each counter was, and what was known when it became so; one clock a work-group."""

    groups: dict[str, Progress] = field(default_factory=dict[str, Progress])
    history: dict[Place, list[tuple[int, Clock]]] = field(
        default_factory=dict["tuple[str, tuple[int, ...]]", "list[tuple[int, Clock]]"]
    )
    turn: int = 0

    def enter(self, group: str, number: int) -> Progress:
        """Begin a work-group."""
        return self.groups.setdefault(group, Progress(number))

    def signal(self, place: Place, before: int, value: int, mine: Progress) -> None:
        """Note that a counter became ``value``; what was known before stays known.

        As long as the counter was ``before``, nothing was known.
        """
        past = self.history.setdefault(place, [(before, np.zeros(0, dtype=np.int64))])
        known, earlier = mine.release(), past[-1][1]
        known = np.pad(known, (0, max(0, earlier.size - known.size)))
        known[: earlier.size] = np.maximum(known[: earlier.size], earlier)
        past.append((value, known))

    def passed(self, place: Place, least: int, mine: Progress) -> None:
        """Take over what was known when a counter had first grown so far."""
        for value, known in self.history.get(place, []):
            if value >= least:
                mine.acquire(known)
                return
