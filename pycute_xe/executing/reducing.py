"""Floor 9: sums, maxima and minima of register elements, in the order in which they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert, wrap
from pycute_xe.kernel.spec.reductions import reduction
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
    row = reduction(how)
    totals = np.full(count, row.start(values.dtype), dtype=values.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        row.ufunc().at(totals, slots, values)
    totals[~reached] = 0
    return (convert if kind == "f" else wrap)(totals, numeric), reached
