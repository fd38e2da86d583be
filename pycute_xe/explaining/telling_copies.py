"""Floor 9: what a copy atom does, told to someone who knows the table of its names."""

from __future__ import annotations

from contextlib import suppress

from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.target import targets
from pycute_xe.atom import CopyAtom
from pycute_xe.atom.placed_message import PlacedMessage
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.bulk import table
from pycute_xe.comparing.atom_arguments import direction
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.cutlass.legacy_lowering import broken_rules, nearest_names
from pycute_xe.errors import CuteError, LegalityError
from pycute_xe.explaining.atom_explanation import section
from pycute_xe.explaining.atom_words import (
    first_places,
    owner_table,
    plural,
    walk_words,
)
from pycute_xe.explaining.copy_names import name_lines, related_lines, shipped_line
from pycute_xe.explaining.script import Script
from pycute_xe.explaining.telling_feeds import feed_lines, feeding_pairs, next_lines
from pycute_xe.explaining.telling_registers import register_lines

__all__ = ["WORDS", "feeding_pairs", "refusal_line", "tell_copy"]

Copy = LegacyCopyAtom | CopyAtom

WORDS = (
    "faithful: work-items find what the table says, in order; reorder: values must move first",
    "d16.2x8x32nt: bits.blocks x width x height, n/t transposed, n/t packed (VNNI); t is yes",
)
"""What the words on a screen mean, for newcomers."""

# More than the registers of a subgroup can hold.
_MANY = 1 << 14


def tell_copy(script: Script, atom: Copy, target: str, operand: str | None) -> None:
    """Tell a block-2D copy, section by section."""
    rows, cols = atom.shape
    # A size with a digit too many is answered at once, without its many values.
    small = rows * cols <= _MANY
    shown = (
        small and direction(atom) != "prefetch" and any(_allowed(atom, name) for name in targets())
    )
    section(script, "name", name_lines(atom))
    section(script, "shipped", [shipped_line(atom)])
    too_many = f"not shown: the block has {rows * cols} values"
    section(script, "owners", _owners(atom) if small else [too_many])
    section(script, "order", _order(atom) if small else [])
    section(script, "hardware", _messages(atom, target))
    section(script, "registers", register_lines(atom) if shown else [])
    section(script, "feeds", feed_lines(atom, operand) if shown else [])
    section(script, "notes", _notes(atom) if small else [])
    further = next_lines(atom, operand) if shown else []
    section(script, "see also", [*related_lines(atom), *further])


def _owners(atom: Copy) -> list[str]:
    if direction(atom) == "prefetch":
        return ["no work-item: a prefetch brings the block into the cache and fills no register"]
    try:
        owned = atom.ownership()
    except CuteError as error:
        return [f"unknown: {error.condition}"]
    what = f"{plural(len(owned[0]), 'value')} each, as its layouts say"
    lines = owner_table(owned)
    lines[0] = f"{lines[0]:<40} ({what})"
    return lines


def _order(atom: Copy) -> list[str]:
    if direction(atom) == "prefetch":
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
    return "offset, which differs from the table: see notes"


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
    words = _unpaired(atom, target)
    if isinstance(atom, CopyAtom):
        return [*words, f"{target} refuses it: {error.condition}", f"way out: {error.fix}"]
    lines = [
        f"{target} refuses it by rule {broken.rule}: {broken.condition} [{broken.source}]"
        for broken in broken_rules(atom.name, target)
    ]
    near = ", ".join(map(str, nearest_names(atom.name, target)))
    return [*words, *lines, f"nearest names that work: {near}" if near else f"way out: {error.fix}"]


def _unpaired(atom: Copy, target: str) -> list[str]:
    """Say in rows what the rule says in bytes of a column."""
    if isinstance(atom, CopyAtom):
        vnni, bits, rows = atom.op.message.vnni, atom.op.bits, atom.op.height
    else:
        broken = broken_rules(atom.name, target)
        vnni = any(one.rule == "vnni-height-dwords" for one in broken)
        bits, rows = max(8, atom.name.bits), atom.name.rows
    count = 32 // bits
    if not vnni or count < 2 or rows % count == 0:
        return []
    what = "pair up" if count == 2 else f"make groups of {count}"
    return [f"{rows} rows do not {what}: VNNI fills a dword with {count} rows of a column"]


def refusal_line(atom: Copy, target: str) -> str:
    """Say that a target refuses the copy, and what to use; empty where it takes it.

    >>> from pycute_xe.cutlass import get_atom
    >>> refusal_line(get_atom("XE_2D_U32x16x16_LD_V"), "bmg")
    'Not legal on any target: use XE_2D_U32x16x16_LD_N or XE_2D_U32x32x16_LD_N.'
    """
    try:
        atom.messages(target)
    except LegalityError as error:
        fix = error.fix
    else:
        return ""
    able = [name for name in targets() if _allowed(atom, name)]
    where = f"{target} (legal on {', '.join(able)})" if able else "any target"
    if isinstance(atom, LegacyCopyAtom):
        near = [str(name) for name in nearest_names(atom.name, target)]
        fix = f"use {' or '.join(near[:2])}" if near else fix
    return f"Not legal on {where}: {fix}."


def _notes(atom: Copy) -> list[str]:
    # Other sections say these already.
    told = {"shipped", "letter", "sizes", "registers"}
    return [f"- {note}" for subject, note in atom.notes_by_subject.items() if subject not in told]
