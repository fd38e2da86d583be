"""What a vector remembers of how it was filled, for the lints that ask for the order."""

from __future__ import annotations

__all__ = ["Record"]


class Record:
    """Which write each element of a vector comes from, and whether it is a tile as memory has it.

    Elements that a whole assignment or adjacent writes filled are not told apart.

    >>> record = Record(8)
    >>> record.wrote(range(0, 8, 2)), record.wrote(range(1, 8, 2)), record.interleaved(4, 2)
    (None, None, True)
    """

    __slots__ = ("_by", "plain_tile", "size")

    def __init__(self, size: int, plain_tile: bool = False) -> None:
        """Start with elements of no known order."""
        self.size = size
        self.plain_tile = plain_tile
        self._by: list[range | None] | None = None

    def wrote(self, lanes: range | None) -> None:
        """Note a write to some elements; ``None`` for bytes that are not whole elements of it.

        >>> record = Record(4)
        >>> record.wrote(range(0, 4, 2)), record.wrote(range(4)), record.interleaved(2, 2)
        (None, None, False)
        """
        self.plain_tile = False
        if lanes is None or len(lanes) == self.size:
            self._by = None
        elif self._by is not None or lanes.step != 1:
            by: list[range | None] = self._by or [None] * self.size
            for lane in lanes:
                by[lane] = lanes
            self._by = by

    def copy(self) -> Record:
        """The record of a copy of the vector.

        >>> Record(4, plain_tile=True).copy().plain_tile
        True
        """
        made = Record(self.size, self.plain_tile)
        made._by = None if self._by is None else list(self._by)
        return made

    def take(self, other: Record, plain_tile: bool) -> None:
        """Go on as the record of the vector that was copied here.

        >>> record, filled = Record(4), Record(4)
        >>> filled.wrote(range(0, 4, 2)), filled.wrote(range(1, 4, 2)), record.take(filled, False)
        (None, None, None)
        >>> record.interleaved(2, 2)
        True
        """
        self.plain_tile = plain_tile and other.plain_tile
        self._by = other.copy()._by

    def interleaved(self, lanes: int, elements: int) -> bool:
        """Whether every element comes from a write of all lanes, ``elements`` apart.

        >>> Record(4).interleaved(2, 2)
        False
        """
        if self._by is None or min(lanes, elements) < 2 or lanes * elements != self.size:
            return False
        parts = [range(e, self.size, elements) for e in range(elements)]
        return all(by == parts[i % elements] for i, by in enumerate(self._by))
