"""The arithmetic conversions of C++, and how a call on a temporary vector is recognised."""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import ShapeError

__all__ = ["Array", "called_on_a_result", "common_type", "divide", "promoted"]

Array = NDArray[Any]


def promoted(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which C++ computes with elements of a type.

    >>> promoted(np.dtype(np.uint16)).name, promoted(np.dtype(np.float16)).name
    ('int32', 'float16')
    """
    narrow = kind.kind in "iub" and kind.itemsize < 4
    return np.dtype(np.int32) if narrow else kind


def common_type(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The usual arithmetic conversions of C++; floats that neither holds meet in f32.

    Two masks stay a mask.
    """
    if a == b == np.bool_:
        return a
    a, b = promoted(a), promoted(b)
    if a == b:
        return a
    if a.kind in "iu" and b.kind in "iu":
        if a.itemsize == b.itemsize:
            return a if a.kind == "u" else b
        return max(a, b, key=lambda kind: kind.itemsize)
    floats = [kind for kind in (a, b) if kind.kind not in "iu"]
    if len(floats) == 1:
        return floats[0]
    return np.dtype(np.float64) if np.dtype(np.float64) in floats else np.dtype(np.float32)


def divide(left: Array, right: Array) -> Array:
    """Division as in C++: of integers towards zero."""
    if left.dtype.kind not in "iu":
        return left / right
    if not np.all(right):
        raise ShapeError("operator", {"divisor": 0}, "integers are not divided by zero", "")
    quotient = np.abs(left) // np.abs(right)
    return (np.sign(left) * np.sign(right) * quotient).astype(left.dtype)


def called_on_a_result(frame: Any) -> bool:
    """Whether the method of a frame was called on what another call has just returned."""
    caller = None if frame is None else frame.f_back
    return caller is not None and _on_a_result(caller.f_code, caller.f_lasti)


@lru_cache(maxsize=4096)
def _on_a_result(code: CodeType, at: int) -> bool:
    steps = [
        step
        for step in dis.get_instructions(code)
        if step.offset <= at and step.opname not in ("CACHE", "PRECALL", "NOP", "EXTENDED_ARG")
    ]
    names = [i for i, step in enumerate(steps) if step.argval == "bit_cast_view"]
    return bool(names) and names[-1] > 0 and steps[names[-1] - 1].opname.startswith("CALL")
