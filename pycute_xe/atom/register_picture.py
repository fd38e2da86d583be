"""Floor 6: what the registers of a subgroup hold, slot by slot, and whose each slot is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pycute_xe.arch.registers import RegisterMap
from pycute_xe.arch.target import grf_bytes
from pycute_xe.bulk import table
from pycute_xe.errors import CoordError, ShapeError

__all__ = ["ANY_TARGET", "SUBGROUP", "Place", "RegisterPicture", "picture_of"]

SUBGROUP = 16

ANY_TARGET = "bmg"
"""For what does not depend on the target: all have registers and refusing rules in common."""

Place = tuple[int, int]
"""(row, column) of an element in its block."""


@dataclass(frozen=True)
class RegisterPicture:
    """The elements that stand in registers, in the order of the registers' bytes.

    ``slots[i]`` is the (row, column) of the ``i``-th slot of ``bits`` bits, ``None`` for padding.
    Registers belong to the subgroup: unit ``u`` of ``unit_bits`` bits (an element, or a byte below
    8 bits, unless said otherwise) belongs to work-item ``u mod 16``.
    Law: ``held_by(t)[v] == place`` exactly when ``owner_of(*place) == (t, v)``.
    Raises `ShapeError` for units that slots do not fill.
    Document: intel/sycl-tla, media/docs/cpp/xe_rearchitecture.md.

    >>> from pycute_xe.atom import XE_LOAD_2D_VNNI, make_copy_atom
    >>> picture = make_copy_atom(XE_LOAD_2D_VNNI(16, 16, 16), "bf16").registers()
    >>> picture.owner_of(1, 0), picture.owner_of(1, 0, unit_bits=32)
    ((1, 0), (0, 1))
    """

    bits: int
    slots: tuple[Place | None, ...]
    unit_bits: int = 0

    def __post_init__(self) -> None:
        """Find the unit, and check that whole slots fill it."""
        unit = self.unit_bits or max(self.bits, 8)
        if self.bits < 1 or unit % self.bits or unit % 8:
            raise ShapeError(
                "RegisterPicture",
                {"bits": self.bits, "unit_bits": unit},
                "a unit is whole bytes and whole slots",
                "use a multiple of both",
            )
        object.__setattr__(self, "unit_bits", unit)

    @property
    def registers(self) -> int:
        """General registers (GRF) that the slots fill, the last one perhaps in part."""
        return -(-len(self.slots) * self.bits // (8 * grf_bytes()))

    @property
    def padding(self) -> int:
        """Slots that hold no element."""
        return self.slots.count(None)

    def register(self, index: int) -> tuple[Place | None, ...]:
        """Return the slots of one general register, lowest byte first.

        Raises `CoordError` for a register that the slots do not reach.
        """
        if not 0 <= index < self.registers:
            raise CoordError(
                "register",
                {"index": index},
                f"there are {self.registers} registers",
                "count from 0",
            )
        count = 8 * grf_bytes() // self.bits
        return self.slots[index * count : (index + 1) * count]

    def byte(self, register: int, byte: int) -> tuple[Place | None, ...]:
        """Return the elements that have bits in a byte: two of 4-bit ones, else one.

        Raises `CoordError` for a byte that a register does not have.

        >>> from pycute_xe.atom import XE_LOAD_2D, make_copy_atom
        >>> make_copy_atom(XE_LOAD_2D(16, 8, 16), "u4").registers().byte(0, 1)
        ((0, 2), (0, 3))
        """
        held = self.register(register)
        if not 0 <= byte < grf_bytes():
            raise CoordError(
                "byte", {"byte": byte}, f"a register has {grf_bytes()} bytes", "count from 0"
            )
        first = byte * 8 // self.bits
        return held[first : first + max(1, 8 // self.bits)]

    @cached_property
    def _slot_of(self) -> dict[Place, int]:
        return {place: i for i, place in enumerate(self.slots) if place is not None}

    def slot_of(self, row: int, col: int) -> int:
        """Return the slot of an element; raise `CoordError` where no slot holds it."""
        slot = self._slot_of.get((row, col))
        if slot is None:
            raise CoordError(
                "slot_of", {"row": row, "col": col}, "no slot holds it", "ask for one of the block"
            )
        return slot

    def owner(self, slot: int, unit_bits: int | None = None) -> tuple[int, int]:
        """Return (work-item, value) of a slot, registers read in units of ``unit_bits``."""
        per_unit = (unit_bits or self.unit_bits) // self.bits
        unit, inside = divmod(slot, per_unit)
        return unit % SUBGROUP, unit // SUBGROUP * per_unit + inside

    def owner_of(self, row: int, col: int, unit_bits: int | None = None) -> tuple[int, int]:
        """Return (work-item, value) of an element, registers read in units of ``unit_bits``.

        Raises `CoordError` where no slot holds it.
        """
        return self.owner(self.slot_of(row, col), unit_bits)

    def held_by(self, work_item: int) -> tuple[Place | None, ...]:
        """Return the elements of a work-item in value order, ``None`` for padding.

        Raises `CoordError` for other work-items than 0 to 15.
        """
        if not 0 <= work_item < SUBGROUP:
            raise CoordError(
                "held_by", {"work_item": work_item}, "a subgroup has 16 work-items", "use 0 to 15"
            )
        per_unit = self.unit_bits // self.bits
        firsts = range(work_item * per_unit, len(self.slots), SUBGROUP * per_unit)
        return tuple(place for i in firsts for place in self.slots[i : i + per_unit])

    def owners(self, unit_bits: int | None = None) -> dict[Place, tuple[int, int]]:
        """Return element → (work-item, value), registers read in units of ``unit_bits``."""
        return {place: self.owner(slot, unit_bits) for place, slot in self._slot_of.items()}

    def __str__(self) -> str:
        """One line a register: the elements from the lowest byte up, padding as dots."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for index in range(self.registers):
            cells = ("·" if p is None else f"{p[0]},{p[1]}" for p in self.register(index))
            yield f"r{index}: {' '.join(cells)}"


def picture_of(held: RegisterMap, shape: Place, nbytes: int = 0) -> RegisterPicture:
    """Return the picture of a register map whose coordinates are ``x + width * y`` of a block.

    ``nbytes`` is the size of the registers, padding included (0: what the map counts).

    >>> from pycute_xe.layout import Layout
    >>> print(picture_of(RegisterMap(Layout((2, 2), (1, 16)), bits=32), (2, 2)))
    r0: 0,0 0,1 · · · · · · · · · · · · · ·
    r1: 1,0 1,1 · · · · · · · · · · · · · ·
    """
    rows, cols = shape
    slots: list[Place | None] = [None] * (nbytes * 8 // held.bits or held.elements)
    for offset, slot in enumerate(table(held.position)[: rows * cols].tolist()):
        slots[slot] = divmod(offset, cols)
    return RegisterPicture(held.bits, tuple(slots))
