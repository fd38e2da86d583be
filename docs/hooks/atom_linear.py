"""Writes the catalogue page of the 1D, SLM, scatter and atomic copies."""

from __future__ import annotations

from collections.abc import Iterable

import atom_catalogue

from pycute_xe.atom import LinearCopyAtom
from pycute_xe.cutlass import catalogue, get_atom
from pycute_xe.errors import LegalityError

_INTRO = (
    "Copies of consecutive elements, with the types on both sides, `S` and `D`: the wider one is "
    "what a work-item moves at once. [1D, SLM and scatter copies](../linear.md) explains them. 16 "
    "work-items move one run of memory together; a copy of 1 work-item goes to an address of its "
    "own. *Widths*: read in so many bits, the registers show each work-item what it owns."
)
_TITLES = ("atom", "work-items", "values of each", "messages on bmg", "widths")


def operations() -> dict[str, list[LinearCopyAtom]]:
    """The linear atoms of the catalogue, by operation."""
    found: dict[str, list[LinearCopyAtom]] = {}
    for name in catalogue():
        atom = get_atom(name)
        if isinstance(atom, LinearCopyAtom):
            found.setdefault(atom.op.kind, []).append(atom)
    return found


def page() -> str:
    """Return the page as Markdown."""
    lines = ["# 1D, SLM and scatter copies, all of them", "", _INTRO, ""]
    for kind, atoms in operations().items():
        lines += [f"## `{kind}` {{ #{kind} }}", "", *_table(atoms), "", *_notes(atoms), ""]
    lines += ["## Pictures", ""]
    drawn = ("XE_1D_LOAD_GLOBAL<u16,u64>", "XE_1D_LDSM<u32,u128>")
    lines += [atom_catalogue.drawing(get_atom(name)) for name in drawn]
    return "\n".join(lines) + "\n"


def _table(atoms: Iterable[LinearCopyAtom]) -> Iterable[str]:
    yield f"| {' | '.join(_TITLES)} |"
    yield "|" + " --- |" * len(_TITLES)
    for atom in atoms:
        owned = atom.ownership()
        held = f"{len(owned[0])} of {atom.value_type}"
        cells = (f"`{atom.op}`", str(len(owned)), held, _messages(atom), _widths(atom))
        yield f"| {' | '.join(cells)} |"


def _messages(atom: LinearCopyAtom) -> str:
    try:
        return ", ".join(f"`{part.message}`" for part in atom.messages("bmg"))
    except LegalityError as error:
        return f"none: {error.condition.partition(' [')[0]}"


def _widths(atom: LinearCopyAtom) -> str:
    try:
        own = (atom.registers().unit_bits,) if atom.faithful else ()
        units = ", ".join(map(str, atom.faithful_units or own)) or "none"
    except LegalityError:
        return "–"
    return f"{units} (faithful)" if atom.faithful else units


def _notes(atoms: list[LinearCopyAtom]) -> Iterable[str]:
    """Each note once, with the atoms it is about."""
    about: dict[str, list[str]] = {}
    for atom in atoms:
        for note in atom.notes:
            about.setdefault(note, []).append(f"`{atom.op}`")
    for note, names in about.items():
        some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
        whose = "all" if len(names) == len(atoms) else some
        yield f"- {note[0].upper()}{note[1:]} ({whose})."
