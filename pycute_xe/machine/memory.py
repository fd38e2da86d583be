"""Global memory, byte addressed, made of allocations that never touch.

Every access lies inside one allocation; the gaps between them belong to no array, so that running
past an array is a fault and not a neighbour's value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.bulk import numpy_dtype
from pycute_xe.converting import round_tf32
from pycute_xe.errors import DTypeError, MachineError, ShapeError
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Bytes", "Memory", "PAGE", "Pages", "packed", "round_tf32", "unpacked"]

# ------------------------------------------------------------ pages
# Memory whose bytes are made when they are first touched, page by page.

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int64]

PAGE: Final = 256
"""Bytes of a page: rows of a tile are short, and often far apart."""


class Pages:
    """Bytes by index, as of an array of ``size``; ``fill`` gives those of whole pages.

    ``fill`` is called with the first bytes of pages and returns a row of `PAGE` bytes for each.
    Those that were touched lie in `room`, and in `first` as they were before.

    >>> pages = Pages(1 << 50, lambda first: np.full((first.size, PAGE), 7, np.uint8))
    >>> pages[np.array([5, 1 << 49])] = np.array([1, 2], np.uint8)
    >>> pages[np.array([1 << 49, 6])].tolist(), pages.room.size == 2 * PAGE
    ([2, 7], True)
    """

    def __init__(self, size: int, fill: Callable[[Ints], Bytes]) -> None:
        """Start with no page touched."""
        self.size = size
        self._fill = fill
        self._rows: dict[int, int] = {}
        self._numbers: list[int] = []
        self._both: Bytes = np.zeros((2, 64 * PAGE), np.uint8)

    @property
    def room(self) -> Bytes:
        """The bytes of all pages that were touched, in the order in which they were."""
        return self._both[0, : len(self._numbers) * PAGE]

    @property
    def first(self) -> Bytes:
        """The same bytes as they were before."""
        return self._both[1, : len(self._numbers) * PAGE]

    def rooms(self, index: Ints) -> Ints:
        """Return where in `room` bytes lie, whose pages are made if they are not there yet."""
        pages, inside = index // PAGE, index % PAGE
        numbers, which = np.unique(pages, return_inverse=True)
        new = [number for number in numbers.tolist() if number not in self._rows]
        if new:
            made = self._fill(np.array(new, np.int64) * PAGE).reshape(-1)
            used = len(self._numbers) * PAGE
            if used + made.size > self._both.shape[1]:
                self._both = np.pad(self._both, ((0, 0), (0, used + made.size)))
            self._both[:, used : used + made.size] = made
            for number in new:
                self._rows[number] = len(self._numbers)
                self._numbers.append(number)
        rows = np.array([self._rows[number] for number in numbers.tolist()], np.int64)
        return rows[which.reshape(-1)].reshape(index.shape) * PAGE + inside

    def index_of(self, place: int) -> int:
        """Return the index of a byte of `room`."""
        return self._numbers[place // PAGE] * PAGE + place % PAGE

    def indices_of(self, places: Ints) -> Ints:
        """Return the indices of bytes of `room`."""
        return np.array(self._numbers, np.int64)[places // PAGE] * PAGE + places % PAGE

    def __getitem__(self, index: Ints | slice) -> Bytes:
        """Return the bytes at indices, as a copy."""
        where = self.rooms(self._each(index))
        return self.room[where]

    def __setitem__(self, index: Ints | slice, data: Bytes) -> None:
        """Write bytes at indices."""
        where = self.rooms(self._each(index))
        self.room[where] = data

    def _each(self, index: Ints | slice) -> Ints:
        return np.arange(*index.indices(self.size)) if isinstance(index, slice) else index


# ------------------------------------------------------------ memory


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
        number = bisect_right(self._bases, address) - 1
        if number >= 0 and nbytes >= 0:
            start, buffer = address - self._bases[number], self._buffers[number]
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


# ------------------------------------------------------------ elements
# Register bytes as numbers and back, for every element type that DPAS takes.

# A tf32 has 10 bits of mantissa in a dword; the 13 bits below them do not count.
_TF32 = np.uint32(0xFFFFE000)


def unpacked(data: Bytes, numeric: Numeric | str) -> NDArray[Any]:
    """Return the numbers in register bytes: float32 of floating-point types, int64 of integers.

    Elements narrower than a byte start at its lowest bits. Of a tf32 the 13 lowest bits are
    dropped: hosts leave them dirty when they round by adding half a unit (CUTLASS, tfloat32.h).

    Raises `ShapeError` for bytes that end inside an element.

    >>> unpacked(np.array([0x21, 0xF3], dtype=np.uint8), "s4").tolist()
    [1, 2, 3, -1]
    """
    kind = as_numeric(numeric)
    if 8 * data.size % kind.bits:
        raise ShapeError(
            "unpacked",
            {"bytes": data.size, "type": kind},
            f"elements have {kind.bits} bits: the last one is cut off",
            "read whole elements",
        )
    if kind.name == "tf32":
        return (data.view(np.uint32) & _TF32).view(np.float32)
    if kind.bits < 8:
        return _split(data, kind)
    return data.view(_dtype(kind)).astype(np.float32 if kind.kind == "float" else np.int64)


@cache
def _dtype(kind: Numeric) -> np.dtype[Any]:
    return numpy_dtype(kind)


def _split(data: Bytes, kind: Numeric) -> NDArray[Any]:
    shifts = np.arange(0, 8, kind.bits, dtype=np.uint8)
    codes = ((data[:, None] >> shifts) & ((1 << kind.bits) - 1)).reshape(-1).astype(np.int64)
    if kind.kind == "float":
        return codes.astype(np.uint8).view(_dtype(kind)).astype(np.float32)
    if kind.kind == "signed":
        return codes - ((codes >> (kind.bits - 1)) << kind.bits)
    return codes


def packed(values: NDArray[Any], numeric: Numeric | str) -> Bytes:
    """Return the register bytes of numbers, in the order of the array; the inverse of `unpacked`.

    Law: ``unpacked(packed(v, t), t) == v`` for numbers that the type holds; floats are rounded to
    nearest even, tf32 as `round_tf32`. Raises `DTypeError` for integers out of range or of a
    floating-point type, and `ShapeError` for elements that do not fill bytes.

    >>> packed(np.array([1, 2, 3, -1]), "s4").tobytes().hex()
    '21f3'
    """
    kind, flat = as_numeric(numeric), np.asarray(values).reshape(-1)
    if kind.name == "tf32":
        return round_tf32(flat).view(np.uint8)
    if kind.kind == "float":
        codes = flat.astype(numpy_dtype(kind)).view(np.uint8)
        return codes if kind.bits >= 8 else _join(codes, kind)
    if flat.dtype.kind not in "iub":
        raise DTypeError(
            "packed", {"type": kind, "values": flat.dtype}, f"{kind} holds integers", "round them"
        )
    least = -(1 << (kind.bits - 1)) if kind.kind == "signed" else 0
    if flat.size and not (least <= flat.min() and flat.max() < least + (1 << kind.bits)):
        raise DTypeError(
            "packed",
            {"type": kind},
            f"{kind} holds {least} to {least + (1 << kind.bits) - 1}",
            "clip",
        )
    if kind.bits >= 8:
        return flat.astype(numpy_dtype(kind)).view(np.uint8)
    return _join(flat, kind)


def _join(flat: NDArray[Any], kind: Numeric) -> Bytes:
    per_byte = 8 // kind.bits
    if flat.size % per_byte:
        raise ShapeError(
            "packed",
            {"elements": flat.size, "type": kind},
            f"{per_byte} elements share a byte",
            "pad with zeros",
        )
    codes = (flat.astype(np.int64) & ((1 << kind.bits) - 1)).reshape(-1, per_byte)
    shifts = np.arange(0, 8, kind.bits, dtype=np.int64)
    return np.bitwise_or.reduce(codes << shifts, axis=1).astype(np.uint8)
