"""Functions of vectors: larger and smaller elements, of two vectors or of one, and exponentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pycute_xe.errors import DTypeError, quoted
from pycute_xe.esimd.arrays import type_name
from pycute_xe.esimd.vectors import Vector, simd

__all__ = ["exp", "hmax", "hmin", "max", "min", "sum"]


def max(a: Any, b: Any) -> simd:
    """Return the larger of each two elements, in C++'s common type; a NaN gives way to a number.

    ``b`` may be a number. Raises `ShapeError` for vectors of two sizes. C++: ``esimd::max(a, b)``.

    >>> max(simd("s32", 3, [1, 5, 3]), 2)
    simd<s32, 3>(2, 5, 3)
    """
    return _two("max", a, b, np.fmax)


def min(a: Any, b: Any) -> simd:
    """Return the smaller of each two elements; as `max`. C++: ``esimd::min(a, b)``.

    >>> min(simd("s32", 3, [1, 5, 3]), 2)
    simd<s32, 3>(1, 2, 2)
    """
    return _two("min", a, b, np.fmin)


def hmax(x: Vector) -> Any:
    """Return the largest element. C++: ``esimd::hmax<T>(x)``.

    >>> int(hmax(simd("s32", 3, [1, 5, 3])))
    5
    """
    return np.fmax.reduce(_vector("hmax", x).buffer)


def hmin(x: Vector) -> Any:
    """Return the smallest element. C++: ``esimd::hmin<T>(x)``.

    >>> int(hmin(simd("s32", 3, [1, 5, 3])))
    1
    """
    return np.fmin.reduce(_vector("hmin", x).buffer)


def sum(x: Vector) -> Any:
    """Return the sum of the elements, halves of the vector added until one is left.

    Of an odd number the last one is added to the first. C++: ``reduce<T>(x, std::plus<>())``.

    >>> float(sum(simd("f32", 4, [1, 2, 3, 4])))
    10.0
    """
    elements = _vector("sum", x).buffer
    with np.errstate(all="ignore"):
        while elements.size > 1:
            half, odd = divmod(elements.size, 2)
            added = elements[:half] + elements[half : 2 * half]
            if odd:
                added[0] += elements[-1]
            elements = added
    return elements[0]


def exp(x: Vector) -> simd:
    """Return e to the power of each element, rounded from a wider result.

    Hardware is less exact. Raises `DTypeError` for integers. C++: ``esimd::exp(x)``.

    >>> exp(simd("f32", 2, 0))
    simd<f32, 2>(1.0, 1.0)
    """
    vector = _vector("exp", x)
    if vector.dtype.kind in "iub":
        operands = {"T": type_name(vector.dtype)}
        raise DTypeError("exp", operands, "the elements are integers", "convert them to float")
    with np.errstate(all="ignore"):
        return simd.wrap(np.exp(vector.buffer.astype(np.float64)).astype(vector.dtype))


def _two(operation: str, a: Any, b: Any, act: Callable[[Any, Any], Any]) -> simd:
    left, right = (a, b) if isinstance(a, Vector) else (b, a)
    return _vector(operation, left).combined(right, act)


def _vector(operation: str, x: object) -> Vector:
    if not isinstance(x, Vector):
        raise DTypeError(operation, {"x": quoted(x)}, "it must be a vector", "give a simd")
    return x
