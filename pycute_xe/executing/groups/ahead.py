"""Floor 9: indices that are looked up, for all work-groups and trips at once.

Work-groups that are done one by one ask for the same indices again and again. Where an index
depends on the grid and on the loop around everything alone, it is computed once as a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.kernel import Index, Kernel, Loop, Statement, walk

__all__ = ["Ahead"]

Ints: TypeAlias = NDArray[np.int64]

# Numbers in a table.
_ROOM = 1 << 17


class Ahead:
    """Tables of indices; what an index of some work-group or trip looks up outside is left out."""

    def __init__(
        self, kernel: Kernel, sizes: Mapping[str, int], memory: Mapping[str, Any], grid: Ints
    ) -> None:
        """Find the outer loop and how far any work-group goes in it."""
        self.memory, self.sizes, self.grid = memory, dict(sizes), grid
        self.names = {name for name, _ in kernel.grid}
        self.columns = {name: grid[:, i, None] for i, (name, _) in enumerate(kernel.grid)}
        self.first, self.trips, self.var = 0, 1, ""
        self._tables: dict[int, tuple[Index, list[list[int | None]] | None]] = {}
        every = (i for s in walk(kernel.body) for i in (*s.touched.indices, *_places(s)))
        self._asked = {id(index): index for index in every}
        loop = next((s for s in kernel.body if isinstance(s, Loop)), None)
        if loop is not None and len(kernel.body) == 1:
            self._enter(loop)

    def _enter(self, loop: Loop) -> None:
        ends = [self._all(index) for index in (loop.start, loop.stop)]
        if any(found is None for found in ends):
            return
        first, last = ([x for row in found or [] for x in row if x is not None] for found in ends)
        if not first or not last:
            return
        trips = max(last) - min(first)
        if trips > 0 and trips * self.grid.shape[0] <= _ROOM:
            self.first, self.trips, self.var = min(first), trips, loop.var

    def ask(self, index: Index) -> None:
        """Say that an index which is kept is asked for often."""
        self._asked[id(index)] = index

    def number(self, index: Index, group: int, names: Mapping[str, Any]) -> int | None:
        """Return what an index is for a work-group, None where no table says it."""
        if id(index) not in self._asked:
            return None
        if id(index) not in self._tables:
            self._tables[id(index)] = index, self._all(index) if index.looked_up else None
        found = self._tables[id(index)][1]
        if found is None:
            return None
        trip: int = names.get(self.var, self.first) - self.first
        row = found[group]
        if len(row) == 1:
            return row[0]
        return row[trip] if self.var in names and 0 <= trip < len(row) else None

    def _all(self, index: Index) -> list[list[int | None]] | None:
        """Return an index for all work-groups, and trips where these matter."""
        own = {self.var: np.arange(self.first, self.first + self.trips)} if self.var else {}
        names: dict[str, Any] = self.sizes | self.columns | own
        if not index.names <= set(names) or self.grid.shape[0] > _ROOM:
            return None
        outside: Any = np.zeros((1, 1), np.bool_)

        def look_up(name: str, at: tuple[Any, ...]) -> Any:
            nonlocal outside
            array = self.memory[name]
            kept: list[Any] = []
            for place, extent in zip(at, array.shape, strict=True):
                outside = outside | (np.asarray(place) < 0) | (np.asarray(place) >= extent)
                kept.append(np.clip(place, 0, extent - 1))
            return array[tuple(kept)].astype(np.int64)

        if any(not self.memory[x.operand].size for x in index.looked_up):
            return None
        shape = np.zeros((self.grid.shape[0], 1))
        numbers: Any = index.at(names, look_up)
        values, wrong, _ = np.broadcast_arrays(np.asarray(numbers), outside, shape)
        rows: list[list[int | None]] = values.tolist()
        for group, trip in np.argwhere(wrong).tolist():
            rows[group][trip] = None
        return rows


def _places(statement: Statement) -> tuple[Index, ...]:
    """Return where a statement says that it begins: shared arrays have one index."""
    at = getattr(statement, "at", ())
    return (at,) if isinstance(at, Index) else at
