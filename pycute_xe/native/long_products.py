"""Floor 11: products of 32 by 32 bits, which take two instructions and the accumulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from pycute_xe.native.assembly import Instruction, Reg
from pycute_xe.native.operands import State, reader, refuse, writer

__all__ = ["long_multiplication"]

_NARROW = ("w", "uw")
_WHOLE = ("d", "ud")


def long_multiplication(instruction: Instruction) -> Callable[[State], None]:
    """Return what ``mul`` into the accumulator, ``mach`` or ``macl`` of integers does.

    Raises `MachineError` for other types than the compiler uses.
    Document: Bspec, "mach" and "macl": multiply accumulate high and low.
    """
    first, second = (source.kind for source in instruction.sources)
    if instruction.op == "mul":
        return _begun(instruction, first, second)
    if first not in _WHOLE or second not in _WHOLE or cast("Reg", instruction.to).file != "r":
        raise refuse(instruction, f"{instruction.op} of {first} and {second} is not modelled")
    a, b, write = *(reader(instruction, s) for s in instruction.sources), writer(instruction)
    shift = 32 if instruction.op == "mach" else 0

    def finish(state: State) -> None:
        if state.products is None or state.products.size != instruction.size:
            raise refuse(instruction, "no mul has left its products in the accumulator")
        # The upper half of b, with its sign where it has one.
        state.products = state.products + (a(state) * (b(state) >> 16) << 16)
        write(state, state.products >> shift & 0xFFFFFFFF)

    return finish


def _begun(instruction: Instruction, first: str, second: str) -> Callable[[State], None]:
    """A product of which the accumulator keeps all bits, and shows the lowest 32."""
    to = cast("Reg", instruction.to)
    if to.element or first not in _WHOLE or second not in _NARROW:
        raise refuse(instruction, f"a product of {first} and {second} in acc{to.number}")
    a, b = (reader(instruction, source) for source in instruction.sources)
    write = writer(instruction)

    def begin(state: State) -> None:
        found = a(state) * b(state)
        write(state, found)
        if to.number == 0:
            state.products = found

    return begin
