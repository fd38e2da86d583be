"""Sixty epilogues, what NumPy makes of each, and sixty that are wrong in one way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf
from typing import Any, TypeAlias

import numpy as np

__all__ = ["RIGHT", "WRONG", "Epilogue", "value_of"]

Arrays: TypeAlias = Mapping[str, Any]
Epilogue: TypeAlias = tuple[str, dict[str, str], str | None]

# How each operand is broadcast against (m, n), told without the library.
SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "bias_n": lambda x: x[None, :],
    "bias_m": lambda x: x[:, None],
    "matrix": lambda x: x,
}

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.where(x > 0, x, 0),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "abs": np.abs,
}

SUMS: dict[str, Callable[[np.ndarray, Arrays], np.ndarray]] = {
    "acc": lambda acc, _: acc,
    "acc + bias[n]": lambda acc, x: acc + x["bias"][None, :],
    "acc + bias[m]": lambda acc, x: acc + x["bias"][:, None],
    "alpha*acc + beta*C": lambda acc, x: x["alpha"] * acc + x["beta"] * x["C"],
    "acc*scale[n]": lambda acc, x: acc * x["scale"][None, :],
    "acc*scale[m] + bias[n]": lambda acc, x: acc * x["scale"][:, None] + x["bias"][None, :],
    "alpha*acc + beta*C + bias[n]": lambda acc, x: (
        x["alpha"] * acc + x["beta"] * x["C"] + x["bias"][None, :]
    ),
    "(acc + bias[n])*gate[m,n]": lambda acc, x: (acc + x["bias"][None, :]) * x["gate"],
    "2*acc - C": lambda acc, x: 2 * acc - x["C"],
}

SPECIAL: dict[str, Callable[[np.ndarray, Arrays], np.ndarray]] = {
    "relu(acc) + C": lambda acc, x: np.where(acc > 0, acc, 0) + x["C"],
    "relu(alpha*acc + beta*C + bias[n])": lambda acc, x: np.maximum(
        0, x["alpha"] * acc + x["beta"] * x["C"] + x["bias"][None, :]
    ),
    "clamp(acc + bias[n], 0, 6)": lambda acc, x: np.clip(acc + x["bias"][None, :], 0, 6),
    "max(acc, C)": lambda acc, x: np.maximum(acc, x["C"]),
    "silu(acc)*gate[m,n]": lambda acc, x: acc / (1 + np.exp(-acc)) * x["gate"],
    "acc/denominator[m]": lambda acc, x: acc / x["denominator"][:, None],
}


def _right() -> list[tuple[Epilogue, Callable[[np.ndarray, Arrays], np.ndarray]]]:
    out: list[tuple[Epilogue, Callable[[np.ndarray, Arrays], np.ndarray]]] = []
    for text, meaning in SUMS.items():
        out.append(((text, {}, None), meaning))
        for name, activation in ACTIVATIONS.items():

            def both(
                acc: Any, x: Arrays, meaning: Any = meaning, activation: Any = activation
            ) -> Any:
                return activation(meaning(acc, x))

            out.append(((f"{name}({text})", {}, None), both))
    out += [((text, {}, None), meaning) for text, meaning in SPECIAL.items()]
    out.append(
        (
            ("relu(acc + bias[n])", {"bias": "bf16"}, "bf16"),
            lambda acc, x: np.maximum(acc + x["bias"][None, :], 0),
        )
    )
    out.append(
        (
            ("alpha*acc + beta*C", {"C": "f16"}, "f16"),
            lambda acc, x: x["alpha"] * acc + x["beta"] * x["C"],
        )
    )
    return out


RIGHT = _right()

_PAIRS = [
    ("acc + bias[n]", "acc + bias[m]"),
    ("acc + bias[n]", "acc"),
    ("acc", "acc + bias[n]"),
    ("acc*scale[n]", "acc*scale[m]"),
    ("acc*scale[n]", "acc*scale[n]*scale[n]"),
    ("acc*scale[n]", "acc + scale[n]"),
    ("relu(acc + bias[n])", "relu(acc) + bias[n]"),
    ("relu(acc + bias[n])", "acc + bias[n]"),
    ("relu(acc + bias[n])", "relu(acc - bias[n])"),
    ("alpha*acc + beta*C", "beta*acc + alpha*C"),
    ("alpha*acc + beta*C", "alpha*(acc + beta*C)"),
    ("alpha*acc + beta*C", "alpha*acc + C"),
    ("alpha*acc + beta*C", "alpha*alpha*acc + beta*C"),
    ("2*acc - C", "2*(acc - C)"),
    ("2*acc - C", "C - 2*acc"),
    ("gelu(acc)", "silu(acc)"),
    ("sigmoid(acc)", "tanh(acc)"),
    ("silu(acc)*gate[m,n]", "silu(acc*gate[m,n])"),
    ("silu(acc)*gate[m,n]", "silu(gate[m,n])*acc"),
    ("(acc + bias[n])*gate[m,n]", "acc + bias[n]*gate[m,n]"),
    ("clamp(acc, 0, 6)", "clamp(acc, 0, 5)"),
    ("clamp(acc, 0, 6)", "relu(acc)"),
    ("max(acc, C)", "min(acc, C)"),
    ("acc/denominator[m]", "acc/denominator[n]"),
    ("acc/denominator[m]", "acc*denominator[m]"),
    ("acc + bias[n] + C", "acc + 2*bias[n] + C"),
    ("acc*scale[m] + bias[n]", "(acc + bias[n])*scale[m]"),
    ("acc*scale[m] + bias[n]", "acc*scale[n] + bias[m]"),
    ("exp(acc)", "exp2(acc)"),
    ("abs(acc)", "acc"),
]

# (what is computed, what is claimed, output type computed, output type claimed)
WRONG: list[tuple[str, str, str, str]] = [
    *((done, said, "f32", "f32") for done, said in _PAIRS),
    *((done, said, "bf16", "bf16") for done, said in _PAIRS[:28]),
    ("acc", "acc", "f16", "bf16"),
    ("relu(acc + bias[n])", "relu(acc + bias[n])", "bf16", "f16"),
]


def value_of(meaning: Callable[..., np.ndarray], given: Arrays) -> np.ndarray:
    """What NumPy alone computes in float64."""
    wide = {name: np.asarray(x, np.float64) for name, x in given.items()}
    return meaning(wide["A"] @ wide["B"], wide)
