"""Shared local memory: blocks of it, gathers and scatters. Offsets count bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycute_xe.esimd.blocks import elements_of, from_bytes, one_by_one, whole_dwords
from pycute_xe.esimd.checks import whole
from pycute_xe.esimd.gathers import gather_at, scatter_at
from pycute_xe.esimd.lanes import data_size, offsets_of
from pycute_xe.esimd.props import Asked, alignment, asked, properties
from pycute_xe.esimd.reserving import ready
from pycute_xe.esimd.rows import forget, overlapped
from pycute_xe.esimd.sending import block, scattered
from pycute_xe.esimd.simd import array_of, simd
from pycute_xe.esimd.threads import Thread
from pycute_xe.esimd.types import Type, dtype_of, lsc_data_size

__all__ = ["lsc_slm_gather", "lsc_slm_scatter", "slm_block_load", "slm_block_store"]

_DEFAULT = lsc_data_size.default_size
_PLAIN = ("df", "df")


def slm_block_load(
    T: Type,
    N: int,
    byte_offset: int,
    *given: alignment | properties,
    alignment: int | None = None,
) -> simd:
    """Return N adjacent elements from a byte offset on.

    They take a whole number of dwords, and the offset is a multiple of 4 bytes (of 8 for 64-bit
    elements), or of the ``alignment`` that is given; below a dword the elements move one by one.
    C++ takes 16 bytes for granted where none is given.
    Lints: PX201 before slm_init, PX204 and PX214 for a misaligned offset, PX206 for a race,
    PX209 for bytes never stored, PX210 beyond the end, PX212 for unusual sizes.
    C++: ``slm_block_load<T, N>(byte_offset)``. Document: Intel ESIMD LSC SLM guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, y):
    ...     esimd.slm_init(1024)
    ...     i = item.get_local_id(0)
    ...     esimd.slm_block_store("u32", 8, 32 * i, esimd.simd("u32", 8, 10 + i))
    ...     yield esimd.barrier()
    ...     esimd.block_store("u32", 8, y + 8 * i, esimd.slm_block_load("u32", 8, 32 * (i ^ 1)))
    >>> y = np.zeros((4, 8), dtype=np.uint32)
    >>> run = esimd.launch(kernel, y, threads=4)
    >>> y[:, 0].tolist()
    [11, 10, 13, 12]
    """
    thread, kind = ready("slm_block_load"), dtype_of(T)
    how = asked("slm_block_load", given, nbytes=alignment)
    nbytes = whole_dwords("slm_block_load", kind, N)
    start, split = _offset(thread, "slm_block_load", kind, N, byte_offset, how)
    forget(thread.group.rows, start, start + nbytes)
    if split:
        starts = start + np.arange(N) * kind.itemsize
        moved = scattered(thread, "load", "slm", starts, (1, kind.itemsize), None, _PLAIN)
        return from_bytes(kind, moved)
    return from_bytes(kind, block(thread, "load", "slm", start, nbytes, _PLAIN))


def slm_block_store(
    T: Type,
    N: int,
    byte_offset: int,
    data: Any,
    *given: alignment | properties,
    alignment: int | None = None,
) -> None:
    """Store N adjacent elements from a byte offset on; conditions and lints as `slm_block_load`.

    Lint PX204 where it overlaps another thread's store with no barrier between, PX215 where it
    overlaps a row that the same statement stored.
    C++: ``slm_block_store<T, N>(byte_offset, data)``. Document: Intel ESIMD LSC SLM guide.

    >>> from pycute_xe import esimd
    >>> esimd.launch(lambda item: esimd.slm_block_store("f16", 128, 0, 0))
    Traceback (most recent call last):
        ...
    pycute_xe.esimd.lint.EsimdError: PX201 no-slm-init: slm_block_store(...
    """
    thread, kind = ready("slm_block_store"), dtype_of(T)
    how = asked("slm_block_store", given, nbytes=alignment)
    nbytes = whole_dwords("slm_block_store", kind, N)
    start, split = _offset(thread, "slm_block_store", kind, N, byte_offset, how)
    values = array_of(data, "slm_block_store")
    repeated = np.broadcast_to(values, (N,)) if values.ndim == 0 else data
    bytes_ = elements_of("slm_block_store", kind, N, repeated)
    if split:
        starts = start + np.arange(N) * kind.itemsize
        parts = bytes_.reshape(1, N, kind.itemsize)
        scattered(thread, "store", "slm", starts, parts, None, _PLAIN)
    else:
        block(thread, "store", "slm", start, bytes_, _PLAIN)
    other = overlapped(thread, start, nbytes)
    if other is not None:
        condition = f"bytes {start} to {start + nbytes - 1} overlap the block from {other} on"
        thread.record("PX215", "slm_block_store", f"{condition}, which no thread has loaded")


def lsc_slm_gather(
    T: Type,
    offsets: Any,
    pred: Any = None,
    *,
    nelts: int = 1,
    ds: lsc_data_size = _DEFAULT,
) -> simd:
    """Return ``nelts`` adjacent elements from each byte offset on, element-major.

    Law: ``result[e * N + n]`` is the element at ``offsets[n] + e * sizeof(T)``. Lints as of
    `slm_block_load`; PX208 is recorded where lanes take turns at a bank.
    C++: ``lsc_slm_gather<T, NElts, DS, N>(offsets, pred)``. Document: Intel ESIMD LSC SLM guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, y):
    ...     esimd.slm_init(64)
    ...     esimd.slm_block_store("u16", 4, 0, [1, 2, 3, 4])
    ...     swapped = esimd.lsc_slm_gather("u16", esimd.simd("u32", 4, [2, 0, 6, 4]))
    ...     esimd.block_store("u16", 4, y, swapped)
    >>> y = np.zeros(4, dtype=np.uint16)
    >>> run = esimd.launch(kernel, y)
    >>> y.tolist()
    [2, 1, 4, 3]
    """
    thread, kind = ready("lsc_slm_gather"), _typed("lsc_slm_gather", T, ds)
    starts = offsets_of("lsc_slm_gather", None, offsets)
    found = gather_at(thread, "lsc_slm_gather", "slm", kind, starts, nelts, pred)
    if starts.size:
        forget(thread.group.rows, int(starts.min()), int(starts.max()) + nelts * kind.itemsize)
    return found


def lsc_slm_scatter(
    T: Type,
    offsets: Any,
    data: Any,
    pred: Any = None,
    *,
    nelts: int = 1,
    ds: lsc_data_size = _DEFAULT,
) -> None:
    """Store ``nelts`` adjacent elements from each byte offset on, ``data`` element-major.

    Lint PX207 where the data was put together address by address, the others as of
    `lsc_slm_gather`.
    C++: ``lsc_slm_scatter<T, NElts, DS, N>(offsets, data, pred)``.
    Document: Intel ESIMD LSC SLM guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, y):
    ...     esimd.slm_init(64)
    ...     data = esimd.simd("u32", 4)
    ...     data.select(2, 1, 0)[:] = [1, 2]
    ...     data.select(2, 1, 2)[:] = [3, 4]
    ...     esimd.lsc_slm_scatter("u32", esimd.simd("u32", 2, [8, 0]), data, nelts=2)
    ...     esimd.block_store("u32", 4, y, esimd.slm_block_load("u32", 4, 0))
    >>> y = np.zeros(4, dtype=np.uint32)
    >>> run = esimd.launch(kernel, y)
    >>> y.tolist()
    [2, 4, 1, 3]
    """
    thread, kind = ready("lsc_slm_scatter"), _typed("lsc_slm_scatter", T, ds)
    starts = offsets_of("lsc_slm_scatter", None, offsets)
    if kind.itemsize < 4:
        thread.record("PX213", "lsc_slm_scatter", f"elements have {8 * kind.itemsize} bits")
    scatter_at(thread, "lsc_slm_scatter", "slm", kind, starts, data, nelts, pred)


def _offset(
    thread: Thread, operation: str, kind: np.dtype[Any], N: int, byte_offset: Any, how: Asked
) -> tuple[int, bool]:
    """Where a block starts, and whether its elements move one by one.

    PX204, PX210 and PX214 for wrong offsets, PX212 for unusual sizes.
    """
    if N & (N - 1) or not 8 <= N <= 512:
        usual = "not a power of two" if N & (N - 1) else "not 8 to 512"
        thread.record("PX212", operation, f"N is {N}, {usual}")
    (start,) = whole(operation, byte_offset=byte_offset)
    if start % kind.itemsize:
        condition = f"the offset is not a multiple of {max(4, kind.itemsize)} bytes"
        raise thread.error("PX204", operation, {"byte_offset": start}, condition)
    split = one_by_one(thread, operation, kind, start, how, "PX214", "offset")
    if start < 0:
        raise thread.error("PX210", operation, {"byte_offset": start}, "the offset is negative")
    return start, split


def _typed(operation: str, T: Type, ds: lsc_data_size) -> np.dtype[Any]:
    data_size(operation, T, ds)
    return dtype_of(T)
