"""What the registers of a subgroup hold, slot by slot, and whose each slot is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import lcm
from numbers import Integral

from pycute_xe.arch.registers import RegisterMap
from pycute_xe.arch.target import grf_bytes
from pycute_xe.bulk import entries
from pycute_xe.errors import CoordError, ShapeError

__all__ = [
    "ANY_TARGET",
    "PADDING",
    "SUBGROUP",
    "UNITS",
    "Place",
    "RegisterPicture",
    "places_by_work_item",
    "is_index",
    "picture_of",
    "places_in",
    "slot_of_value",
    "slots_in",
    "value_in",
]

SUBGROUP = 16

UNITS = (8, 16, 32, 64)
"""The widths in bits in which work-items may read registers."""

ANY_TARGET = "bmg"
"""For what does not depend on the target: all have registers and refusing rules in common."""

Place = tuple[int, int]
"""(row, column) of an element in its block."""

PADDING: Place = (-1, -1)
"""What stands for the place of an element that no slot has."""


def is_index(value: object, count: int | None = None) -> bool:
    """Whether a value is an integer, of Python or NumPy, and among 0 to ``count - 1``.

    >>> is_index(3), is_index(3, 3), is_index(True), is_index(1.0)
    (True, False, False, False)
    """
    if type(value) is bool or not isinstance(value, Integral):
        return False
    return count is None or 0 <= int(value) < count


@dataclass(frozen=True)
class RegisterPicture:
    """The elements that stand in registers, in the order of the registers' bytes.

    ``slots[i]`` is the (row, column) of the ``i``-th slot of ``bits`` bits, ``None`` for padding.
    Registers belong to the subgroup: unit ``u`` of ``unit_bits`` bits (an element, or a byte below
    8 bits, unless said otherwise) belongs to work-item ``u mod 16``.
    Law: ``held_by(t)[v] == place`` exactly when ``owner_of(*place) == (t, v)``, and
    ``byte(*byte_of(*place))`` contains ``place``.
    Raises `ShapeError` for units that slots do not fill.
    Document: intel/sycl-tla, media/docs/cpp/xe_rearchitecture.md.

    >>> from pycute_xe.atom import (XE_LOAD_2D_VNNI, make_copy_atom)
    >>> picture = make_copy_atom(XE_LOAD_2D_VNNI(16, 16, 16), "bf16").registers()
    >>> picture.owner_of(1, 0), picture.owner_of(1, 0, unit_bits=32)
    ((1, 0), (0, 1))
    """

    bits: int
    slots: tuple[Place | None, ...]
    unit_bits: int = 0

    def __post_init__(self) -> None:
        """Find the unit, and check that whole slots fill it."""
        if not is_index(self.bits) or self.bits < 1:
            raise ShapeError(
                "RegisterPicture",
                {"bits": self.bits},
                "a slot must have at least one bit",
                "use 1 or more",
            )
        unit = self._checked("RegisterPicture", self.unit_bits or max(self.bits, 8))
        object.__setattr__(self, "unit_bits", unit)

    def _checked(self, operation: str, unit_bits: int) -> int:
        if not is_index(unit_bits) or unit_bits < 1 or unit_bits % self.bits or unit_bits % 8:
            raise ShapeError(
                operation,
                {"bits": self.bits, "unit_bits": unit_bits},
                "a unit is whole bytes and whole slots",
                f"use a multiple of both, such as {lcm(self.bits, 8)}",
            )
        return unit_bits

    @property
    def registers(self) -> int:
        """General registers (GRF) that the slots fill, the last one perhaps in part."""
        return -(-len(self.slots) * self.bits // (8 * grf_bytes()))

    @property
    def padding(self) -> int:
        """Slots that hold no element."""
        return self.slots.count(None)

    def units_of(self, ownership: Sequence[Sequence[Place]]) -> tuple[int, ...]:
        """Return the widths of `UNITS` in which registers show an ownership.

        ``ownership[t]`` are the places of the values of work-item ``t``, in order. A work-item that
        reads its registers in elements of such a width finds these values, in that order.
        Document: intel/sycl-tla, media/docs/cpp/xe_rearchitecture.md.

        >>> picture = RegisterPicture(16, tuple((v % 2, v // 2) for v in range(32)))
        >>> picture.units_of([((0, t), (1, t)) for t in range(16)])
        (32,)
        """
        units = (unit for unit in UNITS if unit % self.bits == 0)
        return tuple(unit for unit in units if self.shows(ownership, unit))

    def shows(self, ownership: Sequence[Sequence[Place]], unit_bits: int) -> bool:
        """Tell whether work-items find their values in registers that are read in such units."""
        whole = unit_bits // self.bits
        return bool(self.slots) and all(
            _values_of(self.slots, work_item, whole)[: len(owned)] == tuple(owned)
            for work_item, owned in enumerate(ownership)
        )

    def register(self, index: int) -> tuple[Place | None, ...]:
        """Return the slots of one general register, lowest byte first.

        Raises `CoordError` for a register that the slots do not reach.
        """
        if not is_index(index, self.registers):
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

        >>> from pycute_xe.atom import (XE_LOAD_2D, make_copy_atom)
        >>> make_copy_atom(XE_LOAD_2D(16, 8, 16), "u4").registers().byte(0, 1)
        ((0, 2), (0, 3))
        """
        slots = self.register(register)
        if not is_index(byte, grf_bytes()):
            raise CoordError(
                "byte", {"byte": byte}, f"a register has {grf_bytes()} bytes", "count from 0"
            )
        first = byte * 8 // self.bits
        return slots[first : first + max(1, 8 // self.bits)]

    @cached_property
    def _slot_of(self) -> dict[Place, int]:
        return {place: i for i, place in enumerate(self.slots) if place is not None}

    def slot_of(self, row: int, col: int) -> int:
        """Return the slot of an element; raise `CoordError` where no slot holds it."""
        known = is_index(row) and is_index(col)
        slot = self._slot_of.get((row, col)) if known else None
        if slot is None:
            raise CoordError(
                "slot_of", {"row": row, "col": col}, "no slot holds it", "ask for one of the block"
            )
        return slot

    def byte_of(self, row: int, col: int) -> tuple[int, int]:
        """Return (register, byte) of an element's first byte, or of the one it shares with others.

        Law: ``byte(*byte_of(row, col))`` contains ``(row, col)``. Raises `CoordError` where no slot
        holds it.

        >>> from pycute_xe.atom import (XE_LOAD_2D, make_copy_atom)
        >>> make_copy_atom(XE_LOAD_2D(16, 8, 16), "bf16").registers().byte_of(3, 1)
        (1, 34)
        """
        return divmod(self.slot_of(row, col) * self.bits // 8, grf_bytes())

    def owner(self, slot: int, unit_bits: int | None = None) -> tuple[int, int]:
        """Return (work-item, value) of a slot, registers read in units of ``unit_bits``.

        Raises `CoordError` for a slot out of range, `ShapeError` for units that slots do not fill.

        >>> RegisterPicture(16, ((0, 0), (0, 1))).owner(1, unit_bits=32)
        (0, 1)
        """
        if not is_index(slot, len(self.slots)):
            raise CoordError(
                "owner", {"slot": slot}, f"there are {len(self.slots)} slots", "count from 0"
            )
        return self._owner(slot, self._unit("owner", unit_bits))

    def _unit(self, operation: str, unit_bits: int | None) -> int:
        return self.unit_bits if unit_bits is None else self._checked(operation, unit_bits)

    def _owner(self, slot: int, unit_bits: int) -> tuple[int, int]:
        return value_in(slot, unit_bits // self.bits)

    def slots_in_unit(self, unit_bits: int) -> int:
        """Return how many slots a unit has; raise `ShapeError` for units that slots do not fill."""
        return self._checked("slots_in_unit", unit_bits) // self.bits

    def owner_of(self, row: int, col: int, unit_bits: int | None = None) -> tuple[int, int]:
        """Return (work-item, value) of an element, registers read in units of ``unit_bits``.

        Raises `CoordError` where no slot holds it, `ShapeError` for units that slots do not fill.
        """
        unit = self._unit("owner_of", unit_bits)
        return self._owner(self.slot_of(row, col), unit)

    def held_by(self, work_item: int) -> tuple[Place | None, ...]:
        """Return the elements of a work-item in value order, ``None`` for padding.

        Raises `CoordError` for other work-items than 0 to 15.
        """
        if not is_index(work_item, SUBGROUP):
            raise CoordError(
                "held_by", {"work_item": work_item}, "a subgroup has 16 work-items", "use 0 to 15"
            )
        return _values_of(self.slots, work_item, self.unit_bits // self.bits)

    def owners(self, unit_bits: int | None = None) -> dict[Place, tuple[int, int]]:
        """Return element → (work-item, value), registers read in units of ``unit_bits``.

        Raises `ShapeError` for units that slots do not fill.
        """
        whole = self._unit("owners", unit_bits) // self.bits
        return {place: value_in(slot, whole) for place, slot in self._slot_of.items()}

    def __str__(self) -> str:
        """One line a register: the elements from the lowest byte up, padding as dots."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for index in range(self.registers):
            cells = ("·" if p is None else f"{p[0]},{p[1]}" for p in self.register(index))
            yield f"r{index}: {' '.join(cells)}"


def picture_of(registers: RegisterMap, shape: Place, nbytes: int = 0) -> RegisterPicture:
    """Return the picture of a register map whose coordinates are ``x + width * y`` of a block.

    ``nbytes`` is the size of the registers, padding included (0: what the map counts).

    >>> from pycute_xe.layout import Layout
    >>> print(picture_of(RegisterMap(Layout((2, 2), (1, 16)), bits=32), (2, 2)))
    r0: 0,0 0,1 · · · · · · · · · · · · · ·
    r1: 1,0 1,1 · · · · · · · · · · · · · ·
    """
    return RegisterPicture(registers.bits, slots_in(places_in(registers, shape, nbytes)))


def places_in(registers: RegisterMap, shape: Place, nbytes: int = 0) -> tuple[Place, ...]:
    """Return the (row, column) of each slot; `PADDING` for one without an element.

    The arguments are those of `picture_of`, of which this is the table: `slots_in` reads it.

    >>> from pycute_xe.layout import Layout
    >>> places_in(RegisterMap(Layout((2, 2), (1, 16)), bits=32), (2, 2))[15:18]
    ((-1, -1), (1, 0), (1, 1))
    """
    rows, cols = shape
    out = [PADDING] * (nbytes * 8 // registers.bits or registers.elements)
    every = ((row, col) for row in range(rows) for col in range(cols))
    for slot, place in zip(entries(registers.position), every, strict=False):
        out[slot] = place
    return tuple(out)


def slots_in(places: tuple[Place, ...]) -> tuple[Place | None, ...]:
    """Return the slots of a `RegisterPicture` from the rows and columns of each."""
    if PADDING not in places:
        return places
    return tuple(None if place == PADDING else place for place in places)


def places_by_work_item(
    picture: RegisterPicture, unit_bits: int
) -> tuple[tuple[Place | None, ...], ...]:
    """Return for each work-item what its registers hold, read in units of so many bits.

    ``None`` is padding. Raises `ShapeError` for units that slots do not fill.

    >>> from pycute_xe.atom import XE_LOAD_2D_VNNI, make_copy_atom
    >>> picture = make_copy_atom(XE_LOAD_2D_VNNI(16, 16, 16), "bf16").registers()
    >>> places_by_work_item(picture, 32)[3][:3]
    ((0, 3), (1, 3), (2, 3))
    """
    whole = picture.slots_in_unit(unit_bits)
    return tuple(_values_of(picture.slots, work_item, whole) for work_item in range(SUBGROUP))


def value_in(slot: int, per_unit: int) -> tuple[int, int]:
    """Return (work-item, value) of a slot, where so many slots are a unit.

    >>> value_in(35, 2), slot_of_value(1, 3, 2)
    ((1, 3), 35)
    """
    unit, inside = divmod(slot, per_unit)
    return unit % SUBGROUP, unit // SUBGROUP * per_unit + inside


def slot_of_value(work_item: int, value: int, per_unit: int) -> int:
    """Return the slot of a work-item's value, where so many slots are a unit: see `value_in`."""
    rounds, inside = divmod(value, per_unit)
    return (rounds * SUBGROUP + work_item) * per_unit + inside


def _values_of(
    slots: tuple[Place | None, ...], work_item: int, per_unit: int
) -> tuple[Place | None, ...]:
    """Return what a work-item holds, in value order, where so many slots are a unit."""
    firsts = range(work_item * per_unit, len(slots), SUBGROUP * per_unit)
    return tuple(chain.from_iterable(slots[i : i + per_unit] for i in firsts))


# ------------------------------------------------------------ placed message
# A message, and where in the block of an atom it starts.
