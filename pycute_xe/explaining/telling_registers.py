"""Floor 9: what registers hold against what is said, told with an example that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom import CopyAtom
from pycute_xe.atom.register_picture import SUBGROUP, Place, RegisterPicture
from pycute_xe.comparing.atom_arguments import first_messages
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.cutlass.legacy_notes import unit_of_own_elements
from pycute_xe.errors import CuteError
from pycute_xe.explaining.atom_words import first_places, misplaced, plural

__all__ = ["register_lines"]

Copy = LegacyCopyAtom | CopyAtom
Owned = Sequence[Sequence[Place]]


def register_lines(atom: Copy) -> list[str]:
    """Say how the registers are filled, by which rule, and whether that is what is said."""
    try:
        picture = atom.registers()
        owned = atom.ownership()
    except CuteError:
        return []
    gap = f", {plural(picture.padding, 'slot')} of padding" if picture.padding else ", no padding"
    size = f"{plural(picture.registers, 'register')} of {grf_bytes()} bytes{gap}"
    found = misplaced(owned, picture)
    again = None if found else _said_again(owned, picture)
    if found is None and again is None:
        agree = " (faithful)" if atom.faithful else ", though not what CUTLASS's layouts say"
        place = (min(1, atom.shape[0] - 1), min(1, atom.shape[1] - 1))
        lines = [f"{size}; they hold what the table says{agree}", _rule(atom, picture)]
        return [*lines, _example(atom, picture, place)]
    lines = [_rule(atom, picture)]
    own = unit_of_own_elements(picture, owned)
    other = [unit for unit in atom.faithful_units if unit != picture.unit_bits]
    odd = f"{size}; they do not hold what the table says (not faithful)"
    if own and not other:
        odd = f"{size}; right work-items, other order, in {own}-bit units"
        if own == picture.unit_bits:
            return [odd, *lines, _order_of(own, owned, picture)]
    if found is not None:
        lines.append(_example(atom, picture, found))
    elif again is not None:
        lines.append(_again(again, owned, picture))
    return [odd, *lines, _widths(other, own, owned, picture)]


def _widths(other: list[int], own: int | None, owned: Owned, picture: RegisterPicture) -> str:
    """In which width the table is true, or at least the work-item."""
    if other:
        where = " or ".join(map(str, other))
        return f"the table is true where registers are read in {where}-bit elements"
    if own:
        return _order_of(own, owned, picture)
    return "read in no width of elements, 8 to 64 bits, is the table true"


def _order_of(unit: int, owned: Owned, picture: RegisterPicture) -> str:
    """The order in which a work-item finds its own elements."""
    read = RegisterPicture(picture.bits, picture.slots, unit)
    held = ((t, read.held_by(t)) for t in range(SUBGROUP))
    work_item, places = next((t, places) for t, places in held if places != tuple(owned[t]))
    pairs = zip_longest(places, owned[work_item])
    start = max(0, next(i for i, (place, said) in enumerate(pairs) if place != said) - 1)
    lead = "… " if start else ""
    finds = lead + first_places(places[start:], 3).partition(" …")[0]
    said = lead + first_places(owned[work_item][start:], 3).partition(" …")[0]
    return (
        f"each work-item holds its own elements, read in {unit}-bit units, in another order: "
        f"work-item {work_item} finds {finds} … instead of {said} …"
    )


def _said_again(owned: Owned, picture: RegisterPicture) -> tuple[int, int] | None:
    """The first (work-item, value) that is said to be an element which others hold."""
    for work_item, places in enumerate(owned):
        held = picture.held_by(work_item)
        for value, place in enumerate(places):
            if value >= len(held) or held[value] != place:
                return work_item, value
    return None


def _again(said: tuple[int, int], owned: Owned, picture: RegisterPicture) -> str:
    work_item, value = said
    row, col = owned[work_item][value]
    held = picture.held_by(work_item)
    finds = "is past the end of the registers"
    if value < len(held):
        there = held[value]
        finds = "is padding" if there is None else f"holds row {there[0]}, column {there[1]}"
    holder = picture.owner_of(row, col)[0]
    return (
        f"work-item {work_item} is said to own row {row}, column {col} too: its slot {finds}, the "
        f"element is with work-item {holder}"
    )


def _example(atom: Copy, picture: RegisterPicture, place: Place) -> str:
    """Where one element is, who finds it there, and who is said to own it."""
    row, col = place
    register, inside = divmod(picture.slot_of(row, col), 8 * grf_bytes() // picture.bits)
    holder, value = picture.owner_of(row, col)
    what = f"element {inside}"
    if picture.bits < 8:
        what = f"{picture.bits}-bit element {inside} (byte {inside * picture.bits // 8})"
    at = f"{what} of register {register} is row {row}, column {col}"
    found = f"read in {picture.unit_bits}-bit elements it is value {value} of work-item {holder}"
    try:
        said, said_value = atom.owner_of(row, col)
    except CuteError:
        return f"{at}: {found}, the table names no owner"
    if (said, said_value) == (holder, value):
        return f"{at}: {found}, as said"
    if said == holder:
        return f"{at}: {found}, the table says value {said_value}"
    return f"{at}: {found}, the table says work-item {said}"


def _rule(atom: Copy, picture: RegisterPicture) -> str:
    """Whose a slot is, and what the message puts side by side."""
    unit = "element" if picture.bits == picture.unit_bits else f"{picture.unit_bits}-bit element"
    rule = f"{unit} i of a register belongs to work-item i mod {SUBGROUP}"
    parts, _ = first_messages(atom)
    together = _together(picture)
    if parts and together and parts[0].message.vnni:
        return f"{rule}; VNNI puts {together} side by side"
    if parts and together and parts[0].message.transpose:
        return f"{rule}; data transposed in dwords has {together} side by side"
    if isinstance(atom, LegacyCopyAtom) and atom.name.packed:
        wide = 2 * atom.name.bits
        return f"{rule}; Packed means pairs of columns, each pair one {wide}-bit element"
    return rule


def _together(picture: RegisterPicture) -> str:
    """The rows or columns that share the first dword; empty where it holds one element."""
    count = 32 // picture.bits
    places = picture.slots[:count]
    for what, which, of in (("row", 0, "column"), ("column", 1, "row")):
        run = [(i, 0) if which == 0 else (0, i) for i in range(count)]
        if count > 1 and list(places) == run:
            letter = what[0]
            last = f"{count}{letter}+{count - 1}"
            many = f"{count}{letter} and {last}" if count == 2 else f"{count}{letter} to {last}"
            return f"{what}s {many} of a {of}"
    return ""
