"""Floor 9: judging matrix instructions, alone and tiled."""

from __future__ import annotations

from math import prod
from typing import Literal, cast

from pycute_xe.arch import Broken, Dpas
from pycute_xe.arch.dpas import DpasMessage
from pycute_xe.arch.rules import Level, rules
from pycute_xe.atom import MmaAtom, TiledMma
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.checking.found import Found
from pycute_xe.comparing.operand_places import quantities_of
from pycute_xe.layout import size

__all__ = ["judge_dpas", "judge_dpas_message", "judge_mma_atom", "judge_tiled_mma"]

_FIELDS = {"A": "src2", "B": "src1", "C": "src0", "D": "dst"}
_ALIGNED = frozenset(_FIELDS.values())


def judge_dpas(op: Dpas, subject: str, found: Found) -> None:
    """Judge the types of a DPAS and its sizes."""
    broken = op.broken_rules(found.target)
    found.refuse(subject, broken)
    if not broken:
        condition = f"DPAS has {op.D} = {op.A} × {op.B} + {op.C}"
        found.hold(subject, "types", condition, "vISA manual, DPAS.md")
        table = rules("dpas", "rule", found.target.name)
        sizes = [rule for rule in table if rule.quantity not in _ALIGNED]
        found.judge(subject, sizes, quantities_of(op))


def judge_dpas_message(message: DpasMessage, subject: str, found: Found) -> None:
    """Judge a DPAS with its operands, as text says it."""
    found.refuse(subject, message.check(found.target))
    found.judge(subject, rules("dpas", "rule", found.target.name), message.quantities)


def judge_mma_atom(atom: MmaAtom, found: Found, level: Level = "error") -> None:
    """Judge an MMA atom: its instruction, and whether its layouts say where operands lie.

    A kernel has its values in the registers that the instruction reads, whatever the older layouts
    say of them: it asks with level "warning".
    """
    subject = str(atom)
    judge_dpas(atom.op, subject, found)
    source = "vISA manual, DPAS.md: A is row-major without gaps, B is packed in dwords"
    if atom.faithful or found.allow_unfaithful:
        found.hold(subject, "faithful", "its layouts say where the operands lie", source)
        return
    broken = Broken(
        "faithful",
        level if atom.by_registers.faithful else "error",
        " ".join(atom.notes),
        source,
        "use XE_DPAS_TT and an even M, or allow_unfaithful=True",
    )
    found.refuse(subject, (broken,))


def judge_tiled_mma(mma: TiledMma, found: Found, level: Level = "error") -> None:
    """Judge the atom, and where in registers each of its repetitions finds the operands."""
    judge_mma_atom(mma.atom, found, level)
    if mma.atom.op.broken_rules(found.target):
        return
    table = rules("dpas", "rule", found.target.name)
    for operand, field in _FIELDS.items():
        part = "C" if operand == "D" else operand
        bits = mma.atom.operand_type(cast("Literal['A', 'B', 'C', 'D']", operand)).bits
        nbytes = size(getattr(mma.atom, f"tv_layout_{part}")[1]) * SUBGROUP * bits // 8
        aligned = [rule for rule in table if rule.quantity == field]
        for number in range(min(prod(mma.repetitions(part)), 2)):
            place = quantities_of(mma.atom.op) | {field: number * nbytes}
            found.judge(
                f"{operand} of {mma.atom}", aligned, place, "use an M that fills whole registers"
            )
