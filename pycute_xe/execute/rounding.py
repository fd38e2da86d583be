"""Floor 9: turning a user's arrays into the element types an instruction takes."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import DTypeError, InputError
from pycute_xe.numeric import Numeric

__all__ = ["as_matrix", "rounded"]


def as_matrix(name: str, value: Any, wanted: Numeric, asked: Numeric | None) -> NDArray[Any]:
    """Return a 2-D array of the wanted type.

    An array of that type is taken as it is; any other real type is rounded to nearest even when
    ``asked`` names the type, and refused otherwise. Warns, with their number, of elements that are
    too large for the type and become infinite. Raises `InputError` for what is no matrix and
    `DTypeError` for a type that would have to be rounded unasked.

    >>> from pycute_xe.numeric import as_numeric
    >>> as_matrix("A", np.ones((2, 3)), as_numeric("bf16"), as_numeric("bf16")).dtype.name
    'bfloat16'
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(
            "run",
            {name: type(value).__name__},
            f"{name} is no matrix: {error}",
            "even out its rows",
        ) from error
    if array.ndim != 2:
        raise InputError(
            "run",
            {name: f"array of shape {array.shape}"},
            f"{name} has {array.ndim} dimensions, a matrix has 2",
            "reshape it",
        )
    if array.dtype == numpy_dtype(wanted):
        return array
    if array.dtype.kind not in "fiub" and array.dtype.name not in ("bfloat16",):
        raise DTypeError(
            "run", {name: array.dtype}, f"{array.dtype} holds no real numbers", f"use {wanted}"
        )
    if asked is None:
        raise DTypeError(
            "run",
            {name: array.dtype},
            f"{name} is {array.dtype.name}, the kernel multiplies {wanted}",
            f'ask for rounding with dtype="{wanted}", or convert it yourself',
        )
    if asked != wanted:
        raise DTypeError(
            "run",
            {"dtype": asked, "kernel": wanted},
            f"rounding to {asked} was asked for, the kernel multiplies {wanted}",
            f'use dtype="{wanted}" or another MMA atom',
        )
    out = rounded(array, wanted)
    _tell_overflow(name, array, out, wanted)
    return out


def _tell_overflow(name: str, array: NDArray[Any], out: NDArray[Any], wanted: Numeric) -> None:
    """Warn of finite elements that became infinite."""
    count = int(np.count_nonzero(np.isinf(out.astype(np.float32)) & np.isfinite(array)))
    if count:
        message = f"{count:,} of {array.size:,} elements of {name} overflow {wanted}: now infinite"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def rounded(array: NDArray[Any], numeric: Numeric) -> NDArray[Any]:
    """Round every element to the nearest value of a type, ties to even, in one step.

    Raises `DTypeError` for elements that float64 does not hold: larger integers, longer floats.
    The result is compact, first index slowest, and starts on a 64-byte address.

    >>> from pycute_xe.numeric import as_numeric
    >>> float(rounded(np.array([1 + 2.0**-8 + 2.0**-40]), as_numeric("bf16"))[0])
    1.0078125
    """
    _check_exact(array)
    target = numpy_dtype(numeric)
    out = _aligned(array.shape, target)
    with np.errstate(over="ignore", invalid="ignore"):
        if array.dtype.kind in "iub" or array.dtype == np.float16:
            array = array.astype(np.float64)
        if target.kind == "V" or target.name == "bfloat16":
            array = _to_odd(array) if array.dtype == np.float64 else array.astype(np.float32)
        out[...] = array.astype(target)
    return out


def _check_exact(array: NDArray[Any]) -> None:
    long = array.dtype.kind == "f" and array.dtype.itemsize > 8
    big = array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size > 0
    if long or (big and (array.max() > 2**53 or array.min() < -(2**53))):
        raise DTypeError(
            "rounded",
            {"array": array.dtype},
            "float64 does not hold every element, so rounding would be done twice",
            "convert to float64 yourself",
        )


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Reserve an array on a 64-byte address, where a surface may start."""
    nbytes = prod(shape) * dtype.itemsize
    room = np.empty(nbytes + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + nbytes].view(dtype).reshape(shape)


def _to_odd(array: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round float64 to float32, to odd, so that a second rounding cannot go wrong."""
    near = array.astype(np.float32)
    # Where the nearest float32 lies beyond the value, step back towards zero; then, where anything
    # was cut off, set the last bit so that the second rounding sees it.
    beyond = np.abs(near.astype(np.float64)) > np.abs(array)
    toward = np.where(beyond, np.nextafter(near, np.float32(0)), near)
    inexact = np.isfinite(array) & (near.astype(np.float64) != array)
    bits = toward.view(np.uint32) | inexact.astype(np.uint32)
    return bits.view(np.float32)
