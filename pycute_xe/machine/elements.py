"""Register bytes as numbers and back, for every element type that DPAS takes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.bulk import numpy_dtype
from pycute_xe.converting import round_tf32
from pycute_xe.errors import DTypeError, ShapeError
from pycute_xe.machine.memory import Bytes
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["packed", "round_tf32", "unpacked"]

# A tf32 has 10 bits of mantissa in a dword; the 13 bits below them do not count.
_TF32 = np.uint32(0xFFFFE000)


def unpacked(data: Bytes, numeric: Numeric | str) -> NDArray[Any]:
    """Return the numbers in register bytes: float32 of floating-point types, int64 of integers.

    Elements narrower than a byte start at its lowest bits. Of a tf32 the 13 lowest bits are
    dropped: hosts leave them dirty when they round by adding half a unit (CUTLASS, tfloat32.h).

    Raises `ShapeError` for bytes that end inside an element.

    >>> unpacked(np.array([0x21, 0xF3], dtype=np.uint8), "s4").tolist()
    [1, 2, 3, -1]
    """
    kind = as_numeric(numeric)
    if 8 * data.size % kind.bits:
        raise ShapeError(
            "unpacked",
            {"bytes": data.size, "type": kind},
            f"elements have {kind.bits} bits: the last one is cut off",
            "read whole elements",
        )
    if kind.name == "tf32":
        return (data.view(np.uint32) & _TF32).view(np.float32)
    if kind.bits < 8:
        return _split(data, kind)
    return data.view(_dtype(kind)).astype(np.float32 if kind.kind == "float" else np.int64)


@cache
def _dtype(kind: Numeric) -> np.dtype[Any]:
    return numpy_dtype(kind)


def _split(data: Bytes, kind: Numeric) -> NDArray[Any]:
    shifts = np.arange(0, 8, kind.bits, dtype=np.uint8)
    codes = ((data[:, None] >> shifts) & ((1 << kind.bits) - 1)).reshape(-1).astype(np.int64)
    if kind.kind == "float":
        return codes.astype(np.uint8).view(_dtype(kind)).astype(np.float32)
    if kind.kind == "signed":
        return codes - ((codes >> (kind.bits - 1)) << kind.bits)
    return codes


def packed(values: NDArray[Any], numeric: Numeric | str) -> Bytes:
    """Return the register bytes of numbers, in the order of the array; the inverse of `unpacked`.

    Law: ``unpacked(packed(v, t), t) == v`` for numbers that the type holds; floats are rounded to
    nearest even, tf32 as `round_tf32`. Raises `DTypeError` for integers out of range or of a
    floating-point type, and `ShapeError` for elements that do not fill bytes.

    >>> packed(np.array([1, 2, 3, -1]), "s4").tobytes().hex()
    '21f3'
    """
    kind, flat = as_numeric(numeric), np.asarray(values).reshape(-1)
    if kind.name == "tf32":
        return round_tf32(flat).view(np.uint8)
    if kind.kind == "float":
        codes = flat.astype(numpy_dtype(kind)).view(np.uint8)
        return codes if kind.bits >= 8 else _join(codes, kind)
    if flat.dtype.kind not in "iub":
        raise DTypeError(
            "packed", {"type": kind, "values": flat.dtype}, f"{kind} holds integers", "round them"
        )
    least = -(1 << (kind.bits - 1)) if kind.kind == "signed" else 0
    if flat.size and not (least <= flat.min() and flat.max() < least + (1 << kind.bits)):
        raise DTypeError(
            "packed",
            {"type": kind},
            f"{kind} holds {least} to {least + (1 << kind.bits) - 1}",
            "clip",
        )
    if kind.bits >= 8:
        return flat.astype(numpy_dtype(kind)).view(np.uint8)
    return _join(flat, kind)


def _join(flat: NDArray[Any], kind: Numeric) -> Bytes:
    per_byte = 8 // kind.bits
    if flat.size % per_byte:
        raise ShapeError(
            "packed",
            {"elements": flat.size, "type": kind},
            f"{per_byte} elements share a byte",
            "pad with zeros",
        )
    codes = (flat.astype(np.int64) & ((1 << kind.bits) - 1)).reshape(-1, per_byte)
    shifts = np.arange(0, 8, kind.bits, dtype=np.int64)
    return np.bitwise_or.reduce(codes << shifts, axis=1).astype(np.uint8)
