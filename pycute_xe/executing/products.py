"""Matrix products as DPAS computes them, many at once, by BLAS.

Floats are summed in float32, in any order; a narrow accumulator is rounded after each instruction.
Integers are exact: float32 and float64 hold every sum that is small enough, larger ones are split.
"""

from __future__ import annotations

import numpy as np

from pycute_xe.converting import host_dtype
from pycute_xe.kernel.arrays import Array
from pycute_xe.numeric import Numeric

__all__ = ["multiplied_into", "widened"]

# ------------------------------------------------------------ numbers
# Elements in arrays as numbers that are computed with.


def widened(array: Array, numeric: Numeric, single: bool = False) -> Array:
    """Return elements of a type as numbers: float32 of floats but f64, int64 of integers.

    Of a tf32 the 13 lowest bits are dropped. ``single`` asks for float32 of integers too, which
    must be narrow. The array itself where it is that already, else a new one.

    >>> from pycute_xe.numeric import as_numeric
    >>> widened(np.array([1 + 2.0**-12], np.float32), as_numeric("tf32")).tolist()
    [1.0]
    """
    if numeric.name == "tf32":
        return (array.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    if numeric.name == "bf16":
        # A bfloat16 is the upper half of a float32.
        wide = array.view(np.uint16).astype(np.uint32)
        return (wide << np.uint32(16)).view(np.float32)
    if numeric.kind == "float":
        return array if numeric.bits == 64 else array.astype(np.float32, copy=False)
    if numeric.bits < 8:
        array = array.astype(np.int8)
    return array.astype(np.float32 if single else np.int64, copy=False)


# ------------------------------------------------------------ products


def multiplied_into(
    total: Array | None, a: Array, b: Array, types: tuple[Numeric, Numeric, Numeric], step: int
) -> Array:
    """Return ``total + a @ b.T`` in the accumulator's type; None stands for zero.

    ``a`` is (…, rows, k) and ``b`` (…, columns, k) as arrays of ``types[:2]``, ``total`` (…, rows,
    columns) of ``types[2]``; a narrow accumulator is rounded every ``step`` elements of k. Of
    integers, as many products are summed at a time as float32 surely holds, all of them in 32 bits.

    >>> from pycute_xe.numeric import as_numeric
    >>> s8, s32 = as_numeric("s8"), as_numeric("s32")
    >>> ones = np.ones((2, 3), np.int8)
    >>> multiplied_into(None, ones, ones, (s8, s8, s32), 32).tolist()
    [[3, 3], [3, 3]]
    """
    left, right = (widened(x, t, single=True) for x, t in zip((a, b), types[:2], strict=True))
    right, to = right.swapaxes(-1, -2), types[2]
    if to.kind == "float" and to.bits >= 32:
        out = np.matmul(left, right)
        return out if total is None else np.add(out, total, out=out)
    if to.kind != "float":
        signs = sum(numeric.kind == "signed" for numeric in types[:2])
        step = max(1, 2**24 // (2 ** (types[0].bits + types[1].bits) >> signs))
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-2])
    out = np.zeros(shape, host_dtype(to)) if total is None else total
    for k in range(0, a.shape[-1], step):
        part = np.matmul(left[..., k : k + step], right[..., k : k + step, :])
        if to.kind == "float":
            part += widened(out, to)
            out = part.astype(out.dtype)
        else:
            whole = part.astype(np.int32).view(out.dtype)
            out = np.add(out, whole, out=whole)
    return out
