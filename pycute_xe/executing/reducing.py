"""Floor 9: sums and maxima of register elements, in the order in which they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert, wrap
from pycute_xe.numeric import Numeric

__all__ = ["reduced"]


def reduced(
    values: NDArray[Any], slots: NDArray[np.int64], count: int, how: str, numeric: Numeric
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return what each element gathers, in ascending order, and which elements any reaches.

    Narrow floats are summed in float32 and rounded once; integers keep their lowest bits.
    """
    reached = np.zeros(count, dtype=bool)
    reached[slots] = True
    kind = values.dtype.kind
    start = 0 if how == "sum" else -np.inf if kind == "f" else np.iinfo(np.int64).min
    totals = np.full(count, start, dtype=values.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        (np.add if how == "sum" else np.maximum).at(totals, slots, values)
    totals[~reached] = 0
    return (convert if kind == "f" else wrap)(totals, numeric), reached
