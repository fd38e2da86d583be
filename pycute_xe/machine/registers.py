"""The register file of one hardware thread, with a mask of what has been written."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError
from pycute_xe.machine.memory import Bytes, Ints
from pycute_xe.machine.trace import UnwrittenFault
from pycute_xe.signatures import typed

__all__ = ["RegisterFile"]


MOST_BYTES = 1 << 24
"""Bytes that can be reserved: far more than any thread has."""


class RegisterFile:
    """Bytes of registers, none of them initialised at the start.

    Offsets and sizes are bytes; ``grf_bytes`` is the size of one register and only names it in
    messages. Reading a byte that was never written, or one outside, raises `MachineError`.

    >>> registers = RegisterFile(256 * 64)
    >>> registers.write(64, np.arange(4, dtype=np.uint8))
    >>> registers.read(66, 2, "a reader").tolist()
    [2, 3]
    """

    @typed
    def __init__(self, nbytes: int, grf_bytes: int = 64) -> None:
        """Reserve the bytes, uninitialised."""
        if not 1 <= nbytes <= MOST_BYTES or not 1 <= grf_bytes <= MOST_BYTES:
            condition = f"nbytes and grf_bytes must be 1 to {MOST_BYTES:,}"
            given = {"nbytes": nbytes, "grf_bytes": grf_bytes}
            raise MachineError("RegisterFile", given, condition, "a thread has 8,192 or 16,384")
        self.grf_bytes = grf_bytes
        self._data: Bytes = np.zeros(nbytes, dtype=np.uint8)
        self._ready: NDArray[np.bool_] = np.zeros(nbytes, dtype=np.bool_)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._data.size

    @property
    def data(self) -> Bytes:
        """All bytes as they are, for who knows which of them are initialised.

        >>> RegisterFile(64).data.size
        64
        """
        return self._data

    def read(self, offset: int, nbytes: int, reader: str) -> Bytes:
        """Return bytes, as a view that must not be written.

        Raises `MachineError`, naming the byte, its register and the reader, when one is
        uninitialised, or the range is outside.

        >>> RegisterFile(128).read(65, 1, "dpas A")
        Traceback (most recent call last):
            ...
        pycute_xe.machine.trace.UnwrittenFault: read(reader=dpas A): byte 65 (r1, byte 1) is ...
        """
        self._check(offset, nbytes, reader)
        ready = self._ready[offset : offset + nbytes]
        if not ready.all():
            raise self._uninitialised(offset + int((~ready).argmax()), reader)
        return self._data[offset : offset + nbytes]

    def holds(self, offset: int, nbytes: int) -> bool:
        """Whether a range is inside, and all of its bytes are initialised.

        >>> registers = RegisterFile(64)
        >>> registers.write(0, np.zeros(8, dtype=np.uint8))
        >>> registers.holds(0, 8), registers.holds(4, 8), registers.holds(60, 8)
        (True, False, False)
        """
        inside = 0 <= offset <= offset + nbytes <= self._data.size
        return inside and bool(self._ready[offset : offset + nbytes].all())

    def gather(self, offset: int, index: Ints, reader: str) -> Bytes:
        """Return the bytes at ``offset + index``; `MachineError` as `read` raises it.

        >>> registers = RegisterFile(64)
        >>> registers.write(0, np.array([5, 6, 7], dtype=np.uint8))
        >>> registers.gather(1, np.array([1, 0]), "a store").tolist()
        [7, 6]
        """
        if index.size:
            self._check(offset + int(index.min()), 1, reader)
            self._check(offset + int(index.max()), 1, reader)
        where = index + offset
        ready = self._ready[where]
        if not ready.all():
            raise self._uninitialised(int(where[int((~ready).argmax())]), reader)
        return self._data[where]

    def write(self, offset: int, data: Bytes, writer: str = "write") -> None:
        """Write bytes and mark them initialised; `MachineError` outside.

        >>> RegisterFile(64).write(62, np.zeros(4, dtype=np.uint8), "load")
        Traceback (most recent call last):
            ...
        pycute_xe.errors.MachineError: load(offset=62, nbytes=4): the range leaves...
        """
        self._check(offset, data.size, writer)
        self._data[offset : offset + data.size] = data
        self._ready[offset : offset + data.size] = True

    def scatter(self, offset: int, index: Ints, data: Bytes, writer: str = "write") -> None:
        """Write a byte to each ``offset + index`` and mark it initialised, leaving the others.

        Raises `MachineError` outside.

        >>> registers = RegisterFile(64)
        >>> registers.scatter(8, np.array([1, 0]), np.array([5, 6], dtype=np.uint8))
        >>> registers.read(8, 2, "a reader").tolist()
        [6, 5]
        """
        if index.size:
            self._check(offset + int(index.min()), 1, writer)
            self._check(offset + int(index.max()), 1, writer)
        where = index + offset
        self._data[where] = data
        self._ready[where] = True

    def forget(self, offset: int, nbytes: int) -> None:
        """Mark bytes as uninitialised again, as at the end of a variable's life.

        >>> registers = RegisterFile(64)
        >>> registers.write(0, np.zeros(64, dtype=np.uint8))
        >>> registers.forget(0, 64)
        """
        self._check(offset, nbytes, "forget")
        self._ready[offset : offset + nbytes] = False

    def copied(self, index: Ints) -> tuple[Bytes, NDArray[np.bool_]]:
        """Return copies of some bytes, and which of them are initialised.

        >>> registers = RegisterFile(64)
        >>> registers.write(0, np.array([5], dtype=np.uint8))
        >>> data, ready = registers.copied(np.array([0, 1]))
        >>> data.tolist(), ready.tolist()
        ([5, 0], [True, False])
        """
        return self._data[index], self._ready[index]

    def restore(self, index: Ints, data: Bytes, ready: NDArray[np.bool_]) -> None:
        """Make some bytes what `copied` returned of them.

        >>> registers = RegisterFile(64)
        >>> registers.restore(np.array([3]), np.array([7], np.uint8), np.array([True]))
        >>> registers.read(3, 1, "a reader").tolist()
        [7]
        """
        self._data[index], self._ready[index] = data, ready

    def _check(self, offset: int, nbytes: int, operation: str) -> None:
        if offset < 0 or nbytes < 0 or offset + nbytes > self._data.size:
            raise MachineError(
                operation,
                {"offset": offset, "nbytes": nbytes},
                f"the range leaves the register file of {self._data.size} bytes",
                "use fewer registers, or a larger register mode",
            )

    def _uninitialised(self, byte: int, reader: str) -> UnwrittenFault:
        register, rest = divmod(byte, self.grf_bytes)
        return UnwrittenFault(
            "read",
            {"reader": reader},
            f"byte {byte} (r{register}, byte {rest}) is uninitialised",
            "load or write it first",
        )
