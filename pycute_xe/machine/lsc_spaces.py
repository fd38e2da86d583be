"""What the addresses of an LSC message reach: flat memory, a surface, or shared memory.

A space reads and writes several ranges of equal size at once. Where ranges of one write overlap,
the last one stands: that is the order of the loops of the vISA manual, which elsewhere
(SCATTER_SCALED.md) calls such writes undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError
from pycute_xe.machine.memory import Bytes, Ints as Index, Memory, Pages
from pycute_xe.machine.slm import Slm
from pycute_xe.machine.trace import Progress

__all__ = ["Flat", "Index", "Shared", "Space", "Stateful", "SurfaceState", "update"]


@dataclass(frozen=True, slots=True)
class SurfaceState:
    """A buffer that messages reach by number or name: address and size in bytes.

    ``counter_address`` is where its append counter lies, if it has one.
    """

    base: int
    nbytes: int
    counter_address: int | None = None

    def __post_init__(self) -> None:
        """Refuse negative sizes."""
        if self.base < 0 or self.nbytes < 0:
            operands = {"base": self.base, "nbytes": self.nbytes}
            raise MachineError(
                "SurfaceState", operands, "base and nbytes must not be negative", "use 0 or more"
            )


class Space(Protocol):
    """Byte ranges ``addresses[i] … addresses[i] + nbytes - 1``, one row of bytes for each."""

    def read(self, addresses: Index, nbytes: int) -> Bytes:
        """Return the bytes, one row per address."""
        ...

    def write(self, addresses: Index, data: Bytes) -> None:
        """Write one row of bytes per address, in order."""
        ...

    def moved(self, addresses: Index, nbytes: int) -> int:
        """Bytes that such a read or write moves: those in bounds."""
        ...

    def valid(self, addresses: Index, nbytes: int) -> NDArray[np.bool_]:
        """Whether memory is there."""
        ...


class Flat:
    """Memory by its own addresses; `MachineError` where nothing is allocated.

    >>> memory = Memory()
    >>> base = memory.place(np.arange(8, dtype=np.uint8))
    >>> Flat(memory).read(np.array([base + 5, base]), 2).tolist()
    [[5, 6], [0, 1]]
    """

    def __init__(self, memory: Memory) -> None:
        """Reach all of a memory."""
        self._memory = memory

    def read(self, addresses: Index, nbytes: int) -> Bytes:
        """Return the bytes, one row per address."""
        data = np.empty((addresses.size, nbytes), dtype=np.uint8)
        for chosen, buffer, index in self._pieces(addresses, nbytes):
            data[chosen] = buffer[index]
        return data

    def write(self, addresses: Index, data: Bytes) -> None:
        """Write one row of bytes per address, in order; all of them, or none."""
        for chosen, buffer, index in self._pieces(addresses, data.shape[1]):
            buffer[index] = data[chosen]

    def moved(self, addresses: Index, nbytes: int) -> int:
        """All the bytes."""
        return addresses.size * nbytes

    def valid(self, addresses: Index, nbytes: int) -> NDArray[np.bool_]:
        """Whether an allocation holds each range."""
        return np.array([self._holds(int(a), nbytes) for a in addresses], dtype=np.bool_)

    def _holds(self, address: int, nbytes: int) -> bool:
        try:
            self._memory.span(address, nbytes)
        except MachineError:
            return False
        return True

    def _pieces(self, addresses: Index, nbytes: int) -> list[tuple[slice, Bytes | Pages, Index]]:
        """Parts of the addresses, each with the live bytes and where in them its ranges are."""
        if not addresses.size:
            return []
        within = np.arange(nbytes, dtype=np.int64)
        low, high = int(addresses.min()), int(addresses.max())
        try:
            buffer, start = self._memory.span(low, high + nbytes - low)
        except MachineError:
            # Several allocations: one address at a time, so that gaps between them do not matter.
            spans = [self._memory.span(int(a), nbytes) for a in addresses]
            return [
                (slice(i, i + 1), live, (at + within)[None, :])
                for i, (live, at) in enumerate(spans)
            ]
        return [(slice(None), buffer, (addresses - low + start)[:, None] + within)]


class Stateful:
    """Memory behind a surface, by offsets into it; outside it zeros are read and writes dropped.

    An element that is partly outside is outside.
    Document: vISA manual, DWORD_ATOMIC.md and SCATTER_SCALED.md, "Out-of-bound Access".

    >>> memory = Memory()
    >>> state = SurfaceState(memory.place(np.arange(8, dtype=np.uint8)), nbytes=4)
    >>> Stateful(memory, state).read(np.array([2, 3]), 2).tolist()
    [[2, 3], [0, 0]]
    """

    def __init__(self, memory: Memory, state: SurfaceState) -> None:
        """Reach one surface."""
        self._flat = Flat(memory)
        self._state = state

    def read(self, addresses: Index, nbytes: int) -> Bytes:
        """Return the bytes, one row per address, zeros outside."""
        kept = self._inside(addresses, nbytes)
        data = np.zeros((addresses.size, nbytes), dtype=np.uint8)
        data[kept] = self._flat.read(addresses[kept] + self._state.base, nbytes)
        return data

    def write(self, addresses: Index, data: Bytes) -> None:
        """Write the rows that are inside."""
        kept = self._inside(addresses, data.shape[1])
        self._flat.write(addresses[kept] + self._state.base, data[kept])

    def moved(self, addresses: Index, nbytes: int) -> int:
        """The bytes of the elements that are inside."""
        return int(self._inside(addresses, nbytes).sum()) * nbytes

    def _inside(self, addresses: Index, nbytes: int) -> NDArray[np.bool_]:
        return (addresses >= 0) & (addresses <= self._state.nbytes - nbytes)

    def valid(self, addresses: Index, nbytes: int) -> NDArray[np.bool_]:
        """Whether the surface holds each range, and memory is behind it."""
        kept = self._inside(addresses, nbytes)
        kept[kept] = self._flat.valid(addresses[kept] + self._state.base, nbytes)
        return kept


class Shared:
    """Shared local memory; bounds, unwritten bytes and races are `Slm`'s to refuse.

    Atomics of several threads may meet at a byte without a barrier; a plain access beside an
    ``atomic`` one is a race.

    >>> slm = Slm(8)
    >>> Shared(slm).write(np.array([4, 4]), np.array([[1, 2], [3, 4]], dtype=np.uint8))
    >>> Shared(slm).read(np.array([5, 4]), 1).tolist()
    [[4], [3]]
    """

    def __init__(self, slm: Slm, thread: Progress | None = None, atomic: bool = False) -> None:
        """Reach it as one thread, checked for races, or without a thread."""
        self._slm = slm
        self._thread = thread
        self._atomic = atomic

    def read(self, addresses: Index, nbytes: int) -> Bytes:
        """Return the bytes, one row per address."""
        data = self._slm.gather(_bytes(addresses, nbytes), self._thread, self._atomic)
        return data.reshape(addresses.size, nbytes)

    def write(self, addresses: Index, data: Bytes) -> None:
        """Write one row of bytes per address, in order."""
        where = _bytes(addresses, data.shape[1])
        self._slm.scatter(where, data.reshape(-1), self._thread, self._atomic)

    def moved(self, addresses: Index, nbytes: int) -> int:
        """All the bytes."""
        return addresses.size * nbytes

    def valid(self, addresses: Index, nbytes: int) -> NDArray[np.bool_]:
        """Whether the shared local memory is that large."""
        return (addresses >= 0) & (addresses <= self._slm.nbytes - nbytes)


def _bytes(addresses: Index, nbytes: int) -> Index:
    return (addresses[:, None] + np.arange(nbytes, dtype=np.int64)).reshape(-1)


# ------------------------------------------------------------ lsc atomics
# What the atomic operations of LSC make of the old value.
#
# The vISA manual (LSC_UNTYPED.md) names the operations and counts their operands, no more. Their
# meaning is its DWORD_ATOMIC.md: integers wrap, every operation returns the old value, channels
# that meet at an address are served one after the other in an order that it leaves open. Here the
# order is that of the channels. In a compare and swap src1 is compared and src2 stored (Intel's
# graphics compiler, GenXLoadStoreLowering.cpp, and FCMPWR in DWORD_ATOMIC.md).
#
# Floating-point operations round to nearest, keep subnormals and compare as numbers: zeros are
# equal, a NaN equals nothing, and a minimum or maximum prefers a number to a NaN and the old value
# to an equal one. 16 bits are binary16: the document has no operation on bfloat16.

_Values = NDArray[Any]


def _increment(old: _Values) -> _Values:
    return old + 1


def _decrement(old: _Values) -> _Values:
    return old - 1


def _keep(old: _Values) -> _Values:
    return old


def _replace(_: _Values, new: _Values) -> _Values:
    return new


def _float_min(old: _Values, new: _Values) -> _Values:
    return np.where((new < old) | np.isnan(old), new, old)


def _float_max(old: _Values, new: _Values) -> _Values:
    return np.where((new > old) | np.isnan(old), new, old)


def _swap(old: _Values, compared: _Values, new: _Values) -> _Values:
    return np.where(old == compared, new, old)


# How each reads its operands (unsigned, signed, floating), and what it makes of the old value.
_OPERATIONS: Final[dict[str, tuple[str, Callable[..., _Values]]]] = {
    "iinc": ("u", _increment),
    "idec": ("u", _decrement),
    "load": ("u", _keep),
    "store": ("u", _replace),
    "iadd": ("u", np.add),
    "isub": ("u", np.subtract),
    "smin": ("i", np.minimum),
    "smax": ("i", np.maximum),
    "umin": ("u", np.minimum),
    "umax": ("u", np.maximum),
    "icas": ("u", _swap),
    "fadd": ("f", np.add),
    "fsub": ("f", np.subtract),
    "fmin": ("f", _float_min),
    "fmax": ("f", _float_max),
    "fcas": ("f", _swap),
    "and": ("u", np.bitwise_and),
    "or": ("u", np.bitwise_or),
    "xor": ("u", np.bitwise_xor),
}


def update(
    name: str, space: Space, addresses: Index, size: int, *sources: Bytes, returns: bool = True
) -> Bytes:
    """Apply an atomic operation at each address in order, and return the old bytes, row by row.

    ``name`` is without ``atomic_``; elements have ``size`` bytes, and addresses are multiples of
    it. Each of the ``sources``, as many as the operation takes, has a row of bytes per address.
    A store that does not return the old bytes (``returns``) reads none, and returns zeros.
    Raises `MachineError` for a misaligned address, and for floating point of 8 bits.

    >>> from pycute_xe.machine.lsc_spaces import Flat
    >>> from pycute_xe.machine.memory import Memory
    >>> memory = Memory()
    >>> at = memory.place(np.array([10], dtype=np.uint32))
    >>> source = np.array([1, 2], dtype=np.uint32).view(np.uint8).reshape(2, 4)
    >>> old = update("iadd", Flat(memory), np.array([at, at]), 4, source)
    >>> old.view(np.uint32).tolist(), memory.array(at, (1,), np.uint32).tolist()
    ([[10], [11]], [13])
    """
    letter, new = _OPERATIONS[name]
    _check(name, letter, addresses, size)
    kind = np.dtype(f"{letter}{size}")
    old_values = np.zeros((addresses.size, size), dtype=np.uint8)
    if name == "store" and not returns:
        space.write(addresses, sources[0])
        return old_values
    with np.errstate(all="ignore"):
        for group in _rounds(addresses):
            old = space.read(addresses[group], size)
            old_values[group] = old
            if name != "load":
                value = new(old.view(kind), *(source[group].view(kind) for source in sources))
                space.write(addresses[group], np.ascontiguousarray(value).view(np.uint8))
    return old_values


def _check(name: str, letter: str, addresses: Index, size: int) -> None:
    if letter == "f" and size == 1:
        raise MachineError(
            f"atomic_{name}",
            {"bytes": size},
            "no floating-point type has 8 bits here",
            "use d16u32",
        )
    crooked = addresses[addresses % size != 0]
    if crooked.size:
        raise MachineError(
            f"atomic_{name}",
            {"address": int(crooked[0]), "bytes": size},
            "the address is not a multiple of the element size",
            "align the address",
        )


def _rounds(addresses: Index) -> Iterator[slice]:
    """All at once where no two meet; else one after the other."""
    if np.unique(addresses).size == addresses.size:
        yield slice(None)
        return
    for i in range(addresses.size):
        yield slice(i, i + 1)
