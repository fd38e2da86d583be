"""Adjacent elements of global memory: ``block_load`` and ``block_store``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import ShapeError
from pycute_xe.esimd.checks import tokens, whole
from pycute_xe.esimd.pointers import Pointer, pointer_of
from pycute_xe.esimd.sending import block
from pycute_xe.esimd.simd import array_of, simd
from pycute_xe.esimd.threads import Thread, current
from pycute_xe.esimd.types import Type, cache_hint, dtype_of

__all__ = ["block_load", "block_store", "elements_of", "from_bytes", "whole_dwords"]

_NONE = cache_hint.none


def block_load(
    T: Type, N: int, ptr: Pointer, *, l1: cache_hint = _NONE, l3: cache_hint = _NONE
) -> simd:
    """Return the N elements from a pointer on.

    They take a whole number of dwords, and the address is a multiple of 4 bytes (of 8 for 64-bit
    elements). Lint PX113 for accesses outside the array or misaligned.
    C++: ``block_load<T, N>(ptr, properties{…})``. Document: Intel ESIMD LSC 2D guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, x, y):
    ...     esimd.block_store("f32", 4, y, esimd.block_load("f32", 4, x + 2) * 2)
    >>> x, y = np.arange(8, dtype=np.float32), np.zeros(4, dtype=np.float32)
    >>> run = esimd.launch(kernel, x, y, threads=1)
    >>> y.tolist(), run.messages[0].text
    ([4.0, 6.0, 8.0, 10.0], 'lsc_load.ugm (M1,1) V2:d64x2t flat[V1]:a64')
    """
    thread, kind = current("block_load"), dtype_of(T)
    address = pointer_of("block_load", ptr, T).address
    nbytes = _aligned(thread, "block_load", kind, N, address)
    hints = tokens("block_load", l1, l3)
    return from_bytes(kind, block(thread, "load", "ugm", address, nbytes, hints))


def block_store(
    T: Type,
    N: int,
    ptr: Pointer,
    data: Any,
    *,
    l1: cache_hint = _NONE,
    l3: cache_hint = _NONE,
) -> None:
    """Store N elements from a pointer on.

    Conditions as for `block_load`. Lint PX112 is recorded where cache hints are given.
    C++: ``block_store<T, N>(ptr, data)``. Document: Intel ESIMD LSC 2D guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, y):
    ...     esimd.block_store("u16", 2, y, esimd.simd("u16", 2, item.get_local_id(0)))
    >>> y = np.ones(2, dtype=np.uint16)
    >>> esimd.launch(kernel, y, threads=1).nbytes["store"], y.tolist()
    (4, [0, 0])
    """
    thread, kind = current("block_store"), dtype_of(T)
    hints = tokens("block_store", l1, l3)
    if (l1, l3) != (_NONE, _NONE):
        thread.record("PX112", "block_store", f"it has the hints {l1.name}, {l3.name}")
    address = pointer_of("block_store", ptr, T).address
    _aligned(thread, "block_store", kind, N, address)
    bytes_ = elements_of("block_store", kind, N, data)
    block(thread, "store", "ugm", address, bytes_, hints)


def _aligned(thread: Thread, operation: str, kind: np.dtype[Any], N: int, address: int) -> int:
    nbytes = whole_dwords(operation, kind, N)
    unit = max(4, kind.itemsize)
    if address % unit:
        operands = {"address": hex(address)}
        condition = f"the address is not a multiple of {unit} bytes"
        raise thread.error("PX113", operation, operands, condition)
    return nbytes


def whole_dwords(operation: str, kind: np.dtype[Any], N: int) -> int:
    """Return the bytes of N elements; `ShapeError` unless they fill whole dwords."""
    (count,) = whole(operation, N=N)
    nbytes = count * kind.itemsize
    if count < 1 or nbytes % 4:
        raise ShapeError(
            operation,
            {"T": kind, "N": N},
            f"a block must fill whole dwords, not {nbytes} bytes",
            "move more elements, or use gather and scatter",
        )
    return nbytes


def from_bytes(kind: np.dtype[Any], data: NDArray[np.uint8] | None) -> simd:
    """Return bytes as a vector."""
    found = np.zeros(0, dtype=np.uint8) if data is None else data
    return simd.wrap(np.ascontiguousarray(found).reshape(-1).view(kind))


def elements_of(operation: str, kind: np.dtype[Any], N: int, data: Any) -> NDArray[np.uint8]:
    """Return the bytes of data to store, converted to the type; `ShapeError` for another size."""
    found = array_of(data, operation)
    if found.size != N:
        raise ShapeError(
            operation,
            {"T": kind, "N": N, "data": found.size},
            f"the data has {found.size} elements, not {N}",
            f"give {N} elements",
        )
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(found.reshape(-1).astype(kind)).view(np.uint8)
