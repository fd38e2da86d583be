"""Floor 12: who owns one element of an atom, and where it is held."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom import MmaAtom
from pycute_xe.errors import InputError

if TYPE_CHECKING:
    from pycute_xe.comparing.atom_record import AnyAtom

__all__ = ["ElementPlace", "place_of"]

_UNITS = (8, 16, 32)
Owner = tuple[int, int]


@dataclass(frozen=True)
class ElementPlace:
    """An element: whose layouts say it is, in which register and bits, and who finds it there.

    ``said`` and ``found_by`` are (work-item, value); the latter by the width in bits in which
    registers are read. ``register`` is ``None`` where no register holds it.
    """

    row: int
    col: int
    said: Owner
    register: int | None = None
    first_bit: int = 0
    bits: int = 0
    found_by: tuple[tuple[int, Owner], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as a dictionary, places counted in bytes too."""
        fields = asdict(self)
        return {
            **fields,
            "byte": self.first_bit // 8,
            "found_by": {str(unit): owner for unit, owner in self.found_by},
        }

    def __str__(self) -> str:
        """One line.

        >>> from pycute_xe.cutlass import get_atom
        >>> print(place_of(get_atom("XE_2D_U16x16x16_LD_V"), 1, 0))
        (1,0): said to be T0·V1; in r0, bytes 2 to 3: T1·V0 read in 16 bits, T0·V1 in 32 bits
        """
        said = f"({self.row},{self.col}): said to be {_owner(self.said)}"
        if self.register is None:
            return f"{said}; no register holds it"
        first = self.first_bit // 8
        where = (
            f"bytes {first} to {first + self.bits // 8 - 1}" if self.bits > 8 else f"byte {first}"
        )
        if self.bits < 8:
            low = self.first_bit % 8
            where += f", bits {low} to {low + self.bits - 1}"
        readers = ", ".join(f"{_owner(owner)} in {unit} bits" for unit, owner in self.found_by)
        found = f": {readers.replace(' in ', ' read in ', 1)}" if readers else ""
        return f"{said}; in r{self.register}, {where}{found}"


def _owner(owner: Owner) -> str:
    return f"T{owner[0]}·V{owner[1]}"


def place_of(atom: AnyAtom, row: int, col: int, operand: Any = None) -> ElementPlace:
    """Return where an element of a copy, or of an operand of an MMA, is said to be, and is.

    Rows and columns count as in ``ownership()``. Raises `CoordError` for an element that the block
    has not, `InputError` for an MMA without an operand or a copy with one, `LegalityError` as
    ``registers()`` does.

    >>> from pycute_xe.cutlass import get_atom
    >>> place_of(get_atom("XE_DPAS_TT<8,f32,bf16>"), 3, 7, "A").said
    (7, 3)
    """
    if isinstance(atom, MmaAtom):
        if operand is None:
            raise InputError(
                "atom", {"at": (row, col)}, "of which operand is not said", "add --operand"
            )
        said, picture = atom.owner_of(operand, row, col), atom.registers(operand)
    else:
        if operand is not None:
            given = {"at": (row, col), "operand": operand}
            raise InputError("atom", given, "a copy has no operands", "leave --operand out")
        said, picture = atom.owner_of(row, col), atom.registers()
    if not picture.slots:
        return ElementPlace(row, col, said)
    slot, bits = picture.slot_of(row, col), picture.bits
    register, first = divmod(slot * bits, 8 * grf_bytes())
    units = (unit for unit in _UNITS if unit % bits == 0)
    found = tuple((unit, picture.owner(slot, unit)) for unit in units)
    return ElementPlace(row, col, said, register, first, bits, found)
