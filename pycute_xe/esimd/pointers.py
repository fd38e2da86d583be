"""Pointers to global memory, with the arithmetic of C++: they count elements, not bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pycute_xe.errors import InputError
from pycute_xe.esimd.checks import whole
from pycute_xe.esimd.types import Type, dtype_of

__all__ = ["Pointer", "pointer_of", "reinterpret_cast"]


@dataclass(frozen=True, slots=True)
class Pointer:
    """A byte address that knows the type it points to. A kernel gets one for each array.

    Law: ``(p + n).address == p.address + n * p.dtype.itemsize``, as in C++.

    >>> p = Pointer(np.dtype(np.float16), 4096)
    >>> (p + 3).address, (p + 8) - p
    (4102, 8)
    """

    dtype: np.dtype[Any]
    address: int

    def __add__(self, count: int) -> Pointer:
        (elements,) = whole("Pointer", elements=count)
        return Pointer(self.dtype, self.address + elements * self.dtype.itemsize)

    __radd__ = __add__

    def __sub__(self, other: int | Pointer) -> Any:
        """A pointer, or the elements between two pointers."""
        if isinstance(other, Pointer):
            return (self.address - other.address) // self.dtype.itemsize
        (elements,) = whole("Pointer", elements=other)
        return self + -elements


def reinterpret_cast(T: Type, ptr: Pointer) -> Pointer:
    """Return the same address as a pointer to another type. C++: ``reinterpret_cast<T*>(ptr)``.

    >>> (reinterpret_cast("u32", Pointer(np.dtype(np.float16), 0)) + 1).address
    4
    """
    return Pointer(dtype_of(T), pointer_of("reinterpret_cast", ptr).address)


def pointer_of(operation: str, value: object, T: Type | None = None) -> Pointer:
    """Return a pointer, of the type that an operation wants; `InputError` for other things."""
    if not isinstance(value, Pointer):
        raise InputError(
            operation,
            {"ptr": type(value).__name__},
            "ptr must be a Pointer",
            "pass the array to esimd.launch: the kernel gets a pointer for it",
        )
    if T is not None and value.dtype != dtype_of(T):
        raise InputError(
            operation,
            {"T": T, "ptr": f"pointer to {value.dtype}"},
            "the pointer points to another type",
            "reinterpret_cast(T, ptr), or name the type of the array",
        )
    return value
