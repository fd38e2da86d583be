"""Which bytes of registers an instruction reads and writes.

Flags and accumulators are left out: the compilers write no dependences for them, as hardware keeps
their order within a pipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.native.assembly import Instruction, Reg
from pycute_xe.native.comparison import dpas_of
from pycute_xe.native.operands import (
    ACCUMULATORS,
    DTYPES,
    GRF,
    bytes_of_lanes,
)

__all__ = ["PLACES", "Touched", "touched"]

PLACES = ACCUMULATORS * GRF
"""Bytes of the general registers."""

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Touched:
    """Bytes that an instruction reads and writes; ``some`` where a predicate may leave out some."""

    reads: Places
    writes: Places
    some: bool


def touched(instruction: Instruction) -> Touched:
    """Return the bytes that an instruction touches. Raises `MachineError` for unknown operands."""
    op = instruction.op
    if op.startswith("send"):
        reads, writes = _of_message(instruction)
    elif op == "dpas":
        reads, writes = _of_dpas(instruction)
    elif op in ("sync", "nop", "join", "jmpi", "goto") or _only_waits(instruction):
        reads, writes = [], []
    else:
        regs = (each for each in instruction.sources if isinstance(each, Reg))
        reads = [part for each in regs for part in _of_operand(instruction, each)]
        writes = _of_operand(instruction, instruction.to) if instruction.to is not None else []
    some = bool(instruction.predicate) and op != "sel"
    return Touched(_joined(reads), _joined(writes), some)


def _only_waits(instruction: Instruction) -> bool:
    """Whether an instruction stands for what it waits for: a move to nowhere."""
    to = instruction.to
    nowhere = to is not None and to.file == "null"
    return instruction.op == "mov" and nowhere and not instruction.condition


def _range(start: int, count: int) -> Places:
    return np.arange(start, start + count)


def _joined(parts: list[Places]) -> Places:
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)


def _of_message(instruction: Instruction) -> tuple[list[Places], list[Places]]:
    def whole(operand: Any) -> list[Places]:
        if not isinstance(operand, Reg) or operand.file != "r" or not operand.length:
            return []
        return [_range(operand.number * GRF, operand.length * GRF)]

    return whole(instruction.sources[0]) + whole(instruction.sources[1]), whole(instruction.to)


def _of_dpas(instruction: Instruction) -> tuple[list[Places], list[Places]]:
    op, to, c, b, a = dpas_of(instruction)
    row = op.M * op.N
    reads = [_range(b, op.K * op.N * op.B.bits // 8), _range(a, op.M * op.K * op.A.bits // 8)]
    if c is not None:
        reads.append(_range(c, row * op.C.bits // 8))
    return reads, [_range(to, row * op.D.bits // 8)]


def _of_operand(instruction: Instruction, operand: Reg) -> list[Places]:
    if operand.file != "r":
        return []
    return [bytes_of_lanes(instruction, operand, DTYPES[operand.kind].itemsize).reshape(-1)]
