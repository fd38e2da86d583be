"""Floor 8: until when following may go on: a reader with a budget says when its time is over."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

from pycute_xe.errors import KernelError

__all__ = ["TooHardError", "in_time", "time_left", "too_hard", "until"]

_end: ContextVar[float | None] = ContextVar("_end", default=None)


class TooHardError(KernelError):
    """A question was given up: the steps or the time that it may take were used up."""


def too_hard(why: str) -> TooHardError:
    """Return the refusal of a question before it is asked."""
    return TooHardError("verify", {}, why, "use strides that nest evenly")


@contextmanager
def until(end: float | None) -> Generator[None]:
    """Let `in_time` refuse to go on after a moment of `time.perf_counter`; None is never.

    >>> with until(0.0):
    ...     in_time()
    Traceback (most recent call last):
    pycute_xe.holding.patience.TooHardError: verify(...): the time is used up...
    """
    token = _end.set(end)
    try:
        yield
    finally:
        _end.reset(token)


def time_left() -> float | None:
    """Return the seconds that are left, which may be negative; None where there is no end."""
    end = _end.get()
    return None if end is None else end - perf_counter()


def in_time() -> None:
    """Raise `TooHardError` where the time is used up: every step that may be one of many asks."""
    left = time_left()
    if left is not None and left < 0:
        raise too_hard("the time is used up")
