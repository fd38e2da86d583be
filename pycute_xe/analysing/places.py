"""The offsets of a layout as a set: how far they reach, where gaps are, what is shared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import lcm

__all__ = ["Aliasing", "Footprint", "Permutation", "blocks_of", "footprint", "permutation"]


@dataclass(frozen=True, slots=True)
class Footprint:
    """Where the offsets of a layout lie, in elements.

    ``runs`` are the stretches of consecutive offsets, each its first offset and its length.

    >>> f = footprint((0, 1, 4, 5))
    >>> f.span, f.distinct, f.holes, f.gaps
    (6, 4, 2, (2,))
    """

    first: int
    last: int
    runs: tuple[tuple[int, int], ...]

    @property
    def span(self) -> int:
        """Offsets from the first to the last one, both counted."""
        return self.last - self.first + 1

    @property
    def distinct(self) -> int:
        """Offsets that are hit."""
        return sum(length for _, length in self.runs)

    @property
    def holes(self) -> int:
        """Offsets between the first and the last one that are not hit."""
        return self.span - self.distinct

    @property
    def gaps(self) -> tuple[int, ...]:
        """The lengths of the gaps between runs, in order."""
        ends = [start + length for start, length in self.runs]
        return tuple(start - end for (start, _), end in zip(self.runs[1:], ends[:-1], strict=True))


@dataclass(frozen=True, slots=True)
class Aliasing:
    """How many coordinates share an offset: ``shared`` offsets, ``most`` coordinates at one.

    >>> Aliasing(0, 1).any
    False
    """

    shared: int
    most: int

    @property
    def any(self) -> bool:
        """Whether two coordinates share an offset."""
        return self.shared > 0


@dataclass(frozen=True, slots=True)
class Permutation:
    """The permutation that a layout of dense offsets is: index ``i`` goes to ``images[i]``.

    Offsets count from the lowest one.

    >>> p = Permutation((0, 2, 4, 1, 3, 5))
    >>> p.cycles, p.fixed_points, p.order, p.parity
    (((0,), (1, 2, 4, 3), (5,)), (0, 5), 4, -1)
    """

    images: tuple[int, ...]

    @property
    def cycles(self) -> tuple[tuple[int, ...], ...]:
        """The cycles, each from its smallest index, fixed points among them."""
        out: list[tuple[int, ...]] = []
        seen = bytearray(len(self.images))
        for start in range(len(self.images)):
            cycle: list[int] = []
            at = start
            while not seen[at]:
                seen[at] = 1
                cycle.append(at)
                at = self.images[at]
            if cycle:
                out.append(tuple(cycle))
        return tuple(out)

    @property
    def fixed_points(self) -> tuple[int, ...]:
        """The indices that stay where they are."""
        return tuple(i for i, image in enumerate(self.images) if i == image)

    @property
    def order(self) -> int:
        """How often it is applied until every index is where it was: at least once."""
        return lcm(*map(len, self.cycles))

    @property
    def parity(self) -> int:
        """1 for an even number of exchanges, -1 for an odd one."""
        return -1 if (len(self.images) - len(self.cycles)) % 2 else 1


def footprint(offsets: tuple[int, ...]) -> Footprint:
    """Return where offsets lie.

    >>> footprint((6, 2, 2)).runs
    ((2, 1), (6, 1))
    """
    runs: list[tuple[int, int]] = []
    for offset in sorted(set(offsets)):
        if runs and offset == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((offset, 1))
    return Footprint(runs[0][0], sum(runs[-1]) - 1, tuple(runs))


def aliasing(offsets: tuple[int, ...]) -> Aliasing:
    """Return which offsets are hit more than once.

    >>> aliasing((0, 0, 1, 0))
    Aliasing(shared=1, most=3)
    """
    counts = Counter(offsets).values()
    return Aliasing(sum(count > 1 for count in counts), max(counts))


def permutation(offsets: tuple[int, ...]) -> Permutation | None:
    """Return the permutation that offsets are, or ``None`` where they repeat or leave gaps.

    >>> permutation((1, 0)), permutation((0, 2))
    (Permutation(images=(1, 0)), None)
    """
    lowest = min(offsets)
    if max(offsets) - lowest + 1 != len(offsets) or len(set(offsets)) != len(offsets):
        return None
    return Permutation(tuple(offset - lowest for offset in offsets))


def run_length(offsets: tuple[int, ...]) -> int:
    """Return how many elements from the start lie one behind the other.

    >>> run_length((4, 5, 6, 0)), run_length((0, 0))
    (3, 1)
    """
    for i, offset in enumerate(offsets):
        if offset != offsets[0] + i:
            return i
    return len(offsets)


def blocks_of(offsets: tuple[int, ...]) -> int:
    """Return the largest power of two such that every aligned block of so many lies in one piece.

    Each block must also start at a multiple of its length, as one vector access demands.

    >>> blocks_of((0, 1, 4, 5)), blocks_of((1, 2, 3, 4)), blocks_of((0, 1, 2))
    (2, 1, 1)
    """
    width = 1
    while len(offsets) % (2 * width) == 0 and all(
        offsets[i] % (2 * width) == 0 and run_length(offsets[i : i + 2 * width]) == 2 * width
        for i in range(0, len(offsets), 2 * width)
    ):
        width *= 2
    return width
