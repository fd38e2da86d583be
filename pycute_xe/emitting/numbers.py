"""Floor 9: numbers of a kernel as numbers of f32."""

from __future__ import annotations

from math import isfinite

import numpy as np

from pycute_xe.errors import KernelError

__all__ = ["as_f32", "f32_bits"]


def as_f32(value: float) -> float:
    """Return the number of f32 next to one; `KernelError` for one beyond its range.

    >>> as_f32(0.5), as_f32(float("inf"))
    (0.5, inf)
    """
    with np.errstate(over="ignore"):
        found = float(np.float32(value))
    if isfinite(value) and not isfinite(found):
        raise KernelError(
            "emit", {"value": value}, f"{value:g} is beyond the range of f32", "scale the epilogue"
        )
    return found


def f32_bits(value: float) -> str:
    """Return the bits of a number of f32, in hexadecimal.

    >>> f32_bits(1.0)
    '0x3f800000'
    """
    return f"0x{np.float32(as_f32(value)).view(np.uint32):08x}"
