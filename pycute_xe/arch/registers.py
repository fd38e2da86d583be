"""Floor 5: who owns what in registers.

Registers belong to the subgroup: element i of a subgroup array belongs to work-item i mod 16, as
its value i div 16. Elements narrower than a byte are owned byte by byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pycute_xe.algebra import composition, right_inverse
from pycute_xe.errors import CoordError, CuteError, ShapeError
from pycute_xe.layout import Layout, cosize, size
from pycute_xe.signatures import typed_fields

__all__ = ["RegisterMap"]


@typed_fields
@dataclass(frozen=True, slots=True)
class RegisterMap:
    """Ownership of a register image by work-items.

    ``position`` maps a coordinate to a register element index; ``offset`` below is the linear
    coordinate, first mode fastest. ``bits`` is the element width, ``elements`` the size of the
    image, padding included (0: no more than the position needs).
    Law: ``element(*owner(offset)) == offset``. C++: cute/atom/copy_traits_xe_2d.hpp divides the
    registers of its block-2D atoms among work-items in the same way.
    Raises `ShapeError` for sizes that cannot be.

    >>> map = RegisterMap(Layout((16, 8)), bits=16)
    >>> map.owner(17), map.element(1, 1), map.values
    ((1, 1), 17, 8)
    """

    position: Layout
    bits: int
    lanes: int = 16
    elements: int = 0

    def __post_init__(self) -> None:
        """Count the elements of the image, whole rows of lanes."""
        whole = self.bits % 8 == 0 or (self.bits > 0 and 8 % self.bits == 0)
        if self.bits < 1 or not whole or self.lanes < 1 or self.elements < 0:
            raise ShapeError(
                "RegisterMap",
                {"bits": self.bits, "lanes": self.lanes, "elements": self.elements},
                "bits must divide a byte or be a multiple of 8, and lanes be positive",
                "use 2, 4, 8, 16, 32 or 64 bits",
            )
        least = max(self.elements, cosize(self.position))
        row = self.lanes * self.packed
        object.__setattr__(self, "elements", -(-least // row) * row)

    @property
    def packed(self) -> int:
        """Elements that share one byte and therefore one owner; 1 from 8 bits on.

        >>> RegisterMap(Layout(64), bits=4).packed
        2
        """
        return max(1, 8 // self.bits)

    @property
    def values(self) -> int:
        """Value slots of one work-item, padding included.

        >>> RegisterMap(Layout((8, 2), (1, 16)), bits=32).values
        2
        """
        return self.elements // self.lanes

    def owner(self, offset: int) -> tuple[int, int]:
        """Return the (lane, value) that owns the element at a linear coordinate.

        Raises `CoordError` outside the domain of the position.

        >>> RegisterMap(Layout(64), bits=4).owner(35)
        (1, 3)
        """
        if not 0 <= offset < size(self.position):
            raise CoordError(
                "owner", {"offset": offset}, f"the domain has {size(self.position)} elements", ""
            )
        unit, rest = divmod(self.position(offset), self.packed)
        return unit % self.lanes, unit // self.lanes * self.packed + rest

    def element(self, lane: int, value: int) -> int | None:
        """Return the linear coordinate that a lane's value holds, ``None`` for padding.

        Raises `CoordError` for a lane or value out of range.

        >>> RegisterMap(Layout((8, 2), (1, 16)), bits=32).element(9, 0) is None
        True
        """
        if not (0 <= lane < self.lanes and 0 <= value < self.values):
            raise CoordError(
                "element",
                {"lane": lane, "value": value},
                f"there are {self.lanes} lanes of {self.values} values",
                "",
            )
        unit = value // self.packed * self.lanes + lane
        return _inverse(self.position).get(unit * self.packed + value % self.packed)

    def tv(self) -> Layout:
        """Return the layout (lane, value) → linear coordinate.

        Law: ``tv()(lane, value) == element(lane, value)`` for all of them.
        Raises `CuteError` when some slots are padding, which no layout can say.

        >>> print(RegisterMap(Layout((16, 8), (1, 16)), bits=16).tv())
        (16,8):(1,16)
        """
        if size(self.position) != self.elements or len(_inverse(self.position)) != self.elements:
            raise CuteError(
                "tv",
                {"position": self.position, "elements": self.elements},
                f"{self.elements - size(self.position)} of {self.elements} slots hold no element",
                "use owner and element, or a width that is a power of two",
            )
        if self.packed == 1:
            slots = Layout((self.lanes, self.values), (1, self.lanes))
        else:
            shape = (self.lanes, (self.packed, self.values // self.packed))
            slots = Layout(shape, (self.packed, (1, self.packed * self.lanes)))
        return composition(right_inverse(self.position), slots)


@cache
def _inverse(position: Layout) -> dict[int, int]:
    return {position(offset): offset for offset in range(size(position))}
