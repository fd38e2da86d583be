"""Floor 9: what a copy atom does, told to someone who knows the table of its names."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.target import targets
from pycute_xe.atom import CopyAtom, LegacyCopyAtom, feeds
from pycute_xe.atom.legacy_lowering import broken_rules, nearest_names
from pycute_xe.atom.placed_message import PlacedMessage
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.bulk import table
from pycute_xe.errors import CuteError, LegalityError
from pycute_xe.explaining.atom_explanation import section
from pycute_xe.explaining.atom_words import (
    first_places,
    misplaced,
    owner_table,
    plural,
    walk_words,
)
from pycute_xe.explaining.copy_names import name_lines, related_lines, shipped_line
from pycute_xe.explaining.script import Script
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["feeding_pairs", "feeding_types", "tell_copy"]

Copy = LegacyCopyAtom | CopyAtom

# The DPAS that takes operands of a width, where the type of the values says none.
_BY_BITS = {4: "s4", 8: "s8", 16: "bf16", 32: "tf32"}
_INPUTS = {
    **dict.fromkeys(("bf16", "f16", "tf32"), "f32"),
    **dict.fromkeys(("s8", "u8", "s4", "u4", "s2", "u2"), "s32"),
}


def tell_copy(script: Script, atom: Copy, target: str, operand: str | None) -> None:
    """Tell a block-2D copy, section by section."""
    section(script, "name", name_lines(atom))
    section(script, "shipped", [shipped_line(atom)])
    section(script, "owners", _owners(atom))
    section(script, "order", _order(atom))
    section(script, "hardware", _messages(atom, target))
    section(script, "registers", _registers(atom))
    section(script, "feeds", _feeds(atom, operand))
    section(script, "notes", _notes(atom))
    section(script, "see also", [*related_lines(atom), *_next(atom)])


def _owners(atom: Copy) -> list[str]:
    if _is_prefetch(atom):
        return ["nobody: a prefetch brings the block into the cache and fills no register"]
    try:
        owned = atom.ownership()
    except CuteError as error:
        return [f"nobody: {error.condition}"]
    what = f"{plural(len(owned[0]), 'value')} each, as its layouts say"
    lines = owner_table(owned)
    lines[0] = f"{lines[0]:<40} ({what})"
    return lines


def _order(atom: Copy) -> list[str]:
    if _is_prefetch(atom):
        return []
    try:
        owned = atom.ownership()
        layout = atom.layout_ref_tv
    except CuteError:
        return []
    walk = walk_words(owned[0])
    words = f"; {walk}" if walk and len(owned[0]) > 1 else ""
    first = f"work-item 0, as (row,column): {first_places(owned[0])}{words}"
    return [first, f"layout (work-item, value) -> {_offsets(atom)}:  {layout}"]


def _offsets(atom: Copy) -> str:
    """What the offsets of the layout count, found by comparing it with the ownership."""
    rows, cols = atom.shape
    said = table(atom.layout_ref_tv).reshape(-1, SUBGROUP).T.tolist()
    owned = atom.ownership()
    by_row = [[x + cols * y for y, x in held] for held in owned]
    by_col = [[y + rows * x for y, x in held] for held in owned]
    if said == by_row:
        return f"column + {cols}·row"
    if said == by_col:
        return f"row + {rows}·column"
    return "offset, which is not that of the table: see notes"


def _messages(atom: Copy, target: str) -> list[str]:
    others = [name for name in targets() if name != target]
    able = [name for name in others if _allowed(atom, name)]
    try:
        parts = atom.messages(target)
    except LegalityError as error:
        also = f"{', '.join(able)} would take it" if able else f"{', '.join(others)} refuse it too"
        return [*_refusal(atom, target, error), also]
    first, count = parts[0].message, plural(len(parts), "message")
    like = " like this" if len(parts) > 2 else ""
    lines = [f"{target}: {count}{like}: {_message_words(first)}"]
    shown = parts if len(parts) <= 2 else parts[:1]
    lines += [_placed(part, len(parts)) for part in shown]
    refused = [name for name in others if name not in able]
    also = f"; {', '.join(refused)} would refuse it" if refused else ""
    return [*lines, f"the same on {', '.join(able)}{also}"]


def _allowed(atom: Copy, target: str) -> bool:
    with suppress(LegalityError):
        return bool(atom.messages(target))
    return False


def _placed(part: PlacedMessage, count: int) -> str:
    return f"  {part}" if count > 1 else f"  {part.message}"


def _message_words(message: Block2D) -> str:
    blocks = "" if message.count == 1 else f"{message.count} blocks side by side, each "
    packed = ", VNNI" if message.vnni else ""
    turned = ", transposed" if message.transpose else ""
    sizes = f"{plural(message.height, 'row')} of {plural(message.width, 'element')}"
    return f"{blocks}{sizes} of {message.bits} bits in memory{turned}{packed}"


def _refusal(atom: Copy, target: str, error: LegalityError) -> list[str]:
    if isinstance(atom, CopyAtom):
        return [f"{target} refuses it: {error.condition}", f"way out: {error.fix}"]
    lines = [
        f"{target} refuses it by rule {broken.rule}: {broken.condition} [{broken.source}]"
        for broken in broken_rules(atom.name, target)
    ]
    near = ", ".join(map(str, nearest_names(atom.name, target)))
    return [*lines, f"nearest names that work: {near}" if near else f"way out: {error.fix}"]


def _registers(atom: Copy) -> list[str]:
    if _is_prefetch(atom) or not any(_allowed(atom, name) for name in targets()):
        return []
    try:
        picture = atom.registers()
        owned = atom.ownership()
    except CuteError:
        return []
    gap = f", {plural(picture.padding, 'slot')} of padding" if picture.padding else ", no padding"
    size = f"{plural(picture.registers, 'register')} of 64 bytes{gap}"
    unit = picture.unit_bits
    odd = misplaced(owned, picture)
    if odd is None:
        place = (min(1, atom.shape[0] - 1), min(1, atom.shape[1] - 1))
        return [f"{size}; they hold what the table says (faithful)", _example(atom, place, unit)]
    lines = [f"{size}; they do not hold what the table says (not faithful)"]
    lines.append(_example(atom, odd, unit))
    others = [width for width in atom.faithful_units if width != unit]
    if others:
        where = " or ".join(map(str, others))
        lines.append(f"the table is true where registers are read in {where}-bit elements")
    else:
        lines.append("read in no width of elements, 8 to 64 bits, is the table true")
    return lines


def _example(atom: Copy, place: tuple[int, int], unit: int) -> str:
    """Where one element is, who finds it there, and who is said to own it."""
    picture = atom.registers()
    row, col = place
    slot = picture.slot_of(row, col)
    register, inside = divmod(slot, 512 // picture.bits)
    holder, value = picture.owner_of(row, col)
    said, said_value = atom.owner_of(row, col)
    at = f"element {inside} of register {register} is row {row}, column {col}"
    found = f"read in {unit}-bit elements it is value {value} of work-item {holder}"
    if (said, said_value) == (holder, value):
        return f"{at}: {found}, as said"
    if said == holder:
        return f"{at}: {found}, the table says value {said_value}"
    return f"{at}: {found}, the table says work-item {said}"


def feeding_types(value_type: Numeric) -> tuple[str, str] | None:
    """The types (D, A) of the DPAS that values of a type, or of its width, are meant for."""
    name = value_type.name
    if name not in _INPUTS:
        name = _BY_BITS.get(value_type.bits, "")
    return (_INPUTS[name], name) if name else None


def _feeds(atom: Copy, operand: str | None) -> list[str]:
    if _is_prefetch(atom) or not any(_allowed(atom, name) for name in targets()):
        return []
    pairs = feeding_pairs(atom, operand)
    if not pairs:
        return [f"no DPAS: none takes {atom.value_type.bits}-bit operands"]
    found = (feeds(*pair) for pair in pairs)
    kind = atom.value_type
    # Types that C and D have, and plain bits, are no claim about A and B.
    known = kind.name in {*_INPUTS, "f32", "s32", f"u{kind.bits}"}
    lead = [] if known else [f"no DPAS multiplies {kind}: what follows is for {kind.bits} bits"]
    return lead + [f"{f.operand} of {pairs[0][1]}: {f.kind}; {f.reason}" for f in found]


def feeding_pairs(atom: Copy, operand: str | None = None) -> list[tuple[Copy, str, Any]]:
    """Return (copy, MMA, operand) of the questions to ask: of its type or, failing that, its width.

    A load may feed A, B and, if 32 bits wide, C; a store takes D.
    """
    types = feeding_types(atom.value_type)
    if types is None or _is_prefetch(atom):
        return []
    wide = atom.value_type.bits == 32
    if _is_store(atom) and wide:
        types = ("f32", "bf16")
    fit = ("D",) if _is_store(atom) else ("A", "B", "C") if wide else ("A", "B")
    mma = f"XE_DPAS_TT<8,{types[0]},{types[1]}>"
    return [
        (_retyped(atom, types[0] if name in ("C", "D") and wide else types[1]), mma, name)
        for name in ((operand,) if operand else fit)
    ]


def _retyped(atom: Copy, name: str) -> Copy:
    """The same copy for values of another type of the same width."""
    wanted = as_numeric(name)
    return replace(atom, value_type=wanted) if wanted.bits == atom.value_type.bits else atom


def _notes(atom: Copy) -> list[str]:
    # Other sections say these already.
    told = {"shipped", "letter", "sizes", "registers"}
    return [f"- {note}" for subject, note in atom.noted.items() if subject not in told]


def _next(atom: Copy) -> list[str]:
    types = feeding_types(atom.value_type)
    if _is_prefetch(atom) or _is_store(atom) or types is None:
        return []
    return [f"pycute-xe atoms --feeds 'XE_DPAS_TT<8,{types[0]},{types[1]}>' --operand B"]


def _is_prefetch(atom: Copy) -> bool:
    if isinstance(atom, CopyAtom):
        return atom.op.message.op == "prefetch"
    return atom.name.is_prefetch


def _is_store(atom: Copy) -> bool:
    return atom.op.is_store if isinstance(atom, CopyAtom) else atom.name.is_store
