"""Floor 9: elements in arrays as numbers that are computed with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.numeric import Numeric

__all__ = ["widened"]


def widened(array: NDArray[Any], numeric: Numeric, single: bool = False) -> NDArray[Any]:
    """Return elements of a type as numbers: float32 of floats but f64, int64 of integers.

    Of a tf32 the 13 lowest bits are dropped. ``single`` asks for float32 of integers too, which
    must be narrow. The array itself where it is that already, else a new one.

    >>> from pycute_xe.numeric import as_numeric
    >>> widened(np.array([1 + 2.0**-12], np.float32), as_numeric("tf32")).tolist()
    [1.0]
    """
    if numeric.name == "tf32":
        return (array.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    if numeric.name == "bf16":
        # A bfloat16 is the upper half of a float32.
        wide = array.view(np.uint16).astype(np.uint32)
        return (wide << np.uint32(16)).view(np.float32)
    if numeric.kind == "float":
        return array if numeric.bits == 64 else array.astype(np.float32, copy=False)
    if numeric.bits < 8:
        array = array.astype(np.int8)
    return array.astype(np.float32 if single else np.int64, copy=False)
