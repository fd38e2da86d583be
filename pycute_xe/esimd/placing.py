"""Arrays of NumPy placed in the memory of a machine, and fetched from it."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import InputError
from pycute_xe.esimd.pointers import Pointer
from pycute_xe.esimd.threads import Machine
from pycute_xe.esimd.types import dtype_of

__all__ = ["fetch", "place"]


def place(
    machine: Machine, arguments: tuple[Any, ...]
) -> tuple[list[Any], dict[int, NDArray[Any]]]:
    """The arguments of the kernel, and each buffer once with its address."""
    given: list[Any] = []
    placed: dict[int, NDArray[Any]] = {}
    for argument in arguments:
        if not isinstance(argument, np.ndarray):
            given.append(argument)
            continue
        array = cast("NDArray[Any]", argument)
        _element_type(array.dtype)
        address = _place_of(array, placed)
        if address is None:
            address = machine.memory.place(array)
        # Of two arrays of one buffer, one that can be written takes what was stored.
        if address not in placed or array.flags.writeable:
            placed[address] = array
        given.append(Pointer(array.dtype, address))
    return given, placed


def _element_type(given: np.dtype[Any]) -> None:
    """Refuse arrays whose elements no memory here holds: `DTypeError` or `InputError`."""
    kind = dtype_of(given)
    if given != kind:
        condition = "the elements are not in native byte order"
        raise InputError("launch", {"dtype": given.str}, condition, f"array.astype({kind.name!r})")


def _place_of(array: NDArray[Any], placed: dict[int, NDArray[Any]]) -> int | None:
    """Where the buffer of an array lies already; `InputError` where only a part of it does."""
    for address, other in placed.items():
        if _buffer(array) == _buffer(other):
            return address
        if np.shares_memory(array, other):
            operands = {"shapes": (other.shape, array.shape)}
            raise InputError(
                "launch",
                operands,
                "two arrays overlap without being the same elements in the same order",
                "pass the larger one once, and add offsets to its pointer",
            )
    return None


def _buffer(array: NDArray[Any]) -> object:
    """What arrays have in common that are the same bytes in the same order."""
    start = array.__array_interface__["data"][0]
    if array.flags.c_contiguous:
        return start, array.nbytes
    return start, array.shape, array.strides, array.dtype


def fetch(machine: Machine, placed: dict[int, NDArray[Any]]) -> None:
    """Copy what was stored back into the arrays."""
    for address, array in placed.items():
        found = machine.memory.array(address, array.shape, array.dtype)
        before = np.ascontiguousarray(array).view(np.uint8)
        if np.array_equal(before, np.ascontiguousarray(found).view(np.uint8)):
            continue
        if not array.flags.writeable:
            operands = {"shape": array.shape}
            raise InputError(
                "launch", operands, "the kernel stores to a read-only array", "copy it"
            )
        array[...] = found
