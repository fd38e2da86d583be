"""Linear equations over the field of two elements; a vector is the bits of an integer."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Solver"]


class Solver:
    """The span of columns, and how a vector is a sum of them.

    Law: the columns that ``solve(v)`` picks add up, without carries, to ``v``. Of several ways it
    picks one that leaves out every column that is a sum of earlier ones.

    >>> solver = Solver([1, 3, 2, 4])
    >>> solver.rank, bin(solver.solve(6)), solver.solve(8), solver.dependent
    (3, '0b1011', None, (2,))
    """

    def __init__(self, columns: Iterable[int]) -> None:
        """Reduce the columns, the first ones first."""
        # By leading bit: a reduced vector, and the columns of which it is the sum.
        self._rows: dict[int, tuple[int, int]] = {}
        dependent: list[int] = []
        for index, column in enumerate(columns):
            rest, used = self._reduced(column, 1 << index)
            if rest:
                self._rows[rest.bit_length()] = rest, used
            else:
                dependent.append(index)
        self.dependent = tuple(dependent)

    @property
    def rank(self) -> int:
        """The number of independent columns."""
        return len(self._rows)

    def solve(self, vector: int) -> int | None:
        """Return the columns that add up to a vector, as bits; ``None`` outside of the span."""
        rest, used = self._reduced(vector, 0)
        return None if rest else used

    def _reduced(self, vector: int, used: int) -> tuple[int, int]:
        for bit in range(vector.bit_length(), 0, -1):
            if vector.bit_length() == bit and bit in self._rows:
                row, columns = self._rows[bit]
                vector, used = vector ^ row, used ^ columns
        return vector, used
