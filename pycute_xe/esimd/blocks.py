"""Adjacent elements of global memory: ``block_load`` and ``block_store``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import ShapeError
from pycute_xe.esimd.messages import block, scattered
from pycute_xe.esimd.props import Asked, Pointer, alignment, asked, pointer_of, properties
from pycute_xe.esimd.threads import Thread, current
from pycute_xe.esimd.types import Type, cache_hint, dtype_of, whole
from pycute_xe.esimd.vectors import array_of, simd
from pycute_xe.facts import rows

__all__ = [
    "block_load",
    "block_store",
    "elements_of",
    "from_bytes",
    "one_by_one",
    "whole_dwords",
]

_NONE = cache_hint.none
_MEASURED = {
    (str(row["l1"]), str(row["l3"])): str(row["measured"])
    for row in rows("esimd", "block_store_hints")
}


def block_load(
    T: Type,
    N: int,
    ptr: Pointer,
    *given: alignment | properties,
    l1: cache_hint = _NONE,
    l2: cache_hint = _NONE,
    l3: cache_hint = _NONE,
    alignment: int | None = None,
) -> simd:
    """Return the N elements from a pointer on.

    They take a whole number of dwords, and the address is a multiple of 4 bytes (of 8 for 64-bit
    elements), or of the ``alignment`` that is given; below a dword the elements move one by one.
    ``given`` are `properties` or an `overaligned_tag`, which keywords can say as well.
    Lints PX113 for accesses outside the array, PX115 for addresses that are misaligned.
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
    how = asked("block_load", given, l1, l3, l2, alignment)
    address = pointer_of("block_load", ptr, T).address
    nbytes = whole_dwords("block_load", kind, N)
    if _one_by_one(thread, "block_load", kind, address, how):
        starts = address + np.arange(N) * kind.itemsize
        size = (1, kind.itemsize)
        moved = scattered(thread, "load", "ugm", starts, size, None, how.tokens("block_load"))
        return from_bytes(kind, moved)
    hints = how.tokens("block_load")
    return from_bytes(kind, block(thread, "load", "ugm", address, nbytes, hints))


def block_store(
    T: Type,
    N: int,
    ptr: Pointer,
    data: Any,
    *given: alignment | properties,
    l1: cache_hint = _NONE,
    l2: cache_hint = _NONE,
    l3: cache_hint = _NONE,
    alignment: int | None = None,
) -> None:
    """Store N elements from a pointer on.

    Conditions as for `block_load`. Lint PX112 is recorded where cache hints are given.
    C++: ``block_store<T, N>(ptr, data, properties{…})``. Document: Intel ESIMD LSC 2D guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, y):
    ...     esimd.block_store("u16", 2, y, esimd.simd("u16", 2, item.get_local_id(0)))
    >>> y = np.ones(2, dtype=np.uint16)
    >>> esimd.launch(kernel, y, threads=1).nbytes["store"], y.tolist()
    (4, [0, 0])
    """
    thread, kind = current("block_store"), dtype_of(T)
    how = asked("block_store", given, l1, l3, l2, alignment)
    hints = how.tokens("block_store")
    if how.hinted:
        pair = f"{how.l1.name}, {how.l3.name}"
        known = _MEASURED.get(hints)
        what = f"it has the hints {pair}" + (f", measured {known}" if known else "")
        thread.record("PX112", "block_store", what)
    address = pointer_of("block_store", ptr, T).address
    whole_dwords("block_store", kind, N)
    bytes_ = elements_of("block_store", kind, N, data)
    if _one_by_one(thread, "block_store", kind, address, how):
        starts = address + np.arange(N) * kind.itemsize
        split = bytes_.reshape(1, N, kind.itemsize)
        scattered(thread, "store", "ugm", starts, split, None, hints)
        return
    block(thread, "store", "ugm", address, bytes_, hints)


def _one_by_one(
    thread: Thread, operation: str, kind: np.dtype[Any], address: int, how: Asked
) -> bool:
    """Whether elements move one by one: their alignment is below a dword. PX115 if it is wrong."""
    return one_by_one(thread, operation, kind, address, how, "PX115", "address")


def one_by_one(
    thread: Thread,
    operation: str,
    kind: np.dtype[Any],
    start: int,
    how: Asked,
    code: str,
    name: str,
) -> bool:
    """Whether the elements of a block move one by one, as its alignment says; a lint if it lies.

    Below the size of an element an alignment promises nothing that helps: the lint again.
    """
    unit = max(4, kind.itemsize)
    promised = unit if how.nbytes is None else max(how.nbytes, kind.itemsize)
    if start % promised:
        promise = "" if how.nbytes is None else ", which alignment promises"
        operands = {name: hex(start) if name == "address" else start}
        condition = f"the {name} is not a multiple of {promised} bytes{promise}"
        raise thread.error(code, operation, operands, condition)
    if promised >= unit:
        return False
    if how.hinted:
        condition = f"with cache hints the {name} must be a multiple of {unit} bytes"
        raise thread.error(code, operation, {"alignment": promised}, condition)
    return True


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
    """Return bytes as a vector that was loaded."""
    content = np.zeros(0, dtype=np.uint8) if data is None else data
    made = simd.wrap(np.ascontiguousarray(content).reshape(-1).view(kind))
    made.record.origin = "load"
    return made


def elements_of(operation: str, kind: np.dtype[Any], N: int, data: Any) -> NDArray[np.uint8]:
    """Return the bytes of data to store, converted to the type; `ShapeError` for another size."""
    elements = array_of(data, operation)
    if elements.size != N:
        raise ShapeError(
            operation,
            {"T": kind, "N": N, "data": elements.size},
            f"the data has {elements.size} elements, not {N}",
            f"give {N} elements",
        )
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(elements.reshape(-1).astype(kind)).view(np.uint8)
