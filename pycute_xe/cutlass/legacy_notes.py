"""Floor 6: what a user of an older copy operation should know, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pycute_xe.atom.register_picture import SUBGROUP, Place, RegisterPicture
from pycute_xe.cutlass.legacy_lowering import sent_by_cutlass, why_not
from pycute_xe.cutlass.legacy_name import LegacyCopyName

__all__ = ["note_of_registers", "notes_of", "unit_of_own_elements"]

_SIDES = {
    "one value": "a single value",
    "contiguous": "as many elements as a work-item holds, from the start of the block",
    "rows first": "the values of a work-item, rows before groups of columns",
}


def notes_of(name: LegacyCopyName) -> dict[str, str]:
    """Return what CUTLASS does under this name that its document does not say, by subject."""
    return dict((*_traits(name), *_letter(name), *_memory(name), *_sent(name)))


Note = tuple[str, str]


def _traits(name: LegacyCopyName) -> Iterator[Note]:
    rule = "the layouts here follow the documented ownership"
    if name.logical_shape[1] % SUBGROUP:
        rule = "here it has the block of its name; the documented ownership has none so narrow"
    if not name.shipped:
        yield "shipped", "CUTLASS ships no operation of this name"
    elif name.traits == "none":
        yield "shipped", f"CUTLASS ships it without Copy_Traits; {rule}"
    elif name.traits == "unusable":
        yield "shipped", f"CUTLASS's Copy_Traits of it do not compile; {rule}"
    if name.says("traits_say"):
        yield "traits", f"CUTLASS's traits {name.says('traits_say')}; {rule}"
    if name.says("dealt") == "sides swapped":
        swapped = "CUTLASS's traits read the block with its sides exchanged"
        yield "dealt", f"{swapped}; the layouts equal them, ownership() is the documented one"
    if name.says("dealt") == "by eight":
        eight = "CUTLASS's traits deal eight columns of two rows at a time"
        yield "dealt", f"{eight}, not one column to a work-item; layouts and ownership() equal them"


def _letter(name: LegacyCopyName) -> Iterator[Note]:
    if name.packed and name.bits > 8:
        yield "packed", "CUTLASS's document has Packed_ for U8 and U4 only"
    if name.mode == "V" and name.bits >= 32:
        yield "letter", "VNNI does not pack elements of 32 bits or more: use LD_N"
    if name.mode == "V" and name.bits < 8:
        yield "VNNI", "VNNI packs bytes: a dword holds 4 rows of 2 columns, not the 8 rows of DPAS"
    if name.mode == "T":
        shape = "x".join(map(str, name.memory_shape))
        yield "sizes", f"rows x columns of its name count {name.counts}: {shape} in memory"


def _memory(name: LegacyCopyName) -> Iterator[Note]:
    if name.says("memory_side"):
        other = "CUTLASS's traits list other elements for the memory side, which no work-item owns"
        yield "memory side", f"{other}: {_SIDES[str(name.says('memory_side'))]}"


def _sent(name: LegacyCopyName) -> Iterator[Note]:
    """What CUTLASS sends where the name would make one expect another message."""
    sent = sent_by_cutlass(name)
    if sent is None:
        return
    why = why_not(name, sent)
    if why:
        told = f"CUTLASS sends {name.says('sends')}, which {why}; the messages here do not"
    else:
        packed = ", packed as for VNNI" if sent.vnni and name.mode != "V" else ""
        told = f"CUTLASS moves it as {name.says('sends')}{packed}"
    yield "message", told
    if name.says("shuffles"):
        moved = "CUTLASS then moves values between work-items: registers() shows them before that"
        yield "shuffles", moved


def note_of_registers(
    picture: RegisterPicture, owned: tuple[tuple[Place, ...], ...], exact: tuple[int, ...]
) -> str:
    """Return how the registers of a work-item differ from what it is said to own.

    ``exact`` are the widths in which registers show what is said, values in order.
    """
    said = "the registers of a work-item hold other elements than ownership() says"
    if exact:
        return f"{said}, unless read {' or '.join(map(str, exact))} bits at a time"
    unit = unit_of_own_elements(picture, owned)
    if unit is None:
        return said
    return (
        f"the registers of a work-item, read {unit} bits at a time, hold the elements "
        "that ownership() says in another order or with gaps"
    )


def unit_of_own_elements(picture: RegisterPicture, owned: Sequence[Sequence[Place]]) -> int | None:
    """Return the least width in bits in which each work-item holds its own elements, in any order.

    ``None`` if no width up to 64 bits does, or if an element is said to have two owners.

    >>> from pycute_xe.cutlass import get_atom
    >>> atom = get_atom("XE_2D_U16x8x32_LD_N")
    >>> unit_of_own_elements(atom.registers(), atom.ownership())
    16
    """
    whose = {place: t for t, places in enumerate(owned) for place in places}
    if sum(map(len, owned)) != len(whose):
        return None
    units = (u for u in range(picture.unit_bits, 65, picture.unit_bits) if 64 % u == 0)
    return next((unit for unit in units if _held_by(picture, unit, whose)), None)


def _held_by(picture: RegisterPicture, unit_bits: int, whose: dict[Place, int]) -> bool:
    """Whether registers hold these elements and no others, each with its work-item."""
    owners = picture.owners(unit_bits)
    return len(owners) == len(whose) and all(
        whose.get(place) == work_item for place, (work_item, _) in owners.items()
    )
