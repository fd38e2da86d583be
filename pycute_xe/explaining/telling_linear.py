"""Floor 9: what a linear copy atom does, told to someone who knows the block-2D ones."""

from __future__ import annotations

from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom import LinearCopyAtom
from pycute_xe.errors import LegalityError
from pycute_xe.explaining.atom_explanation import section
from pycute_xe.explaining.atom_words import misplaced, owner_table, plural
from pycute_xe.explaining.script import Script

__all__ = ["linear_head_line", "tell_linear"]


def linear_head_line(atom: LinearCopyAtom) -> str:
    """Say in a sentence what the copy does."""
    op, bits = atom.op, atom.value_type.bits
    if op.is_block:
        verb, way = ("Stores", "to") if op.is_store else ("Loads", "from")
        return f"{verb} {atom.shape[1]} {bits}-bit values that lie together {way} global memory."
    verb = "adds" if "atomic" in op.moves else "stores" if op.is_store else "copies"
    moved = f"{plural(atom.values, 'value')} of {bits} bits"
    where = " in shared local memory (SLM)" if op.kind.endswith("SM") else ""
    return f"Each work-item {verb} {moved} at an address of its own{where}."


def tell_linear(script: Script, atom: LinearCopyAtom, target: str) -> None:
    """Tell a linear copy, section by section."""
    op = atom.op
    section(
        script,
        "name",
        [
            f"{op.kind}<S,D>: reads elements of type S, here {op.S}, and writes D, here {op.D}",
            f"shown for {atom.value_type} values",
        ],
    )
    section(script, "shipped", ["yes: CUTLASS has this template"])
    section(script, "owners", _owners(atom))
    section(script, "hardware", _messages(atom, target))
    section(script, "registers", _registers(atom))
    section(script, "notes", [f"- {note}" for note in atom.notes])
    section(script, "see also", ["pycute-xe atoms --kind linear"])


def _owners(atom: LinearCopyAtom) -> list[str]:
    owned = atom.ownership()
    order = f"layout (work-item, value) -> value: {atom.layout_ref_tv}"
    if len(owned) == 1:
        return [f"each work-item for itself: {plural(atom.values, 'value')} in a row", order]
    lines = [line.rpartition(" | ")[0].replace("columns", "values ") for line in owner_table(owned)]
    return [*lines, order]


def _messages(atom: LinearCopyAtom, target: str) -> list[str]:
    try:
        parts = atom.messages(target)
    except LegalityError as error:
        return [f"{target} refuses it: {error.condition}", f"way out: {error.fix}"]
    shown = [f"  {part}" for part in parts[:2]]
    more = [f"  and {len(parts) - 2} more"] if len(parts) > 2 else []
    return [f"{target}: {plural(len(parts), 'message')}", *shown, *more]


def _registers(atom: LinearCopyAtom) -> list[str]:
    try:
        picture = atom.registers()
    except LegalityError:
        return []
    size = f"{plural(picture.registers, 'register')} of {grf_bytes()} bytes"
    if atom.faithful:
        return [f"{size}; they hold what the layout says (faithful)"]
    lines = [f"{size}; they do not hold what the layout says (not faithful)"]
    odd = misplaced(atom.ownership(), picture) if atom.op.is_block else None
    if odd is not None:
        (said, _), (found, _) = atom.owner_of(*odd), picture.owner_of(*odd)
        lines.append(f"value {odd[1]}: the layout says work-item {said}, {found} finds it")
    return lines
