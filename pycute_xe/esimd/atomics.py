"""Atomic updates of shared local memory, and fences."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycute_xe.arch.lsc import get_operation
from pycute_xe.errors import DTypeError, ShapeError, quoted
from pycute_xe.esimd.blocks import from_bytes
from pycute_xe.esimd.lanes import check_aligned, flags_of, offsets_of
from pycute_xe.esimd.messages import updated
from pycute_xe.esimd.reserving import ready
from pycute_xe.esimd.threads import current
from pycute_xe.esimd.types import Type, atomic_op, dtype_of
from pycute_xe.esimd.vectors import array_of, simd

__all__ = ["fence", "slm_atomic_update"]


def slm_atomic_update(
    op: atomic_op,
    T: Type,
    N: int,
    offsets: Any,
    src0: Any = None,
    src1: Any = None,
    *,
    pred: Any = None,
) -> simd:
    """Update the element at each of N byte offsets as one step, and return what was there.

    Lanes that meet at an element are served one after the other. ``src0`` and ``src1`` are the
    operands that the operation has.
    Raises `ShapeError` for another number of operands; lints as of `lsc_slm_gather`, and PX100
    for what no message of the target does: elements of 64 bits, and sums of floats.
    C++: ``slm_atomic_update<op, T, N>(offsets, src0, src1, mask)``. Source: intel/llvm, ESIMD
    functions manual. Meaning: vISA manual, LSC_UNTYPED.md and DWORD_ATOMIC.md.

    >>> from pycute_xe import esimd
    >>> def kernel(item, y):
    ...     esimd.slm_init(64)
    ...     esimd.slm_block_store("u32", 8, 0, 0)
    ...     for _ in range(2):
    ...         where = esimd.simd("u32", 8, [0, 4, 4, 4, 0, 0, 0, 8])
    ...         esimd.slm_atomic_update(esimd.atomic_op.inc, "u32", 8, where)
    ...     esimd.block_store("u32", 8, y, esimd.slm_block_load("u32", 8, 0))
    >>> y = np.zeros(8, dtype=np.uint32)
    >>> run = esimd.launch(kernel, y)
    >>> y.tolist()
    [8, 6, 2, 0, 0, 0, 0, 0]
    """
    thread, kind = ready("slm_atomic_update"), dtype_of(T)
    if not isinstance(op, atomic_op):  # pyright: ignore[reportUnnecessaryIsInstance]
        known = ", ".join(f"atomic_op.{one.name}" for one in atomic_op)
        condition = "op must be an atomic_op"
        raise DTypeError("slm_atomic_update", {"op": quoted(op)}, condition, f"one of {known}")
    if kind.itemsize < 2:
        condition = "atomics update elements of 16, 32 or 64 bits"
        raise DTypeError("slm_atomic_update", {"T": T}, condition, "use uint32_t")
    sources = [source for source in (src0, src1) if source is not None]
    wanted = get_operation(f"atomic_{op.value}").extra
    if len(sources) != wanted:
        operands = {"op": op.name, "operands": len(sources)}
        condition = f"{op.name} takes {wanted} operands beside the offsets"
        raise ShapeError("slm_atomic_update", operands, condition, f"give {wanted}")
    starts = offsets_of("slm_atomic_update", N, offsets)
    check_aligned(thread, "slm_atomic_update", "slm", kind, starts)
    flags = flags_of("slm_atomic_update", pred, N)
    data = [_filled(kind, N, source) for source in sources]
    return from_bytes(kind, updated(thread, op.value, starts, kind.itemsize, data, flags))


def _filled(kind: np.dtype[Any], N: int, source: Any) -> Any:
    values = array_of(source, "slm_atomic_update").reshape(-1)
    if values.size not in (1, N):
        operands = {"N": N, "given": values.size}
        condition = f"{N} lanes need {N} values, not {values.size}"
        raise ShapeError("slm_atomic_update", operands, condition, f"give {N}, or one for all")
    with np.errstate(all="ignore"):
        every = np.ascontiguousarray(np.broadcast_to(values.astype(kind), (N,)))
    return every.view(np.uint8).reshape(N, kind.itemsize)


def fence() -> None:
    """Let what the thread has stored to shared local memory be seen before what it does next.

    ``barrier()`` fences by itself. Whether the arrival at a named barrier does, versions of
    ESIMD's header disagree about: a fence before ``nb.arrive()`` is right with all of them. Stores
    are seen at once here, so a missing fence changes nothing and is not reported.
    C++: ``fence<memory_kind::local, fence_flush_op::none, fence_scope::group>()``.

    >>> from pycute_xe import esimd
    >>> esimd.launch(lambda item: esimd.fence()).codes
    ()
    """
    current("fence")
