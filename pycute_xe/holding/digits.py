"""Tables recognised as sums of digits: a map in its shortest form.

A finite map over several variables, each from 0 up, is separable if it is a sum of functions of one
variable; each of those is written in mixed-radix digits of its variable where it can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pycute_xe.holding.patience import charge
from pycute_xe.kernel.arrays import Ints

__all__ = ["Digit", "DigitMap", "as_digits"]


AXIS, NUMBER = 80, 0.01
"""Units for an axis of a table that is taken apart, and for a number of it."""


@dataclass(frozen=True, slots=True)
class Digit:
    """``weight * (floor(variable / divisor) mod extent)``; no ``mod`` where ``last``."""

    variable: int
    divisor: int
    extent: int
    weight: int
    last: bool

    def text(self, name: str) -> str:
        """Return the digit as a formula of a name.

        >>> Digit(0, 16, 4, 8, False).text("x")
        '8*(floor(x/16) mod 4)'
        """
        inner = name if self.divisor == 1 else f"floor({name}/{self.divisor})"
        if not self.last:
            inner = f"({inner} mod {self.extent})"
        return inner if self.weight == 1 else f"{self.weight}*{inner}"

    def values(self, count: int) -> Ints:
        """Return the digit for every value of its variable."""
        return self.weight * (np.arange(count) // self.divisor % self.extent)


@dataclass(frozen=True, slots=True)
class DigitMap:
    """A constant plus digits of several variables: the map as NumPy table, text and set alike.

    >>> from numpy import arange
    >>> found = as_digits(arange(8)[:, None] * 16 + arange(4) // 2)
    >>> found.text(("r", "c")), found.table((8, 4))[3].tolist()
    ('16*r + floor(c/2)', [48, 48, 49, 49])
    """

    constant: int
    digits: tuple[Digit, ...]

    def text(self, names: tuple[str, ...]) -> str:
        """Return the map as a formula of names, which isl reads too."""
        parts = [digit.text(names[digit.variable]) for digit in self.digits]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)

    def table(self, shape: tuple[int, ...]) -> Ints:
        """Return the map as a table over a box."""
        out = np.full(shape, self.constant, dtype=np.int64)
        for digit in self.digits:
            axis = [1] * len(shape)
            axis[digit.variable] = shape[digit.variable]
            out += digit.values(shape[digit.variable]).reshape(axis)
        return out


def as_digits(table: Ints) -> DigitMap | None:
    """Return a table as digits of its axes, None where it is not a sum of such.

    Law: ``as_digits(t).table(t.shape) == t``.
    """
    charge(AXIS * table.ndim + NUMBER * table.size)
    corner = (0,) * table.ndim
    constant = int(table[corner])
    digits: list[Digit] = []
    total = np.full((1,) * table.ndim, constant, dtype=np.int64)
    for axis, count in enumerate(table.shape):
        line = np.moveaxis(table, axis, 0)[(slice(None), *corner[1:])] - constant
        total = total + line.reshape([count if i == axis else 1 for i in range(table.ndim)])
        found = _of_one(line)
        if found is None:
            return None
        digits += [
            Digit(axis, divisor, extent, weight, divisor * extent == count)
            for divisor, extent, weight in found
            if weight
        ]
    return DigitMap(constant, tuple(digits)) if np.array_equal(total, table) else None


def _of_one(line: Ints) -> list[tuple[int, int, int]] | None:
    """Write a function of one variable as (divisor, extent, weight), None where it is none such."""
    out: list[tuple[int, int, int]] = []
    divisor = 1
    while line.size > 1:
        weight = int(line[1] - line[0])
        ramp = line == line[0] + weight * np.arange(line.size)
        run = line.size if ramp.all() else int(np.argmin(ramp))
        extent = next(
            (n for n in range(run, 1, -1) if line.size % n == 0 and _repeats(line, n, weight)),
            0,
        )
        if not extent:
            return None
        out.append((divisor, extent, weight))
        line, divisor = line[::extent], divisor * extent
    return out


def _repeats(line: Ints, extent: int, weight: int) -> bool:
    rows = line.reshape(-1, extent)
    return bool((rows - rows[:, :1] == weight * np.arange(extent)).all())
