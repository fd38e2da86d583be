"""Floor 6: what `diff` compares of an atom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.mma_atom import MmaAtom, Operand
from pycute_xe.atom.register_picture import Place, RegisterPicture
from pycute_xe.comparing.atom_arguments import (
    Copy,
    as_copy_atom,
    as_mma_atom,
    first_messages,
    name_of,
)
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.names import get_atom
from pycute_xe.errors import CuteError

__all__ = ["STRIDE", "Owner", "Owners", "Side", "sides"]

Owner = tuple[int, int]
"""(work-item, value)."""

Owners = Mapping[Place, tuple[Owner, ...]]
"""All owners of each element, by work-item and value."""

STRIDE = "gmem_stride"
"""The parameter of an older name that no element's owner depends on."""

_UNITS = (8, 16, 32, 64)
_CHANNEL = 32


@dataclass(frozen=True, eq=False)
class Side:
    """One atom, seen as `diff` needs it.

    ``facts`` are its parameters by name; ``said`` the owners of each element by its layouts;
    ``picture`` its registers, ``None`` where ``why`` says why; ``units`` the widths of 8 to 64 bits
    in which registers show what is said; ``offsets`` the layout of a copy, (work-item, value) →
    offset in memory.
    """

    label: str
    facts: Mapping[str, str]
    messages: tuple[str, ...]
    shape: Place
    bits: int
    said: Owners
    picture: RegisterPicture | None
    units: tuple[int, ...]
    why: str = ""
    turned: bool = False
    offsets: str = ""

    @property
    def work_item_units(self) -> tuple[int, ...]:
        """Widths in which each work-item holds what is said, in whatever order."""
        said = {place: [t for t, _ in owners] for place, owners in self.said.items()}
        return tuple(
            unit
            for unit, held in _read(self.picture)
            if {p: [t for t, _ in owners] for p, owners in held.items()} == said
        )

    @property
    def held(self) -> Owners:
        """The owner of each element in registers, which have one of each."""
        return _alone(self.picture, None)

    @property
    def repeated(self) -> int:
        """Elements that several work-items, or one under several numbers, are said to own."""
        return sum(len(owners) > 1 for owners in self.said.values())

    @property
    def rows_in_a_dword(self) -> int:
        """Elements of one column that the first dword of the registers holds."""
        if self.picture is None:
            return 1
        row, col = self.picture.slots[0] or (0, 0)
        first = self.picture.slots[: max(1, _CHANNEL // self.picture.bits)]
        return sum(place == (row + i, col) for i, place in enumerate(first))

    @property
    def adjacent(self) -> int:
        """Adjacent columns that work-item 0 is said to own from the first on."""
        count = 1
        while (0, count) in self.said.get((0, count), ()):
            count += 1
        return count


def _alone(picture: RegisterPicture | None, unit_bits: int | None) -> Owners:
    owners = picture.owners(unit_bits) if picture else {}
    return {place: (owner,) for place, owner in owners.items()}


def _read(picture: RegisterPicture | None) -> Iterator[tuple[int, Owners]]:
    """The owners in registers that are read in units of each width."""
    for unit in _UNITS if picture else ():
        if picture and unit % picture.bits == 0:
            yield unit, _alone(picture, unit)


def sides(a: object, b: object, operand: Operand | None) -> tuple[Side, Side]:
    """Return both sides; for a single atom, the same one twice.

    Raises `CuteError` for a copy against an MMA, a missing operand, or one that does not apply.
    """
    kinds = {isinstance(_named(x), MmaAtom | Dpas) for x in (a, b) if x is not None}
    given = {"a": a, "b": b, "operand": operand}
    if len(kinds) > 1:
        condition = "a copy and an MMA cannot be compared"
        raise CuteError("diff", given, condition, "call feeds(copy, mma, operand)")
    if kinds == {True}:
        if operand is None:
            raise CuteError(
                "diff",
                given,
                "two MMAs are compared in one operand, and none is named",
                'add operand="B"',
            )
        left = _mma_side(as_mma_atom(a, "diff"), operand)
        return left, left if b is None else _mma_side(as_mma_atom(b, "diff"), operand)
    if operand is not None:
        raise CuteError("diff", given, "a copy has no operands", "leave the operand out")
    return _copies(a, b)


def _named(given: object) -> object:
    return get_atom(given) if isinstance(given, str) else given


def _copies(a: object, b: object) -> tuple[Side, Side]:
    left = as_copy_atom(a, "diff", b.value_type if isinstance(b, Copy) else None)
    if b is None:
        side = _copy_side(left, False)
        return side, side
    right = as_copy_atom(b, "diff", left.value_type)
    if left.value_type.bits > right.value_type.bits:
        left = replace(left, value_type=right.value_type)
    elif left.value_type.bits < right.value_type.bits:
        right = replace(right, value_type=left.value_type)
    # Templates count rows and columns of memory, older names those of the result.
    mixed = type(left) is not type(right)
    return _copy_side(left, mixed), _copy_side(right, mixed)


def _copy_side(copy: Copy, mixed: bool) -> Side:
    placed, why = first_messages(copy)
    picture = copy.registers() if placed else None
    if picture is not None and not picture.slots:
        picture, why = None, "a prefetch fills no registers"
    facts = _facts(copy)
    if picture is not None:
        facts["registers"] = str(picture.registers)
    side = Side(
        name_of(copy),
        facts,
        tuple(map(str, placed)),
        copy.shape,
        copy.value_type.bits,
        _owners(copy.ownership()),
        picture,
        copy.faithful_units if picture is not None else (),
        why,
        any(part.message.transpose for part in placed),
        str(copy.layout_ref_tv),
    )
    return _turned(side) if mixed and isinstance(copy, CopyAtom) and side.turned else side


def _facts(copy: Copy) -> dict[str, str]:
    """The parts of a name or the parameters of a template."""
    if isinstance(copy, LegacyCopyAtom):
        name = copy.name
        return {
            "data type": name.data_type,
            "rows": str(name.rows),
            "columns": str(name.cols),
            "packed": "yes" if name.packed else "no",
            "direction": "store" if name.is_store else "load",
            "mode": name.mode,
            "prefetch": "yes" if name.is_prefetch else "no",
            "values": copy.value_type.name,
            STRIDE: '(1, "ld")' if copy.m_major else '("ld", 1)',
        }
    op = copy.op
    return {
        "operation": op.kind,
        "bits": str(op.bits),
        "height": str(op.height),
        "width": str(op.width),
        "block width": str(op.block_width),
        "values": copy.value_type.name,
    }


def _turned(side: Side) -> Side:
    """The side with rows for columns."""
    picture = side.picture
    if picture is not None:
        slots = tuple(place and (place[1], place[0]) for place in picture.slots)
        picture = replace(picture, slots=slots)
    said = {(x, y): owners for (y, x), owners in side.said.items()}
    return replace(side, shape=(side.shape[1], side.shape[0]), said=said, picture=picture)


def _mma_side(mma: MmaAtom, operand: Operand) -> Side:
    picture = mma.registers(operand)
    op = mma.op
    facts = {
        "types": " ".join(f"{name}={getattr(op, name)}" for name in "DABC"),
        "M": str(op.M),
        "layouts": "older atoms" if mma.legacy else "XE_DPAS_TT",
        "registers": str(picture.registers),
    }
    shape, owners = mma.operand_shape(operand), _owners(mma.ownership(operand))
    units = tuple(unit for unit, held in _read(picture) if held == owners)
    return Side(
        f"{operand} of {mma}", facts, (str(op),), shape, picture.bits, owners, picture, units
    )


def _owners(ownership: tuple[tuple[Place, ...], ...]) -> Owners:
    owners: dict[Place, tuple[Owner, ...]] = {}
    for work_item, held in enumerate(ownership):
        for value, place in enumerate(held):
            owners[place] = (*owners.get(place, ()), (work_item, value))
    return owners
