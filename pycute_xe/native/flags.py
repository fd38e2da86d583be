"""Floor 11: flags as operands, which the compiler keeps in registers where it runs out of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.native.assembly import Instruction, Reg
from pycute_xe.native.operands import DTYPES, Read, State, Write, reader, refuse, writer

__all__ = ["read_of", "result_flags", "write_of"]

Values = NDArray[Any]
_BITS = {"uw": 16, "ud": 32}
_AGAINST_ZERO: dict[str, Callable[[Values], Values]] = {
    "eq": lambda found: found == 0,
    "ne": lambda found: found != 0,
}


def _bits(instruction: Instruction, flag: Reg) -> slice:
    """Return which flags an operand is: the bits of a number, the lowest lane first."""
    width = _BITS.get(flag.kind)
    logical = instruction.op in ("mov", "not", "and", "or", "xor")
    if width is None or not logical or instruction.size != 1 or instruction.predicate:
        raise refuse(instruction, "flags are read and written whole, 16 or 32 of them")
    start = 32 * flag.number + width * flag.element
    return slice(start, start + width)


def read_of(instruction: Instruction, operand: Any) -> Read:
    """Return what reads a source, flags among them."""
    if not isinstance(operand, Reg) or operand.file != "f":
        return reader(instruction, operand)
    bits = _bits(instruction, operand)
    kind = DTYPES[operand.kind]
    return lambda state: (
        np.packbits(state.flags[bits], bitorder="little").view(kind).astype(np.int64)
    )


def write_of(instruction: Instruction) -> Write:
    """Return what writes a result, flags among the destinations."""
    to = instruction.to
    if to is None or to.file != "f":
        return writer(instruction)
    bits = _bits(instruction, to)
    width: int = bits.stop - bits.start
    places: Values = np.arange(width)

    def write(state: State, values: Values) -> None:
        state.flags[bits] = np.asarray(values).astype(np.int64).reshape(-1)[0] >> places & 1

    return write


def result_flags(instruction: Instruction, write: Write) -> Write:
    """Return what writes a result and, where the instruction has a condition, compares it with 0.

    Raises `MachineError` for conditions other than of integers, equal or not.
    """
    if not instruction.condition:
        return write
    holds, to = _AGAINST_ZERO.get(instruction.condition), instruction.to
    logical = instruction.op in ("and", "or", "xor")
    if holds is None or not logical or instruction.predicate or to is None:
        raise refuse(instruction, f"{instruction.op}.{instruction.condition} is not modelled")
    start = 16 * instruction.flag + instruction.first
    stop = start + instruction.size

    def both(state: State, values: Values) -> None:
        state.flags[start:stop] = holds(values)
        write(state, values)

    return both
