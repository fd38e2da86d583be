"""What a vector remembers of how it was filled, for the lints that ask for the order."""

from __future__ import annotations

__all__ = ["Record"]


class Record:
    """Which write each element of a vector comes from, and whether it is a tile as memory has it.

    Elements that a whole assignment or adjacent writes filled are not told apart. ``origin`` says
    what the whole vector is: "load", "product" (of a dpas), "constant", or "" for anything else.

    >>> record = Record(8)
    >>> record.wrote(range(0, 8, 2)), record.wrote(range(1, 8, 2)), record.interleaved(4, 2)
    (None, None, True)
    """

    __slots__ = ("_by", "_order", "origin", "plain_tile", "size")

    def __init__(self, size: int, plain_tile: bool = False, origin: str = "") -> None:
        """Start with elements of no known order."""
        self.size = size
        self.plain_tile = plain_tile
        self.origin = origin
        self._by: list[range | None] | None = None
        self._order: list[int] = []

    def wrote(self, lanes: range | None) -> None:
        """Note a write to some elements; ``None`` for bytes that are not whole elements of it.

        >>> record = Record(4)
        >>> record.wrote(range(0, 4, 2)), record.wrote(range(4)), record.interleaved(2, 2)
        (None, None, False)
        """
        self.plain_tile = False
        self.origin = ""
        one = lanes is not None and len(lanes) == 1 < self.size
        self._order = [*self._order, lanes[0]][-self.size :] if one and lanes is not None else []
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
        made = Record(self.size, self.plain_tile, self.origin)
        made._order = list(self._order)
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
        self.origin = other.origin
        self._by, self._order = other.copy()._by, list(other._order)

    def interleaved(self, lanes: int, elements: int) -> bool:
        """Whether every element comes from a write of all lanes, ``elements`` apart.

        Elements that were written one by one count where all lanes of one came before the next.

        >>> Record(4).interleaved(2, 2)
        False
        """
        if min(lanes, elements) < 2 or lanes * elements != self.size:
            return False
        if self._order == [e + n * elements for e in range(elements) for n in range(lanes)]:
            return True
        if self._by is None:
            return False
        parts = [range(e, self.size, elements) for e in range(elements)]
        return all(by == parts[i % elements] for i, by in enumerate(self._by))
