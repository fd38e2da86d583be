"""Floor 4: a symbolic integer, what the leaves of a symbolic layout are."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from pycute_xe.errors import InputError, ShapeError, UndecidableError
from pycute_xe.signatures import typed
from pycute_xe.symbolic.asked import Asked, operand
from pycute_xe.symbolic.assumed import Assumed, Known, joined, relevant
from pycute_xe.symbolic.integer_sets import is_possible
from pycute_xe.symbolic.quotient import floor_div, sampled
from pycute_xe.symbolic.terms import Expr, sp
from pycute_xe.symbolic.text import text_of
from pycute_xe.unknown import adopted

__all__ = ["SymbolicInt", "symbol", "symbols"]


class SymbolicInt(Asked):
    """An integer expression of symbols: ``+ - * // %`` give such values again, or plain integers.

    Law: substituting numbers for the symbols commutes with every operation. Quotients round down
    and are kept in isl's normal form, remainders are ``a - b*(a//b)``. ``a == b`` tells whether
    the two are equal whatever the symbols are. ``<``, ``bool()`` and the like answer where all
    values of the symbols agree and raise `UndecidableError` elsewhere, `ShapeError` for a division
    by what may be zero. Made by `symbol`.

    >>> M = symbol("M", multiple_of=256)
    >>> M // 32 * 32 == M, M % 128, M >= 256, str((M + 3) // 512)
    (True, 0, True, '(M + 3)//512')
    """

    __slots__ = ("_hash",)

    @typed
    def __init__(self, expr: Expr, known: Known) -> None:
        set_ = object.__setattr__
        set_(self, "expr", expr)
        set_(self, "known", known)
        set_(self, "_hash", hash(sampled(expr, known)))

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: symbolic integers are values."""
        raise AttributeError(f"SymbolicInt is immutable; cannot set {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return SymbolicInt, (self.expr, dict(self.known))

    # ------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Any:
        """Add."""
        return _combined(self, other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Subtract."""
        return _combined(self, other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        """Subtract from."""
        return -self + other

    def __mul__(self, other: Any) -> Any:
        """Multiply."""
        return _combined(self, other, operator.mul)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        """Negate."""
        return self * -1

    def __abs__(self) -> Any:
        """Return the magnitude, of a value whose sign is known."""
        return -self if self < 0 else self

    def __floordiv__(self, other: Any) -> Any:
        """Divide and round down."""
        return _quotient(self, operand(other))

    def __rfloordiv__(self, other: Any) -> Any:
        """Divide a number and round down."""
        return _quotient(operand(other), self)

    def __mod__(self, other: Any) -> Any:
        """Return what division leaves."""
        quotient = _quotient(self, operand(other))
        return quotient if quotient is NotImplemented else self - other * quotient

    def __divmod__(self, other: Any) -> Any:
        """Return the quotient and what it leaves."""
        quotient = _quotient(self, operand(other))
        return quotient if quotient is NotImplemented else (quotient, self - other * quotient)

    def __pow__(self, power: Any) -> Any:
        """Multiply by itself, a known number of times."""
        if type(power) is not int or power < 0:
            return NotImplemented
        return _made(sp.expand(self.expr**power), self.known)

    def __rmod__(self, other: Any) -> Any:
        """Return what division of a number leaves."""
        quotient = _quotient(operand(other), self)
        return quotient if quotient is NotImplemented else other - self * quotient

    # ------------------------------------------------------------ questions

    def __eq__(self, other: object) -> bool:
        """Equal for all values of the symbols."""
        them = operand(other)
        if them is None:
            return NotImplemented
        if hash(self) != hash(them):
            return False
        if not isinstance(them, SymbolicInt):
            return self._always("=", them)
        if self.expr == them.expr and self.known == them.known:
            return True
        shared = self.known.keys() & them.known.keys()
        return all(self.known[n] == them.known[n] for n in shared) and self._always("=", them)

    def __hash__(self) -> int:
        """Hash of the value at one fixed choice of the symbols: equal values share it."""
        return self._hash

    def coordinate(self, name: str) -> Any:
        """Return a symbol that stands for every integer from 0 up to, not including, this one.

        Raises `UndecidableError` where there may be none.
        """
        if not self >= 1:
            raise ShapeError(
                "coordinate",
                {"extent": self},
                "an extent below 1 has no coordinates",
                "use 1 or more",
            )
        return symbol(name, at_least=0, at_most=self - 1)

    def __str__(self) -> str:
        """A Python expression of the symbols."""
        return text_of(self.expr, self.known)

    __repr__ = __str__


def _expr(value: Any) -> Expr:
    return value.expr if isinstance(value, SymbolicInt) else sp.Integer(value)


def _known(*values: Any) -> Known:
    out: Known = {}
    for value in values:
        out = joined(out, value.known) if isinstance(value, SymbolicInt) else out
    return out


def _made(expr: Expr, known: Known) -> Any:
    """Return an expression as a value: a plain integer where it is one."""
    if expr.is_Integer:
        return int(expr)
    return SymbolicInt(expr, relevant(known, [expr]))


def _combined(one: SymbolicInt, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
    them = operand(other)
    if them is None:
        return NotImplemented
    return _made(sp.expand(operation(one.expr, _expr(them))), _known(one, them))


def _quotient(dividend: Any, divisor: Any) -> Any:
    if dividend is None or divisor is None:
        return NotImplemented
    if not _is_positive(divisor):
        dividend, divisor = -dividend, -divisor
        if not _is_positive(divisor):
            raise _no_divisor(dividend, -divisor)
    known = _known(dividend, divisor)
    return _made(floor_div(_expr(dividend), _expr(divisor), known), known)


def _is_positive(value: Any) -> bool:
    """Tell whether a value is positive for all values of the symbols."""
    return value.at_least(1) if isinstance(value, SymbolicInt) else value >= 1


def _no_divisor(dividend: Any, divisor: Any) -> ShapeError | UndecidableError:
    if isinstance(divisor, SymbolicInt) and divisor != 0:
        return divisor.undecided(">=", 1)
    return ShapeError("//", {"a": -dividend, "b": divisor}, "b is 0", "divide by 1 or more")


def symbol(
    name: str, *, multiple_of: int = 1, at_least: int | None = None, at_most: Any = None
) -> SymbolicInt:
    """Return an integer to be known later, of which only these assumptions hold.

    ``multiple_of`` and ``at_least`` are numbers, the latter 1 (or ``multiple_of``) unless told
    otherwise: an extent. Strides and coordinates may start at 0. ``at_most`` is a number or another
    symbolic value. Two symbols are the same when name and assumptions are. Raises `InputError` for
    assumptions that no integer meets. C++: a runtime ``int`` in a shape, of which CuTe knows less.

    >>> M, N = symbol("M", multiple_of=256), symbol("N")
    >>> print(M // 32, M % 32, (N + 31) // 32)
    M//32 0 (N + 31)//32
    """
    if at_least is None:
        at_least = multiple_of if type(multiple_of) is int else 1
    limit = adopted(at_most)
    if limit is not None and type(limit) is not int and not isinstance(limit, SymbolicInt):
        raise InputError(
            "symbol",
            {"name": name, "at_most": at_most},
            "at_most must be an integer or a symbolic value",
            "at_most=N - 1",
        )
    assumed = Assumed(name, multiple_of, at_least, limit)
    known = joined({name: assumed}, _known(limit))
    if isinstance(limit, SymbolicInt) and not is_possible(known):
        raise InputError(
            "symbol",
            {"name": name, "at_least": at_least, "at_most": at_most},
            "no value meets all assumptions",
            "widen the bounds",
        )
    return SymbolicInt(multiple_of * assumed.unit, known)


def symbols(names: Any, **assumptions: Any) -> tuple[SymbolicInt, ...]:
    """Return several symbols with the same assumptions, as `symbol` does.

    >>> symbols("M N K", multiple_of=32)
    (M, N, K)
    """
    if not isinstance(names, str):
        raise InputError("symbols", {"names": names}, "names must be one str", 'symbols("M N K")')
    return tuple(symbol(name, **assumptions) for name in names.replace(",", " ").split())
