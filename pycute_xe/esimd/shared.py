"""Shared local memory: blocks of it, gathers and scatters. Offsets count bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pycute_xe.esimd.blocks import elements_of, from_bytes, one_by_one, whole_dwords
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
from pycute_xe.esimd.messages import Hints, block, scattered
from pycute_xe.esimd.props import Asked, Pointer, alignment, asked, pointer_of, properties
from pycute_xe.esimd.reserving import ready
from pycute_xe.esimd.threads import Rows, Thread, current
from pycute_xe.esimd.types import Type, cache_hint, dtype_of, lsc_data_size, tokens, whole
from pycute_xe.esimd.vectors import Vector, array_of, simd
from pycute_xe.signatures import typed

__all__ = [
    "lsc_slm_gather",
    "lsc_slm_scatter",
    "slm_block_load",
    "slm_block_store",
    "gather",
    "lsc_gather",
    "lsc_scatter",
    "scatter",
]

# ------------------------------------------------------------ gathers
# Elements at an address of each lane: gathers and scatters of global and shared memory.
#
# With several elements per address (NElts) data is in structure-of-arrays order, *element-major*:
# element e of lane n is at ``e * N + n``, for loads and stores alike.

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
    l2: cache_hint = _NONE,
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
    return _in_memory("gather", T, ptr, N, offsets, 1, pred, l1, l3, l2).gather()


def scatter(
    T: Type,
    N: int,
    ptr: Pointer,
    offsets: Any,
    data: Any,
    pred: Any = None,
    *,
    l1: cache_hint = _NONE,
    l2: cache_hint = _NONE,
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
    _in_memory("scatter", T, ptr, N, offsets, 1, pred, l1, l3, l2).scatter(data)


def lsc_gather(
    T: Type,
    ptr: Pointer,
    offsets: Any,
    pred: Any = None,
    *,
    nelts: int = 1,
    ds: lsc_data_size = _DEFAULT,
    l1: cache_hint = _NONE,
    l2: cache_hint = _NONE,
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
    return _in_memory("lsc_gather", T, ptr, None, offsets, nelts, pred, l1, l3, l2).gather()


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
    l2: cache_hint = _NONE,
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
    _in_memory("lsc_scatter", T, ptr, None, offsets, nelts, pred, l1, l3, l2).scatter(data)


@dataclass(frozen=True, slots=True)
class _Access:
    """Elements at byte addresses, element-major; what all gathers and scatters share."""

    thread: Thread
    operation: str
    sfid: str
    kind: np.dtype[Any]
    starts: Index
    nelts: int
    pred: Any
    hints: Hints = ("df", "df")

    def gather(self) -> simd:
        """Return the elements."""
        thread, operation, kind, starts = self.thread, self.operation, self.kind, self.starts
        size = check_elements(operation, kind, self.nelts)
        check_aligned(thread, operation, self.sfid, kind, starts)
        flags = flags_of(operation, self.pred, starts.size)
        shape = (self.nelts, size)
        content = scattered(thread, "load", self.sfid, starts, shape, flags, self.hints)
        count_banks(thread, operation, self.sfid, starts, flags, self.nelts * size)
        result = from_bytes(kind, content)
        result.record.plain_tile = kind.itemsize < 4
        result.record.origin = "load"
        result.record.extents = self._extents()
        return result

    def _extents(self) -> tuple[int | None, int | None]:
        """Columns and rows of the array behind equally distant lanes: an element, then a lane."""
        apart = np.unique(np.diff(self.starts))
        if self.sfid != "ugm" or apart.size != 1 or (pitch := int(apart[0])) < 1:
            return None, None
        nbytes = self.thread.machine.array_bytes(int(self.starts[0]))
        return pitch // self.kind.itemsize, None if nbytes is None else nbytes // pitch

    def scatter(self, data: Any) -> None:
        """Store elements."""
        thread, operation, kind, starts = self.thread, self.operation, self.kind, self.starts
        size, lanes, nelts = check_elements(operation, kind, self.nelts), starts.size, self.nelts
        if isinstance(data, Vector) and data.history().interleaved(lanes, nelts):
            condition = f"the data was filled by select({lanes}, {nelts}, e): lane by lane"
            raise thread.error("PX207", operation, {"N": lanes, "NElts": nelts}, condition)
        check_aligned(thread, operation, self.sfid, kind, starts)
        flags = flags_of(operation, self.pred, lanes)
        content = elements_of(operation, kind, lanes * nelts, data).reshape(nelts, lanes, size)
        scattered(thread, "store", self.sfid, starts, content, flags, self.hints)
        count_banks(thread, operation, self.sfid, starts, flags, nelts * size)


def _in_memory(
    operation: str, T: Type, ptr: Pointer, N: int | None, offsets: Any, nelts: int, pred: Any,
    l1: cache_hint, l3: cache_hint, l2: cache_hint,
) -> _Access:  # fmt: skip
    """An access to global memory."""
    starts, hints = offsets_of(operation, N, offsets), tokens(operation, l1, l3, l2)
    thread, kind = current(operation), dtype_of(T)
    base = pointer_of(operation, ptr, T).address
    advise_block(thread, operation, kind, starts, nelts, pred)
    return _Access(thread, operation, "ugm", kind, base + starts, nelts, pred, hints)


def _in_shared(
    operation: str, T: Type, offsets: Any, nelts: int, pred: Any, ds: lsc_data_size
) -> _Access:
    """An access to shared local memory."""
    thread = ready(operation)
    data_size(operation, T, ds)
    starts = offsets_of(operation, None, offsets)
    return _Access(thread, operation, "slm", dtype_of(T), starts, nelts, pred)


# ------------------------------------------------------------ rows
# Blocks that threads stored to shared local memory and none has loaded yet, for lint PX215.


def forget(rows: Rows, start: int, end: int) -> None:
    """Drop the blocks that a load touches.

    >>> rows = {(0, "here"): (1, 64, [0, 64])}
    >>> forget(rows, 60, 70)
    >>> rows[0, "here"]
    (1, 64, [])
    """
    for key, (interval, nbytes, starts) in rows.items():
        kept = [at for at in starts if at + nbytes <= start or end <= at]
        rows[key] = (interval, nbytes, kept)


def overlapped(thread: Thread, start: int, nbytes: int) -> int | None:
    """Note a block; return where one starts that it overlaps in part, of this statement.

    Blocks of another size, and those before the last barrier, do not count.
    """
    rows, now = thread.group.rows, thread.progress.now
    key = (thread.index, thread.progress.label)
    interval, size, starts = rows.get(key, (now, nbytes, []))
    if (interval, size) != (now, nbytes):
        starts = []
    overlap = next((at for at in reversed(starts) if 0 < abs(at - start) < nbytes), None)
    rows[key] = (now, nbytes, [*starts, start])
    return overlap


def remember(thread: Thread, starts: Index, nbytes: int, block: int = -1) -> None:
    """Note which block was stored last to the bytes from each start on; -1 for no block."""
    group = thread.group
    end = 0 if group.slm is None else group.slm.nbytes
    if group.blocks.size < end:
        more = (0, end - group.blocks.size)
        group.blocks = np.pad(group.blocks, more, constant_values=-1)
    for start in starts.tolist():
        group.blocks[max(0, start) : start + nbytes] = block


def straddled(thread: Thread, start: int, nbytes: int) -> tuple[int, int] | None:
    """Return where two stored blocks start: a load begins within the first and ends in another."""
    blocks = thread.group.blocks
    if not start > 0 or start + nbytes > blocks.size:
        return None
    before, first, last = (int(blocks[at]) for at in (start - 1, start, start + nbytes - 1))
    within = first >= 0 and before == first and first < start
    return (first, last) if within and last >= 0 and last != first else None


# ------------------------------------------------------------ shared

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
    PX209 for bytes never stored, PX210 beyond the end, PX212 for unusual sizes, PX216 for a load
    that begins inside one stored block and ends in another.
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
    pair = straddled(thread, start, nbytes)
    if pair is not None:
        here = f"bytes {start} to {start + nbytes - 1} begin inside the block stored from {pair[0]}"
        thread.record("PX216", "slm_block_load", f"{here} on and end in that from {pair[1]} on")
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
    remember(thread, np.array([start]), nbytes, start)
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
    access = _in_shared("lsc_slm_gather", T, offsets, nelts, pred, ds)
    elements, starts = access.gather(), access.starts
    if starts.size:
        end = int(starts.max()) + nelts * access.kind.itemsize
        forget(access.thread.group.rows, int(starts.min()), end)
    return elements


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
    access = _in_shared("lsc_slm_scatter", T, offsets, nelts, pred, ds)
    bits = 8 * access.kind.itemsize
    if bits < 32:
        access.thread.record("PX213", "lsc_slm_scatter", f"elements have {bits} bits")
    access.scatter(data)
    remember(access.thread, access.starts, nelts * access.kind.itemsize)


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
