"""The account of a proof, and trials that take a part of it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from pycute_xe.holding.patience import (
    ClockError,
    TooHardError,
    allowed,
    at_most,
    charge,
    remembered,
    time_left,
    too_hard,
    work_left,
)

__all__ = [
    "ClockError",
    "TooHardError",
    "a_while",
    "allowed",
    "at_most",
    "charge",
    "remembered",
    "time_left",
    "too_hard",
    "work_left",
]


def a_while(units: float) -> Callable[[], bool]:
    """Return what tells whether a trial goes on: for so much work, at most half of what is left.

    >>> with allowed(100):
    ...     goes_on = a_while(1000)
    ...     charge(49)
    ...     goes_on()
    ...     charge(1)
    ...     goes_on()
    True
    False
    """
    left = work_left()
    if left == inf:
        return lambda: True
    least = max(left - units, left / 2)
    return lambda: work_left() > least
