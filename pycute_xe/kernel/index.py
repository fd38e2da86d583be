"""Floor 7: tile numbers, the only arithmetic a kernel does on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pycute_xe.errors import KernelError
from pycute_xe.int_tuple import ceil_div
from pycute_xe.signatures import typed_fields

__all__ = ["Index", "Tiles"]


@dataclass(frozen=True, slots=True)
class Index:
    """A tile number: a loop or grid variable plus a constant; the constant alone without one.

    >>> Index("k", 2), str(Index("k", 2))
    (Index(var='k', offset=2), 'k+2')
    """

    var: str | None
    offset: int = 0

    def at(self, values: Mapping[str, int]) -> int:
        """Return the number for given variables.

        >>> Index("k", 2).at({"k": 5})
        7
        """
        if self.var is None:
            return self.offset
        if self.var not in values:
            raise KernelError("Index", {"index": self}, f"no loop binds {self.var}", "")
        return values[self.var] + self.offset

    def __str__(self) -> str:
        """The variable and the constant."""
        if self.var is None:
            return str(self.offset)
        return f"{self.var}{self.offset:+d}" if self.offset else self.var


@typed_fields
@dataclass(frozen=True, slots=True)
class Tiles:
    """How many tiles cover an extent: ``ceil_div(extent, tile) + plus``, never negative.

    ``extent`` is a name of the problem: M, N or K. Supports ``+`` and ``-`` with integers.

    >>> count = Tiles("K", 32)
    >>> str(count - 1), count.at({"K": 100})
    ('ceil_div(K, 32)-1', 4)
    """

    extent: str
    tile: int
    plus: int = 0

    def __post_init__(self) -> None:
        """Check the extent's name and the tile."""
        if self.extent not in ("M", "N", "K") or self.tile < 1:
            raise KernelError(
                "Tiles",
                {"extent": self.extent, "tile": self.tile},
                "tiles are 1 or more of an extent M, N or K",
                'write Tiles("K", 32)',
            )

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the count for given extents."""
        return max(0, ceil_div(sizes[self.extent], self.tile) + self.plus)

    def __add__(self, n: int) -> Tiles:
        """More tiles."""
        return replace(self, plus=self.plus + n)

    def __sub__(self, n: int) -> Tiles:
        """Fewer tiles."""
        return replace(self, plus=self.plus - n)

    def __str__(self) -> str:
        """The formula."""
        return f"ceil_div({self.extent}, {self.tile})" + (f"{self.plus:+d}" if self.plus else "")
