"""All offsets at once, as NumPy arrays, and NumPy's names for the element types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycute_xe.algebra.simplify import flat_modes, merged
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import DTypeError, ShapeError
from pycute_xe.f2 import F2Layout
from pycute_xe.int_tuple import product
from pycute_xe.layout import Layout, as_layout
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.points import END, AnyLayout, along, columns_of, narrowed, offsets, swizzled, too_far
from pycute_xe.typing import Mode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["numpy_dtype", "table"]

# The elements that an array of int64 can have: its bytes are counted in 63 bits.
_MOST = END // 8


def table(layout: AnyLayout) -> NDArray[np.int64]:
    """Return ``layout(i)`` for ``i`` in ``0 … size-1``, first mode fastest, as int64.

    Law: ``table(L)[i] == L(i)``, for plain, swizzled and XOR layouts. With basis strides the result
    has one column for each mode of the coordinate space: shape (size, rank). Costs one vectorised
    addition for each mode of ``coalesce(L)``. Raises `ShapeError` where an offset does not fit 64
    bits, where the offsets are more than an array can have, where strides of both kinds meet and
    where the coordinate space is nested. C++: a loop over ``size(layout)``.

    >>> table(Layout((2, 3), (3, 1))).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    if not isinstance(layout, Layout):
        return _beyond_plain(layout)
    modes = flat_modes(layout)
    for s, d in modes:
        if type(d) is not int or type(s) is not int:
            return _coordinates(layout)
    return _sums(layout, merged(modes))


def _sums(layout: Layout, modes: list[Mode]) -> NDArray[np.int64]:
    """Return the sums of one multiple of each stride; the first stride's changes fastest."""
    import numpy as np

    size, low, high = 1, 0, 0
    for s, d in modes:
        size *= s
        if d < 0:
            low += (s - 1) * d
        else:
            high += (s - 1) * d
    if low < -END or high >= END:
        raise too_far("table", layout, low if low < -END else high)
    _countable(layout, size)
    out: NDArray[np.int64] | None = None
    for s, d in modes:
        # No multiple is past 64 bits; the end of the range may be, and does not matter.
        steps = np.arange(0, s * d, d, dtype=np.int64) if d else np.zeros(s, dtype=np.int64)
        out = steps if out is None else (steps[:, None] + out).reshape(-1)
    return np.zeros(1, dtype=np.int64) if out is None else out


def _coordinates(layout: Layout) -> NDArray[np.int64]:
    """Return the coordinates of a layout with basis strides, one column for each mode."""
    import numpy as np

    columns = columns_of("table", layout)
    out = np.empty((_countable(layout, product(layout.shape), columns), columns), dtype=np.int64)
    modes = [(s, d) for s, d in flat_modes(layout) if s != 1]
    for column in range(columns):
        out[:, column] = _sums(layout, [(s, along(d, column)) for s, d in modes])
    return out


def _beyond_plain(layout: object) -> NDArray[np.int64]:
    import numpy as np

    if not isinstance(layout, (ComposedLayout, F2Layout)):
        return table(as_layout(layout))  # refuses
    if isinstance(layout, ComposedLayout):
        return narrowed("table", layout, swizzled("table", layout, table(layout.layout)))
    return offsets(layout, np.arange(_countable(layout, product(layout.shape)), dtype=np.int64))


def _countable(layout: AnyLayout, size: int, columns: int = 1) -> int:
    if size * columns < _MOST:
        return size
    raise ShapeError(
        "table",
        {"layout": layout},
        f"an array cannot have {size * columns} entries",
        "use offsets for the coordinates that are needed",
    )


def numpy_dtype(value: Numeric | str) -> np.dtype[Any]:
    """Return the NumPy (or ml_dtypes) dtype of an element type.

    Raises `DTypeError` for types no array can hold (tf32 has no dtype of its own, packs have none).

    >>> numpy_dtype("bf16").itemsize
    2
    """
    import ml_dtypes
    import numpy as np

    numeric = as_numeric(value)
    if numeric.bits > 64:
        way_out = "use the type of the elements in the pack"
        raise DTypeError("numpy_dtype", {"type": numeric}, "arrays do not hold packs", way_out)
    if not numeric.row.dtype:
        way_out = f"use {numeric.row.host.replace('float', 'f') or 'another type'}"
        raise DTypeError("numpy_dtype", {"type": numeric}, f"NumPy has no {numeric}", way_out)
    return np.dtype(getattr(ml_dtypes, numeric.row.dtype, numeric.row.dtype))
