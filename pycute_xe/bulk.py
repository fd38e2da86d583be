"""Floor 4: all offsets at once, as NumPy arrays, and NumPy's names for the element types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycute_xe.algebra.simplify import flat_modes
from pycute_xe.basis import Basis
from pycute_xe.errors import DTypeError, ShapeError
from pycute_xe.layout import Layout, coshape
from pycute_xe.numeric import Numeric, as_numeric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["numpy_dtype", "table"]


def table(layout: Layout) -> NDArray[np.int64]:
    """Return ``layout(i)`` for ``i`` in ``0 … size-1``, first mode fastest, as int64.

    Law: ``table(L)[i] == L(i)``. With basis strides the result has one column for each mode of the
    coordinate space: shape (size, rank). Costs one vectorised addition for each leaf. Raises
    `ShapeError` where that space is nested.

    >>> table(Layout((2, 3), (3, 1))).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    import numpy as np

    modes = flat_modes(layout)
    columns = _columns(layout)
    if not columns:
        offsets = np.zeros(1, dtype=np.int64)
        for s, d in modes:
            offsets = (np.arange(s, dtype=np.int64)[:, None] * d + offsets).ravel()
        return offsets
    out = np.zeros((1, columns), dtype=np.int64)
    for s, d in modes:
        steps = np.arange(s, dtype=np.int64)[:, None] * _vector(d, columns)
        out = (steps[:, None, :] + out[None, :, :]).reshape(-1, columns)
    return out


def _columns(layout: Layout) -> int:
    """Return the rank of the coordinate space, 0 for integer offsets."""
    if not any(isinstance(d, Basis) for _, d in flat_modes(layout)):
        return 0
    extents = coshape(layout)
    return len(extents)


def _vector(stride: Any, columns: int) -> NDArray[np.int64]:
    import numpy as np

    out = np.zeros(columns, dtype=np.int64)
    if isinstance(stride, Basis):
        if len(stride.modes) != 1:
            raise ShapeError(
                "table",
                {"stride": stride},
                "nested coordinates have no array form",
                "use a flat coordinate space, as of make_identity_layout of a flat shape",
            )
        out[stride.modes[0]] = stride.value
    else:
        out[0] = stride
    return out


def numpy_dtype(value: Numeric | str) -> np.dtype[Any]:
    """Return the NumPy (or ml_dtypes) dtype of an element type.

    Raises `DTypeError` for types no array can hold (tf32 has no dtype of its own).

    >>> numpy_dtype("bf16").itemsize
    2
    """
    import ml_dtypes
    import numpy as np

    numeric = as_numeric(value)
    special: dict[str, Any] = {
        "bf16": ml_dtypes.bfloat16,
        "f8e4m3": ml_dtypes.float8_e4m3fn,
        "f8e5m2": ml_dtypes.float8_e5m2,
        "s4": ml_dtypes.int4,
        "u4": ml_dtypes.uint4,
        "s2": ml_dtypes.int2,
        "u2": ml_dtypes.uint2,
    }
    if numeric.name in special:
        return np.dtype(special[numeric.name])
    if numeric.name == "tf32":
        raise DTypeError("numpy_dtype", {"type": numeric}, "NumPy has no tf32", "use f32")
    letter = {"float": "f", "signed": "i", "unsigned": "u"}[numeric.kind]
    return np.dtype(f"{letter}{numeric.bits // 8}")
