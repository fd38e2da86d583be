"""Floor 8: which expressions compute what their destination can hold: whole numbers, constants."""

from __future__ import annotations

from math import inf, isfinite

from pycute_xe.holding.contents import undecided
from pycute_xe.kernel import Element, Kernel, Map, Slot
from pycute_xe.kernel.spec.expression import Apply, Const, Expression, Rounded, Total, Where
from pycute_xe.kernel.spec.functions import OF_INTEGERS
from pycute_xe.numeric import Numeric

__all__ = ["check_map", "constants"]

_MOST = {"f32": (2 - 2.0**-23) * 2.0**127, "f64": inf}
"""The largest number of a type in which an expression is computed."""


def check_map(kernel: Kernel, statement: Map) -> None:
    """Raise `UndecidableError` where no executor computes the value, or computes infinities."""
    to = kernel.fragment(statement.destination).value_type
    if to.kind != "float":
        if not _is_whole(kernel, statement.value):
            raise undecided(
                f"{statement.value} may be a fraction, {statement.destination} holds integers",
                "compute in f32 and convert",
            )
        for number in constants(statement.value):
            if not -(2.0**63) <= number < 2.0**63:
                raise undecided(f"{number:g} is not a number of s64", "use one that it has")
        return
    computed = "f64" if to.bits == 64 else "f32"
    for number in constants(statement.value):
        if isfinite(number) and abs(number) > _MOST[computed]:
            raise undecided(f"{number:g} is infinite in {computed}", "scale by what it can hold")


def _is_whole(kernel: Kernel, value: Expression) -> bool:
    def integers(numeric: Numeric) -> bool:
        return numeric.kind != "float"

    match value:
        case Const(number):
            return isfinite(number) and number.is_integer()
        case Slot(name):
            return integers(kernel.fragment(name).value_type)
        case Element(operand, at):
            return not at and integers(kernel.operand(operand).value_type)
        case Apply(function, arguments):
            return function in OF_INTEGERS and all(_is_whole(kernel, a) for a in arguments)
        case Rounded(_, body):
            return _is_whole(kernel, body)
        case Where(_, _, then, otherwise):
            return _is_whole(kernel, then) and _is_whole(kernel, otherwise)
        case Total():
            return False


def constants(value: Expression) -> list[float]:
    """Return the numbers that an expression is written with."""
    match value:
        case Const(number):
            return [number]
        case Apply(_, arguments):
            return [n for a in arguments for n in constants(a)]
        case Rounded(_, body) | Total(_, _, body):
            return constants(body)
        case Where(_, _, then, otherwise):
            return [*constants(then), *constants(otherwise)]
        case Slot() | Element():
            return []
