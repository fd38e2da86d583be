"""Floor 9: where what is computed in finite types is read as real arithmetic, and where it is not.

A sum or a product in floats is off by a rounding, and is claimed all the same: it is read as one of
real numbers, and the verdict says so. What is only moved, converted, chosen or compared is exact.
So is what becomes a wide integer afterwards: a last bit of a float is a number there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pycute_xe.converting import convert
from pycute_xe.kernel.spec.functions import COMPARING
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.verifying.formula import Formula
from pycute_xe.verifying.spans import span

__all__ = ["Reading"]

FEW_BITS = 16
"""Integers that are so narrow are changed by a float's last bit at ties alone."""


F32 = as_numeric("f32")


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= abs(other) * 2.0**-24


@dataclass(frozen=True, slots=True)
class Reading:
    """How a value is read by what becomes of it.

    ``real`` says that operations in floats are read as those of real numbers. Where ``near``, a
    rounding of that kind follows, with which those of numbers and of integers that become floats
    are excused; where ``sums``, those of sums of integers are, which become floats on their way
    into a narrower type. ``finest`` is the type to which constants are then taken.
    """

    real: bool = True
    near: bool = False
    sums: bool = False
    finest: Numeric = F32

    @classmethod
    def of(cls, kind: Numeric) -> Reading:
        """Return how what elements of a type hold is read."""
        # closed: every other type is computed in f32
        return cls(sums=kind.kind == "float", finest=kind if kind.name == "f64" else F32)

    def operand(self, function: str, rounds: bool) -> Reading:
        """Return how an argument of a function is read."""
        if function in COMPARING:
            return Reading(self.real, finest=self.finest)
        return replace(self, near=self.real, sums=self.real) if rounds else self

    def converted(self, to: Numeric) -> Reading:
        """Return how what is converted to a type is read."""
        if to.kind != "float":
            return Reading(to.bits <= FEW_BITS, finest=self.finest)
        return Reading(self.real, sums=self.real, finest=self.finest)

    def constant(self, value: float, numeric: Numeric | None) -> float:
        """Return the number that a constant of a type stands for."""
        if numeric is None:
            return value
        kept = float(convert(np.array([value]), numeric)[0])
        return self.excused(value) if self.near and _is_close(kept, value) else kept

    def excused(self, value: float) -> float:
        """Return a constant as the outputs that take part in it may have it."""
        kept = float(convert(np.array([value]), self.finest)[0])
        return kept if self.near and _is_close(kept, value) else value

    def excuses(self, to: Numeric, formula: Formula, rounds: bool) -> bool:
        """Whether a conversion to a type in which is computed is left out.

        That of integers, and that of what a computation that ``rounds`` gives.
        """
        if to.name not in ("f32", "f64") or not (self.near or self.sums):
            return False
        if rounds:
            return True
        if not span(formula).whole:
            return False
        moved = len(formula) == 1 and not formula[0].over and len(formula[0].places) < 2
        return self.near or not moved
