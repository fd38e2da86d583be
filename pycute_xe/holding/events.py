"""What classes of subgroups do one after the other, and what they know of one another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from pycute_xe.kernel import Statement
from pycute_xe.kernel.ir.barriers import Role
from pycute_xe.kernel.ir.effects import SharedAccess, Touched

__all__ = ["Access", "Arrival", "Clock", "Cut", "Disorder", "Event", "Key", "Mover"]

Key = tuple[int, ...]
Clock: TypeAlias = tuple[int, ...]
"""How many events of each class are over."""
Cut: TypeAlias = tuple[Key, int]
"""Where in the long loops of one depth something happens: which run of a loop, behind which cut."""


@dataclass(frozen=True)
class Disorder:
    """What goes wrong in a problem: in words, its sizes, and whether only a fence is missing."""

    words: str
    sizes: dict[str, int]
    subgroup: int = 0
    array: str = ""
    unfenced: bool = False
    turned: bool = False  # in order, but not in the one that is written


@dataclass(frozen=True, eq=False, slots=True)
class Event:
    """One thing that a class of subgroups does, with its place in the program's order."""

    statement: Statement
    effects: Touched
    key: Key
    number: int = 0  # of a barrier
    first: int = 0  # of an access: what is added to its places
    cuts: tuple[Cut, ...] = ()  # by depth


@dataclass(eq=False)
class Mover:
    """A class of subgroups: its events, how far it is, what it knows to be over.

    ``known`` counts events of each class that are over, ``fenced`` those before its last fence: of
    stores only these are seen. ``arrivals`` are the events at which it arrived at which barrier.
    """

    subgroups: tuple[int, ...]
    events: list[Event]
    known: Clock
    fenced: Clock
    at: int = 0
    last_fence: int = 0
    owes: dict[int, int] = field(default_factory=dict[int, int])
    arrivals: dict[int, list[Event]] = field(default_factory=dict[int, list[Event]])
    accesses: list[Access] = field(default_factory=list["Access"])


@dataclass(frozen=True, slots=True)
class Arrival:
    """A class at a barrier: its role, its event, and what is over for whom it lets pass."""

    role: Role
    at: int
    known: Clock
    fenced: Clock


@dataclass(frozen=True, eq=False, slots=True)
class Access:
    """An access to shared memory of a class, and what is over before it."""

    mover: int
    at: int
    statement: Statement
    shared: SharedAccess
    event: Event
    known: Clock
    fenced: Clock

    @property
    def writes(self) -> bool:
        """Whether it changes elements."""
        return self.shared.stores
