"""Floor 7: the scalar functions that epilogues and specifications may name, and what they compute.

Each is one entry: how many arguments it takes and what it does to arrays. A prover takes them for
opaque but for sums, products and the law of exponentials; nothing else is assumed of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pycute_xe.errors import KernelError

__all__ = ["EXPONENTIALS", "FUNCTIONS", "ZERO_OF_ZEROS", "Function", "function"]


Meaning: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function: its name, its number of arguments, and its meaning on NumPy arrays.

    ``meaning`` takes NumPy and the arguments, and keeps their precision. ``exponential`` says that
    ``f(x + y) = f(x)·f(y)`` for finite numbers, ``f(0) = 1`` and ``f(-inf) = 0``: Abramowitz and
    Stegun, Handbook of Mathematical Functions, 4.2. ``zero`` says that it gives zero of zeros.
    """

    name: str
    arity: int
    meaning: Meaning
    exponential: bool = False
    zero: bool = False


def _named(name: str) -> Meaning:
    """What NumPy's function of a name does."""

    def meaning(np: Any, *x: Any) -> Any:
        return getattr(np, name)(*x)

    return meaning


def _relu(np: Any, x: Any) -> Any:
    return np.maximum(x, 0)


def _rsqrt(np: Any, x: Any) -> Any:
    return 1 / np.sqrt(x)


def _sigmoid(np: Any, x: Any) -> Any:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _silu(np: Any, x: Any) -> Any:
    return x * _sigmoid(np, x)


def _gelu(np: Any, x: Any) -> Any:
    from math import erf

    values = np.asarray(x)
    halves = np.asarray(np.frompyfunc(erf, 1, 1)(values / np.sqrt(2.0)), dtype=values.dtype)
    return values * (1 + halves) / 2


def _clamp(np: Any, x: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


def _at_least(np: Any, x: Any, y: Any) -> Any:
    """1 where the first is not below the second, else 0."""
    return np.where(x >= y, np.ones_like(x), np.zeros_like(x))


def _below(np: Any, x: Any, y: Any) -> Any:
    """The first where it is below the second, else minus infinity."""
    return np.where(x < y, x, np.full_like(x, -np.inf))


FUNCTIONS = {
    f.name: f
    for f in (
        Function("add", 2, _named("add")),
        Function("mul", 2, _named("multiply")),
        Function("div", 2, _named("divide")),
        Function("max", 2, _named("maximum"), zero=True),
        Function("min", 2, _named("minimum"), zero=True),
        Function("abs", 1, _named("abs"), zero=True),
        Function("exp", 1, _named("exp"), exponential=True),
        Function("exp2", 1, _named("exp2"), exponential=True),
        Function("log", 1, _named("log")),
        Function("sqrt", 1, _named("sqrt"), zero=True),
        Function("rsqrt", 1, _rsqrt),
        Function("tanh", 1, _named("tanh"), zero=True),
        Function("relu", 1, _relu),
        Function("sigmoid", 1, _sigmoid),
        Function("silu", 1, _silu),
        Function("gelu", 1, _gelu, zero=True),
        Function("clamp", 3, _clamp),
        Function("at_least", 2, _at_least),
        Function("below", 2, _below),
    )
}
"""By name. A new elementwise function is one more line."""

EXPONENTIALS = frozenset(f.name for f in FUNCTIONS.values() if f.exponential)
"""The functions that turn sums into products."""

ZERO_OF_ZEROS = frozenset(f.name for f in FUNCTIONS.values() if f.zero)
"""The functions that are zero where all their arguments are; those made of others left out."""


def function(name: str, arguments: int | None = None) -> Function:
    """Return the function of a name, taking so many arguments.

    Raises `KernelError` for an unknown name or another number of arguments.

    >>> function("relu", 1).name
    'relu'
    """
    found = FUNCTIONS.get(name)
    if found is None:
        known = ", ".join(sorted(FUNCTIONS))
        raise KernelError("function", {"name": name}, "it is not a known function", f"use {known}")
    if arguments is not None and arguments != found.arity:
        raise KernelError(
            "function",
            {"name": name, "arguments": arguments},
            f"{name} takes {found.arity} argument{'s' * (found.arity > 1)}",
            "",
        )
    return found
