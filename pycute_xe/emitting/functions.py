"""Floor 9: the scalar functions of epilogues as instructions of vISA on registers of f32.

Sums, products, minimum and maximum are exact to the last bit. The functions that use a `math`
instruction (`MATHEMATICAL`) are as exact as the hardware makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["FORMULAS", "MATHEMATICAL", "Emit"]

ZERO, ONE = "0x00000000:f", "0x3f800000:f"
LOG2_E, LN_2 = "0x3fb8aa3b:f", "0x3f317218:f"
MATHEMATICAL = frozenset(
    {"div", "exp", "exp2", "log", "sqrt", "rsqrt", "sigmoid", "silu"}
)  # fmt: skip


@dataclass(frozen=True)
class Emit:
    """How a formula writes: an instruction, and a temporary as destination and source."""

    alu: Callable[..., None]
    fresh: Callable[[], tuple[str, str]]

    def binary(self, op: str, to: str, a: str, b: str) -> None:
        """Write an instruction of two sources, of which only the second may be a number."""
        if _is_number(a) and not _is_number(b):
            a, b = b, a
        if _is_number(a):
            held, a_read = self.fresh()
            self.alu("mov", held, a)
            a = a_read
        self.alu(op, to, a, b)


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
}
"""By name: what writes a function of sources into a destination."""
