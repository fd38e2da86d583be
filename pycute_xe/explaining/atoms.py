"""`explain` for atoms."""

from __future__ import annotations

from typing import Any, get_args

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.target import Target, get_target, grf_bytes
from pycute_xe.atom import CopyAtom, LinearCopyAtom, MmaAtom
from pycute_xe.atom.mma_atom import Operand
from pycute_xe.comparing import search_atoms
from pycute_xe.comparing.atom_record import AnyAtom as Atom
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.errors import InputError, LegalityError, plural, with_article
from pycute_xe.explaining.copies import explain_copy_atom, refusal_line, word_lines
from pycute_xe.explaining.copy_names import (
    first_places,
    head_line,
    misplaced,
    owner_table,
    walk_words,
)
from pycute_xe.explaining.explanation import LINES, AtomExplanation, Script, section

__all__ = ["demand_atom", "explain_atom"]

# ------------------------------------------------------------ telling mma
# What an MMA atom does, told to someone who knows matrix products.


def explain_mma_atom(script: Script, atom: MmaAtom, target: str, operand: Operand | None) -> None:
    """Tell an MMA atom, section by section; one operand in full if it is named."""
    section(script, "name", _name_lines(atom))
    section(script, "shipped", [_shipped_line(atom)])
    section(script, "hardware", _instruction(atom, target))
    if operand is None:
        for each in ("A", "B", "C"):
            section(script, "C and D" if each == "C" else each, _operand_lines(atom, each))
    else:
        section(script, operand, _operand_in_full(atom, operand))
    section(script, "fed by", _feeders(atom, operand))
    notes = [n for n in atom.notes if "ships no operation" not in n]
    section(script, "notes", [f"- {note}" for note in notes])
    section(script, "see also", _related(atom, operand))


def _name_lines(atom: MmaAtom) -> list[str]:
    m, n, k = atom.shape_mnk
    op = atom.op
    sizes = f"M = {m} rows of A and D, N = {n} columns of B and D, K = {k} products summed"
    types = f"types of D, A, B, C: {op.D}, {op.A}, {op.B}, {op.C}"
    if not atom.legacy:
        return [f"XE_DPAS_TT<M,D,A,B,C>  {sizes}", types]
    return [sizes, types, "TT: A and B both lie row by row in memory, which BLAS calls transposed"]


def _shipped_line(atom: MmaAtom) -> str:
    if not atom.legacy:
        return "yes: CUTLASS has this template"
    if atom.shipped:
        return "yes: one of CUTLASS's older names"
    return "no: the grammar has this name, but CUTLASS defines no operation of it"


def _instruction(atom: MmaAtom, target: str) -> list[str]:
    broken = atom.op.broken_rules(target)
    if not broken:
        return [f"{target}: one instruction, {atom.op}"]
    return [f"{target} refuses it by {b.rule}: {b.condition} [{b.source}]" for b in broken]


def _operand_lines(atom: MmaAtom, operand: Operand) -> list[str]:
    rows, cols = atom.operand_shape(operand)
    picture = atom.registers(operand)
    owned = atom.ownership(operand)[0]
    kind = atom.operand_type(operand)
    size = f"{rows} rows x {cols} columns of {kind}, {plural(picture.registers, 'register')}"
    walk = walk_words(owned)
    words = f" ({walk})" if walk else ""
    lines = [size, f"  layout:    work-item 0 owns {first_places(owned)}{words}"]
    places = picture.held_by(0)
    if places == owned:
        lines.append(f"  registers: the same, read in {picture.unit_bits}-bit elements")
        return lines
    first = f"work-item 0 finds {first_places(places)}"
    lines.append(f"  registers: {first}, read in {picture.unit_bits}-bit elements")
    true = [u for u in (16, 32) if u > picture.unit_bits and _true_in(atom, operand, u)]
    if true:
        lines.append(f"             read in {true[0]}-bit elements, what the layout says")
    return lines


def _true_in(atom: MmaAtom, operand: Operand, unit: int) -> bool:
    owners = atom.registers(operand).owners(unit)
    return all(
        owners.get(place) == (work_item, value)
        for work_item, places in enumerate(atom.ownership(operand))
        for value, place in enumerate(places)
    )


def _operand_in_full(atom: MmaAtom, operand: Operand) -> list[str]:
    return [*_operand_lines(atom, operand), *owner_table(atom.ownership(operand))]


def _feeders(atom: MmaAtom, operand: Operand | None) -> list[str]:
    """Copies of one row of tiles that need no reorder, the smallest of each kind."""
    lines: list[str] = []
    for each in get_args(Operand) if operand is None else (operand,):
        rows, cols = atom.operand_shape(each)
        bits = max(8, atom.operand_type(each).bits)
        copies = search_atoms(
            feeds=atom, operand=each, shipped=True, bits=bits, rows=rows, kind="copy"
        )
        near = sorted(copies, key=lambda r: (r.rows * r.cols != rows * cols, r.name[:5] != "XE_2D"))
        names = ", ".join(record.name for record in near[:3])
        verb = "stored by" if each == "D" else "loaded by"
        how = f"{verb} {names}" if copies else f"no copy of {bits}-bit elements without a reorder"
        lines.append(f"{each}: {how}")
    return lines


def _related(atom: MmaAtom, operand: Operand | None) -> list[str]:
    op = atom.op
    twin = MmaAtom(Dpas(op.M, op.D, op.A, op.B, op.C), legacy=not atom.legacy)
    lines = [f"{'newer' if atom.legacy else 'older'} name: {twin}"] if twin.shipped else []
    fed = f"pycute-xe atoms --feeds '{atom}' --operand {operand or 'B'}"
    # Never the command that shows this screen.
    return [*lines, fed, f"pycute-xe atom '{atom}' --operand {'A' if operand == 'B' else 'B'}"]


# ------------------------------------------------------------ telling linear
# What a linear copy atom does, told to someone who knows the block-2D ones.


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


def explain_linear_atom(script: Script, atom: LinearCopyAtom, target: str) -> None:
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
        (owner, _), (holder, _) = atom.owner_of(*odd), picture.owner_of(*odd)
        lines.append(f"value {odd[1]}: the layout says work-item {owner}, {holder} finds it")
    return lines


# ------------------------------------------------------------ atoms


def demand_atom(value: Any) -> Atom:
    """Return an atom as it is, and raise `InputError` for other values of its floor.

    >>> from pycute_xe.cutlass import get_atom
    >>> print(demand_atom(get_atom("XE_DPAS_TT<8,f32,bf16>")))
    XE_DPAS_TT<8,f32,bf16,bf16,f32>
    """
    if isinstance(value, Atom):
        return value
    raise InputError(
        "explain",
        {"value": value},
        f"{with_article(type(value).__name__)} cannot be explained",
        "explain its atoms, as in explain(mma.atom), or a tiled copy with a tiled MMA",
    )


def explain_atom(
    atom: Atom,
    target: str | Target = "bmg",
    operand: str | None = None,
) -> AtomExplanation:
    """Return what an atom does, on one screen: its name, who owns what, messages, registers.

    ``target``: whose messages and rules are shown. ``operand``: of an MMA, the operand that is
    shown in full; of a copy, the operand that it is judged for. Raises `InputError` for another
    operand, `TargetError` for an unknown target.

    >>> from pycute_xe.cutlass import get_atom
    >>> print(explain_atom(get_atom("XE_2D_U16x8x16_LD_N", "bf16")).rule)
    Loads 8 rows x 16 columns of 16-bit values from memory into the registers of 16 work-items.
    """
    machine = get_target(target).name
    if operand not in (None, "A", "B", "C", "D"):
        raise InputError("explain", {"operand": operand}, "unknown operand", "use A, B, C or D")
    which: Any = operand
    script = Script()
    if isinstance(atom, MmaAtom):
        m, n, k = atom.shape_mnk
        title = str(atom)
        rule = f"D[{m},{n}] = A[{m},{k}] · B[{k},{n}] + C[{m},{n}], by 16 work-items together."
        explain_mma_atom(script, atom, machine, which)
    elif isinstance(atom, LinearCopyAtom):
        if operand is not None:
            raise InputError(
                "explain",
                {"atom": atom, "operand": operand},
                "a linear copy does not move operands of an MMA",
                "leave operand out, or explain a block-2D copy",
            )
        title, rule = f"{atom} for {atom.value_type} values", linear_head_line(atom)
        explain_linear_atom(script, atom, machine)
    else:
        return _copy_explained(atom, machine, which)
    return AtomExplanation(title, rule, tuple(script.steps), atom)


def _copy_explained(
    atom: LegacyCopyAtom | CopyAtom, target: str, operand: str | None
) -> AtomExplanation:
    """A block-2D copy; where no target takes it, that comes before what it would do."""
    script, title = Script(), f"{atom} for {atom.value_type} values"
    refused = refusal_line(atom, target)
    if refused:
        section(script, "what", [head_line(atom)])
    explain_copy_atom(script, atom, target, operand)
    explanation = AtomExplanation(title, refused or head_line(atom), tuple(script.steps), atom)
    if refused:
        return explanation
    section(script, "words", word_lines(atom, target))
    with_words = AtomExplanation(title, explanation.rule, tuple(script.steps), atom)
    return with_words if len(str(with_words).splitlines()) <= LINES else explanation
