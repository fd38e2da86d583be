"""Floor 9: fragments that are still matrices: put into registers only where a statement asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.groups.sums import Sum

__all__ = ["Late", "Where"]

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Where:
    """Which row and column of a matrix each register element is: (subgroups, elements)."""

    rows: Ints
    columns: Ints
    _same: dict[int, tuple[Where, bool]] = field(default_factory=dict[int, "tuple[Where, bool]"])

    def same(self, other: Where) -> bool:
        """Whether every element is at the same place; asked of few others, which stay."""
        if id(other) not in self._same:
            pairs = ((self.rows, other.rows), (self.columns, other.columns))
            self._same[id(other)] = other, all(np.array_equal(x, y) for x, y in pairs)
        return self._same[id(other)][1]


@dataclass(eq=False)
class Late:
    """What a fragment of one work-group holds: a sum, zero outside its matrix; None for zeros."""

    count: int
    total: Sum | None = None
    where: Where | None = None

    def values(self) -> NDArray[Any] | int:
        """Return the registers: (subgroups, elements)."""
        if self.total is None or self.where is None:
            return 0
        matrix = self.total.matrix()
        rows, columns = self.where.rows, self.where.columns
        inside = (rows < matrix.shape[0]) & (columns < matrix.shape[1])
        if inside.all():
            return matrix[rows, columns]
        return np.where(inside, matrix[rows * inside, columns * inside], 0)

    def plus(self, other: Late) -> Late | None:
        """Return the sum of both, None where they do not lie alike."""
        if self.total is None or other.total is None or self.where is None or other.where is None:
            return None
        alike = self.total.shape == other.total.shape and self.total.numeric == other.total.numeric
        if not alike or self.count != other.count or not self.where.same(other.where):
            return None
        return Late(self.count, self.total.plus(other.total), self.where)
