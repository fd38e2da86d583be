"""Floor 8: global memory, byte addressed, made of allocations that never touch.

Every access lies inside one allocation; the gaps between them belong to no array, so that running
past an array is a fault and not a neighbour's value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError
from pycute_xe.machine.pages import Pages

__all__ = ["Bytes", "Memory"]

Bytes = NDArray[np.uint8]

_FIRST_ADDRESS: Final = 1 << 16
_GAP: Final = 4096


class Memory:
    """Allocations of zeroed bytes at ascending addresses, address 0 never among them.

    Addresses and sizes are bytes. Reading or writing outside one allocation raises
    `MachineError`.

    >>> memory = Memory()
    >>> address = memory.place(np.arange(4, dtype=np.uint16))
    >>> memory.array(address + 2, (2,), np.uint16).tolist()
    [1, 2]
    """

    def __init__(self) -> None:
        """Start with nothing allocated."""
        self._bases: list[int] = []
        self._buffers: list[Bytes | Pages] = []
        self._next = _FIRST_ADDRESS

    def alloc(self, nbytes: int, align: int = 64) -> int:
        """Reserve zeroed bytes and return their address, a multiple of ``align``.

        Raises `MachineError` for a negative size or an alignment below 1.

        >>> Memory().alloc(100, align=64) % 64
        0
        """
        if nbytes < 0 or align < 1:
            operands = {"nbytes": nbytes, "align": align}
            raise MachineError(
                "alloc",
                operands,
                "nbytes must not be negative, and align be at least 1",
                "use 0 or more bytes",
            )
        return self._append(np.zeros(nbytes, dtype=np.uint8), align)

    def _append(self, buffer: Bytes | Pages, align: int) -> int:
        address = -(-self._next // align) * align
        self._bases.append(address)
        self._buffers.append(buffer)
        self._next = address + buffer.size + _GAP
        return address

    def reserve(
        self, nbytes: int, fill: Callable[[NDArray[np.int64]], Bytes], align: int = 64
    ) -> int:
        """Return the address of bytes that are made when they are touched, as `Pages` says.

        >>> memory = Memory()
        >>> base = memory.reserve(1 << 45, lambda at: np.ones((at.size, 256), np.uint8))
        >>> memory.read(base + (1 << 44), 2).tolist()
        [1, 1]
        """
        return self._append(Pages(nbytes, fill), align)

    def place(self, array: NDArray[Any], align: int = 64) -> int:
        """Copy an array, first index slowest, into a new allocation and return its address.

        Law: ``memory.array(memory.place(a), a.shape, a.dtype) == a``.

        >>> memory = Memory()
        >>> memory.read(memory.place(np.array([[1, 2], [3, 4]], dtype=np.uint8)), 4).tolist()
        [1, 2, 3, 4]
        """
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return self._append(data.copy(), align)

    def span(self, address: int, nbytes: int) -> tuple[Bytes | Pages, int]:
        """Return the bytes of the allocation that holds a range, and where in it the range starts.

        The array is live: writing to it writes to memory.
        Raises `MachineError` when no allocation holds the whole range.

        >>> memory = Memory()
        >>> buffer, start = memory.span(memory.alloc(8) + 4, 4)
        >>> buffer.size, start
        (8, 4)
        """
        found = bisect_right(self._bases, address) - 1
        if found >= 0 and nbytes >= 0:
            start, buffer = address - self._bases[found], self._buffers[found]
            if start + nbytes <= buffer.size:
                return buffer, start
        raise MachineError(
            "memory",
            {"address": hex(address) if address >= 0 else address, "nbytes": nbytes},
            "the range is not inside one allocation",
            "allocate what the surface covers, or correct its base, pitch, width or height",
        )

    def read(self, address: int, nbytes: int) -> Bytes:
        """Return a copy of bytes; `MachineError` outside an allocation.

        >>> memory = Memory()
        >>> memory.read(memory.alloc(2), 2).tolist()
        [0, 0]
        """
        buffer, start = self.span(address, nbytes)
        return buffer[start : start + nbytes].copy()

    def write(self, address: int, data: Bytes) -> None:
        """Write bytes; `MachineError` outside an allocation.

        >>> memory = Memory()
        >>> memory.write(memory.alloc(2), np.array([7, 8], dtype=np.uint8))
        """
        buffer, start = self.span(address, data.size)
        buffer[start : start + data.size] = data

    def array(self, address: int, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return a copy of memory as an array, first index slowest; `MachineError` outside.

        >>> memory = Memory()
        >>> memory.array(memory.alloc(8), (2, 2), np.int16).shape
        (2, 2)
        """
        kind = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64))
        return self.read(address, count * kind.itemsize).view(kind).reshape(shape)
