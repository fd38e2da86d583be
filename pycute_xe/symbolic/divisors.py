"""What is known, or assumed, of the divisors of an integer."""

from __future__ import annotations

from math import gcd, lcm
from typing import Any

from pycute_xe.errors import InputError
from pycute_xe.signatures import typed
from pycute_xe.symbolic.terms import coefficients
from pycute_xe.symbolic.value import SymbolicInt, symbol
from pycute_xe.typing import adopted

__all__ = ["assume", "get_divisibility"]


@typed
def get_divisibility(value: Any) -> int:
    """Return the greatest number that is known to divide an integer: of a number, itself.

    Law: ``value % get_divisibility(value) == 0``, where that is not 0. Of a symbol it is what
    ``multiple_of`` states. Raises `InputError` for what is not an integer. CuTe DSL: same name.

    >>> M = symbol("M", multiple_of=32)
    >>> get_divisibility(M), get_divisibility(6 * M + 64), get_divisibility(12)
    (32, 64, 12)
    """
    leaf = adopted(value)
    if isinstance(leaf, SymbolicInt):
        return gcd(*(int(count) for _, count in coefficients(leaf.expr)))
    if type(leaf) is int:
        return leaf
    raise _not_an_integer("get_divisibility", value)


@typed
def assume(value: Any, divby: int | None = None, pow2: bool | None = None) -> Any:
    """Return an integer of which a divisor is known: a number that has it, or a symbol given it.

    Law: the result is a multiple of ``divby``, and of every number that divided the value before.
    ``assume(symbol("M"), 32)`` is ``symbol("M", multiple_of=32)``; use the result wherever M is.
    Raises `InputError` for a number without the divisor, for an expression of symbols, which take
    the assumption instead, and for a power of two that is not a number. CuTe DSL: same name.

    >>> M = assume(symbol("M"), divby=32)
    >>> M % 16, get_divisibility(M), assume(64, divby=32)
    (0, 32, 64)
    """
    leaf, given = adopted(value), {"value": value, "divby": divby, "pow2": pow2}
    factor = 1 if divby is None else divby
    if factor < 1 or (pow2 and factor & (factor - 1)):
        wrong = f"divby is {factor}, which must be {'a power of two' if pow2 else '1 or more'}"
        raise InputError("assume", given, wrong, "use divby=16")
    if type(leaf) is int:
        if leaf % factor or (pow2 and (leaf < 1 or leaf & (leaf - 1))):
            wrong = f"{leaf} is not {'a power of two and ' if pow2 else ''}a multiple of {factor}"
            raise InputError("assume", given, wrong, "assume what holds for the number")
        return leaf
    if not isinstance(leaf, SymbolicInt):
        raise _not_an_integer("assume", value)
    if pow2:
        wrong = "powers of two are not assumed of symbols"
        raise InputError("assume", given, wrong, "assume divby, or substitute a number")
    if get_divisibility(leaf) % factor == 0:
        return leaf
    known = [*leaf.known.values()]
    if len(known) != 1 or leaf.expr != known[0].multiple_of * known[0].unit:
        wrong = f"{leaf} is not a symbol alone"
        fix = 'assume divisors of its symbols, as in symbol("M", multiple_of=32)'
        raise InputError("assume", given, wrong, fix)
    (one,) = known
    return symbol(
        one.name,
        multiple_of=lcm(one.multiple_of, factor),
        at_least=one.at_least,
        at_most=one.at_most,
    )


def _not_an_integer(operation: str, value: Any) -> InputError:
    given = {"value": repr(value)}
    return InputError(operation, given, "the value is not an integer", 'use 64 or symbol("M")')
