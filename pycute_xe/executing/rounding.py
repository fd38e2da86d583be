"""Turning a user's arrays into the element types an operand has."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert, host_dtype
from pycute_xe.errors import DTypeError, InputError
from pycute_xe.numeric import Numeric

__all__ = ["Asked", "as_array", "as_matrix", "rounded"]

Asked: TypeAlias = "Numeric | Mapping[str, Numeric] | None"
"""The type that inputs may be rounded to: one for all of that type, or one for each operand."""


def as_matrix(name: str, value: Any, wanted: Numeric, asked: Numeric | None) -> NDArray[Any]:
    """Return a 2-D array of the wanted type; `as_array` of two modes.

    >>> from pycute_xe.numeric import as_numeric
    >>> as_matrix("A", np.ones((2, 3)), as_numeric("bf16"), as_numeric("bf16")).dtype.name
    'bfloat16'
    """
    return as_array(name, value, wanted, 2, asked, "multiplies")


def as_array(
    name: str, value: Any, wanted: Numeric, rank: int, asked: Asked, verb: str = "takes"
) -> NDArray[Any]:
    """Return an array of so many modes and of the wanted type.

    An array of that type is taken as it is; any other real type is rounded to nearest even when
    ``asked`` names the type, and refused otherwise. Python's own numbers are always converted, and
    arrays of float32 stand for tf32 where every element is one. Warns, with their number, of
    elements that are too large for the type and become infinite. Raises `InputError` for another
    number of modes and `DTypeError` for a type that would have to be rounded unasked.

    >>> from pycute_xe.numeric import as_numeric
    >>> as_array("bias", [1, 2], as_numeric("f32"), 1, as_numeric("f32")).tolist()
    [1.0, 2.0]
    """
    what = {0: "number", 1: "vector", 2: "matrix"}.get(rank, f"array of {rank} dimensions")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(
            "run",
            {name: type(value).__name__},
            f"{name} cannot be read as a {what}: {error}",
            "even out its rows",
        ) from error
    if array.ndim != rank:
        raise InputError(
            "run",
            {name: f"array of shape {array.shape}"},
            f"{name} has {array.ndim} dimensions, a {what} has {rank}",
            "reshape it",
        )
    if _fits(array, wanted):
        return array
    if array.dtype.kind not in "fiub" and not _narrow(array):
        raise DTypeError(
            "run", {name: array.dtype}, f"{array.dtype} holds no real numbers", f"use {wanted}"
        )
    if rank == 0 and isinstance(value, (bool, int, float)):
        return _number(name, array, wanted)
    _check_asked(name, array, wanted, asked, verb)
    out = rounded(array, wanted)
    if wanted.kind == "float":
        _tell_overflow(name, array, out, wanted)
    return out


def _tell_overflow(name: str, array: NDArray[Any], out: NDArray[Any], wanted: Numeric) -> None:
    """Warn of finite elements that became infinite."""
    infinite = np.isinf(out.astype(np.float32))
    count = int(np.count_nonzero(infinite & np.isfinite(array.astype(np.float64))))
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
    if numeric.kind == "float" or array.dtype.kind == "f":
        _check_exact(array)
    out = _aligned(array.shape, host_dtype(numeric))
    out[...] = convert(array, numeric)
    return out


def _fits(array: NDArray[Any], wanted: Numeric) -> bool:
    if array.dtype != host_dtype(wanted):
        return False
    return wanted.name != "tf32" or bool(np.array_equal(convert(array, wanted), array, True))


def _narrow(array: NDArray[Any]) -> bool:
    """Whether an array holds numbers of an ml_dtypes type."""
    return array.dtype.kind == "V" and array.dtype.type.__module__.startswith("ml_dtypes")


def _number(name: str, array: NDArray[Any], wanted: Numeric) -> NDArray[Any]:
    out = convert(array, wanted)
    if wanted.kind != "float" and out != array:
        raise DTypeError(
            "run", {name: array.item()}, f"{wanted} does not hold {array.item()}", "round it"
        )
    return out


def _check_asked(name: str, array: NDArray[Any], wanted: Numeric, asked: Asked, verb: str) -> None:
    if isinstance(asked, Mapping):
        asked = asked.get(name)
    if asked is None:
        odd = " whose elements are not all tf32" if array.dtype == host_dtype(wanted) else ""
        raise DTypeError(
            "run",
            {name: array.dtype},
            f"{name} is {array.dtype.name}{odd}, the kernel {verb} {wanted}",
            f'ask for rounding with dtype="{wanted}", or convert it yourself',
        )
    if asked != wanted:
        raise DTypeError(
            "run",
            {"dtype": asked, "kernel": wanted},
            f"rounding to {asked} was asked for, the kernel {verb} {wanted}",
            f'use dtype="{wanted}", dtype={{"{name}": "{wanted}"}} or another MMA atom',
        )


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
