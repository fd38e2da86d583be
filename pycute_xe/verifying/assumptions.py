"""What proofs take for granted, and what the properties of a kernel say, in words."""

from __future__ import annotations

from pycute_xe.holding.arithmetic import computed_integers
from pycute_xe.kernel import Kernel

__all__ = [
    "CLIPPED",
    "SURFACES",
    "REAL",
    "FINITE",
    "FINITE_WRAPPING",
    "BEHIND",
    "RACES",
    "PAIRED",
    "SHARED",
    "NO_WRAP",
    "COUNTERS",
    "WRITTEN",
    "WHOLE_ELEMENTS",
    "INVARIANT",
    "assumed_of_numbers",
]

CLIPPED = "outside a surface loads give zero and stores are dropped, value by value"
SURFACES = (
    "surfaces as their messages need them: base, width and pitch legal for the target, extents "
    "below 2**24 (`run` copies operands onto such surfaces)"
)
REAL = "sums and products are those of real numbers, in any order, roundings where they are said: "
FINITE = (
    "inputs are finite, and so is every number that is computed, also of the zeros that pad a "
    "surface: nothing overflows its type and nothing is divided by zero, so that zero times a "
    "number is zero"
)
FINITE_WRAPPING = (
    "inputs are finite, and so is every float that is computed, also of the zeros that pad a "
    "surface: no float overflows and nothing is divided by zero, so that zero times a number is "
    "zero; integers wrap: they are computed in 64 bits, and registers keep the lowest bits"
)
BEHIND = (
    f"{FINITE}; where no claim names them inputs are taken for finite in the proof alone: runs put "
    "NaN there"
)
RACES = "nothing else writes to the outputs meanwhile, and outputs do not overlap inputs"
PAIRED = "the two halves of every barrier are done alternately, by all subgroups, on every path"
SHARED = (
    f"{PAIRED}, and one, after a fence where the first is a store, lies between uses of an element "
    "of a shared array by two subgroups"
)
NO_WRAP = "what is computed of elements of tables stays in the range of s32"
COUNTERS = "a counter is stored and loaded in an order with the signals of other work-groups"
WRITTEN = "no statement reads a register that was never written"
WHOLE_ELEMENTS = "messages start on whole elements and whole registers"
INVARIANT = "what loops claim to hold is so at their starts and after every trip"


def assumed_of_numbers(kernel: Kernel, behind: bool) -> tuple[str, ...]:
    """Return what is assumed of the numbers that are computed, with the types of integers."""
    if kernel.computes is not None and kernel.computes.overflow == "wraps":
        return (FINITE_WRAPPING,)
    kinds = ", ".join(computed_integers(kernel))
    whole = f'{kinds} does not overflow (verify(kernel, overflow="wraps") assumes nothing of it)'
    return (BEHIND if behind else FINITE, *([whole] if kinds else []))
