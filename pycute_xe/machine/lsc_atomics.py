"""Floor 8: what the atomic operations of LSC make of the old value.

The vISA manual (LSC_UNTYPED.md) names the operations and counts their operands, no more. Their
meaning is its DWORD_ATOMIC.md: integers wrap, every operation returns the old value, channels that
meet at an address are served one after the other in an order that it leaves open. Here the order
is that of the channels. In a compare and swap src1 is compared and src2 stored (Intel's graphics
compiler, GenXLoadStoreLowering.cpp, and FCMPWR in DWORD_ATOMIC.md).

Floating-point operations round to nearest, keep subnormals and compare as numbers: zeros are
equal, a NaN equals nothing, and a minimum or maximum prefers a number to a NaN and the old value
to an equal one. 16 bits are binary16: the document has no operation on bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError
from pycute_xe.machine.lsc_spaces import Index, Space
from pycute_xe.machine.memory import Bytes

__all__ = ["update"]

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
    found = np.zeros((addresses.size, size), dtype=np.uint8)
    if name == "store" and not returns:
        space.write(addresses, sources[0])
        return found
    with np.errstate(all="ignore"):
        for group in _rounds(addresses):
            old = space.read(addresses[group], size)
            found[group] = old
            if name != "load":
                value = new(old.view(kind), *(source[group].view(kind) for source in sources))
                space.write(addresses[group], np.ascontiguousarray(value).view(np.uint8))
    return found


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
