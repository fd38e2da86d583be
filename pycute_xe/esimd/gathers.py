"""Elements at an address of each lane: gathers and scatters of global and shared memory.

With several elements per address (NElts) data is in structure-of-arrays order, *element-major*:
element e of lane n is at ``e * N + n``, for loads and stores alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pycute_xe.esimd.blocks import elements_of, from_bytes
from pycute_xe.esimd.checks import tokens
from pycute_xe.esimd.lanes import (
    Index,
    advise_block,
    check_aligned,
    check_elements,
    count_banks,
    data_size,
    flags_of,
    offsets_of,
)
from pycute_xe.esimd.pointers import Pointer, pointer_of
from pycute_xe.esimd.sending import Hints, scattered
from pycute_xe.esimd.simd import Vector, simd
from pycute_xe.esimd.threads import Thread, current
from pycute_xe.esimd.types import Type, cache_hint, dtype_of, lsc_data_size
from pycute_xe.signatures import typed

__all__ = [
    "gather",
    "gather_at",
    "lsc_gather",
    "lsc_scatter",
    "scatter",
    "scatter_at",
]

_NONE = cache_hint.none
_DEFAULT = lsc_data_size.default_size


@typed
def gather(
    T: Type,
    N: int,
    ptr: Pointer,
    offsets: Any,
    pred: Any = None,
    *,
    l1: cache_hint = _NONE,
    l3: cache_hint = _NONE,
) -> simd:
    """Return the element at ``ptr`` plus each of N byte offsets.

    Lanes that the mask ``pred`` turns off hold undefined values, here bytes of all ones.
    C++: ``gather<T, N>(ptr, offsets, pred)``. Document: Intel ESIMD LSC 2D guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, x, y):
    ...     last_first = esimd.simd("u32", 4, [12, 8, 4, 0])
    ...     esimd.block_store("f32", 4, y, esimd.gather("f32", 4, x, last_first))
    >>> x, y = np.arange(4, dtype=np.float32), np.zeros(4, dtype=np.float32)
    >>> run = esimd.launch(kernel, x, y)
    >>> y.tolist()
    [3.0, 2.0, 1.0, 0.0]
    """
    found, hints = offsets_of("gather", N, offsets), tokens("gather", l1, l3)
    return _from_global("gather", T, ptr, found, 1, pred, hints)


def scatter(
    T: Type,
    N: int,
    ptr: Pointer,
    offsets: Any,
    data: Any,
    pred: Any = None,
    *,
    l1: cache_hint = _NONE,
    l3: cache_hint = _NONE,
) -> None:
    """Store an element at ``ptr`` plus each of N byte offsets; of equal ones the last lane stays.

    C++: ``scatter<T, N>(ptr, offsets, data, pred)``. Document: Intel ESIMD LSC 2D guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, y):
    ...     esimd.scatter("u8", 2, y, esimd.simd("u32", 2, [3, 1]), esimd.simd("u8", 2, [7, 8]))
    >>> y = np.zeros(4, dtype=np.uint8)
    >>> run = esimd.launch(kernel, y)
    >>> y.tolist()
    [0, 8, 0, 7]
    """
    found = offsets_of("scatter", N, offsets)
    _to_global("scatter", T, ptr, found, data, 1, pred, tokens("scatter", l1, l3))


def lsc_gather(
    T: Type,
    ptr: Pointer,
    offsets: Any,
    pred: Any = None,
    *,
    nelts: int = 1,
    ds: lsc_data_size = _DEFAULT,
    l1: cache_hint = _NONE,
    l3: cache_hint = _NONE,
) -> simd:
    """Return ``nelts`` adjacent elements from each address on, element-major.

    Law: ``result[e * N + n]`` is the element at ``ptr + offsets[n] + e * sizeof(T)``.
    C++: ``lsc_gather<T, NElts, DS, L1, L3, N>(ptr, offsets, pred)``. Document: Xe2 DPAS patterns.

    >>> from pycute_xe import esimd
    >>> def kernel(item, x, y):
    ...     rows = esimd.simd("u32", 2, [0, 8])
    ...     esimd.block_store("u32", 4, y, esimd.lsc_gather("u32", x, rows, nelts=2))
    >>> x, y = np.arange(4, dtype=np.uint32), np.zeros(4, dtype=np.uint32)
    >>> run = esimd.launch(kernel, x, y)
    >>> y.tolist()
    [0, 2, 1, 3]
    """
    data_size("lsc_gather", T, ds)
    found = offsets_of("lsc_gather", None, offsets)
    return _from_global("lsc_gather", T, ptr, found, nelts, pred, tokens("lsc_gather", l1, l3))


def lsc_scatter(
    T: Type,
    ptr: Pointer,
    offsets: Any,
    data: Any,
    pred: Any = None,
    *,
    nelts: int = 1,
    ds: lsc_data_size = _DEFAULT,
    l1: cache_hint = _NONE,
    l3: cache_hint = _NONE,
) -> None:
    """Store ``nelts`` adjacent elements from each address on, ``data`` element-major.

    Lint PX207 where the data was put together address by address.
    C++: ``lsc_scatter<T, NElts, DS, L1, L3, N>(ptr, offsets, data, pred)``.
    Document: Xe2 DPAS patterns, Usage 2 write-back.

    >>> from pycute_xe import esimd
    >>> def kernel(item, y):
    ...     rows, data = esimd.simd("u32", 2, [0, 8]), esimd.simd("u32", 4, [0, 2, 1, 3])
    ...     esimd.lsc_scatter("u32", y, rows, data, nelts=2)
    >>> y = np.zeros(4, dtype=np.uint32)
    >>> run = esimd.launch(kernel, y)
    >>> y.tolist()
    [0, 1, 2, 3]
    """
    data_size("lsc_scatter", T, ds)
    found = offsets_of("lsc_scatter", None, offsets)
    _to_global("lsc_scatter", T, ptr, found, data, nelts, pred, tokens("lsc_scatter", l1, l3))


def gather_at(
    thread: Thread,
    operation: str,
    sfid: str,
    kind: np.dtype[Any],
    starts: Index,
    nelts: int,
    pred: Any,
    hints: Hints = ("df", "df"),
) -> simd:
    """Return elements from byte addresses, element-major; what all gathers share."""
    size = check_elements(operation, kind, nelts)
    check_aligned(thread, operation, sfid, kind, starts)
    flags = flags_of(operation, pred, starts.size)
    found = scattered(thread, "load", sfid, starts, (nelts, size), flags, hints)
    count_banks(thread, operation, sfid, starts, flags, nelts * size)
    result = from_bytes(kind, found)
    result.record.plain_tile = kind.itemsize < 4
    result.record.origin = "load"
    return result


def scatter_at(
    thread: Thread,
    operation: str,
    sfid: str,
    kind: np.dtype[Any],
    starts: Index,
    data: Any,
    nelts: int,
    pred: Any,
    hints: Hints = ("df", "df"),
) -> None:
    """Store elements to byte addresses, element-major; what all scatters share."""
    size = check_elements(operation, kind, nelts)
    lanes = starts.size
    if isinstance(data, Vector) and data.history().interleaved(lanes, nelts):
        condition = f"the data was filled by select({lanes}, {nelts}, e): lane by lane"
        raise thread.error("PX207", operation, {"N": lanes, "NElts": nelts}, condition)
    check_aligned(thread, operation, sfid, kind, starts)
    flags = flags_of(operation, pred, lanes)
    found = elements_of(operation, kind, lanes * nelts, data).reshape(nelts, lanes, size)
    scattered(thread, "store", sfid, starts, found, flags, hints)
    count_banks(thread, operation, sfid, starts, flags, nelts * size)


def _from_global(
    operation: str,
    T: Type,
    ptr: Pointer,
    offsets: Index,
    nelts: int,
    pred: Any,
    hints: Hints,
) -> simd:
    thread, kind = current(operation), dtype_of(T)
    base = pointer_of(operation, ptr, T).address
    advise_block(thread, operation, kind, offsets, nelts, pred)
    return gather_at(thread, operation, "ugm", kind, base + offsets, nelts, pred, hints)


def _to_global(
    operation: str,
    T: Type,
    ptr: Pointer,
    offsets: Index,
    data: Any,
    nelts: int,
    pred: Any,
    hints: Hints,
) -> None:
    thread, kind = current(operation), dtype_of(T)
    base = pointer_of(operation, ptr, T).address
    advise_block(thread, operation, kind, offsets, nelts, pred)
    scatter_at(thread, operation, "ugm", kind, base + offsets, data, nelts, pred, hints)
