"""Shared local memory: asking for it, blocks of it, gathers and scatters. Offsets count bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycute_xe.arch.rules import errors
from pycute_xe.esimd.blocks import elements_of, from_bytes, whole_dwords
from pycute_xe.esimd.checks import whole
from pycute_xe.esimd.gathers import gather_at, scatter_at
from pycute_xe.esimd.lanes import data_size, offsets_of
from pycute_xe.esimd.sending import block
from pycute_xe.esimd.simd import array_of, simd
from pycute_xe.esimd.threads import Thread, current
from pycute_xe.esimd.types import Type, dtype_of, lsc_data_size
from pycute_xe.machine import Slm

__all__ = [
    "lsc_slm_gather",
    "lsc_slm_scatter",
    "slm_block_load",
    "slm_block_store",
    "slm_init",
]

_DEFAULT = lsc_data_size.default_size
_PLAIN = ("df", "df")


def slm_init(nbytes: int) -> None:
    """Ask for so many bytes of shared local memory: the first statement of every thread.

    Lints PX202 unless all threads call it first, and PX205 for more than the target has.
    C++: ``slm_init<nbytes>()``. Document: Intel ESIMD LSC SLM guide, SLM initialization.

    >>> from pycute_xe import esimd
    >>> run = esimd.launch(lambda item: esimd.slm_init(65540), target="bmg")
    >>> run.codes, run.findings[0].condition[:62]
    (('PX205',), 'shared local memory is 65540 bytes, must be at most 65536 [Int')
    """
    thread = current("slm_init")
    group, operands = thread.group, {"nbytes": nbytes}
    if thread.operations > 1:
        again = thread.slm_bytes is not None
        condition = "slm_init is called twice" if again else "another operation came before it"
        raise thread.error("PX202", "slm_init", operands, condition)
    if type(nbytes) is not int or nbytes < 1:
        raise thread.error(
            "PX202", "slm_init", operands, "the size must be a positive number of bytes"
        )
    if group.slm is not None and group.slm_bytes != nbytes:
        condition = f"another thread asked for {group.slm_bytes} bytes"
        raise thread.error("PX202", "slm_init", operands, condition)
    thread.slm_bytes = nbytes
    if group.slm is None:
        _judge_size(thread, nbytes)
        group.slm, group.slm_bytes = Slm(nbytes), nbytes


def slm_block_load(T: Type, N: int, byte_offset: int) -> simd:
    """Return N adjacent elements from a byte offset on.

    They take a whole number of dwords, and the offset is a multiple of 4 bytes (of 8 for 64-bit
    elements). Lints: PX201 before slm_init, PX204 for a misaligned offset, PX206 for a race,
    PX209 for bytes never stored, PX210 beyond the end.
    C++: ``slm_block_load<T, N>(byte_offset)``. Document: Intel ESIMD LSC SLM guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, y):
    ...     esimd.slm_init(1024)
    ...     i = item.get_local_id(0)
    ...     esimd.slm_block_store("u32", 1, 4 * i, esimd.simd("u32", 1, 10 + i))
    ...     yield esimd.barrier()
    ...     esimd.block_store("u32", 1, y + i, esimd.slm_block_load("u32", 1, 4 * (i ^ 1)))
    >>> y = np.zeros(4, dtype=np.uint32)
    >>> run = esimd.launch(kernel, y, threads=4)
    >>> y.tolist()
    [11, 10, 13, 12]
    """
    thread, kind = _ready("slm_block_load"), dtype_of(T)
    nbytes = whole_dwords("slm_block_load", kind, N)
    start = _offset(thread, "slm_block_load", kind, N, byte_offset)
    return from_bytes(kind, block(thread, "load", "slm", start, nbytes, _PLAIN))


def slm_block_store(T: Type, N: int, byte_offset: int, data: Any) -> None:
    """Store N adjacent elements from a byte offset on; conditions and lints as `slm_block_load`.

    Lint PX204 where it overlaps another thread's store with no barrier between.
    C++: ``slm_block_store<T, N>(byte_offset, data)``. Document: Intel ESIMD LSC SLM guide.

    >>> from pycute_xe import esimd
    >>> esimd.launch(lambda item: esimd.slm_block_store("f16", 128, 0, 0))
    Traceback (most recent call last):
        ...
    pycute_xe.esimd.lint.EsimdError: PX201 no-slm-init: slm_block_store(...
    """
    thread, kind = _ready("slm_block_store"), dtype_of(T)
    whole_dwords("slm_block_store", kind, N)
    start = _offset(thread, "slm_block_store", kind, N, byte_offset)
    values = array_of(data, "slm_block_store")
    given = np.broadcast_to(values, (N,)) if values.ndim == 0 else data
    block(thread, "store", "slm", start, elements_of("slm_block_store", kind, N, given), _PLAIN)


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
    thread, kind = _ready("lsc_slm_gather"), _typed("lsc_slm_gather", T, ds)
    starts = offsets_of("lsc_slm_gather", None, offsets)
    return gather_at(thread, "lsc_slm_gather", "slm", kind, starts, nelts, pred)


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
    thread, kind = _ready("lsc_slm_scatter"), _typed("lsc_slm_scatter", T, ds)
    starts = offsets_of("lsc_slm_scatter", None, offsets)
    if kind.itemsize < 4:
        thread.record("PX213", "lsc_slm_scatter", f"elements have {8 * kind.itemsize} bits")
    scatter_at(thread, "lsc_slm_scatter", "slm", kind, starts, data, nelts, pred)


def _ready(operation: str) -> Thread:
    """The running thread, which has called slm_init."""
    thread = current(operation)
    if thread.slm_bytes is None:
        others = thread.group.slm is not None
        condition = "this thread never called slm_init" if others else "slm_init was never called"
        raise thread.error("PX202" if others else "PX201", operation, {}, condition)
    return thread


def _judge_size(thread: Thread, nbytes: int) -> None:
    broken = thread.machine.target.slm_broken(nbytes)
    for found in errors(broken):
        condition = f"{found.condition} [{found.source}]"
        operands = {"nbytes": nbytes, "target": thread.machine.target}
        raise thread.error("PX205", "slm_init", operands, condition)
    for found in broken:
        thread.record("PX205", "slm_init", f"{found.condition} [{found.source}]")


def _offset(thread: Thread, operation: str, kind: np.dtype[Any], N: int, byte_offset: Any) -> int:
    """The byte at which a block starts; PX204 and PX210 for wrong ones, PX212 for odd sizes."""
    if N & (N - 1):
        thread.record("PX212", operation, f"N is {N}")
    (start,), unit = whole(operation, byte_offset=byte_offset), max(4, kind.itemsize)
    if start % unit:
        condition = f"the offset is not a multiple of {unit} bytes"
        raise thread.error("PX204", operation, {"byte_offset": start}, condition)
    if start < 0:
        raise thread.error("PX210", operation, {"byte_offset": start}, "the offset is negative")
    return start


def _typed(operation: str, T: Type, ds: lsc_data_size) -> np.dtype[Any]:
    data_size(operation, T, ds)
    return dtype_of(T)
