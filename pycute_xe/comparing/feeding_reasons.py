"""Floor 6: why a copy cannot serve an operand, which is told before any register is looked at."""

from __future__ import annotations

from pycute_xe.atom.mma_atom import MmaAtom, Operand
from pycute_xe.atom.register_picture import Place
from pycute_xe.comparing.atom_arguments import Copy, direction, first_messages

__all__ = ["illegal", "no_such_way", "other_block", "other_width"]


def no_such_way(copy: Copy, operand: Operand) -> str:
    """Why values do not go between such a copy and such an operand at all."""
    way = direction(copy)
    if way == "prefetch":
        return "a prefetch brings the block into the cache and reaches no register"
    if way == "store" and operand != "D":
        return f"a store takes values out of registers: it can follow D, and fill no {operand}"
    if way == "load" and operand == "D":
        return "a load fills registers, and D comes out of them: it needs a store"
    return ""


def other_width(copy: Copy, mma: MmaAtom, operand: Operand) -> str:
    """Why values of the copy's width are not those of the operand."""
    held, wanted = copy.value_type.bits, mma.operand_type(operand)
    if held == wanted.bits:
        return ""
    if operand == "D":
        return f"{wanted} results must be converted to {held} bits to be stored"
    return f"its {held}-bit values must be converted to {wanted} first"


def illegal(copy: Copy) -> str:
    """The rule that forbids the copy, where no target takes it."""
    placed, why = first_messages(copy)
    return "" if placed else f"no target takes its messages: {why}"


def other_block(block: Place, mma: MmaAtom, operand: Operand) -> str:
    """Why a block does not divide into tiles of the operand."""
    (high, wide), (rows, cols) = block, mma.operand_shape(operand)
    if high % rows == 0 and wide % cols == 0:
        return ""
    said = f"its block of {high}x{wide}"
    if high < rows or wide < cols:
        return f"{said} is smaller than {operand} of {rows}x{cols}"
    return f"{said} does not divide into {operand} tiles of {rows}x{cols}"
