"""The swizzle that removes bank conflicts, looked for among all that keep vectors whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pycute_xe.analysing.accesses import Machine, accesses, machine, turns_of
from pycute_xe.errors import InputError, quoted
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle

__all__ = ["best_swizzle", "searched"]


@typed
def best_swizzle(
    *layouts: Layout, bits: int = 16, lanes: int = 16, vector: int = 1, banks: Any = (16, 4)
) -> Swizzle | None:
    """Return the swizzle of one array that costs its accesses the fewest turns, if one helps.

    ``layouts`` are the accesses of the array, for instance one that writes rows and one that reads
    columns: each maps lanes, and then values, to offsets in elements. Law: no swizzle that keeps
    ``vector`` elements together and the array's bits in place takes fewer turns over all accesses;
    among equals it moves the fewest bits, the lowest ones. ``None`` where the array as it is takes
    as few. Raises `InputError` without layouts, and as `analysis` does. C++: ``Swizzle``, chosen by
    hand.

    >>> best_swizzle(Layout((16, 64), (64, 1)), bits=32)
    Swizzle(4, 0, 6)
    >>> best_swizzle(Layout(16), bits=32) is None
    True
    """
    if not layouts:
        raise InputError("best_swizzle", {}, "the accesses are missing", "give one layout or more")
    for layout in layouts:
        if not isinstance(layout, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(
                "best_swizzle",
                {"layout": quoted(layout)},
                "it is not a plain layout",
                "give the layout beneath the swizzle",
            )
    return searched(layouts, machine(bits, lanes, vector, 64, banks))


@lru_cache(maxsize=256)
def searched(layouts: tuple[Layout, ...], on: Machine) -> Swizzle | None:
    """Return what `best_swizzle` looks for, with its arguments checked.

    >>> searched((Layout((16, 64), (64, 1)),), Machine(32, 16, 1, 64, (16, 4)))
    Swizzle(4, 0, 6)
    """
    patterns: dict[tuple[int, ...], int] = {}
    end = 0
    for layout in layouts:
        for access in accesses(layout, on):
            patterns[access.offsets] = patterns.get(access.offsets, 0) + 1
            end = max(end, *access.offsets)
    fewest = sum(turns_of(offsets, on) * count for offsets, count in patterns.items())
    least = sum(least_turns(offsets, on) * count for offsets, count in patterns.items())
    best: Swizzle | None = None
    for swizzle in candidates(end, on):
        if fewest == least:
            break  # nothing can be better
        turns = 0
        for offsets, count in patterns.items():
            turns += turns_of(tuple(map(swizzle, offsets)), on) * count
            if turns >= fewest:
                break
        if turns < fewest:
            best, fewest = swizzle, turns
    return best


def candidates(end: int, on: Machine) -> Iterator[Swizzle]:
    """Yield the swizzles of offsets up to ``end`` that keep vectors whole, fewest bits first.

    >>> list(map(str, candidates(7, Machine(32, 16, 2, 64, (2, 4)))))
    ['Sw<1,1,1>']
    """
    whole, top = (on.vector - 1).bit_length(), end.bit_length()
    for bits in range(1, top - whole + 1):
        for base in range(whole, top - 2 * bits + 1):
            for shift in range(bits, top - base - bits + 1):
                yield Swizzle(bits, base, shift)


def least_turns(offsets: tuple[int, ...], on: Machine) -> int:
    """Return the turns that the same number of elements take when they are packed and spread.

    >>> least_turns((0, 32, 64), Machine(16, 16, 1, 64, (16, 4)))
    1
    """
    count, width = on.banks or (1, 1)
    words = -(-len(set(offsets)) * on.bits // (8 * width))
    return max(1, -(-words // count))
