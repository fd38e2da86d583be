"""What gathers and scatters ask of their lanes: offsets, masks, alignment, banks."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycute_xe.arch.banks import least_padding
from pycute_xe.errors import DTypeError, ShapeError
from pycute_xe.esimd.messages import Flags, Index
from pycute_xe.esimd.threads import BankCount, Thread
from pycute_xe.esimd.types import Type, dtype_of, lsc_data_size, whole
from pycute_xe.esimd.vectors import array_of

__all__ = [
    "Flags",
    "Index",
    "advise_block",
    "check_aligned",
    "check_elements",
    "count_banks",
    "data_size",
    "flags_of",
    "offsets_of",
]


# intel/llvm, ESIMD, and the vISA manual, LSC_UNTYPED.md: elements of an address.
_ELEMENTS = (1, 2, 3, 4, 8, 16, 32, 64)


def offsets_of(operation: str, N: int | None, offsets: Any) -> Index:
    """Return byte offsets; `ShapeError` for another number, `DTypeError` unless integers."""
    if N is not None:
        whole(operation, N=N)
    array = array_of(offsets, operation).reshape(-1)
    if array.dtype.kind not in "iu":
        condition = "offsets must be integers, in bytes"
        raise DTypeError(operation, {"offsets": array.dtype}, condition, "simd(uint32_t, N, …)")
    if N is not None and array.size != N:
        operands = {"N": N, "offsets": array.size}
        raise ShapeError(
            operation, operands, f"{N} lanes need {N} offsets, not {array.size}", f"give {N}"
        )
    return array.astype(np.int64)


def advise_block(
    thread: Thread, operation: str, kind: np.dtype[Any], offsets: Index, nelts: int, pred: Any
) -> None:
    """PX114 where the lanes want one element after the other."""
    adjacent = offsets.size > 1 and bool((np.diff(offsets) == kind.itemsize).all())
    if adjacent and nelts == 1 and pred is None:
        thread.record("PX114", operation, f"the {offsets.size} elements are adjacent")


def check_aligned(
    thread: Thread, operation: str, sfid: str, kind: np.dtype[Any], starts: Index
) -> None:
    """Refuse an address that is not a multiple of the element: PX204 or PX113."""
    crooked = starts[starts % kind.itemsize != 0]
    if crooked.size:
        condition = f"{int(crooked[0])} is not a multiple of {kind.itemsize} bytes"
        code = "PX204" if sfid == "slm" else "PX113"
        raise thread.error(code, operation, {"T": kind}, condition)


def count_banks(
    thread: Thread, operation: str, sfid: str, starts: Index, flags: Flags | None, nbytes: int
) -> None:
    """Count the banks of shared memory that each message of 16 lanes uses; PX208 for lost turns."""
    if sfid != "slm":
        return
    model = thread.machine.banks
    for first in range(0, starts.size, 16):
        lanes = starts[first : first + 16]
        chosen = lanes if flags is None else lanes[flags[first : first + 16]]
        use = model.use(chosen.tolist(), nbytes)
        thread.machine.counts.append(BankCount(thread.index, thread.progress.label, use))
        if use.conflicts:
            thread.record("PX208", operation, f"{use}{_padding(thread, chosen, nbytes)}")


def _padding(thread: Thread, lanes: Index, nbytes: int) -> str:
    """What a larger distance between the lanes would help, where they are equally far apart."""
    steps = np.unique(np.diff(lanes))
    if steps.size != 1 or steps[0] < 1:
        return ""
    apart = int(steps[0])
    more = least_padding(thread.machine.banks, apart, lanes.size, nbytes)
    if more is None:
        return ""
    return f"; with lanes {apart + more} bytes apart instead of {apart} none would be"


def check_elements(operation: str, kind: np.dtype[Any], nelts: int) -> int:
    """Return the bytes of an element; `ShapeError` for a number of them that no message has."""
    if type(nelts) is not int or nelts not in _ELEMENTS:
        known = ", ".join(map(str, _ELEMENTS))
        condition = f"nelts must be one of {known} elements per address"
        raise ShapeError(operation, {"nelts": nelts}, condition, "split the access")
    return kind.itemsize


def data_size(operation: str, T: Type, ds: object) -> None:
    """Refuse a data size that is not the one of the type: `DTypeError`."""
    bits = 8 * dtype_of(T).itemsize
    if not isinstance(ds, lsc_data_size):
        known = ", ".join(f"lsc_data_size.{size.name}" for size in lsc_data_size)
        raise DTypeError(operation, {"ds": repr(ds)}, "ds must be a data size", f"one of {known}")
    if ds.value not in (0, bits):
        operands = {"T": T, "ds": ds.name}
        raise DTypeError(operation, operands, f"T has {bits} bits", f"lsc_data_size.u{bits}")


def flags_of(operation: str, pred: Any, lanes: int) -> Flags | None:
    """Return a mask as one yes or no for each lane; `ShapeError` for another number of them."""
    if pred is None:
        return None
    array = array_of(pred, operation).reshape(-1).astype(np.bool_)
    if array.size not in (1, lanes):
        operands = {"pred": array.size, "lanes": lanes}
        raise ShapeError(
            operation,
            operands,
            f"{lanes} lanes need {lanes} conditions, not {array.size}",
            "simd_mask",
        )
    return np.broadcast_to(array, (lanes,)).copy()
