"""Floor 6: what `diff` compares of an atom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.target import targets
from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.given_atoms import Copy, as_copy_atom, as_mma_atom, name_of
from pycute_xe.atom.legacy_copy import LegacyCopyAtom
from pycute_xe.atom.mma_atom import MmaAtom, Operand
from pycute_xe.atom.names import get_atom
from pycute_xe.atom.placed_message import PlacedMessage
from pycute_xe.atom.register_picture import Place, RegisterPicture
from pycute_xe.errors import CuteError, LegalityError

__all__ = ["Owner", "Side", "sides"]

Owner = tuple[int, int]
"""(work-item, value)."""

_UNITS = (8, 16, 32, 64)
_CHANNEL = 32


@dataclass(frozen=True, eq=False)
class Side:
    """One atom, seen as `diff` needs it.

    ``facts`` are its parameters by name; ``said`` the owner of each element by its layouts, the
    first one where several have it; ``picture`` its registers, ``None`` where ``why`` says why.
    """

    label: str
    facts: Mapping[str, str]
    messages: tuple[str, ...]
    shape: Place
    bits: int
    said: Mapping[Place, Owner]
    picture: RegisterPicture | None
    why: str = ""
    turned: bool = False

    @property
    def units(self) -> tuple[int, ...]:
        """Widths of 8 to 64 bits in which registers show what is said."""
        return tuple(unit for unit, held in self._read() if held == self.said)

    @property
    def work_item_units(self) -> tuple[int, ...]:
        """Widths in which each work-item holds what is said, in whatever order."""
        said = {place: work_item for place, (work_item, _) in self.said.items()}
        return tuple(u for u, held in self._read() if {p: t for p, (t, _) in held.items()} == said)

    def _read(self) -> Iterator[tuple[int, dict[Place, Owner]]]:
        """The owners in registers that are read in units of each width."""
        picture = self.picture
        if picture is not None:
            for unit in _UNITS:
                if unit % picture.bits == 0:
                    yield unit, picture.owners(unit)

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
        while self.said.get((0, count)) == (0, count):
            count += 1
        return count


def sides(a: object, b: object, operand: Operand | None) -> tuple[Side, Side]:
    """Return both sides; of one atom the same one twice.

    Raises `CuteError` for a copy against an MMA, an operand missing or of no use.
    """
    kinds = {isinstance(_named(x), MmaAtom | Dpas) for x in (a, b) if x is not None}
    given = {"a": a, "b": b, "operand": operand}
    if len(kinds) > 1:
        condition = "a copy and an MMA have nothing to compare"
        raise CuteError("diff", given, condition, "ask feeds(copy, mma, operand)")
    if kinds == {True}:
        if operand is None:
            raise CuteError("diff", given, "an MMA has three operands", 'add operand="B"')
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
    placed, why = _messages(copy)
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
        why,
        any(part.message.transpose for part in placed),
    )
    return _turned(side) if mixed and isinstance(copy, CopyAtom) and side.turned else side


def _messages(copy: Copy) -> tuple[tuple[PlacedMessage, ...], str]:
    """The messages on the first target that takes them, or the rule that forbids them."""
    why = ""
    for target in targets().values():
        try:
            return copy.messages(target), ""
        except LegalityError as error:
            why = why or error.condition
    return (), why


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
    said = {(x, y): owner for (y, x), owner in side.said.items()}
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
    return Side(f"{operand} of {mma}", facts, (str(op),), shape, picture.bits, owners, picture)


def _owners(ownership: tuple[tuple[Place, ...], ...]) -> dict[Place, Owner]:
    owners: dict[Place, Owner] = {}
    for work_item, held in enumerate(ownership):
        for value, place in enumerate(held):
            owners.setdefault(place, (work_item, value))
    return owners
