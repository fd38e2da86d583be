"""Floor 9: elements at which subgroups leave different bytes in one store: which stay is chance.

All subgroups store at once, so that another subgroup's bytes are found where one's own were put.
Of a subgroup's stores to an element the last counts, so that the elements are judged at the end.
Stores of different statements, and reads beside them, are the reference executor's to judge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError

__all__ = ["Disputed"]

Ints = NDArray[np.int64]


class Disputed:
    """Elements of outputs, by name, that two subgroups stored different bytes to."""

    def __init__(self) -> None:
        """Start with nothing stored."""
        self.found: dict[str, Ints] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def stored(
        self, name: str, array: NDArray[Any], at: tuple[Ints, ...], values: Any, thread: Ints
    ) -> None:
        """Look at what a store left: its indices, what it put there, and who did."""
        now = np.ascontiguousarray(array[at])
        lost = (_bytes(now) != _bytes(np.ascontiguousarray(values))).any(axis=1)
        known = self.found.get(name)
        if not lost.any() and known is None:
            return
        flat: Ints = np.ravel_multi_index(at, array.shape)
        kept: set[int] = set()
        if known is not None:
            kept = {int(place) for place in np.setdiff1d(known, flat)}
        disputed = np.flatnonzero(np.isin(flat, flat[lost]))
        last = {int(flat[i]): int(thread[i]) for i in disputed}
        mine = [int(i) for i in np.flatnonzero(lost)]
        kept |= {int(flat[i]) for i in mine if last[int(flat[i])] != int(thread[i])}
        self.shapes[name] = array.shape
        self.found[name] = np.array(sorted(kept), dtype=np.int64)

    def check(self) -> None:
        """Refuse what was left in dispute. Raises `MachineError`."""
        for name, places in self.found.items():
            if places.size:
                index = [int(i) for i in np.unravel_index(int(places[0]), self.shapes[name])]
                raise MachineError(
                    "run",
                    {"place": f"{name}{index}"},
                    "race: two subgroups store it, the bytes differ, and nothing orders the two",
                    "give every element one writer",
                )


def _bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    return values.reshape(-1).view(np.uint8).reshape(values.size, values.itemsize)
