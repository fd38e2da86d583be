"""Floor 8: what a run did, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Event", "Trace"]


def _events() -> list[Event]:
    return []


def _counter() -> Counter[str]:
    return Counter()


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: its kind, the instruction as text, and the bytes it moved."""

    kind: str
    text: str
    nbytes: int = 0


@dataclass(slots=True)
class Trace:
    """Counts of a run: messages and bytes by kind, DPAS instructions, barriers.

    Kinds are "load", "store" and "prefetch" for block-2D messages, and whatever else callers
    record. Bytes are those inside the surface. With ``keep`` every event is also listed, in order.
    ``why`` says why the byte machine did what whole arrays were asked for.

    >>> trace = Trace()
    >>> trace.message("load", "lsc_load_block2d…", 512)
    >>> trace.messages["load"], trace.nbytes["load"]
    (1, 512)
    """

    keep: bool = False
    messages: Counter[str] = field(default_factory=_counter)
    nbytes: Counter[str] = field(default_factory=_counter)
    dpas: int = 0
    barriers: int = 0
    events: list[Event] = field(default_factory=_events)
    why: str = ""

    def message(self, kind: str, text: str, nbytes: int) -> None:
        """Count a message and the bytes that it moved.

        >>> Trace().message("store", "…", 256)
        """
        self.messages[kind] += 1
        self.nbytes[kind] += nbytes
        self._record(kind, text, nbytes)

    def instruction(self, text: str) -> None:
        """Count a DPAS instruction.

        >>> Trace().instruction("dpas.bf.bf.8.8")
        """
        self.dpas += 1
        self._record("dpas", text, 0)

    def barrier(self, text: str = "barrier") -> None:
        """Count a barrier that all threads have passed.

        >>> Trace().barrier()
        """
        self.barriers += 1
        self._record("barrier", text, 0)

    def _record(self, kind: str, text: str, nbytes: int) -> None:
        if self.keep:
            self.events.append(Event(kind, text, nbytes))
