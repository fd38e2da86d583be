"""The only module that reads a clock: times that are measured, and deadlines that a caller sets.

No answer depends on a time unless the caller asks for a deadline. A test refuses other clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter

from pycute_xe.errors import InputError

__all__ = ["Deadline", "deadline", "deadline_set", "stopwatch"]

_now: Callable[[], float] = perf_counter
"""What is read; a test puts a clock of its own here."""


def stopwatch() -> Callable[[], float]:
    """Start a measurement; return the function that gives the seconds since then.

    >>> elapsed = stopwatch()
    >>> 0 <= elapsed() <= elapsed()
    True
    """
    start = _now()
    return lambda: _now() - start


@dataclass
class Deadline:
    """A time of the clock that a caller sets, ``seconds`` from now."""

    seconds: float
    start: float = field(default_factory=lambda: _now())

    @property
    def elapsed(self) -> float:
        """The seconds since the deadline was set."""
        return _now() - self.start

    @property
    def left(self) -> float:
        """The seconds until the deadline, negative once it has passed."""
        return self.seconds - self.elapsed


_deadline: ContextVar[Deadline | None] = ContextVar("_deadline", default=None)


def deadline_set() -> Deadline | None:
    """Return the deadline of the call that is being answered; None unless the caller set one."""
    return _deadline.get()


@contextmanager
def deadline(operation: str, seconds: float | None) -> Generator[None]:
    """Answer what is inside within so many seconds; None sets no deadline.

    Raises `InputError` for what is not a positive number of seconds.

    >>> with deadline("verify", 5.0):
    ...     print(deadline_set().seconds)
    5.0
    """
    if seconds is None:
        yield
        return
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not number or not seconds > 0:
        wrong = f"seconds is {seconds!r}, and a deadline is a positive number of seconds"
        raise InputError(operation, {"seconds": seconds}, wrong, "use seconds=10, or leave it out")
    token = _deadline.set(Deadline(float(seconds)))
    try:
        yield
    finally:
        _deadline.reset(token)
