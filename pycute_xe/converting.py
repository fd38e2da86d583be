"""Numbers of one type as numbers of another, by the rules of ``atoms/convert.toml``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import DTypeError
from pycute_xe.facts import Row, rows
from pycute_xe.numeric import Numeric, as_numeric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["beyond", "bounds", "convert", "greatest", "host_dtype", "round_tf32", "rule", "wrap"]


@cache
def host_dtype(value: Numeric | str) -> np.dtype[Any]:
    """Return the dtype that arrays of a type have: `numpy_dtype`, but float32 for tf32.

    >>> host_dtype("tf32"), host_dtype("bf16")
    (dtype('float32'), dtype(bfloat16))
    """
    numeric = as_numeric(value)
    return numpy_dtype(numeric.row.host or numeric)


def bounds(value: Numeric | str) -> tuple[int, int]:
    """Return the least and the greatest number of an integer type.

    >>> bounds("s4"), bounds("u2")
    ((-8, 7), (0, 3))
    """
    numeric = as_numeric(value)
    if numeric.kind == "signed":
        return -(1 << (numeric.bits - 1)), (1 << (numeric.bits - 1)) - 1
    return 0, (1 << numeric.bits) - 1


def greatest(numeric: Numeric) -> float:
    """Return the greatest finite number of a type.

    >>> from pycute_xe.numeric import as_numeric
    >>> greatest(as_numeric("s8")), greatest(as_numeric("f16"))
    (127.0, 65504.0)
    """
    if numeric.kind != "float":
        return float(bounds(numeric)[1])
    if not numeric.row.dtype:
        row = numeric.row
        return (2 - 2.0 ** (1 - row.significand)) * 2.0 ** (2 ** (row.exponent - 1) - 1)
    import ml_dtypes

    finfo: Any = ml_dtypes.finfo
    return float(finfo(numpy_dtype(numeric)).max)


def beyond(number: float, value: Numeric | str) -> bool:
    """Whether a number lies outside those of a type; floats have infinities for it.

    >>> beyond(300, "s8"), beyond(-128, "s8"), beyond(1e39, "f32")
    (True, False, False)
    """
    numeric = as_numeric(value)
    if numeric.kind == "float":
        return False
    low, high = bounds(numeric)
    return not low <= number <= high


@cache
def rule(to: Numeric, kind: str) -> Row:
    """Return the row that says how numbers of a kind become numbers of a type.

    >>> from pycute_xe.numeric import as_numeric
    >>> rule(as_numeric("s8"), "float")["beyond"]
    'nearest'
    """
    for row in rows("convert", "rule"):
        if row["to"] in (to.name, to.kind) and kind in row["from"]:  # pyright: ignore[reportOperatorIssue]
            return row
    raise DTypeError("convert", {"to": to, "from": kind}, "no rule says how", "use another type")


def convert(values: NDArray[Any], to: Numeric | str) -> NDArray[Any]:
    """Return numbers converted to a type, in one step: an array of `host_dtype`.

    To floats, rounded to nearest even, in one step also from float64; to integers, rounded to
    nearest even and saturated, a NaN to 0. Integers beyond 2^53 become floats by way of float64.
    Source: the rows of ``atoms/convert.toml``.

    >>> import numpy as np
    >>> convert(np.array([2.5, 300.0, -np.inf, np.nan]), "s8").tolist()
    [2, 127, -128, 0]
    >>> convert(np.array([1 + 2.0**-8 + 2.0**-40]), "bf16").tolist()
    [1.0078125]
    """
    import numpy as np

    numeric, array = as_numeric(to), np.asarray(values)
    row = rule(numeric, _kind(array.dtype))
    if numeric.kind != "float":
        return _to_integers(np, array, numeric)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if row["tiny"] == "zero":
            return round_tf32(array)
        return _to_floats(np, array, numpy_dtype(numeric))


def wrap(values: NDArray[Any], to: Numeric | str) -> NDArray[Any]:
    """Return integers with only the lowest bits of a type kept: arithmetic of registers.

    >>> import numpy as np
    >>> wrap(np.array([130, -129]), "s8").tolist()
    [-126, 127]
    """
    import numpy as np

    numeric = as_numeric(to)
    array = np.asarray(values)
    if numeric.bits < 64:
        least = bounds(numeric)[0]
        array = ((array - least) & ((1 << numeric.bits) - 1)) + least
    return array.astype(host_dtype(numeric))


def round_tf32(values: NDArray[Any]) -> NDArray[np.float32]:
    """Return values rounded to tf32, nearest even, as float32 whose 13 lowest bits are zero.

    Subnormal results become zeros of their sign; infinities and NaNs stay.
    Document: vISA manual, FCVT.md, float to TF32.

    >>> import numpy as np
    >>> round_tf32(np.array([1 + 2**-11, 1 + 3 * 2**-11, 1e-40])).tolist()
    [1.0, 1.001953125, 0.0]
    """
    import numpy as np

    given = np.asarray(values)
    if _kind(given.dtype) != "float":
        given = given.astype(np.float64)
    single = _to_odd(np, given) if given.dtype == np.float64 else given.astype(np.float32)
    bits = single.view(np.uint32).astype(np.uint64)
    # Half a unit less one, and one more where the last kept bit is odd: ties go to even.
    rounded = ((bits + 0xFFF + ((bits >> np.uint64(13)) & np.uint64(1))) & 0xFFFFE000).astype(
        np.uint32
    )
    small = np.abs(rounded.view(np.float32)) < np.finfo(np.float32).smallest_normal
    flushed = np.where(small, rounded & np.uint32(0x80000000), rounded).view(np.float32)
    return np.where(np.isfinite(single), flushed, single).astype(np.float32)


@cache
def _kind(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "bu" or dtype.name in ("uint4", "uint2"):
        return "unsigned"
    return "signed" if dtype.kind == "i" or dtype.name in ("int4", "int2") else "float"


def _to_integers(np: Any, array: NDArray[Any], numeric: Numeric) -> NDArray[Any]:
    low, high = bounds(numeric)
    if _kind(array.dtype) != "float":
        if array.dtype.kind not in "biu" and array.dtype != object:
            array = array.astype(np.int64)  # narrow integers of ml_dtypes
        return _clipped(np, array, low, high).astype(host_dtype(numeric))
    if numeric.bits <= 16 and array.dtype.itemsize <= 4:  # all of its numbers are float32, too
        near = np.clip(np.rint(array.astype(np.float32, copy=False)), low, high)
        wrong = np.isnan(near)
        near = np.where(wrong, np.float32(0), near) if wrong.any() else near
        return near.astype(host_dtype(numeric))
    wide = np.rint(array.astype(np.float64))
    # 2^63 and its like are floats, the numbers just below are not: compare, then convert.
    over, under = wide >= float(high), wide <= float(low)
    inside = np.where(np.isnan(wide) | over | under, 0.0, wide)
    whole = inside.astype(np.uint64 if low == 0 else np.int64)
    return np.where(over, high, np.where(under, low, whole)).astype(host_dtype(numeric))


def _clipped(np: Any, array: NDArray[Any], low: int, high: int) -> NDArray[Any]:
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype == object:
        return np.minimum(np.maximum(array, low), high)
    info = np.iinfo(array.dtype)
    return np.clip(array, max(low, int(info.min)), min(high, int(info.max)))


def _to_floats(np: Any, array: NDArray[Any], target: np.dtype[Any]) -> NDArray[Any]:
    if array.dtype == target:
        return array
    if array.dtype.kind in "iub" or array.dtype == object or array.dtype == np.float16:
        array = array.astype(np.float64)
    elif array.dtype.kind == "V":
        array = array.astype(np.float32)
    if target.kind == "V" or target.name.startswith("float8"):
        # These are made from float32: odd digits make a second rounding harmless.
        array = _to_odd(np, array) if array.dtype == np.float64 else array
        array = array.astype(np.float32, copy=False)
    return array.astype(target)


def _to_odd(np: Any, array: NDArray[Any]) -> NDArray[np.float32]:
    """Round float64 to float32, to odd, so that a second rounding cannot go wrong."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        near = array.astype(np.float32)
        # Where the nearest float32 lies beyond the value, step back towards zero; then, where
        # anything was cut off, set the last bit so that the second rounding sees it.
        beyond = np.abs(near.astype(np.float64)) > np.abs(array)
        toward = np.where(beyond, np.nextafter(near, np.float32(0)), near)
        inexact = np.isfinite(array) & (near.astype(np.float64) != array)
        bits = toward.view(np.uint32) | inexact.astype(np.uint32)
        return bits.view(np.float32)
