"""Floor 8: memory whose bytes are made when they are first touched, page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["PAGE", "Pages"]

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int64]

PAGE: Final = 256
"""Bytes of a page: rows of a tile are short, and often far apart."""


class Pages:
    """Bytes by index, as of an array of ``size``; ``fill`` gives those of whole pages.

    ``fill`` is called with the first bytes of pages and returns a row of `PAGE` bytes for each.
    Those that were touched lie in `room`, and in `first` as they were before.

    >>> pages = Pages(1 << 50, lambda first: np.full((first.size, PAGE), 7, np.uint8))
    >>> pages[np.array([5, 1 << 49])] = np.array([1, 2], np.uint8)
    >>> pages[np.array([1 << 49, 6])].tolist(), pages.room.size == 2 * PAGE
    ([2, 7], True)
    """

    def __init__(self, size: int, fill: Callable[[Ints], Bytes]) -> None:
        """Start with no page touched."""
        self.size = size
        self._fill = fill
        self._rows: dict[int, int] = {}
        self._numbers: list[int] = []
        self._both: Bytes = np.zeros((2, 64 * PAGE), np.uint8)

    @property
    def room(self) -> Bytes:
        """The bytes of all pages that were touched, in the order in which they were."""
        return self._both[0, : len(self._numbers) * PAGE]

    @property
    def first(self) -> Bytes:
        """The same bytes as they were before."""
        return self._both[1, : len(self._numbers) * PAGE]

    def rooms(self, index: Ints) -> Ints:
        """Return where in `room` bytes lie, whose pages are made if they are not there yet."""
        pages, inside = index // PAGE, index % PAGE
        numbers, which = np.unique(pages, return_inverse=True)
        new = [number for number in numbers.tolist() if number not in self._rows]
        if new:
            made = self._fill(np.array(new, np.int64) * PAGE).reshape(-1)
            used = len(self._numbers) * PAGE
            if used + made.size > self._both.shape[1]:
                self._both = np.pad(self._both, ((0, 0), (0, used + made.size)))
            self._both[:, used : used + made.size] = made
            for number in new:
                self._rows[number] = len(self._numbers)
                self._numbers.append(number)
        rows = np.array([self._rows[number] for number in numbers.tolist()], np.int64)
        return rows[which.reshape(-1)].reshape(index.shape) * PAGE + inside

    def index_of(self, place: int) -> int:
        """Return the index of a byte of `room`."""
        return self._numbers[place // PAGE] * PAGE + place % PAGE

    def indices_of(self, places: Ints) -> Ints:
        """Return the indices of bytes of `room`."""
        return np.array(self._numbers, np.int64)[places // PAGE] * PAGE + places % PAGE

    def __getitem__(self, index: Ints | slice) -> Bytes:
        """Return the bytes at indices, as a copy."""
        where = self.rooms(self._each(index))
        return self.room[where]

    def __setitem__(self, index: Ints | slice, data: Bytes) -> None:
        """Write bytes at indices."""
        where = self.rooms(self._each(index))
        self.room[where] = data

    def _each(self, index: Ints | slice) -> Ints:
        return np.arange(*index.indices(self.size)) if isinstance(index, slice) else index
