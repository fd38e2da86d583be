"""Floor 9: until when a proof may go on in this process: what takes longer is left to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter

from pycute_xe.holding.patience import TooHardError, in_time, time_left, too_hard, until

__all__ = [
    "EVALUATED",
    "TooHardError",
    "a_while",
    "in_time",
    "steps_left",
    "time_left",
    "too_hard",
    "until",
]


@dataclass
class Evaluated:
    """How many products of elements have been evaluated, by all questions."""

    products: int = 0


EVALUATED = Evaluated()


def a_while(products: int) -> Callable[[], bool]:
    """Return what tells whether a trial goes on: for so many products, at most half the time left.

    A machine's speed decides nothing where no time is set.

    >>> with until(0.0):
    ...     a_while(1000)()
    False
    """
    left = time_left()
    enough = EVALUATED.products + products
    end = inf if left is None else perf_counter() + left / 2
    return lambda: EVALUATED.products < enough and perf_counter() < end


def steps_left(steps: int, a_second: int) -> int:
    """Return how many steps fit into the time that is left, 1 at least; 0 lifts the limit."""
    left = time_left()
    if left is None or not steps:
        return steps
    return max(1, int(min(steps, left * a_second)))
