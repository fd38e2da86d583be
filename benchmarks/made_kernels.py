"""A random kernel, what NumPy makes of its inputs, and the sizes at which it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.kernel import Kernel

Arrays: TypeAlias = Mapping[str, np.ndarray]
Meaning: TypeAlias = Callable[[Arrays], dict[str, np.ndarray]]

WIDE = 511
"""Inputs of epilogues are whole sixteenths up to this many: what is computed is exact in f32."""


def value_type(numeric: cx.Numeric) -> Any:
    """Return NumPy's type of the library's."""
    return numpy_dtype(numeric)


def rounded(x: np.ndarray, kind: str) -> np.ndarray:
    """Round to nearest even as NumPy and ml_dtypes do; integers are saturated."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        if kind in ("bf16", "f16"):
            narrow = ml_dtypes.bfloat16 if kind == "bf16" else np.float16
            return x.astype(np.float32).astype(narrow).astype(np.float64)
        return np.clip(np.rint(x), -128, 127) if kind == "s8" else x


@dataclass(frozen=True)
class Made:
    """A kernel, what it should give by output, and the sizes at which it is run."""

    kernel: Kernel
    meaning: Meaning
    sizes: tuple[dict[str, int], ...]
    tolerance: float = 0.0
    small: frozenset[str] = field(default=frozenset({"A", "B"}))
    unit: float = 1.0

    def arrays(self, sizes: dict[str, int], seed: int) -> dict[str, Any]:
        """Return inputs: small whole numbers of factors, sixteenths of everything else."""
        rng = np.random.default_rng(seed)
        out: dict[str, Any] = {}
        for operand in self.kernel.inputs:
            shape = tuple(mode.at(sizes) for mode in operand.modes)
            kind = value_type(operand.value_type)
            if operand.value_type.kind == "float" and operand.name not in self.small:
                out[operand.name] = (rng.integers(-WIDE, WIDE + 1, shape) / 16).astype(kind)
            else:
                out[operand.name] = (rng.integers(-3, 4, shape) * self.unit).astype(kind)
        return out

    def expected(self, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return what NumPy makes of inputs, in float64."""
        with np.errstate(all="ignore"):
            return self.meaning({n: np.asarray(x, np.float64) for n, x in given.items()})
