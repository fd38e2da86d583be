"""Floor 3: where copies of a layout stand when they fill the offsets, and what is cut by modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pycute_xe.algebra.laws.points import equal, in_mode, kept, values
from pycute_xe.int_tuple import ceil_div
from pycute_xe.layout import Layout, make_layout, pair, rank, size
from pycute_xe.typing import Tiler, is_tuple

__all__ = [
    "Places",
    "by_mode",
    "find_places",
    "named_modes",
    "split",
    "zipped",
]

# What judges one layout against one tiler.
Law = Callable[[Layout, Any, Layout], "str | None"]


@dataclass(frozen=True)
class Places:
    """Where copies of a layout start that together hold each integer at most once, in order.

    ``starts`` are the first; no copy of those holds ``free``, the least such integer. Where they
    leave no hole below it the rest ``repeats``, else no copy fits there and there are no more.

    >>> places = Places((0, 1), 4, True)
    >>> [places(k) for k in range(5)], places.count(9)
    ([0, 1, 4, 5, 8], 6)
    """

    starts: tuple[int, ...]
    free: int
    repeats: bool

    def __call__(self, k: Any) -> Any:
        """Return the place of copy ``k``."""
        period = len(self.starts)
        index: int = k % period
        return self.starts[index] + k // period * self.free

    def count(self, end: Any) -> Any:
        """Return how many copies fill the least whole number of periods that reaches ``end``."""
        return ceil_div(end, self.free) * len(self.starts)

    def short(self, count: Any, end: Any) -> str | None:
        """Claim that so many copies hold what is below ``end``, in whole periods if there are.

        >>> Places((0, 1), 4, True).short(2, 8), Places((0, 2), 3, False).short(1, 3)
        ('the number of tiles is 2, of those needed is 4', 'no tile holds index 2')
        """
        if self.repeats:
            return equal("the number of tiles", count, "of those needed", self.count(end))
        index: int = count
        first = self.starts[index] if index < len(self.starts) else self.free
        return f"no tile holds index {first}" if first < end else None


def find_places(part: Layout) -> Places:
    """Return the places, found by listing: the next copy starts at the least integer not held.

    No other copy can hold it. Elements that repeat count once.

    >>> find_places(Layout((2, 2), (1, 6)))
    Places(starts=(0, 2, 4), free=12, repeats=True)
    >>> find_places(Layout((2, 2), (1, 3)))
    Places(starts=(0,), free=2, repeats=False)
    """
    offsets = set(values(part))
    held: set[int] = set()
    starts: list[int] = []
    free = 0
    while min(offsets) == 0:
        copy = {free + offset for offset in offsets}
        if copy & held:
            break
        held |= copy
        starts.append(free)
        while free in held:
            free += 1
        if free == len(held):  # no hole is left behind
            return Places(tuple(starts), free, repeats=True)
    return Places(tuple(starts), free, repeats=False)


def named_modes(law: Law, whole: Layout, tiler: tuple[Any, ...], result: Layout) -> str | None:
    """Claim a law for each mode that the tiler names, and that the result has no others.

    >>> named_modes(lambda a, t, r: f"{a} by {t}", Layout((4, 2)), (2,), Layout((2,)))
    'in mode 0: 4:1 by 2'
    """
    if len(tiler) > len(whole):
        return f"the tiler has {len(tiler)} modes, the layout {len(whole)}"
    broken = equal("rank(result)", rank(result), "of the tiler", len(tiler))
    for i, part in enumerate(() if broken else tiler):
        broken = broken or in_mode(i, law(whole[i], part, result[i]))
    return broken


def by_mode(law: Law, whole: Layout, tiler: tuple[Any, ...], result: Layout) -> str | None:
    """Claim a law for each mode that the tiler names, and that the others are as they were.

    >>> by_mode(lambda a, t, r: f"{a} by {t}", Layout((4, 2)), (2,), Layout((4, 2)))
    'in mode 0: 4:1 by 2'
    """
    broken = _ranks(whole, tiler, result)
    for i, mode in enumerate(() if broken else whole):
        found = law(mode, tiler[i], result[i]) if i < len(tiler) else kept(mode, result[i])
        broken = broken or in_mode(i, found)
    return broken


def _ranks(whole: Layout, tiler: tuple[Any, ...], result: Layout) -> str | None:
    if len(tiler) > len(whole):
        return f"the tiler has {len(tiler)} modes, the layout {len(whole)}"
    return equal("rank(result)", rank(result), "rank(layout)", rank(whole))


def zipped(law: Law, whole: Layout, tiler: Tiler, result: Layout) -> str | None:
    """Claim a law of pairs for a result that gathers first parts and second parts.

    ``None`` in a tiler takes a mode whole and pairs it with one element; modes beyond the tiler
    are among the second parts.

    >>> zipped(lambda a, t, r: f"{a} by {t}", Layout((4, 6)), (None, 2), Layout(((4, 2), (1, 3))))
    'in mode 1: 6:4 by 2'
    """
    broken = equal("rank(result)", rank(result), "of a pair", 2)
    if broken:
        return broken
    first, second = result
    if tiler is None:
        return kept(whole, first) or equal("the size of the second part", size(second), "of one", 1)
    if not is_tuple(tiler):
        return law(whole, tiler, result)
    broken = equal("the rank of the first part", rank(first), "of the tiler", len(tiler))
    broken = broken or _ranks(whole, tiler, second)
    for i, mode in enumerate(() if broken else whole):
        if i < len(tiler):
            found = zipped(law, mode, tiler[i], pair(first[i], second[i]))
        else:
            found = kept(mode, second[i])
        broken = broken or in_mode(i, found)
    return broken


def split(result: Layout, count: int) -> Layout:
    """Gather the first ``count`` modes and the others into a pair; one mode alone stays as it is.

    Where there are no others, the result comes back as it is.

    >>> print(split(Layout((4, 8, 2, 2)), 2), split(Layout((4, 8)), 1))
    ((4,8),(2,2)):((1,4),(32,64)) (4,8):(1,4)
    """
    modes = list(result)
    if len(modes) <= count:
        return result
    parts = [modes[:count], modes[count:]]
    return make_layout(*(part[0] if len(part) == 1 else make_layout(*part) for part in parts))
