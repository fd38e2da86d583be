"""Who owns an element of an atom or a tile, where registers hold it, and the way back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, assert_never

from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom import MmaAtom, TiledCopy, TiledMma
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.register_picture import (
    SUBGROUP,
    UNITS,
    Place,
    RegisterPicture,
    is_index,
    slot_of_value,
    value_in,
)
from pycute_xe.cutlass import as_atom
from pycute_xe.errors import CoordError, CuteError, InputError, with_article
from pycute_xe.layout import Layout, size
from pycute_xe.signatures import checked_fields, shortly, typed
from pycute_xe.typing import asked_of, is_tuple

__all__ = ["ElementOwner", "Reading", "element_at", "owner"]

_OPERANDS = {("m", "k"): "A", ("k", "n"): "B", ("m", "n"): "C"}
AnyOwned = MmaAtom | TiledMma | TiledCopy | CopyAnswers


@checked_fields
@dataclass(frozen=True)
class Reading:
    """The work-item and the value that an element is, registers read in units of so many bits."""

    unit_bits: int
    work_item: int
    value: int
    packed: str = ""

    def __str__(self) -> str:
        """The width, and who finds the element.

        >>> print(Reading(32, 7, 5, "4 values of k, as VNNI packs them"))
        32 bits (4 values of k, as VNNI packs them): work-item 7, value 5
        """
        packed = f" ({self.packed})" if self.packed else ""
        return f"{self.unit_bits} bits{packed}: work-item {self.work_item}, value {self.value}"


@checked_fields
@dataclass(frozen=True)
class ElementOwner:
    """An element of an operand or a block, its owner by the layout, and where registers hold it.

    ``at`` are the names of its indices with their numbers, ``work_item`` and ``value`` the owner
    that CuTe's layout says. ``register``, counted from the first of the operand or the fragment, is
    ``None`` if no register holds it; ``first_bit`` counts from its lowest. ``readings`` say who
    finds it there, by the width in bits in which registers are read. ``subgroup`` is ``None`` of an
    atom, and the reading of lanes within a subgroup of a tile.
    """

    name: str
    operand: str | None
    at: tuple[tuple[str, int], ...]
    work_item: int
    value: int
    register: int | None = None
    first_bit: int = 0
    bits: int = 0
    readings: tuple[Reading, ...] = ()
    subgroup: int | None = None

    @property
    def byte(self) -> int | None:
        """The byte of the register in which the element begins; ``None`` without a register."""
        return None if self.register is None else self.first_bit // 8

    @property
    def element(self) -> str:
        """The element in words.

        >>> owner("XE_DPAS_TT<8,s32,s8>", k=5, n=7).element
        'B(k=5, n=7)'
        """
        return f"{self.operand or ''}({', '.join(f'{name}={i}' for name, i in self.at)})"

    @property
    def place(self) -> str:
        """The register and the bytes, or the bits of a byte, in words."""
        if self.register is None:
            return "no register holds it"
        first, size = self.first_bit // 8, self.bits // 8
        text = f"bytes {first} to {first + size - 1}" if size > 1 else f"byte {first}"
        if self.bits < 8:
            low = self.first_bit % 8
            text += f", bits {low} to {low + self.bits - 1}"
        return f"register {self.register}, {text}"

    def to_json(self) -> dict[str, Any]:
        """Return it as a dictionary."""
        return {
            "operand": self.operand,
            "at": dict(self.at),
            "subgroup": self.subgroup,
            "work_item": self.work_item,
            "value": self.value,
            "register": self.register,
            "byte": self.byte,
            "first_bit": self.first_bit,
            "bits": self.bits,
            "found_by": {str(r.unit_bits): [r.work_item, r.value] for r in self.readings},
        }

    def __str__(self) -> str:
        """The owner, the place in registers, and a line for each width.

        >>> print(owner("XE_DPAS_TT<8,s32,s8>", k=5, n=7))
        B(k=5, n=7) of XE_DPAS_TT<8,s32,s8,s8,s32>: work-item 13, value 5 by its layout
          in registers: register 1, byte 29
          read in 8 bits: work-item 13, value 5
          read in 16 bits: work-item 14, value 5
          read in 32 bits (4 values of k, as VNNI packs them): work-item 7, value 5
          read in 64 bits: work-item 11, value 5
        """
        where = "" if self.subgroup is None else f"subgroup {self.subgroup}, "
        by_layout = f"{where}work-item {self.work_item}, value {self.value} by its layout"
        lines = [f"{self.element} of {self.name}: {by_layout}", f"in registers: {self.place}"]
        return "\n  ".join([*lines, *(f"read in {reading}" for reading in self.readings)])


# ------------------------------------------------------------ element → owner


@typed
def owner(
    name: Any,
    operand: str | None = None,
    *,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    row: int | None = None,
    column: int | None = None,
    subgroup: int | None = None,
) -> ElementOwner:
    """Return the owner of one element: its work-item, value, register and byte.

    ``name`` is an atom, an operation, a name of one, a `TiledMma` or a `TiledCopy`. Indices name
    the operand of an MMA: ``m, k`` of A, ``k, n`` of B, ``m, n`` of C (of D with ``operand="D"``).
    ``row`` and ``column`` are those of a copy's block (``shape``) or of its tile (its modes 0 and
    1), and with ``operand`` those of an operand, row k and column n of B. Law: with
    `element_at` it goes there and back, by work-item and value or by register and byte.
    ``subgroup`` chooses among the subgroups of a tile that hold the element, by default the first.
    Raises `CoordError` for an element outside the operand or block, `InputError` for other indices.

    >>> record = owner("XE_DPAS_TT<8,s32,s8>", k=5, n=7)
    >>> record.work_item, record.value, record.register, record.byte
    (13, 5, 1, 29)
    >>> owner("XE_2D_U16x16x16_LD_V", row=1, column=0).readings[1]
    Reading(unit_bits=32, work_item=0, value=1, packed='')
    """
    subject = _subject("owner", name)
    part, at = _asked(subject, operand, {"m": m, "n": n, "k": k, "row": row, "column": column})
    if isinstance(subject, (TiledMma, TiledCopy)):
        records = list(_in_tile(subject, part, at))
        chosen = [x for x in records if subgroup is None or x.subgroup == subgroup]
        if not chosen:
            has = ", ".join(str(x.subgroup) for x in records)
            condition = f"the subgroups that hold it are {has}"
            given = {"of": subject, "subgroup": subgroup}
            raise CoordError("owner", given, condition, f"use subgroup={records[0].subgroup}")
        return chosen[0]
    if subgroup is not None:
        condition = "an atom has one subgroup"
        raise InputError("owner", {"subgroup": subgroup}, condition, "leave subgroup out")
    return _in_atom(subject, part, at)


def _subject(verb: str, name: Any) -> AnyOwned:
    subject = as_atom(asked_of(verb, name))
    if isinstance(subject, (MmaAtom, TiledMma, TiledCopy, CopyAnswers)):
        return subject
    condition = f"{with_article(type(subject).__name__)} has no elements with owners"
    fix = "name an atom such as XE_DPAS_TT<8,s32,s8>, or give a tiling of one"
    raise InputError(verb, {"name": shortly(subject)}, condition, fix)


def _asked(
    subject: AnyOwned, operand: str | None, given: dict[str, int | None]
) -> tuple[str | None, tuple[tuple[str, int], ...]]:
    """Return the operand and its indices, by name: those of an MMA from their names."""
    named = {name: index for name, index in given.items() if index is not None}
    listed = ", ".join(named) or "no indices"
    if not isinstance(subject, (MmaAtom, TiledMma)):
        if operand is not None:
            raise InputError(
                "owner", {"operand": operand}, "a copy has no operands", "leave it out"
            )
        if set(named) != {"row", "column"}:
            condition = f"an element of a copy has a row and a column; {listed} was given"
            raise InputError("owner", {"of": subject}, condition, "write row=5, column=7")
        return None, tuple((name, named[name]) for name in ("row", "column"))
    by_name = {frozenset(names): part for names, part in _OPERANDS.items()}
    part = by_name.get(frozenset(named))
    if operand not in (None, "A", "B", "C", "D"):
        condition = "an operand is A, B, C or D"
        raise InputError("owner", {"operand": operand}, condition, 'write operand="B"')
    if set(named) == {"row", "column"}:
        if operand is None:
            raise InputError("owner", {"of": subject}, "the operand is missing", 'add operand="B"')
        names = indices_of(operand)
        return operand, ((names[0], named["row"]), (names[1], named["column"]))
    expected = part if operand != "D" else {"C": "D"}.get(part or "")
    if part is None or operand not in (None, expected):
        condition = f"{listed} are not the two indices of {operand or 'an operand'}"
        fix = "write m and k for A, k and n for B, m and n for C"
        raise InputError("owner", {"of": subject}, condition, fix)
    return operand or part, tuple((name, named[name]) for name in indices_of(part))


def indices_of(operand: str | None) -> tuple[str, str]:
    """Return what the row and the column of an operand, or of a copy's block, are called.

    >>> indices_of("B"), indices_of(None)
    (('k', 'n'), ('row', 'column'))
    """
    names = {part: letters for letters, part in _OPERANDS.items()}
    if operand is None:
        return "row", "column"
    return names["C" if operand == "D" else operand]


def indices_in(text: str) -> dict[str, int] | None:
    """Return the indices of an element as a person writes them; None for another text.

    >>> indices_in("(5, 7)"), indices_in("k=5, n=7"), indices_in("5")
    ({'row': 5, 'column': 7}, {'k': 5, 'n': 7}, None)
    """
    if re.fullmatch(r"[( ]*[0-9]{1,9}[ ,]+[0-9]{1,9}[) ]*", text):
        row, column = map(int, re.findall(r"[0-9]+", text))
        return {"row": row, "column": column}
    index = r"(m|n|k|row|column) *= *([0-9]{1,9})"
    match = re.fullmatch(rf"[( ]*{index}[ ,]+{index}[) ]*", text)
    return match and {match[1]: int(match[2]), match[3]: int(match[4])}


def _in_atom(
    atom: MmaAtom | CopyAnswers, operand: Any, at: tuple[tuple[str, int], ...]
) -> ElementOwner:
    (_, row), (_, column) = at
    if isinstance(atom, MmaAtom):
        by_layout, picture = atom.owner_of(operand, row, column), atom.registers(operand)
    else:
        by_layout, picture = atom.owner_of(row, column), atom.registers()
    record = ElementOwner(str(atom), operand, at, *by_layout)
    if not picture.slots:
        return record
    return _placed(record, picture.slot_of(row, column), picture.bits, _vnni(atom, operand))


def _placed(record: ElementOwner, slot: int, bits: int, packed: int) -> ElementOwner:
    """Return an owner with its place in registers, of a slot of so many bits."""
    register, first = divmod(slot * bits, 8 * grf_bytes())
    readings: list[Reading] = []
    for unit in UNITS:
        if unit % bits == 0:
            words = f"{packed} values of k, as VNNI packs them" if packed * bits == unit else ""
            readings.append(Reading(unit, *value_in(slot, unit // bits), words))
    return replace(record, register=register, first_bit=first, bits=bits, readings=tuple(readings))


def _vnni(atom: Any, operand: str | None) -> int:
    """Return how many values of k a dword of B holds, which VNNI packs; 0 of what is not packed."""
    if not isinstance(atom, MmaAtom) or operand != "B":
        return 0
    bits = atom.operand_type("B").bits
    return 32 // bits if bits < 32 else 0


def _in_tile(
    tiling: TiledMma | TiledCopy, operand: str | None, at: tuple[tuple[str, int], ...]
) -> Iterator[ElementOwner]:
    """Return the owners of an element of a tile, a subgroup after the other."""
    (_, row), (_, column) = at
    if isinstance(tiling, TiledMma):
        part = str(operand)
        owners, slots = tiling.owner_of(part, row, column), _slots_of_mma(tiling, part, row, column)
        bits, packed = tiling.atom.operand_type(operand).bits, _vnni(tiling.atom, operand)  # pyright: ignore[reportArgumentType]
    else:
        owners, slots = tiling.owner_of(row, column), _slots_of_copy(tiling, (row, column))
        bits, packed = tiling.value_type.bits, 0
    for subgroup, lane, value in owners:
        record = ElementOwner(str(tiling), operand, at, lane, value, subgroup=subgroup)
        slot = slots.get(subgroup)
        yield record if slot is None else _placed(record, slot, bits, packed)


def _slots_of_mma(mma: TiledMma, operand: str, row: int, column: int) -> dict[int, int]:
    """Return subgroup → slot in the registers of its fragment, as the instruction reads it."""
    bits = mma.atom.operand_type(operand).bits  # pyright: ignore[reportArgumentType]
    read = _by_registers(mma)
    per = max(1, 8 // bits)
    out: dict[int, int] = {}
    for subgroup, lane, value in read.owner_of(operand, row, column):
        out.setdefault(subgroup, slot_of_value(lane, value, per))
    return out


def _slots_of_copy(copy: TiledCopy, place: tuple[int, int]) -> dict[int, int]:
    """Return subgroup → slot in the registers that the messages of a tiled copy fill."""
    try:
        sent = copy.sent
        filled = bool(sent.block.registers().slots)
    except CuteError:
        return {}
    out: dict[int, int] = {}
    if not filled:
        return out
    block, step = sent.block, sent.block.values * SUBGROUP
    subgroups, messages = sent.anchors
    for subgroup, message in product(range(sent.num_subgroups), range(sent.messages)):
        start = _summed(subgroups(subgroup), messages(message))
        y, x = place[sent.y_mode] - start[sent.y_mode], place[sent.x_mode] - start[sent.x_mode]
        if 0 <= y < block.height and 0 <= x < block.width:
            slot = message * step + block.register_tv.position(x + block.width * y)
            out.setdefault(subgroup, slot)
    return out


def _summed(first: Any, second: Any) -> tuple[int, int]:
    """Add two coordinates of a tile, either of which may stop short or be zero."""
    down, across = (
        sum(part[mode] for part in (first, second) if is_tuple(part) and mode < len(part))
        for mode in (0, 1)
    )
    return down, across


# ------------------------------------------------------------ owner → element


@typed
def element_at(
    name: Any,
    operand: str | None = None,
    *,
    work_item: int | None = None,
    value: int | None = None,
    unit_bits: int | None = None,
    register: int | None = None,
    byte: int | None = None,
    bit: int = 0,
    subgroup: int = 0,
) -> ElementOwner:
    """Return the element of a work-item's value, or of a byte of a register: inverse of `owner`.

    Without ``unit_bits`` the layout of the operand or the block says which element the value is;
    with it the registers do, read in units of so many bits. ``bit`` counts within the byte.
    Law: ``element_at(x, X, work_item=o.work_item, value=o.value)`` is ``o`` for the only owner
    ``o`` of an element, and so is ``element_at(x, X, register=o.register, byte=o.byte)``.
    Raises `CoordError` for a place that holds no element, `InputError` for other arguments.

    >>> element_at("XE_DPAS_TT<8,s32,s8>", "B", work_item=13, value=5).element
    'B(k=5, n=7)'
    >>> element_at("XE_DPAS_TT<8,s32,s8>", "B", work_item=7, value=5, unit_bits=32).element
    'B(k=5, n=7)'
    >>> element_at("XE_DPAS_TT<8,s32,s8>", "B", register=1, byte=29).element
    'B(k=5, n=7)'
    """
    subject = _subject("element_at", name)
    _demand_operand(subject, operand)
    by_register = register is not None and byte is not None and work_item is None and value is None
    by_value = work_item is not None and value is not None and register is None and byte is None
    if by_register == by_value:
        condition = "an element is at a work-item and a value, or at a register and a byte"
        fix = "write work_item=13, value=5, or register=1, byte=29"
        raise InputError("element_at", {"of": subject}, condition, fix)
    numbers = {"work_item": work_item, "value": value, "register": register, "byte": byte}
    numbers |= {"bit": bit, "subgroup": subgroup}
    given = {name: number for name, number in numbers.items() if number is not None}
    if not all(is_index(number) and number >= 0 for number in given.values()):
        raise CoordError("element_at", given, "a number is negative", "count from 0")
    if register is not None and byte is not None:
        place = _at_byte(subject, operand, register, byte, bit, subgroup)
    else:
        place = _at_value(subject, operand, work_item or 0, value or 0, unit_bits, subgroup)
    if place is None:
        raise CoordError("element_at", given, "no element is there", "see registers()")
    at = tuple(zip(indices_of(operand), place, strict=True))
    if not isinstance(subject, (TiledMma, TiledCopy)):
        return _in_atom(subject, operand, at)
    owners = [*_in_tile(subject, operand, at)]
    own = next((one for one in owners if one.subgroup == subgroup), None)
    if own is None:
        others = ", ".join(str(one.subgroup) for one in owners)
        element = ElementOwner(str(subject), operand, at, 0, 0).element
        raise CoordError(
            "element_at",
            given,
            f"registers of subgroup {subgroup} hold {element}, and the layout gives it to {others}",
            "see verify()",
        )
    return own


def _at_byte(
    subject: AnyOwned, operand: str | None, register: int, byte: int, bit: int, subgroup: int
) -> Place | None:
    """Return the element in a byte of a register, else None."""
    if byte >= grf_bytes() or bit > 7:
        return None
    slot = ((register * grf_bytes() + byte) * 8 + bit) // _bits_of(subject, operand)
    return _in_slot(subject, operand, slot, subgroup)


def _at_value(
    subject: AnyOwned,
    operand: str | None,
    work_item: int,
    value: int,
    unit_bits: int | None,
    subgroup: int,
) -> Place | None:
    """Return the element that a work-item's value is, by the layout or by registers, else None."""
    bits = _bits_of(subject, operand)
    if unit_bits is not None and (unit_bits not in UNITS or unit_bits % bits):
        condition = f"registers are not read in units of {unit_bits} bits"
        raise InputError("element_at", {"unit_bits": unit_bits}, condition, "use 8 to 64")
    if work_item >= SUBGROUP:
        return None
    if unit_bits is None:
        return _of_layout(subject, operand, subgroup * SUBGROUP + work_item, value)
    return _in_slot(subject, operand, slot_of_value(work_item, value, unit_bits // bits), subgroup)


def _demand_operand(subject: AnyOwned, operand: str | None) -> None:
    is_mma = isinstance(subject, (MmaAtom, TiledMma))
    if is_mma and operand not in ("A", "B", "C", "D"):
        condition = "an operand is A, B, C or D" if operand else "the operand is missing"
        raise InputError("element_at", {"of": subject}, condition, 'add operand="B"')
    if not is_mma and operand is not None:
        raise InputError("element_at", {"of": subject}, "a copy has no operands", "leave it out")


def _bits_of(subject: AnyOwned, operand: Any) -> int:
    match subject:
        case MmaAtom():
            return subject.operand_type(operand).bits
        case TiledMma():
            return subject.atom.operand_type(operand).bits
        case _:
            return subject.value_type.bits


def _of_layout(subject: AnyOwned, operand: Any, thread: int, value: int) -> Place | None:
    """Return the element that the layout gives to a value of a work-item, else None."""
    match subject:
        case MmaAtom():
            return _owned(subject.ownership(operand), thread, value)
        case CopyAnswers():
            return _owned(subject.ownership(), thread, value)
        case TiledMma():
            place = _in_tiling(
                _tv(subject, operand), subject.operand_tile(_part(operand)), thread, value
            )
            return (place[1], place[0]) if place and operand == "B" else place
        case TiledCopy():
            return _in_tiling(subject.layout_tv_tiled, subject.tiler_mn, thread, value)
        case _:
            assert_never(subject)


def _owned(ownership: Sequence[Sequence[Place]], thread: int, value: int) -> Place | None:
    owned = ownership[thread] if thread < len(ownership) else ()
    return owned[value] if value < len(owned) else None


def _part(operand: str) -> str:
    return "C" if operand == "D" else operand


def _tv(mma: TiledMma, operand: str) -> Layout:
    match _part(operand):
        case "A":
            return mma.tv_layout_A_tiled
        case "B":
            return mma.tv_layout_B_tiled
        case _:
            return mma.tv_layout_C_tiled


def _in_tiling(tv: Layout, tile: tuple[int, ...], thread: int, value: int) -> Place | None:
    if thread >= size(tv[0]) or value >= size(tv[1]) or len(tile) != 2:
        return None
    offset = tv(thread, value)
    return offset % tile[0], offset // tile[0]


def _in_slot(subject: AnyOwned, operand: Any, slot: int, subgroup: int) -> Place | None:
    """Return the element in a slot of the registers, else None."""
    match subject:
        case MmaAtom():
            return _slot_of(subject.registers(operand), slot)
        case CopyAnswers():
            return _slot_of(subject.registers(), slot)
        case TiledMma():
            per = max(1, 8 // subject.atom.operand_type(operand).bits)
            lane, value = value_in(slot, per)
            read = _by_registers(subject)
            return _of_layout(read, operand, subgroup * SUBGROUP + lane, value)
        case TiledCopy():
            return _in_messages(subject.sent, slot, subgroup)
        case _:
            assert_never(subject)


def _slot_of(picture: RegisterPicture, slot: int) -> Place | None:
    return picture.slots[slot] if slot < len(picture.slots) else None


def _in_messages(sent: TiledCopy, slot: int, subgroup: int) -> Place | None:
    """Return the element of a tile in a slot that the messages of its templates fill."""
    message, inside = divmod(slot, sent.block.values * SUBGROUP)
    inside_block = _slot_of(sent.block.registers(), inside)
    if inside_block is None or message >= sent.messages or subgroup >= sent.num_subgroups:
        return None
    subgroups, messages = sent.anchors
    start = _summed(subgroups(subgroup), messages(message))
    place = [0, 0]
    place[sent.y_mode], place[sent.x_mode] = inside_block
    at = place[0] + start[0], place[1] + start[1]
    return at if all(i < n for i, n in zip(at, sent.tiler_mn, strict=True)) else None


def _by_registers(mma: TiledMma) -> TiledMma:
    """Return a tiling that counts values as registers do: older names hide how B is packed."""
    return replace(mma, atom=mma.atom.by_registers) if mma.atom.legacy else mma
