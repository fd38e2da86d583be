"""Offsets as NumPy arrays, of many coordinates or of all, and NumPy's names for element types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pycute_xe.algebra import coalesce
from pycute_xe.algebra.compose import flat_modes, from_modes, merged
from pycute_xe.basis import Basis
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CoordError, DTypeError, ShapeError
from pycute_xe.f2 import F2Layout
from pycute_xe.int_tuple import leaves, product
from pycute_xe.layout import Layout, as_layout
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed
from pycute_xe.typing import Coord, Mode, Shape, Stride, is_tuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "END",
    "AnyLayout",
    "along",
    "layout_of",
    "columns_of",
    "entries",
    "narrowed",
    "offsets",
    "swizzled",
    "too_far",
    "numpy_dtype",
    "table",
]


AnyLayout: TypeAlias = Layout | ComposedLayout | F2Layout

END = 1 << 63  # one past the largest value of int64


@typed
def offsets(layout: AnyLayout, coords: Coord) -> NDArray[np.int64]:
    """Return the offsets of an array of coordinates, as int64.

    Law: ``offsets(L, c)[k] == L(c[k])``, for plain, swizzled and XOR layouts. ``coords`` is an
    array of integers, which are flat indices whatever its shape, or a tuple that nests as a
    coordinate does, with an array (or an integer) at each of its places; these broadcast against
    each other. For points in the rows of an array, give ``tuple(points.T)``. The result has the
    shape of the arrays; with basis strides a last axis holds the coordinate. As in a call, the last
    mode is unbounded. Costs a few vectorised operations for each leaf. Raises `CoordError` where
    the coordinates are something else or do not fit the layout, `ShapeError` where an offset does
    not fit 64 bits, where strides of both kinds meet and where the coordinate space is nested.
    C++: a loop over ``layout(coord)``.

    >>> import numpy as np
    >>> L = Layout((4, (2, 3)), (6, (3, 1)))
    >>> offsets(L, np.array([[0, 1], [4, 23]])).tolist()
    [[0, 6], [3, 23]]
    >>> offsets(L, (np.arange(4), 5)).tolist()
    [5, 11, 17, 23]
    """
    import numpy as np

    inner = layout.layout if isinstance(layout, ComposedLayout) else layout
    arrays = _arrays(layout, coords)
    # Arithmetic makes Python's integers of arrays without an axis: one is added, and left out of
    # the shape again.
    shape = _broadcast(layout, [array.shape for array in leaves(arrays)])
    arrays = _transformed(arrays)
    columns = 0 if isinstance(inner, F2Layout) else columns_of("offsets", inner)
    digits = list(_digits(layout, arrays, inner.shape, inner.stride))
    if isinstance(inner, F2Layout):
        return narrowed("offsets", layout, _xored(inner, digits), shape)
    if columns:
        sums = [_sum([(part, along(d, i)) for part, d in digits]) for i in range(columns)]
        return np.stack([narrowed("offsets", layout, part, shape) for part in sums], axis=-1)
    total = _sum(digits)
    if isinstance(layout, ComposedLayout):
        total = swizzled("offsets", layout, total)
    return narrowed("offsets", layout, total, shape)


@dataclass(frozen=True, slots=True)
class _Bounded:
    """Coordinates of one mode, and what none of them is below or above."""

    values: NDArray[Any]
    low: int
    high: int

    def exact(self) -> NDArray[Any]:
        """The coordinates as integers of Python, slow but without end."""
        return self.values.astype(object)


def _arrays(layout: AnyLayout, coords: Any) -> Any:
    """Return the coordinates with an array of int64 (of Python's integers, if larger) each."""
    import numpy as np

    if is_tuple(coords):
        return tuple(_arrays(layout, part) for part in coords)
    if type(coords) is int:
        return np.array(coords, dtype=np.int64 if -END <= coords < END else object)
    kind = str(getattr(coords, "dtype", type(coords).__name__))
    if not isinstance(coords, (np.ndarray, np.integer)) or not kind.startswith(("int", "uint")):
        raise _no_coords(layout, f"{kind} is not a type of coordinates")
    array: NDArray[Any] = np.asarray(cast("Any", coords))
    large = kind == "uint64" and array.size and array.max() >= END
    return array.astype(object if large else np.int64, copy=False)


def _transformed(arrays: Any) -> Any:
    if is_tuple(arrays):
        return tuple(map(_transformed, arrays))
    return arrays.reshape(1) if arrays.ndim == 0 else arrays


def _broadcast(layout: AnyLayout, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    import numpy as np

    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        given = " and ".join(map(str, shapes))
        raise _no_coords(layout, f"arrays of the shapes {given} do not broadcast") from None


def _digits(
    layout: AnyLayout, coord: Any, shape: Shape, stride: Stride
) -> Iterator[tuple[_Bounded, Any]]:
    """Yield the coordinates and the stride of each leaf."""
    if not is_tuple(coord):
        ends = (int(coord.min()), int(coord.max())) if coord.size else (0, 0)
        yield from _split(_Bounded(coord, *ends), shape, stride)
        return
    if not is_tuple(shape) or len(shape) != len(coord):
        raise _no_coords(layout, f"a tuple of {len(coord)} arrays does not fit the shape {shape}")
    for c, s, d in zip(coord, shape, stride, strict=True):
        yield from _digits(layout, c, s, d)


def _split(whole: _Bounded, shape: Shape, stride: Stride) -> Iterator[tuple[_Bounded, Any]]:
    """Split indices of a mode into those of its leaves; the last leaf takes all that is left."""
    if not is_tuple(shape):
        yield whole, stride
        return
    for s, d in zip(shape[:-1], stride[:-1], strict=True):
        size: int = product(s)
        values = whole.values if size - min(whole.low, 0) < END else whole.exact()
        count = values // size  # and then the rest: several times as quick as a remainder
        yield from _split(_Bounded(values - count * size, 0, size - 1), s, d)
        whole = _Bounded(count, whole.low // size, whole.high // size)
    if shape:
        yield from _split(whole, shape[-1], stride[-1])


def _sum(digits: list[tuple[_Bounded, int]]) -> Any:
    """Return the sum of coordinates times strides, in Python's integers where int64 may not do."""
    ends = [sorted((part.low * d, part.high * d)) for part, d in digits]
    fits = sum(low for low, _ in ends) >= -END and sum(high for _, high in ends) < END
    fits = fits and all(-END <= d < END for _, d in digits)
    total: Any = 0
    for part, d in digits:
        total = total + (part.values if fits else part.exact()) * d
    return total


def _xored(layout: F2Layout, digits: list[tuple[_Bounded, Any]]) -> Any:
    """Return the sum of coordinates times strides, both without carries."""
    total: Any = layout.offset
    for part, stride in digits:
        if part.low < 0:
            raise _no_coords(layout, f"{part.low} is negative, which has no bits")
        bits = part.high.bit_length()
        fits = bits + stride.value.bit_length() <= 63 and layout.offset < END
        values = part.values if fits else part.exact()
        for i in range(bits):
            total = total ^ (values >> i & 1) * (stride.value << i)
    return total


def swizzled(operation: str, layout: ComposedLayout, inner: Any) -> Any:
    """Return the offsets of a composed layout, given those of the layout beneath its swizzle.

    For the library's own use. Raises `CoordError` where one is negative before the swizzle.
    """
    import numpy as np

    values: NDArray[Any] = np.asarray(inner)
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    swizzle, offset = layout.swizzle, layout.offset
    if offset + low < 0:
        raise CoordError(
            operation,
            {"layout": layout},
            f"the offset {offset + low} before the swizzle is negative, which has no bits",
            "use coordinates inside the shape",
        )
    if max(offset + high, swizzle.yyy_mask, swizzle.zzz_mask) >= END:
        values = values.astype(object)
    return swizzle(values + offset)


def narrowed(
    operation: str, layout: AnyLayout, values: Any, shape: tuple[int, ...] | None = None
) -> NDArray[np.int64]:
    """Return offsets as a new array of int64, broadcast to a shape if given.

    For the library's own use. Raises `ShapeError` where one does not fit 64 bits.
    """
    import numpy as np

    array: NDArray[Any] = np.asarray(values)
    if array.dtype != np.int64 and array.size:
        for extreme in (int(array.min()), int(array.max())):
            if not -END <= extreme < END:
                raise too_far(operation, layout, extreme)
    out = np.empty(array.shape if shape is None else shape, dtype=np.int64)
    out[...] = array
    return out


def columns_of(operation: str, layout: Layout) -> int:
    """Return the rank of the coordinate space, 0 for integer offsets.

    For the library's own use. Raises `ShapeError` for what has no array form.

    >>> columns_of("table", Layout((2, 2), (1, Basis(1, (2,)))))
    Traceback (most recent call last):
    pycute_xe.errors.ShapeError: table(layout=(2,2):(1,1@2)): the stride 1 gives offsets, the \
stride 1@2 coordinates. Way out: use strides of one kind, and zeros
    """
    modes = flat_modes(layout)
    bases = [d for _, d in modes if isinstance(d, Basis)]
    for s, d in modes:
        number = d.value if isinstance(d, Basis) else d
        for value in (s, number):
            if type(value) is not int:
                raise _no_array(operation, layout, f"{value} is not a number", "substitute one")
        if bases and s != 1 and number is d and d != 0:
            condition = f"the stride {d} gives offsets, the stride {bases[0]} coordinates"
            raise _no_array(operation, layout, condition, "use strides of one kind, and zeros")
        if isinstance(d, Basis) and len(d.modes) != 1:
            condition = f"the nested coordinates of {d} have no array form"
            fix = "use a flat coordinate space, as of make_identity_layout of a flat shape"
            raise _no_array(operation, layout, condition, fix)
    return 1 + max((d.modes[0] for d in bases), default=-1)


def along(stride: Any, column: int) -> int:
    """Return what a stride adds to one mode of the coordinate.

    >>> along(Basis(3, (1,)), 1), along(Basis(3, (1,)), 0)
    (3, 0)
    """
    return stride.value if isinstance(stride, Basis) and stride.modes == (column,) else 0


def _no_array(operation: str, layout: AnyLayout, condition: str, fix: str) -> ShapeError:
    return ShapeError(operation, {"layout": layout}, condition, fix)


def too_far(operation: str, layout: AnyLayout, value: int) -> ShapeError:
    """Return the refusal of an offset that does not fit 64 bits.

    >>> print(too_far("table", Layout(2, 1 << 63), 1 << 63).condition)
    the offset 9223372036854775808 does not fit 64 bits
    """
    return ShapeError(
        operation,
        {"layout": layout},
        f"the offset {value} does not fit 64 bits",
        "call the layout, whose integers have no end",
    )


def _no_coords(layout: AnyLayout, condition: str) -> CoordError:
    return CoordError(
        "offsets",
        {"layout": layout},
        condition,
        "give an integer array of indices, or a tuple that nests as the shape, of such arrays",
    )


# The elements that an array of int64 can have: its bytes are counted in 63 bits.
_MOST = END // 8


@typed
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


def entries(layout: AnyLayout) -> list[int]:
    """Return ``layout(i)`` for ``i`` in ``0 … size-1``, first mode fastest, as Python's integers.

    Law: ``entries(L) == table(L).tolist()`` for offsets. For the library's own use on what an atom
    has, hundreds of offsets: it needs no NumPy, and is as quick there.

    >>> entries(Layout((2, 3), (3, 1)))
    [0, 3, 1, 4, 2, 5]
    """
    if isinstance(layout, Layout):
        modes = flat_modes(layout)
        if all(type(s) is int and type(d) is int for s, d in modes):
            out = [0]
            for s, d in merged(modes):
                out = [step + offset for step in (i * d for i in range(s)) for offset in out]
            return out
    return [cast("int", layout(i)) for i in range(product(layout.shape))]


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


def layout_of(offsets: Sequence[int]) -> Layout | None:
    """Return the coalesced layout with these values at 0, 1, 2, …, ``None`` if no layout does.

    Law: ``table(layout_of(v)) == v``. Strides are positive or zero.

    >>> print(layout_of((0, 2, 1, 3)), layout_of((0, 1, 3)))
    (2,2):(2,1) None
    """
    left = list(offsets)
    modes: list[tuple[int, int]] = []
    while len(left) > 1:
        extent = _first_extent(left)
        if extent == 1:
            return None
        modes.append((extent, left[1]))
        left = left[::extent]
    return coalesce(from_modes(modes)) if left == [0] else None


def _first_extent(values: list[int]) -> int:
    """The longest first mode of equal steps with which the rest repeats."""
    step, count = values[1] - values[0], len(values)
    most = next((i for i in range(count) if values[i] != values[0] + i * step), count)
    for extent in range(most, 1, -1):
        if count % extent == 0 and all(
            values[i] - values[i - i % extent] == i % extent * step for i in range(count)
        ):
            return extent
    return 1
