"""What each operation promises, decided by listing offsets: nothing of a library is used here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _leaves(tree: Any) -> tuple[int, ...]:
    return sum(map(_leaves, tree), ()) if isinstance(tree, tuple) else (tree,)


@dataclass(frozen=True)
class Flat:
    """A layout as its leaves."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return prod(self.shape)

    @property
    def cosize(self) -> int:
        """One more than the largest offset."""
        return 1 + sum((s - 1) * d for s, d in zip(self.shape, self.stride, strict=True))

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """All offsets, first mode fastest."""
        return self.at(np.arange(self.size))

    def at(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """The offsets of integer coordinates; the last mode that can move is unbounded."""
        out = np.zeros_like(index)
        for s, d in zip(self.shape[:-1], self.stride[:-1], strict=True):
            out += index % s * d
            index = index // s
        return out + index * self.stride[-1] if self.shape else out


def flat_layout(layout: Any) -> Flat:
    """The leaves of any library's layout."""
    return Flat(_leaves(layout.shape), _leaves(layout.stride))


def composed(a: Flat, b: Flat, result: Flat) -> bool:
    """``R(i) == A(B(i))`` for every coordinate of B, and no more coordinates."""
    return result.size == b.size and np.array_equal(result.offsets, a.at(b.offsets))


def complemented(a: Flat, b: Flat, result: Flat) -> bool:
    """R is ordered, hits nothing twice and nothing that A hits, and both fill the cotarget."""
    offsets = result.offsets
    if not offsets.size or np.any(np.diff(offsets) <= 0):
        return False
    both = np.unique(np.unique(a.offsets)[:, None] + offsets[None, :])
    disjoint = both.size == np.unique(a.offsets).size * offsets.size
    return disjoint and bool(both[-1] + 1 >= b.cosize)


def divided(a: Flat, b: Flat, result: Flat) -> bool:
    """The first size(B) elements are A after B, and the tiles together hold every element of A."""
    if result.size < max(a.size, b.size) or result.size % b.size:
        return False
    if not np.array_equal(result.offsets[: b.size], a.at(b.offsets)):
        return False
    return _covers(a, b, result)


def _covers(a: Flat, b: Flat, result: Flat) -> bool:
    distinct, index = np.unique(b.offsets, return_index=True)
    tiles = result.offsets.reshape(-1, b.size)[:, index]
    if tiles.size < a.size or distinct.size * tiles.shape[0] != tiles.size:
        return False
    return bool(np.isin(a.offsets, tiles).all())


def right_inverted(a: Flat, _: Flat, result: Flat) -> bool:
    """``A(R(i)) == i`` for every coordinate of R."""
    return np.array_equal(a.at(result.offsets), np.arange(result.size))


def left_inverted(a: Flat, _: Flat, result: Flat) -> bool:
    """``A(R(A(i))) == A(i)`` for every coordinate of A: R(A(i)) is i where no offset repeats."""
    indices = result.at(a.offsets)
    inside = bool((indices >= 0).all() and (indices < a.size).all())
    return inside and np.array_equal(a.offsets[indices], a.offsets)


BINARY = ("composition", "logical_divide")
POSTCONDITIONS: dict[str, Callable[[Flat, Flat, Flat], bool]] = {
    "composition": composed,
    "complement": complemented,
    "logical_divide": divided,
    "right_inverse": right_inverted,
    "left_inverse": left_inverted,
}
