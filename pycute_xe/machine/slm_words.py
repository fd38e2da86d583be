"""Floor 8: the bytes of an access to shared local memory, and how reports name them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Index", "Part", "addresses", "by", "named"]

Index = NDArray[np.int64]
Part = slice | Index


def addresses(part: Part) -> Index:
    """Return the byte addresses of an access.

    >>> addresses(slice(3, 6)).tolist()
    [3, 4, 5]
    """
    if not isinstance(part, slice):
        return part
    start: int = part.start
    return np.arange(start, part.stop, dtype=np.int64)


def named(where: Index) -> str:
    """Return a set of bytes in words, short.

    >>> named(np.array([3, 4, 5])), named(np.array([3, 9]))
    ('3 to 5', '2 of 3 to 9')
    """
    found = np.unique(where)
    first, last = int(found[0]), int(found[-1])
    if last - first + 1 == found.size:
        return str(first) if first == last else f"{first} to {last}"
    return f"{found.size} of {first} to {last}"


def by(label: str) -> str:
    """Return who did it, in words.

    >>> by("slm_block_store (kernel:7)")
    ' by slm_block_store (kernel:7)'
    """
    return f" by {label}" if label else ""
