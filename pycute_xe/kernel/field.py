"""An array as a function of its places, of which only what is looked at is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import bounds, convert
from pycute_xe.numeric import Numeric

__all__ = ["Field", "drawn", "edges"]


@dataclass(frozen=True, eq=False)
class Field:
    """An array of a type and a shape whose elements are a function of their indices.

    >>> import numpy as np
    >>> from pycute_xe.numeric import as_numeric
    >>> wide = Field(as_numeric("s8"), (2**40, 2**40), lambda at: at[0] % 3 + at[1] % 2)
    >>> wide[np.array([2**39, 4]), np.array([0, 1])]
    array([2, 2], dtype=int8)
    """

    numeric: Numeric
    shape: tuple[int, ...]
    values: Callable[[tuple[NDArray[np.int64], ...]], NDArray[Any]]

    def __getitem__(self, places: tuple[Any, ...]) -> NDArray[Any]:
        """Return the elements at arrays of indices, one array for each mode."""
        found = tuple(map(np.asarray, places))
        extents = np.broadcast_shapes(*(place.shape for place in found))
        return np.broadcast_to(convert(self.values(found), self.numeric), extents)

    def whole(self) -> NDArray[Any]:
        """Return all elements as an array."""
        return np.array(self[tuple(np.ogrid[tuple(slice(0, n) for n in self.shape)])])

    @property
    def elements(self) -> int:
        """How many elements there are."""
        return prod(self.shape)


def drawn(
    key: tuple[int, ...],
    shape: tuple[int, ...],
    places: Sequence[NDArray[np.int64]],
    low: int,
    high: int,
) -> NDArray[np.int64]:
    """Return pseudo-random integers, ``low`` to ``high`` inclusive, by key and place.

    Source: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a counter through its finaliser.
    """
    state = np.uint64(0)
    with np.errstate(over="ignore"):
        for part in key:
            state = _mixed_up(state + np.uint64(part + 1))
        at: Any = np.uint64(0)
        for place, extent in zip(places, shape, strict=True):
            at = at * np.uint64(extent) + place.astype(np.uint64)
        found = _mixed_up(state + at)
    return (found % np.uint64(high - low + 1)).astype(np.int64) + low


def _mixed_up(state: Any) -> Any:
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@cache
def edges(numeric: Numeric) -> NDArray[Any]:
    """Return numbers at the edges of a type: its largest, its least, powers of two and halves.

    >>> from pycute_xe.numeric import as_numeric
    >>> edges(as_numeric("s8")).tolist()[:4]
    [-128, -127, -65, -64]
    """
    if numeric.kind != "float":
        low, high = bounds(numeric)
        powers = [sign * (1 << bit) + by for bit in range(numeric.bits) for sign in (1, -1)
                  for by in (-1, 0, 1)]  # fmt: skip
        whole = sorted({n for n in (low, high, low + 1, high - 1, 0, *powers) if low <= n <= high})
        return np.array(whole, np.uint64 if high >= 1 << 63 else np.int64)
    powers = [2.0**bit for bit in (-149, -133, -126, -24, -14, -8, 0, 1, 7, 8, 10, 11, 15, 23, 24)]
    powers += [2.0**31, 2.0**63, 65504.0, 448.0, 57344.0, 2.0**127 * (2 - 2.0**-7)]
    powers += [2.0**127 * (2 - 2.0**-23)]
    near = [p * (1 + by) for p in powers for by in (0.0, 2.0**-7, 2.0**-8, 2.0**-10, 2.0**-11,
            2.0**-23, -(2.0**-8), -(2.0**-11), -(2.0**-24))]  # fmt: skip
    numbers = np.array([0.0, -0.0, 0.5, 1.5, 2.5, 127.5, *near, *(-x for x in near)])
    found = convert(numbers, numeric).astype(np.float64)
    return np.concatenate([np.unique(found[np.isfinite(found)]), [-0.0, 0.0]])
