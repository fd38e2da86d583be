"""Floor 9: fragments that are still matrices: put into registers only where a statement asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Late", "Where"]

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Where:
    """Which row and column of a matrix each register element is: (subgroups, elements)."""

    rows: Ints
    columns: Ints
    _same: dict[int, bool] = field(default_factory=dict[int, bool])

    def same(self, other: Where) -> bool:
        """Whether every element is at the same place; asked of few others, which stay."""
        if id(other) not in self._same:
            self._same[id(other)] = np.array_equal(self.rows, other.rows) and np.array_equal(
                self.columns, other.columns
            )
        return self._same[id(other)]


@dataclass(eq=False)
class Late:
    """What a fragment of one work-group holds: a matrix, zero outside; None for zeros alone."""

    count: int
    matrix: NDArray[Any] | None = None
    where: Where | None = None

    def values(self) -> NDArray[Any] | int:
        """Return the registers: (subgroups, elements)."""
        if self.matrix is None or self.where is None:
            return 0
        rows, columns = self.where.rows, self.where.columns
        inside = (rows < self.matrix.shape[0]) & (columns < self.matrix.shape[1])
        if inside.all():
            return self.matrix[rows, columns]
        return np.where(inside, self.matrix[rows * inside, columns * inside], 0)
