"""Floor 9: what an MMA atom does, told to someone who knows matrix products."""

from __future__ import annotations

from typing import get_args

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom import MmaAtom
from pycute_xe.atom.mma_atom import Operand
from pycute_xe.comparing import search_atoms
from pycute_xe.explaining.atom_explanation import section
from pycute_xe.explaining.atom_words import (
    first_places,
    owner_table,
    plural,
    walk_words,
)
from pycute_xe.explaining.script import Script

__all__ = ["tell_mma"]


def tell_mma(script: Script, atom: MmaAtom, target: str, operand: Operand | None) -> None:
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
    held = picture.held_by(0)
    if held == owned:
        lines.append(f"  registers: the same, read in {picture.unit_bits}-bit elements")
        return lines
    found = f"work-item 0 finds {first_places(held)}"
    lines.append(f"  registers: {found}, read in {picture.unit_bits}-bit elements")
    true = [u for u in (16, 32) if u > picture.unit_bits and _true_in(atom, operand, u)]
    if true:
        lines.append(f"             read in {true[0]}-bit elements, what the layout says")
    return lines


def _true_in(atom: MmaAtom, operand: Operand, unit: int) -> bool:
    found = atom.registers(operand).owners(unit)
    return all(
        found.get(place) == (work_item, value)
        for work_item, held in enumerate(atom.ownership(operand))
        for value, place in enumerate(held)
    )


def _operand_in_full(atom: MmaAtom, operand: Operand) -> list[str]:
    return [*_operand_lines(atom, operand), *owner_table(atom.ownership(operand))]


def _feeders(atom: MmaAtom, operand: Operand | None) -> list[str]:
    """Copies of one row of tiles that need no reorder, the smallest of each kind."""
    lines: list[str] = []
    for each in get_args(Operand) if operand is None else (operand,):
        rows, cols = atom.operand_shape(each)
        bits = max(8, atom.operand_type(each).bits)
        found = search_atoms(
            feeds=atom, operand=each, shipped=True, bits=bits, rows=rows, kind="copy"
        )
        near = sorted(found, key=lambda r: (r.rows * r.cols != rows * cols, r.name[:5] != "XE_2D"))
        names = ", ".join(record.name for record in near[:3])
        verb = "stored by" if each == "D" else "loaded by"
        how = f"{verb} {names}" if found else f"no copy of {bits}-bit elements without a reorder"
        lines.append(f"{each}: {how}")
    return lines


def _related(atom: MmaAtom, operand: Operand | None) -> list[str]:
    op = atom.op
    twin = MmaAtom(Dpas(op.M, op.D, op.A, op.B, op.C), legacy=not atom.legacy)
    lines = [f"{'newer' if atom.legacy else 'older'} name: {twin}"] if twin.shipped else []
    fed = f"pycute-xe atoms --feeds '{atom}' --operand {operand or 'B'}"
    # Never the command that shows this screen.
    return [*lines, fed, f"pycute-xe atom '{atom}' --operand {'A' if operand == 'B' else 'B'}"]
