"""A symbolic integer, what the leaves of a symbolic layout are."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import gcd, lcm
from typing import Any, cast

from pycute_xe.errors import InputError, ShapeError, UndecidableError, with_article
from pycute_xe.signatures import shortly, typed
from pycute_xe.symbolic.integer_sets import HOLDS, always, is_possible, normalised
from pycute_xe.symbolic.terms import (
    Assumed,
    Expr,
    FloorDiv,
    Known,
    coefficients,
    divided,
    factors,
    greatest_common,
    joined,
    multiplied,
    relevant,
    sampled,
    sp,
)
from pycute_xe.typing import Symbolic, adopted

__all__ = ["SymbolicInt", "symbol", "symbols", "Asked", "operand"]

# ------------------------------------------------------------ advice
# How to say of a symbol what a question needs to know.


def way_out(difference: Expr, known: Known, relation: str) -> str:
    """Return an assumption that would decide ``difference <relation> 0``, as Python code.

    >>> M = Assumed("M")
    >>> way_out(M.unit - 31, {"M": M}, ">")
    'symbol("M", at_least=32) or symbol("M", at_most=31)'
    """
    own = [known[s.name] for s in difference.free_symbols if isinstance(s, sp.Symbol)]
    if len(own) == 1:
        symbol, quotients = own[0], list(difference.atoms(FloorDiv))
        if relation == "==" and len(quotients) == 1 and quotients[0].args[1].is_Integer:
            divisor = int(quotients[0].args[1])
            return symbol.code(multiple_of=lcm(symbol.multiple_of * divisor, symbol.multiple_of))
        if not quotients and sp.degree(difference, symbol.unit) == 1:
            if relation == "==":
                return _exclusion(symbol, difference)
            return _bound(symbol, difference, relation)
        return f"say more of {symbol.name}: multiple_of, at_least, at_most"
    if relation == "==":
        return 'make one a multiple of the other, as N = M * symbol("n")'
    return 'make one the other and more, as N = M + symbol("more", at_least=0)'


def _bound(symbol: Assumed, difference: Expr, relation: str) -> str:
    """Return the bound at which the answer changes."""
    c, k = difference.coeff(symbol.unit), difference.subs(symbol.unit, 0)
    # At the threshold a value passes 0: it leaves it behind, or reaches it.
    leaves = (relation in (">", "<=")) == (c > 0)
    past = sp.floor(-k / c) + 1 if leaves else sp.ceiling(-k / c)
    least = int(past) * symbol.multiple_of
    above = symbol.code(at_least=least)
    below = symbol.code(at_most=least - symbol.multiple_of)
    return f"{above} or {below}"


def _exclusion(symbol: Assumed, difference: Expr) -> str:
    """Return the bound that leaves out the one value at which the answer changes."""
    c, k = difference.coeff(symbol.unit), difference.subs(symbol.unit, 0)
    following = symbol.code(at_least=(int(-k / c) + 1) * symbol.multiple_of)
    if -k / c == symbol.least:
        return following
    return f"{following}, or a number for {symbol.name}"


# ------------------------------------------------------------ asked


class Asked(Symbolic):
    """An expression of symbols that answers where all their values agree.

    Raises `UndecidableError` with the fact that would decide where they do not.
    """

    __slots__ = ("expr", "known")

    expr: Expr
    known: Known

    def __bool__(self) -> bool:
        """Tell whether the value is never zero."""
        if self._always("!=", 0):
            return True
        raise self.undecided("==", 0)

    def __lt__(self, other: Any) -> bool:
        """Below, for all values or for none."""
        return self._decided("<", ">=", other)

    def __le__(self, other: Any) -> bool:
        """At most, for all values or for none."""
        return self._decided("<=", ">", other)

    def __gt__(self, other: Any) -> bool:
        """Above, for all values or for none."""
        return self._decided(">", "<=", other)

    def __ge__(self, other: Any) -> bool:
        """At least, for all values or for none."""
        return self._decided(">=", "<", other)

    @typed
    def at_most(self, other: Any) -> bool:
        """Tell whether the value is at most another for all values of the symbols."""
        return self._always("<=", other)

    @typed
    def at_least(self, other: Any) -> bool:
        """Tell whether the value is at least another for all values of the symbols."""
        return self._always(">=", other)

    @typed
    def differs(self, other: Any) -> bool:
        """Tell whether the value differs from another for all values of the symbols."""
        return self._always("!=", other)

    def _decided(self, relation: str, opposite: str, other: Any) -> bool:
        if operand(other) is None:
            return NotImplemented
        if self._always(relation, other):
            return True
        if self._always(opposite, other):
            return False
        raise self.undecided(relation, other)

    def _always(self, relation: str, other: Any) -> bool:
        if operand(other) is None:
            wrong = f"{with_article(type(other).__name__)} is not an integer"
            given = {"value": self, "other": shortly(other)}
            raise InputError("decide", given, wrong, "compare integers, symbolic or not")
        difference: Any = self - other
        if isinstance(difference, Asked):
            return always(relation, difference.expr, difference.known)
        return HOLDS[relation](difference, 0)

    @typed
    def undecided(self, relation: str, other: Any) -> UndecidableError:
        """Return the error that names the fact which would decide ``self <relation> other``."""
        fact = f"{self} {relation} {other}"
        both = joined(self.known, other.known) if isinstance(other, Asked) else self.known
        difference: Any = self - cast("Any", other)
        return UndecidableError(
            "decide",
            {"question": fact},
            f"needs {fact}, which is not known: {'; '.join(map(str, both.values()))}",
            way_out(difference.expr, difference.known, relation),
            fact,
        )

    def _no_number(self, *_: object) -> Any:
        raise UndecidableError(
            "number",
            {"value": self},
            "a number is needed here, and this depends on symbols",
            f"substitute(…, {'=…, '.join(self.known)}=…) puts numbers in",
            f"the value of {self}",
        )

    # A table, a loop or the bits of a value need the number itself.
    __index__ = __and__ = __rand__ = __xor__ = __rxor__ = __or__ = __ror__ = _no_number


def operand(value: Any) -> Any:
    """Return an integer or a symbolic value, ``None`` for anything else."""
    value = adopted(value)
    return value if isinstance(value, (int, Asked)) else None


# ------------------------------------------------------------ text
# Symbolic integers as text: Python expressions of the symbols that evaluate exactly.


def text_of(value: Expr, known: Known) -> str:
    """Return a value as Python writes it, ``//`` and ``%`` included.

    Law: evaluating the text with integers for the symbols gives the value.
    """
    text = _sum(value, known)
    return text[1:-1] if _is_bracketed(text) else text


def _sum(value: Expr, known: Known) -> str:
    value, remainders = _with_remainders(_rounded(value), known)
    terms = value.as_ordered_terms()
    out = ""
    for term in terms:
        c, rest = term.as_coeff_Mul()
        body = _term(abs(c), rest, known, remainders)
        if isinstance(rest, FloorDiv) and abs(c) == 1 and (out or c > 0):
            body = body[1:-1]  # ``//`` binds tighter than the sum around it
        sign = "-" if c < 0 else "+"
        out = f"{out} {sign} {body}" if out else (f"-{body}" if c < 0 else body)
    return out


def _rounded(value: Expr) -> Expr:
    """Move a constant into the quotient beside it: ``(a//b + 1)*c`` is ``((a + b)//b)*c``."""
    constant, rest = value.as_coeff_Add()
    c, quotient = rest.as_coeff_Mul()
    if not isinstance(quotient, FloorDiv) or constant % c != 0 or constant * c < 0:
        return value
    dividend, divisor = quotient.args
    return c * FloorDiv(sp.expand(dividend + constant / c * divisor), divisor)


_Remainders = dict[Expr, tuple[Expr, Expr]]


def _with_remainders(value: Expr, known: Known) -> tuple[Expr, _Remainders]:
    """Write ``a - b*(a//b)`` as one term wherever that makes the sum shorter."""
    remainders: _Remainders = {}
    for quotient in sorted(value.atoms(FloorDiv), key=sp.default_sort_key):
        for scale in (_scale(quotient.args, known), 1):
            dividend, divisor = (scale * part for part in quotient.args)
            factor, _ = divided(sp.expand(value).coeff(quotient), -divisor)
            name = sp.Dummy(f"r{len(remainders)}", integer=True)
            remainder = dividend - divisor * quotient
            shorter = sp.expand(value - factor * remainder + factor * name)
            if len(sp.Add.make_args(shorter)) < len(sp.Add.make_args(value)):
                value, remainders[name] = shorter, (dividend, divisor)
                break
    return value, remainders


def _scale(parts: tuple[Expr, ...], known: Known) -> int:
    """Return what makes the coefficients of the symbols themselves integers."""
    ratios = (
        c / sp.prod(known[base.name].multiple_of ** power for base, power in factors(term))
        for part in parts
        for term, c in coefficients(part)
        if term != 1 and all(isinstance(base, sp.Symbol) for base, _ in factors(term))
    )
    return lcm(*(int(ratio.q) for ratio in ratios))


def _term(c: Expr, rest: Expr, known: Known, remainders: _Remainders) -> str:
    """Return one product; a symbol stands for its multiple, so the coefficient may be a ratio."""
    parts: list[str] = []
    # Names first, then what stands in brackets.
    for base, power in sorted(
        factors(rest), key=lambda f: not f[0].is_Symbol or f[0] in remainders
    ):
        if isinstance(base, sp.Symbol) and base not in remainders:
            c = c / known[base.name].multiple_of ** power
        if base != 1:
            text = _factor(base, known, remainders)
            parts.append(text if power == 1 else f"{text}**{power}")
    if c.p != 1 or not parts:
        parts.insert(0, str(c.p))
    product = "*".join(parts)
    return product if c.q == 1 else f"{product}//{c.q}"


def _factor(base: Expr, known: Known, remainders: _Remainders) -> str:
    if base in remainders:
        return f"({_ratio(*remainders[base], ' % ', known)})"
    if isinstance(base, FloorDiv):
        scale = _scale(base.args, known)
        return f"({_ratio(scale * base.args[0], scale * base.args[1], '//', known)})"
    return str(base)


def _ratio(dividend: Expr, divisor: Expr, sign: str, known: Known) -> str:
    above, below = (_bracketed(text_of(sp.expand(part), known)) for part in (dividend, divisor))
    return f"{above}{sign}{below}"


def _bracketed(text: str) -> str:
    """Put brackets around everything but a name or a number."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _is_bracketed(text: str) -> bool:
    """Whether the first bracket of a text is closed by its last character."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return i > 0 and i == len(text) - 1
    return False


# ------------------------------------------------------------ quotient
# Division of symbolic integers, rounded down.


def floor_div(dividend: Expr, divisor: Expr, known: Known) -> Expr:
    """Return the quotient, rounded down, of a value by one that is known to be positive.

    Law: ``0 <= dividend - divisor * floor_div(dividend, divisor) < divisor``.
    """
    if divisor == 1:
        return dividend
    if divisor.is_Integer:
        if isinstance(dividend, sp.Symbol) and known[dividend.name].at_most is None:
            return FloorDiv(dividend, divisor)
        return normalised(FloorDiv(dividend, divisor), known)
    whole, rest = divided(dividend, divisor)
    if rest == 0:
        return whole
    while isinstance(rest, FloorDiv):  # a quotient of a quotient is one
        divisor, rest = multiplied(divisor, rest.args[1]), rest.args[0]
    rest, divisor = _cancelled(rest, divisor, known)
    if divisor.is_Integer:
        return whole + floor_div(rest, divisor, known)
    guess = _guessed(rest, divisor, known)
    return whole + (FloorDiv(rest, divisor) if guess is None else guess)


def _cancelled(rest: Expr, divisor: Expr, known: Known) -> tuple[Expr, Expr]:
    """Divide both by their common factor, and by the number that the divisor is a multiple of."""
    factor = greatest_common(rest, divisor)
    if factor not in (1, -1):
        smaller = sp.expand(sp.cancel(divisor / factor))
        if always(">=", smaller - 1, known):
            rest, divisor = sp.expand(sp.cancel(rest / factor)), smaller
    content = gcd(*(int(c) for _, c in coefficients(divisor)))
    if content > 1 and rest.free_symbols and not divisor.is_Integer:
        # Rounding down twice is rounding down once; once is enough where it stays a quotient.
        inner = floor_div(rest, sp.Integer(content), known)
        if len(inner.atoms(FloorDiv)) <= len(rest.atoms(FloorDiv)):
            return inner, sp.expand(divisor / content)
    return rest, divisor


def _guessed(rest: Expr, divisor: Expr, known: Known) -> Expr | None:
    """Return the quotient where it is one number, or one of the quotients in the dividend."""
    above, below = sampled(rest, known), sampled(divisor, known)
    if below <= 0:
        return None
    inside = sorted(rest.atoms(FloorDiv), key=sp.default_sort_key)
    for guess in (sp.Integer(above // below), *inside):
        left = rest - multiplied(guess, divisor)
        if (
            sampled(guess, known) == above // below
            and always(">=", left, known)
            and always("<", left - divisor, known)
        ):
            return guess
    return None


# ------------------------------------------------------------ value


MOST_POWER = 256
"""The largest power of a symbolic value of one term; of a sum, divided by its terms."""


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
        return _combined(self, other, multiplied)

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
        if power * len(sp.Add.make_args(self.expr)) > MOST_POWER:
            raise InputError(
                "**",
                {"value": self, "power": shortly(power)},
                f"the power is above {MOST_POWER} terms of the value, and is not multiplied out",
                "use a smaller power",
            )
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
    return _made(operation(one.expr, _expr(them)), _known(one, them))


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


@typed
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


@typed
def symbols(names: Any, **assumptions: Any) -> tuple[SymbolicInt, ...]:
    """Return several symbols with the same assumptions, as `symbol` does.

    >>> symbols("M N K", multiple_of=32)
    (M, N, K)
    """
    if not isinstance(names, str):
        raise InputError("symbols", {"names": names}, "names must be one str", 'symbols("M N K")')
    return tuple(symbol(name, **assumptions) for name in names.replace(",", " ").split())
