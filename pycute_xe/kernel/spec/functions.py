"""Floor 7: the scalar functions that epilogues and specifications may name, and what they compute.

Each is one entry: how many arguments it takes and what it does to arrays. A prover takes them for
opaque but for sums and products; nothing else is assumed of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycute_xe.errors import KernelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FUNCTIONS", "Function", "function"]


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function: its name, its number of arguments, and its meaning on NumPy arrays.

    ``meaning`` takes NumPy and the arguments, and keeps their precision.
    """

    name: str
    arity: int
    meaning: Callable[..., Any]


def _sigmoid(np: Any, x: NDArray[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _gelu(np: Any, x: NDArray[Any]) -> NDArray[Any]:
    from math import erf

    values = np.asarray(x)
    halves = np.asarray(np.frompyfunc(erf, 1, 1)(values / np.sqrt(2.0)), dtype=values.dtype)
    return values * (1 + halves) / 2


def _clamp(np: Any, x: NDArray[Any], low: Any, high: Any) -> NDArray[Any]:
    return np.minimum(np.maximum(x, low), high)


FUNCTIONS = {
    f.name: f
    for f in (
        Function("add", 2, lambda np, x, y: np.add(x, y)),
        Function("mul", 2, lambda np, x, y: np.multiply(x, y)),
        Function("div", 2, lambda np, x, y: np.divide(x, y)),
        Function("max", 2, lambda np, x, y: np.maximum(x, y)),
        Function("min", 2, lambda np, x, y: np.minimum(x, y)),
        Function("abs", 1, lambda np, x: np.abs(x)),
        Function("exp", 1, lambda np, x: np.exp(x)),
        Function("exp2", 1, lambda np, x: np.exp2(x)),
        Function("log", 1, lambda np, x: np.log(x)),
        Function("sqrt", 1, lambda np, x: np.sqrt(x)),
        Function("rsqrt", 1, lambda np, x: 1 / np.sqrt(x)),
        Function("tanh", 1, lambda np, x: np.tanh(x)),
        Function("relu", 1, lambda np, x: np.maximum(x, 0)),
        Function("sigmoid", 1, _sigmoid),
        Function("silu", 1, lambda np, x: x * _sigmoid(np, x)),
        Function("gelu", 1, _gelu),
        Function("clamp", 3, _clamp),
    )
}
"""By name. A new elementwise function is one more line."""


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
