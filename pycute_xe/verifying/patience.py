"""Floor 9: until when a proof may go on in this process: what takes longer is left to another."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import perf_counter, process_time

from pycute_xe.errors import KernelError

__all__ = ["TooHardError", "a_while", "in_time", "steps_left", "time_left", "too_hard", "until"]

WHILE = 2.0
"""Seconds of the processor for which numbers are tried."""

_end: ContextVar[float | None] = ContextVar("_end", default=None)


class TooHardError(KernelError):
    """A question was given up: the steps or the time that it may take were used up."""


def too_hard(why: str) -> TooHardError:
    """Return the refusal of a question before isl is asked."""
    return TooHardError("verify", {}, why, "use strides that nest evenly")


@contextmanager
def until(end: float | None) -> Generator[None]:
    """Let `in_time` refuse to go on after a moment of `time.perf_counter`; None is never.

    >>> with until(0.0):
    ...     in_time()
    Traceback (most recent call last):
    pycute_xe.verifying.patience.TooHardError: verify(...): the time is used up...
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


def a_while() -> Callable[[], bool]:
    """Return what tells whether a trial goes on that may stay open: at most half the time left.

    >>> with until(0.0):
    ...     a_while()()
    False
    """
    left = time_left()
    enough = process_time() + WHILE
    end = inf if left is None else perf_counter() + left / 2
    return lambda: process_time() < enough and perf_counter() < end


def steps_left(steps: int, a_second: int) -> int:
    """Return how many steps fit into the time that is left, 1 at least; 0 lifts the limit."""
    left = time_left()
    if left is None or not steps:
        return steps
    return max(1, int(min(steps, left * a_second)))


def in_time() -> None:
    """Raise `TooHardError` where the time is used up: every step that may be one of many asks."""
    left = time_left()
    if left is not None and left < 0:
        raise too_hard("the time is used up")
