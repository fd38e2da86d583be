"""The arithmetic conversions of C++, and how a call on a temporary vector is recognised."""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import DTypeError, ShapeError
from pycute_xe.esimd.types import dtype_of
from pycute_xe.signatures import shortly

__all__ = [
    "Array",
    "called_on_a_result",
    "common_type",
    "divide",
    "numbers",
    "operand",
    "promoted",
    "ramp",
    "remainder",
]

Array = NDArray[Any]


def numbers(operation: str, value: Any) -> Array:
    """Return a number or a sequence of them as an array; `DTypeError` for what holds no numbers.

    >>> numbers("simd", [1, 2]).tolist()
    [1, 2]
    """
    try:
        array = np.asarray(value)
        dtype_of(array.dtype)
    except (TypeError, ValueError, OverflowError):  # ragged sequences, unknown types
        raise DTypeError(
            operation,
            {"data": shortly(value)},
            "the data must be numbers of at most 64 bits",
            "give a vector, a number or a sequence of numbers",
        ) from None
    return array


def operand(other: Any, mine: np.dtype[Any]) -> Array:
    """Return what a vector meets: NumPy's keep their type, Python's numbers are literals.

    An integer is an ``int``, one that does not fit unsigned as in hexadecimal, then of 64 bits; a
    float has the type of the floats that it meets, with integers f32.

    >>> operand(2, np.dtype("u2")).dtype.name, operand(0xFFFFFFFF, np.dtype("i4")).dtype.name
    ('int32', 'uint32')
    >>> operand(np.float64(2), np.dtype("f4")).dtype.name, operand(2.0, np.dtype("f2")).dtype.name
    ('float64', 'float16')
    """
    array = numbers("operator", other)
    if isinstance(other, (np.ndarray, np.generic)) or array.dtype.kind == "b":
        return array
    if array.dtype.kind not in "iu":
        return array.astype(np.float32 if mine.kind in "biu" else mine)
    kinds = (np.dtype(kind) for kind in (np.int32, np.uint32, np.int64))
    fits = (kind for kind in kinds if (array.astype(kind) == array).all())
    return array.astype(next(fits, np.dtype(np.uint64)))


def ramp(kind: np.dtype[Any], count: int, base: Any, step: Any) -> Array:
    """Return base, base + step, … computed in a type.

    >>> ramp(np.dtype("u1"), 3, 250, 4).tolist()
    [250, 254, 2]
    """
    first, by = (numbers("simd", value).astype(kind) for value in (base, step))
    if first.size != 1 or by.size != 1:
        operands = {"base": first.size, "step": by.size}
        raise ShapeError(
            "simd", operands, "base and step must be one number each", "give two numbers"
        )
    with np.errstate(all="ignore"):
        return (first + np.arange(count).astype(kind) * by).astype(kind).reshape(-1)


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
    return ((left - remainder(left, right)) // right).astype(left.dtype)


def remainder(left: Array, right: Array) -> Array:
    """The remainder of C++, of the sign of the dividend; `DTypeError` for floats.

    >>> remainder(np.array([-7, 7]), np.array([2, -2])).tolist()
    [-1, 1]
    """
    if left.dtype.kind not in "iu":
        raise DTypeError("operator", {"T": left.dtype}, "% takes integers only", "divide and round")
    if not np.all(right):
        raise ShapeError(
            "operator", {"divisor": 0}, "an integer is divided by zero", "mask the zeros out"
        )
    return np.fmod(left, right)


def called_on_a_result(frame: Any) -> bool:
    """Whether the method of a frame was called on what a call or an operator has just returned."""
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
    if not names or names[-1] == 0:
        return False
    before = steps[names[-1] - 1]
    # An index is a binary operator to newer interpreters; what it finds is held by something.
    return before.opname.startswith(_RESULTS) and before.argrepr != "[]"


_RESULTS = ("CALL", "BINARY_OP", "UNARY", "COMPARE_OP")
