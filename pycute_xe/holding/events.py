"""Floor 8: what classes of subgroups do one after the other, and what they know of one another."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pycute_xe.kernel import SharedLoad, SharedStore, Statement

__all__ = ["Access", "Arrival", "Disorder", "Event", "Key", "Mover"]

Ints = NDArray[np.int64]
Key = tuple[int, ...]


@dataclass(frozen=True)
class Disorder:
    """What goes wrong in a problem: in words, its sizes, and whether only a fence is missing."""

    words: str
    sizes: dict[str, int]
    subgroup: int = 0
    array: str = ""
    unfenced: bool = False
    turned: bool = False  # in order, but not in the one that is written


@dataclass(frozen=True, eq=False)
class Event:
    """One thing that a class of subgroups does, with its place in the program's order."""

    statement: Statement
    key: Key
    number: int = 0  # of a barrier
    first: int = 0  # of an access: what is added to its places


@dataclass(eq=False)
class Mover:
    """A class of subgroups: its events, how far it is, what it knows to be over.

    ``known`` counts events of each class that are over, ``fenced`` those before its last fence: of
    stores only these are seen.
    """

    who: tuple[int, ...]
    events: list[Event]
    known: Ints
    fenced: Ints
    at: int = 0
    last_fence: int = 0
    owes: dict[int, int] = field(default_factory=dict[int, int])


@dataclass(frozen=True, eq=False)
class Arrival:
    """A class at a barrier: its role, its event, and what is over for whom it lets pass."""

    role: str
    at: int
    known: Ints
    fenced: Ints


@dataclass(frozen=True, eq=False)
class Access:
    """An access to shared memory of a class, and what is over before it."""

    mover: int
    at: int
    statement: SharedStore | SharedLoad
    event: Event
    known: Ints
    fenced: Ints

    @property
    def writes(self) -> bool:
        """Whether it is a store."""
        return isinstance(self.statement, SharedStore)
