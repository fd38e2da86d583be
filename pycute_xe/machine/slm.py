"""Floor 8: shared local memory of a work-group, with a memory of who touched each byte when.

Two threads may touch a byte, one of them writing, only with a barrier between: what a thread did
before arriving at a barrier is over for every thread that has waited at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError
from pycute_xe.machine.memory import Bytes

__all__ = ["Progress", "Slm"]

_NOBODY: Final = -1
_SEVERAL: Final = -2


@dataclass(slots=True)
class Progress:
    """How far a thread is: its index, the barriers it has arrived at and those it has waited at."""

    index: int
    arrived: int = 0
    waited: int = 0


class _Touch:
    """For each byte, the last thread to touch it and the barriers that thread had arrived at."""

    def __init__(self, nbytes: int) -> None:
        self.who: NDArray[np.int32] = np.full(nbytes, _NOBODY, dtype=np.int32)
        self.when: NDArray[np.int32] = np.zeros(nbytes, dtype=np.int32)

    def clash(self, part: slice, thread: Progress) -> int | None:
        """Return the first byte that another thread touched with no barrier since."""
        who = self.who[part]
        others = (who != _NOBODY) & (who != thread.index) & (self.when[part] >= thread.waited)
        return part.start + int(others.argmax()) if others.any() else None

    def record(self, part: slice, thread: Progress) -> None:
        """Remember a touch, and that there were several where others' are not yet over."""
        who, when = self.who[part], self.when[part]
        shared = (who != _NOBODY) & (who != thread.index) & (when >= thread.waited)
        self.who[part] = np.where(shared, _SEVERAL, thread.index)
        self.when[part] = np.maximum(np.where(shared, when, 0), thread.arrived)


class Slm:
    """Shared local memory: a fixed number of bytes, addressed from 0, unwritten at the start.

    Accesses out of bounds, reads of bytes never written and races raise `MachineError`. Without a
    `Progress` an access is not watched for races.
    Document: Intel ESIMD LSC SLM guide (slm_init, barriers, reading before a barrier).

    >>> slm = Slm(64)
    >>> slm.write(0, np.array([5], dtype=np.uint8))
    >>> slm.read(0, 1).tolist()
    [5]
    """

    def __init__(self, nbytes: int) -> None:
        """Reserve the bytes."""
        if nbytes < 0:
            raise MachineError("Slm", {"nbytes": nbytes}, "sizes are not negative", "")
        self._data: Bytes = np.zeros(nbytes, dtype=np.uint8)
        self._written: NDArray[np.bool_] = np.zeros(nbytes, dtype=np.bool_)
        self._writes = _Touch(nbytes)
        self._reads = _Touch(nbytes)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._data.size

    def read(self, address: int, nbytes: int, thread: Progress | None = None) -> Bytes:
        """Return a copy of bytes; `MachineError` for bounds, unwritten bytes and races.

        >>> Slm(4).read(0, 4)
        Traceback (most recent call last):
            ...
        pycute_xe.errors.MachineError: Slm.read(address=0, nbytes=4): byte 0 was never written...
        """
        part = self._part("Slm.read", address, nbytes)
        if not self._written[part].all():
            first = address + int((~self._written[part]).argmax())
            raise MachineError(
                "Slm.read",
                {"address": address, "nbytes": nbytes},
                f"byte {first} was never written",
                "write it first, and put a barrier between",
            )
        if thread is not None:
            self._watch("Slm.read", part, thread, self._writes)
            self._reads.record(part, thread)
        return self._data[part].copy()

    def write(self, address: int, data: Bytes, thread: Progress | None = None) -> None:
        """Write bytes; `MachineError` for bounds and races.

        >>> Slm(4).write(3, np.zeros(2, dtype=np.uint8))
        Traceback (most recent call last):
            ...
        pycute_xe.errors.MachineError: Slm.write(address=3, nbytes=2): there are 4 bytes...
        """
        part = self._part("Slm.write", address, data.size)
        if thread is not None:
            self._watch("Slm.write", part, thread, self._writes, self._reads)
            self._writes.record(part, thread)
        self._data[part] = data
        self._written[part] = True

    def _part(self, operation: str, address: int, nbytes: int) -> slice:
        if address < 0 or nbytes < 0 or address + nbytes > self._data.size:
            raise MachineError(
                operation,
                {"address": address, "nbytes": nbytes},
                f"there are {self._data.size} bytes",
                "ask for more shared local memory",
            )
        return slice(address, address + nbytes)

    def _watch(self, operation: str, part: slice, thread: Progress, *earlier: _Touch) -> None:
        for touch in earlier:
            byte = touch.clash(part, thread)
            if byte is not None:
                did = "wrote" if touch is self._writes else "read"
                other = int(touch.who[byte])
                name = "another thread" if other == _SEVERAL else f"thread {other}"
                raise MachineError(
                    operation,
                    {"thread": thread.index, "byte": byte},
                    f"race: {name} {did} the byte with no barrier between",
                    "put a barrier between the two accesses",
                )
