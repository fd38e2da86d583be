"""Floor 9: the scalar functions of epilogues as instructions of vISA on registers of f32.

Sums, products, minimum and maximum are exact to the last bit. The functions that use a `math`
instruction (`MATHEMATICAL`) are as exact as the hardware makes it; `tanh` and `gelu`, which have
no instruction, add errors of their own, stated where they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["FORMULAS", "MATHEMATICAL", "Emit"]

ZERO, ONE, MINUS_INFINITY = "0x00000000:f", "0x3f800000:f", "0xff800000:f"
LOG2_E, LN_2 = "0x3fb8aa3b:f", "0x3f317218:f"
MATHEMATICAL = frozenset(
    {"div", "exp", "exp2", "log", "sqrt", "rsqrt", "sigmoid", "silu", "tanh", "gelu"}
)  # fmt: skip


@dataclass(frozen=True)
class Emit:
    """How a formula writes: an instruction, a temporary as destination and source, a predicate."""

    alu: Callable[..., None]
    fresh: Callable[[], tuple[str, str]]
    predicate: Callable[[], str]

    def binary(self, op: str, to: str, a: str, b: str) -> None:
        """Write an instruction of two sources, of which only the second may be a number."""
        if _is_number(a) and not _is_number(b):
            a, b = b, a
        self.alu(op, to, _held(self, a), b)

    def polynomial(self, at: str, coefficients: tuple[str, ...]) -> str:
        """Write a polynomial, the highest coefficient first; return where its value can be read."""
        held, read = self.fresh()
        self.alu("mov", held, coefficients[0])
        for number in coefficients[1:]:
            self.alu("mul", held, read, at)
            self.alu("add", held, read, number)
        return read

    def choose(self, to: str, compare: str, then: str, otherwise: str) -> None:
        """Write one of two sources, by a comparison ``lt a b`` of registers."""
        condition, a, b = compare.split()
        flags = self.predicate()
        self.alu(f"cmp.{condition}", flags, a, b)
        self.alu(f"({flags}) sel", to, then, otherwise)


def _is_number(source: str) -> bool:
    return source.startswith("0x")


def _plain(op: str) -> Callable[..., None]:
    def write(emit: Emit, to: str, a: str, b: str) -> None:
        emit.binary(op, to, a, b)

    return write


def _math(op: str) -> Callable[..., None]:
    def write(emit: Emit, to: str, a: str) -> None:
        emit.alu(op, to, a)

    return write


def _absolute(emit: Emit, to: str, a: str) -> None:
    emit.alu("mov", to, f"(abs){a}")


def _relu(emit: Emit, to: str, a: str) -> None:
    emit.binary("max", to, a, ZERO)


def _clamp(emit: Emit, to: str, a: str, low: str, high: str) -> None:
    held, read = emit.fresh()
    emit.binary("max", held, a, low)
    emit.binary("min", to, read, high)


def _at_least(emit: Emit, to: str, a: str, b: str) -> None:
    emit.choose(to, f"ge {_held(emit, a)} {b}", _held(emit, ONE), ZERO)


def _below(emit: Emit, to: str, a: str, b: str) -> None:
    a = _held(emit, a)
    emit.choose(to, f"lt {a} {b}", a, MINUS_INFINITY)


def _held(emit: Emit, source: str) -> str:
    """Return where a source can be read first: a number is moved to a register."""
    if not _is_number(source):
        return source
    held, read = emit.fresh()
    emit.alu("mov", held, source)
    return read


def _divide(emit: Emit, to: str, a: str, b: str) -> None:
    held, read = emit.fresh()
    emit.alu("inv", held, b)
    emit.binary("mul", to, a, read)


def _exp(emit: Emit, to: str, a: str) -> None:
    held, read = emit.fresh()
    emit.binary("mul", held, a, LOG2_E)
    emit.alu("exp", to, read)


def _log(emit: Emit, to: str, a: str) -> None:
    held, read = emit.fresh()
    emit.alu("log", held, a)
    emit.binary("mul", to, read, LN_2)


def _sigmoid(emit: Emit, to: str, a: str) -> None:
    held, read = emit.fresh()
    emit.binary("mul", held, a, f"0x{int(LOG2_E[2:-2], 16) | 1 << 31:08x}:f")
    emit.alu("exp", held, read)
    emit.binary("add", held, read, ONE)
    emit.alu("inv", to, read)


def _silu(emit: Emit, to: str, a: str) -> None:
    held, read = emit.fresh()
    _sigmoid(emit, held, a)
    emit.binary("mul", to, a, read)


# tanh(x) / x = 1 + z q(z), z = x²: the polynomial through the Chebyshev nodes of z below 0.625²,
# fitted to NumPy's tanh in binary64; it is off by less than 2^-25 of the value.
_NEAR_ZERO = "0x3f200000:f"
_TANH = ("0xbbc80bff:f", "0x3cac0fd3:f", "0xbd5c9470:f", "0x3e088717:f", "0xbeaaaaa9:f")
TWICE_LOG2_E, MINUS_TWO = "0x4038aa3b:f", "0xc0000000:f"


def _tanh(emit: Emit, to: str, a: str) -> None:
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
    emit.choose(to, f"lt (abs){a} {_NEAR_ZERO}", z, read)


# erf(z) = 1 - t P(t) exp(-z²), t = 1 / (1 + p z), z ≥ 0, off by 1.5e-7 at most. Source:
# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26. With z = |x| / √2 = √2 w,
# w = |x| / 2: √2 p, and -2 log2(e) for the power of two.
_ERF_SCALE, _ERF_POWER = "0x3eed3388:f", "0xc038aa3b:f"
_ERF = ("0x3f87dc22:f", "0xbfba00e3:f", "0x3fb5f0e3:f", "0xbe91a98e:f", "0x3e827906:f")
_EIGHT, HALF = "0x41000000:f", "0x3f000000:f"


def _gelu(emit: Emit, to: str, a: str) -> None:
    """x/2 + |x|/2 - w t P(t) exp(-x²/2), w = |x|/2 up to 8, beyond which the power is zero.

    Off by 2^-21 |x| at most, if `math` is rounded correctly.
    """
    half, h = emit.fresh()
    emit.alu("mul", half, a, HALF)
    low, w = emit.fresh()
    emit.alu("min", low, f"(abs){h}", _EIGHT)
    emit.alu("add", half, h, f"(abs){h}")
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
    emit.alu("add", to, h, f"(-){t}")


FORMULAS: dict[str, Callable[..., Any]] = {
    "add": _plain("add"),
    "mul": _plain("mul"),
    "max": _plain("max"),
    "min": _plain("min"),
    "div": _divide,
    "abs": _absolute,
    "relu": _relu,
    "clamp": _clamp,
    "exp": _exp,
    "exp2": _math("exp"),
    "log": _log,
    "sqrt": _math("sqrt"),
    "rsqrt": _math("rsqrt"),
    "sigmoid": _sigmoid,
    "silu": _silu,
    "tanh": _tanh,
    "gelu": _gelu,
    "at_least": _at_least,
    "below": _below,
}
"""By name: what writes a function of sources into a destination."""
