"""Floor 9: the scalar functions of epilogues as instructions of vISA on registers of f32.

Sums, products, minimum and maximum are exact to the last bit. The functions that use a `math`
instruction are as exact as the hardware makes it; `tanh` and `gelu`, which have no instruction, add
errors of their own, stated where they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pycute_xe.emitting.numbers import f32_bits
from pycute_xe.emitting.operands import Flags, Number, Place, Scalar, Source, modified, number
from pycute_xe.errors import KernelError
from pycute_xe.kernel.spec.functions import SEQUENCE, function

__all__ = ["SEQUENCES", "Emit", "Value", "apply", "immediate"]

ZERO, ONE, MINUS_INFINITY = number(0), number(0x3F800000), number(0xFF800000)
LOG2_E, LN_2 = number(0x3FB8AA3B), number(0x3F317218)
MINUS_LOG2_E = number(0xBFB8AA3B)

Register = Place | Scalar
Value = Source | float | Callable[[Place], None]
"""Where a number can be read, the number, or what writes it to a place."""


@dataclass(frozen=True)
class Emit:
    """How a formula writes: an instruction, a temporary to write and to read, flags."""

    alu: Callable[..., None]
    fresh: Callable[[], tuple[Place, Place]]
    flags: Callable[[], Flags]

    def binary(self, op: str, to: Place, a: Source, b: Source) -> None:
        """Write an instruction of two sources, of which only the second may be a number."""
        if isinstance(a, Number) and not isinstance(b, Number):
            a, b = b, a
        self.alu(op, to, _held(self, a), b)

    def polynomial(self, at: Place, coefficients: tuple[Number, ...]) -> Place:
        """Write a polynomial, the highest coefficient first; return where its value can be read."""
        held, read = self.fresh()
        self.alu("mov", held, coefficients[0])
        for coefficient in coefficients[1:]:
            self.alu("mul", held, read, at)
            self.alu("add", held, read, coefficient)
        return read

    def choose(
        self, to: Place, compare: tuple[str, Source, Source], then: Source, otherwise: Source
    ) -> None:
        """Write one of two sources, by a comparison ``("lt", a, b)`` of registers."""
        condition, a, b = compare
        flags = self.flags()
        self.alu(f"cmp.{condition}", flags, a, b)
        self.alu("sel", to, then, otherwise, where=flags)


def apply(emit: Emit, name: str, to: Place, *values: Value) -> None:
    """Write a function of values into a destination; one that is made of others as these.

    Raises `KernelError` for a function that has no instructions.
    """
    row = function(name, len(values))
    sources = [_source(emit, value) for value in values]
    if row.of is not None:
        row.unfolded(partial(_later, emit), *sources)(to)
        return
    if len(sources) == 1:
        sources = [_held(emit, sources[0])]
    if row.visa == SEQUENCE:
        SEQUENCES[name](emit, to, *sources)
    elif row.visa and len(sources) == 2:
        emit.binary(row.visa, to, *sources)
    elif row.visa:
        emit.alu(row.visa, to, *sources)
    else:
        raise KernelError(
            "emit",
            {"function": name},
            f"{name} cannot be written as instructions on registers",
            "use a function that has an instruction, or is made of others that have",
        )


def _later(emit: Emit, name: str, *values: Value) -> Callable[[Place], None]:
    return lambda to: apply(emit, name, to, *values)


def _source(emit: Emit, value: Value) -> Source:
    if isinstance(value, (int, float)):
        return immediate(float(value))
    if not callable(value):
        return value
    to, read = emit.fresh()
    value(to)
    return read


def immediate(value: float) -> Number:
    """Return a number as an immediate of f32.

    >>> print(immediate(1.0))
    0x3f800000:f
    """
    return number(int(f32_bits(value), 16))


def _absolute(emit: Emit, to: Place, a: Register) -> None:
    emit.alu("mov", to, modified(a, "abs"))


def _at_least(emit: Emit, to: Place, a: Source, b: Source) -> None:
    emit.choose(to, ("ge", _held(emit, a), b), _held(emit, ONE), ZERO)


def _below(emit: Emit, to: Place, a: Source, b: Source) -> None:
    a = _held(emit, a)
    emit.choose(to, ("lt", a, b), a, MINUS_INFINITY)


def _held(emit: Emit, source: Source) -> Register:
    """Return where a source can be read first: a number is moved to a register."""
    if not isinstance(source, Number):
        return source
    held, read = emit.fresh()
    emit.alu("mov", held, source)
    return read


def _divide(emit: Emit, to: Place, a: Source, b: Source) -> None:
    held, read = emit.fresh()
    emit.alu("inv", held, b)
    emit.binary("mul", to, a, read)


def _exp(emit: Emit, to: Place, a: Register) -> None:
    held, read = emit.fresh()
    emit.binary("mul", held, a, LOG2_E)
    emit.alu("exp", to, read)


def _log(emit: Emit, to: Place, a: Register) -> None:
    held, read = emit.fresh()
    emit.alu("log", held, a)
    emit.binary("mul", to, read, LN_2)


def _sigmoid(emit: Emit, to: Place, a: Register) -> None:
    held, read = emit.fresh()
    emit.binary("mul", held, a, MINUS_LOG2_E)
    emit.alu("exp", held, read)
    emit.binary("add", held, read, ONE)
    emit.alu("inv", to, read)


# tanh(x) / x = 1 + z q(z), z = x²: the polynomial through the Chebyshev nodes of z below 0.625²,
# fitted to NumPy's tanh in binary64; it is off by less than 2^-25 of the value.
_NEAR_ZERO = number(0x3F200000)
_TANH = tuple(map(number, (0xBBC80BFF, 0x3CAC0FD3, 0xBD5C9470, 0x3E088717, 0xBEAAAAA9)))
TWICE_LOG2_E, MINUS_TWO = number(0x4038AA3B), number(0xC0000000)


def _tanh(emit: Emit, to: Place, a: Register) -> None:
    """1 - 2 / (exp(2x) + 1), and a polynomial near zero, where few bits of that would be left.

    Within 8 units in the last place, if `math` is rounded correctly.
    """
    square, z = emit.fresh()
    emit.alu("mul", square, a, a)
    q = emit.polynomial(z, _TANH)
    emit.alu("mul", square, z, q)
    emit.alu("add", square, z, ONE)
    emit.alu("mul", square, z, a)
    far, read = emit.fresh()
    emit.alu("mul", far, a, TWICE_LOG2_E)
    emit.alu("exp", far, read)
    emit.alu("add", far, read, ONE)
    emit.alu("inv", far, read)
    emit.alu("mul", far, read, MINUS_TWO)
    emit.alu("add", far, read, ONE)
    emit.choose(to, ("lt", modified(a, "abs"), _NEAR_ZERO), z, read)


# erf(z) = 1 - t P(t) exp(-z²), t = 1 / (1 + p z), z ≥ 0, off by 1.5e-7 at most. Source:
# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26. With z = |x| / √2 = √2 w,
# w = |x| / 2: √2 p, and -2 log2(e) for the power of two.
_ERF_SCALE, _ERF_POWER = number(0x3EED3388), number(0xC038AA3B)
_ERF = tuple(map(number, (0x3F87DC22, 0xBFBA00E3, 0x3FB5F0E3, 0xBE91A98E, 0x3E827906)))
_EIGHT, HALF = number(0x41000000), number(0x3F000000)


def _gelu(emit: Emit, to: Place, a: Register) -> None:
    """x/2 + |x|/2 - w t P(t) exp(-x²/2), w = |x|/2 up to 8, beyond which the power is zero.

    Off by 2^-21 |x| at most, if `math` is rounded correctly.
    """
    half, h = emit.fresh()
    emit.alu("mul", half, a, HALF)
    low, w = emit.fresh()
    emit.alu("min", low, modified(h, "abs"), _EIGHT)
    emit.alu("add", half, h, modified(h, "abs"))
    held, t = emit.fresh()
    emit.alu("mul", held, w, _ERF_SCALE)
    emit.alu("add", held, t, ONE)
    emit.alu("inv", held, t)
    p = emit.polynomial(t, _ERF)
    emit.alu("mul", held, t, p)
    emit.alu("mul", held, t, w)
    emit.alu("mul", low, w, w)
    emit.alu("mul", low, w, _ERF_POWER)
    emit.alu("exp", low, w)
    emit.alu("mul", held, t, w)
    emit.alu("add", to, h, modified(t, "-"))


SEQUENCES: dict[str, Callable[..., None]] = {
    "div": _divide,
    "abs": _absolute,
    "exp": _exp,
    "log": _log,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "gelu": _gelu,
    "at_least": _at_least,
    "below": _below,
}
"""By name: what writes a function of several instructions into a destination."""
