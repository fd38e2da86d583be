"""What functions computed that real numbers would not: overflows, and how far results are rounded.

A proof takes sums and products for those of real numbers. Where a run differs from what is proved,
this says whether a rounding or an overflow explains it, and which.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, NamedTuple, cast

import numpy as np

from pycute_xe.kernel.spec.functions import function

__all__ = ["Rounding", "Roundings", "computed", "watching"]

AMPLIFIED = 16.0
"""How many times as large as the steps' roundings a difference may be that these explain."""


class Rounding(NamedTuple):
    """A step: the function, what it was given, what it gave, and how far that is off."""

    name: str
    arguments: tuple[float, ...]
    result: float
    off: float

    @property
    def lost(self) -> bool:
        """Whether it gives zero of a number: all that is multiplied by it later is zero too."""
        return self.result == 0 and self.off > 0

    def __str__(self) -> str:
        """The step, and whether it overflows, underflows or by how much it rounds."""
        of = f"{self.name}({', '.join(f'{x:.9g}' for x in self.arguments)})"
        if self.off == inf:
            return f"{of} overflows to {self.result:g}"
        if self.lost:
            return f"{of} underflows to 0"
        return f"{of} is rounded to {self.result:.9g}, off by {self.off:.3g}"


@dataclass
class Roundings:
    """The worst step of each function, over all that was computed."""

    worst: dict[str, Rounding] = field(default_factory=dict[str, Rounding])
    total: float = 0.0
    lost: Rounding | None = None
    """A step that underflows to zero."""

    def add(self, step: Rounding) -> None:
        """Keep a step; the worst ones of all evaluations add up."""
        self.total += step.off
        if step.name not in self.worst or step.off > self.worst[step.name].off:
            self.worst[step.name] = step

    def explaining(self, actual: float, expected: float) -> Rounding | None:
        """Return the worst step where steps explain a difference; None where they do not."""
        worst = max(self.worst.values(), key=lambda step: step.off, default=None)
        if actual == 0 and self.lost is not None:  # a later factor or root may be of any size
            return self.lost
        if worst is None or worst.off == 0:
            return None
        if worst.off == inf:
            finite = isfinite(actual) and isfinite(expected)
            return None if finite else worst
        return worst if abs(actual - expected) <= AMPLIFIED * self.total else None


_watched: ContextVar[Roundings | None] = ContextVar("_watched", default=None)


@contextmanager
def watching() -> Generator[Roundings]:
    """Note what is rounded and what overflows meanwhile."""
    token = _watched.set(roundings := Roundings())
    try:
        yield roundings
    finally:
        _watched.reset(token)


def computed(name: str, arguments: Sequence[Any], dtype: Any = None) -> Any:
    """Return what a function makes of arrays, in a type; note its roundings where they are watched.

    >>> with watching() as roundings:
    ...     _ = computed("add", [np.float32(1e30), np.float32(3)], np.float32)
    >>> print(roundings.worst["add"])
    add(1.00000002e+30, 3) is rounded to 1.00000002e+30, off by 3
    """
    values = np.asarray(function(name, len(arguments)).meaning(np, *arguments))
    if dtype is not None:
        values = values.astype(dtype, copy=False)
    if (roundings := _watched.get()) is not None and values.dtype.kind == "f" and values.size:
        worst, lost = _worst(name, arguments, values)
        roundings.add(worst)
        if lost.lost and roundings.lost is None:
            roundings.lost = lost
    return values


def _worst(name: str, arguments: Sequence[Any], values: Any) -> tuple[Rounding, Rounding]:
    """Return the element that is farthest off, and of those that are zero the one that is.

    What overflows is infinitely far off.
    """
    wide = [np.asarray(x).astype(np.longdouble) for x in np.broadcast_arrays(*arguments, values)]
    *given, result = wide
    finite = np.all([np.isfinite(x) for x in given], axis=0)
    with np.errstate(all="ignore"):
        off = np.abs(_exact(name, given, result)).astype(np.float64)
    off = np.where(np.isfinite(result), np.nan_to_num(off, nan=0.0, posinf=0.0), inf)
    off = np.where(finite, off, 0.0)

    def farthest(off: Any) -> Rounding:
        at = np.unravel_index(int(np.argmax(off)), off.shape)
        return Rounding(name, tuple(float(x[at]) for x in given), float(result[at]), float(off[at]))

    return farthest(off), farthest(np.where(result == 0, off, 0.0))


def _exact(name: str, given: Sequence[Any], result: Any) -> Any:
    """Return by how much a result is off: of sums exactly, of others in wider numbers."""
    if name == "add":
        return _sum_off(given[0], given[1], result)
    return np.asarray(function(name, len(given)).meaning(np, *given)).astype(np.longdouble) - result


def _sum_off(left: Any, right: Any, result: Any) -> Any:
    """Return by how much a sum is off, from the larger of its numbers on."""
    swapped: Any = np.abs(left) < np.abs(right)
    large, small = (
        cast("Any", np.where(swapped, *pair)) for pair in ((right, left), (left, right))
    )
    return large - result + small
