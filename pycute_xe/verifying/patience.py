"""Floor 9: until when a proof may go on in this process: what takes longer is left to another."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import perf_counter, process_time

from pycute_xe.holding.patience import TooHardError, in_time, time_left, too_hard, until

__all__ = ["TooHardError", "a_while", "in_time", "steps_left", "time_left", "too_hard", "until"]

WHILE = 2.0
"""Seconds of the processor for which numbers are tried."""


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
