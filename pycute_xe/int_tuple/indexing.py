"""Coordinates and indices of a shape; the first mode moves fastest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycute_xe.basis import ArithTuple, Basis, BasisSum
from pycute_xe.errors import CongruenceError, CoordError, DivisibilityError, ShapeError
from pycute_xe.int_tuple.nesting import congruent, leaves, unbounded
from pycute_xe.signatures import STUMBLES, blame, demand_leaf, typed
from pycute_xe.typing import (
    TUPLE,
    Coord,
    IntTuple,
    Shape,
    Stride,
    Symbolic,
    adopted,
    is_tuple,
    same,
)

__all__ = [
    "as_coordinate",
    "coordinates",
    "crd2crd",
    "crd2idx",
    "idx2crd",
    "increment_coord",
    "offset_of",
    "ceil_div",
    "compact_col_major",
    "compatible",
    "elem_less",
    "elem_scale",
    "inner_product",
    "prefix_product",
    "product",
    "product_each",
    "round_up",
    "shape_div",
]

# ------------------------------------------------------------ arithmetic
# Arithmetic of nested tuples: products, divisions, comparisons.


def product(value: IntTuple) -> Any:
    """Return the product of all leaves; 1 for the empty tuple.

    >>> product(((2, 3), 4))
    24
    """
    if not is_tuple(value):
        demand_leaf("product", value)
        return value
    total: Any = 1
    try:
        for mode in value:
            total = total * (mode if type(mode) is int else product(mode))
    except STUMBLES as error:
        blame(product, (value,), error)
        raise
    return total


def product_each(value: IntTuple) -> tuple[Any, ...]:
    """Return the size of every mode. C++: ``product_each``.

    >>> product_each(((2, 3), 4))
    (6, 4)
    """
    return tuple(map(product, value)) if is_tuple(value) else (product(value),)


@typed
def inner_product(left: IntTuple, right: IntTuple) -> Any:
    """Return the sum of leaf-wise products of two congruent tuples.

    Raises `CongruenceError` when they do not nest alike.

    >>> inner_product((2, (3, 4)), (10, (1, 100)))
    423
    """
    if not congruent(left, right):
        raise CongruenceError(
            "inner_product",
            {"left": left, "right": right},
            "the two nest differently",
            "unflatten one as the other nests",
        )
    total: Any = 0
    for a, b in zip(leaves(left), leaves(right), strict=True):
        total = total + a * b
    return total


@typed
def prefix_product(value: IntTuple, init: Any = 1) -> IntTuple:
    """Return for each leaf the product of all leaves before it, times ``init``.

    Law: congruent to ``value``; the strides of the compact column-major layout, but for leaves of
    extent 1, whose stride is 0 there. C++ and NVIDIA's pycute: ``prefix_product``.

    >>> prefix_product(((2, 3), 1, 4))
    ((1, 2), 6, 6)
    """
    if not is_tuple(value):
        return init
    out: list[Any] = []
    for mode in value:
        out.append(prefix_product(mode, init))
        init = init * product(mode)
    return tuple(out)


def compact_col_major(shape: Shape, current: Any = 1) -> Stride:
    """Return the strides that make a shape contiguous, first mode fastest.

    Leaves of extent 1 get stride 0, as in CuTe.

    >>> compact_col_major(((2, 3), 1, 4))
    ((1, 2), 0, 6)
    """
    if not is_tuple(shape):
        return 0 if shape == 1 else current
    strides: list[Any] = []
    for mode in shape:
        strides.append(compact_col_major(mode, current))
        current = current * product(mode)
    return tuple(strides)


@typed
def compatible(left: Shape, right: Shape) -> bool:
    """Tell whether coordinates of ``left`` also index ``right``: equal sizes mode by mode.

    C++: ``compatible``.

    >>> compatible(24, (4, 6)), compatible((4, 6), 24)
    (True, False)
    """
    if is_tuple(left):
        if not is_tuple(right) or len(left) != len(right):
            return False
        return all(map(compatible, left, right))
    return same(left, product(right))


@typed
def elem_less(left: IntTuple, right: IntTuple) -> bool:
    """Tell whether every entry of ``left`` is below the entry of ``right`` at its place.

    Entries that ``left`` lacks at the end count as below, entries that ``right`` lacks as not.
    Raises `CongruenceError` where a tuple meets an integer. C++: ``elem_less``.

    >>> elem_less((1, (2, 3)), (4, (4, 4))), elem_less((1, 5), (4, 4))
    (True, False)
    """
    if is_tuple(left) and is_tuple(right):
        # Entries beyond the shorter one are not compared.
        return len(left) <= len(right) and all(map(elem_less, left, right))
    if is_tuple(left) or is_tuple(right):
        raise CongruenceError(
            "elem_less",
            {"left": left, "right": right},
            "the two nest differently",
            "compare tuples with tuples and integers with integers",
        )
    return bool(left < right)


@typed
def ceil_div(a: IntTuple, b: IntTuple) -> Any:
    """Return ``a / b`` rounded up.

    Two tuples divide mode by mode (missing modes of ``b`` count as 1); an integer ``b`` divides the
    leftmost modes of a tuple first. Raises `CongruenceError` when ``b`` has more modes than ``a``.
    C++: ``ceil_div``.

    >>> ceil_div(10, 4), ceil_div((10, 8), (4, 2)), ceil_div((2, 4), 4)
    (3, (3, 4), (1, 2))
    """
    if not is_tuple(a):
        by = product(b)
        if by == 0:
            given = {"a": a, "b": b}
            raise DivisibilityError("ceil_div", given, "the divisor is 0", "use 1 or more")
        return -(-a // by)
    if is_tuple(b):
        return tuple(map(ceil_div, a, _ones_appended("ceil_div", a, b)))
    out: list[Any] = []
    for mode in a:
        out.append(ceil_div(mode, b))
        b = ceil_div(b, mode)
    return tuple(out)


def _ones_appended(operation: str, a: IntTuple, b: IntTuple) -> tuple[Any, ...]:
    if not is_tuple(a) or not is_tuple(b) or len(b) > len(a):
        raise CongruenceError(
            operation,
            {"a": a, "b": b},
            "b has other modes than a",
            "give two integers, or tuples with at most one entry of b for each mode of a",
        )
    return b + (1,) * (len(a) - len(b))


@typed
def round_up(a: IntTuple, b: IntTuple) -> Any:
    """Return the least multiple of ``b`` that is at least ``a``, mode by mode for tuples.

    Missing modes of ``b`` count as 1. Raises `CongruenceError` when ``b`` has other modes than
    ``a``. C++: ``round_up``.

    >>> round_up(10, 4), round_up((10, 7), (4,))
    (12, (12, 7))
    """
    if is_tuple(a) or is_tuple(b):
        return tuple(map(round_up, a, _ones_appended("round_up", a, b)))
    return ceil_div(a, b) * b


@typed
def elem_scale(left: IntTuple, right: IntTuple) -> IntTuple:
    """Scale each mode of ``left`` by the size of the same mode of ``right``. C++: ``elem_scale``.

    >>> elem_scale((8, 16), (2, (2, 2)))
    (16, 64)
    """
    if is_tuple(left):
        if not is_tuple(right) or len(left) != len(right):
            raise CongruenceError(
                "elem_scale",
                {"left": left, "right": right},
                "the two nest differently",
                "give one factor for each mode, which may be nested",
            )
        return tuple(map(elem_scale, left, right))
    return left * product(right)


@typed
def shape_div(a: IntTuple, b: IntTuple) -> IntTuple:
    """Divide a shape by another, leftmost modes first.

    A leaf divides a leaf exactly one way or the other: the result is ``ceil(a/b)``.
    Raises `DivisibilityError` when neither divides the other, `CongruenceError` for two tuples of
    different rank. C++: ``shape_div``.

    >>> shape_div((12, 3), 4), shape_div((256, 32), (16, 16))
    ((3, 3), (16, 2))
    """
    if is_tuple(a):
        if is_tuple(b):
            if len(a) != len(b):
                raise CongruenceError(
                    "shape_div",
                    {"a": a, "b": b},
                    f"{len(a)} modes by {len(b)}",
                    "give one divisor for each mode, or one integer for all",
                )
            return tuple(map(shape_div, a, b))
        out: list[Any] = []
        for mode in a:
            out.append(shape_div(mode, b))
            b = shape_div(b, product(mode))
        return tuple(out)
    b = product(b)
    if a == 0 or b == 0:
        given = {"a": a, "b": b}
        raise DivisibilityError("shape_div", given, "an extent is 0", "use extents of 1 or more")
    if a != 1 and b != 1 and a % b and b % a:
        raise DivisibilityError(
            "shape_div",
            {"a": a, "b": b},
            f"neither of {a} and {b} divides the other",
            "use extents of which one divides the other",
        )
    return -(-a // b)


# ------------------------------------------------------------ indexing


@typed
def crd2idx(coord: Coord, shape: Shape, stride: Stride = None) -> Any:
    """Return the offset of a coordinate.

    Law: ``crd2idx(c, s, d)`` is the inner product of the natural coordinate with the strides. A
    coordinate may stop short of the shape's nesting: an integer indexes a whole (nested) mode
    colexicographically. The last mode is unbounded, as in C++.
    Raises `CoordError` when the coordinate does not fit the shape, `CongruenceError` when the
    strides do not. C++: ``crd2idx``.

    >>> crd2idx((1, 2), (4, 8), (8, 1)), crd2idx(9, (4, 8), (8, 1))
    (10, 10)
    """
    if stride is None:
        stride = compact_col_major(shape)
    else:
        _check_strides("crd2idx", shape, stride)
    return offset_of(coord, shape, stride)


def offset_of(coord: Coord, shape: Shape, stride: Stride) -> Any:
    """Return `crd2idx` of a shape and strides that are known to nest alike.

    >>> offset_of((1, 2), (4, 8), (8, 1))
    10
    """
    total: Any = 0
    if isinstance(coord, TUPLE):
        if not isinstance(shape, TUPLE) or len(coord) != len(shape):
            coord = _filled(coord, shape)
            if not isinstance(shape, TUPLE):
                return offset_of(coord, shape, stride)
        for c, s, d in zip(coord, shape, stride):
            if type(c) is int and type(s) is int:
                total = total + c * d
            else:
                total = total + offset_of(c, s, d)
        return total
    if type(coord) is not int:
        coord, shape, stride = _adopted_index(coord, shape, stride)
    if not isinstance(shape, TUPLE):
        return coord * stride
    last = len(shape) - 1
    for i, s in enumerate(shape):
        size = s if type(s) is int else product(s)
        part = coord
        if i < last:
            coord, part = divmod(coord, size)
        total = total + (part * stride[i] if size is s else offset_of(part, s, stride[i]))
    return total


def _adopted_index(coord: Any, shape: Shape, stride: Stride) -> tuple[Any, Any, Any]:
    """Return an index that is not a number, and fewer modes where it need not be taken apart."""
    if isinstance(coord, _NO_INDEX):
        raise _no_integer("crd2idx", coord, shape)
    if isinstance(coord, (Basis, BasisSum)):
        return 1, 1, offset_of(coord.as_coord(), shape, stride)
    coord = adopted(coord)
    if isinstance(coord, Symbolic) and isinstance(shape, TUPLE) and shape:
        modes = unbounded(shape, stride)
        return coord, tuple(s for s, _ in modes), tuple(d for _, d in modes)
    return coord, shape, stride


def _filled(coord: Any, shape: Shape) -> Any:
    """Return a coordinate of layouts, in which missing modes count as zero, with all of them."""
    count = len(shape) if isinstance(shape, TUPLE) else 1
    if not isinstance(coord, ArithTuple) or any(ArithTuple((c,)) != 0 for c in coord[count:]):
        raise _other_modes(coord, shape)
    filled = (*coord[:count], *(0,) * (count - len(coord)))
    return filled if isinstance(shape, TUPLE) else filled[0]


def _other_modes(coord: Coord, shape: Shape) -> CoordError:
    return CoordError(
        "crd2idx",
        {"coord": coord, "shape": shape},
        "the coordinate has other modes than the shape",
        "give one entry for each mode, or one integer for all",
    )


def _no_integer(operation: str, entry: Any, shape: Shape) -> CoordError:
    return CoordError(
        operation,
        {"entry": repr(entry), "shape": shape},
        "an entry of a coordinate must be an integer",
        "use integers, nested as the shape is",
    )


_NO_INDEX = (float, complex, str, bytes, list, set, dict, type(None))


def _check_strides(operation: str, shape: Shape, stride: Stride) -> None:
    if isinstance(stride, ArithTuple):
        raise ShapeError(
            operation,
            {"shape": shape, "stride": stride},
            "the stride is a coordinate, as a sum of basis elements is",
            "give each leaf one basis element, or a plain tuple of strides",
        )
    if not congruent(shape, stride):
        raise _incongruent(operation, shape, stride)


def _incongruent(operation: str, shape: Shape, stride: Stride) -> CongruenceError:
    return CongruenceError(
        operation,
        {"shape": shape, "stride": stride},
        "shape and stride nest differently",
        "give one stride for each leaf of the shape, nested alike",
    )


@typed
def idx2crd(index: Any, shape: Shape, stride: Stride = None) -> Coord:
    """Return the coordinate of an index; of an offset, where strides are given.

    Law: ``crd2idx(idx2crd(i, s), s) == i`` for every integer ``i``, since the last mode takes what
    is past the end. A tuple of indices is taken mode by mode. With strides each leaf is
    ``(i // stride) % extent``, and the layout must be a compact permutation; an integer stride is
    the first of a compact layout's. Raises `CoordError` when a tuple of indices has other modes
    than the shape, `CongruenceError` when the strides have, `ShapeError` for basis strides.
    C++: ``idx2crd``.

    >>> idx2crd(9, (4, (2, 4))), idx2crd((1, 5), (3, (2, 3))), idx2crd(42, (3, 7, 2))
    ((1, (0, 1)), (1, (1, 2)), (0, 0, 2))
    >>> idx2crd(9, (4, 8), (8, 1))
    (1, 1)
    """
    if hasattr(shape, "shape"):
        raise ShapeError(
            "idx2crd",
            {"shape": repr(shape)},
            "a layout was given instead of its shape",
            "idx2crd(index, layout.shape)",
        )
    if stride is None:
        return _split(index, shape)
    if is_tuple(shape) and not is_tuple(stride) and not is_tuple(index):
        stride = compact_col_major(shape, stride)
    _check_strides("idx2crd", shape, stride)
    return _digits(index, shape, stride)


def _split(index: Any, shape: Shape) -> Coord:
    """Return the coordinate of an index: the last mode takes what is past the end."""
    if isinstance(index, (Basis, BasisSum)):
        index = index.as_coord()
    if isinstance(index, ArithTuple) and is_tuple(shape) and len(index) != len(shape):
        index = _filled(index, shape)
    if is_tuple(index):
        _check_modes(index, shape)
        return tuple(map(_split, index, shape))
    if type(index) is not int:
        if isinstance(index, _NO_INDEX):
            raise _no_integer("idx2crd", index, shape)
        index = adopted(index)
    if not is_tuple(shape):
        demand_leaf("idx2crd", shape)
        return index
    out: list[Any] = []
    for mode in shape[:-1]:
        extent: Any = product(mode)
        if extent == 0:
            raise ShapeError(
                "idx2crd", {"shape": shape}, "an extent of 0 has no coordinates", "use extents >= 1"
            )
        out.append(_split(index % extent, mode))
        index = index // extent
    return (*out, *(_split(index, mode) for mode in shape[-1:]))


def _digits(index: Any, shape: Shape, stride: Stride) -> Coord:
    """Return the coordinate of an offset: a digit for each leaf."""
    if is_tuple(index):
        _check_modes(index, shape)
        return tuple(map(_digits, index, shape, stride))
    if isinstance(index, _NO_INDEX):
        raise _no_integer("idx2crd", index, shape)
    if is_tuple(shape):
        return tuple(_digits(index, s, d) for s, d in zip(shape, stride, strict=True))
    if isinstance(stride, Basis):
        raise ShapeError(
            "idx2crd",
            {"stride": stride},
            "a basis stride cannot be divided",
            "use the value of such a layout, which is the coordinate already",
        )
    if shape == 0:
        raise ShapeError(
            "idx2crd", {"shape": shape}, "an extent of 0 has no coordinates", "use extents >= 1"
        )
    return 0 if shape == 1 or stride == 0 else (index // stride) % shape


def _check_modes(index: tuple[Any, ...], shape: Shape) -> None:
    if not is_tuple(shape) or len(index) != len(shape):
        raise CoordError(
            "idx2crd",
            {"index": index, "shape": shape},
            "the index has other modes than the shape",
            "give one entry for each mode, or one integer for all",
        )


@typed
def crd2crd(coord: Coord, source: Shape, target: Shape) -> Coord:
    """Move a coordinate from one shape to another of the same size.

    Law: the index stays the same; a coordinate that nests as the target does stays as it is.
    Raises `CoordError` where the coordinate does not fit its shape. C++: ``crd2crd``, which asks
    that modes of two shapes of one rank have the same sizes.

    >>> crd2crd((1, 2), (4, 8), 32), crd2crd((1, (1, 2)), (4, (2, 4)), (4, 8))
    (9, (1, 5))
    """
    if is_tuple(coord) and congruent(coord, target):
        return coord
    return idx2crd(crd2idx(coord, source), target)


@typed
def increment_coord(coord: Coord, shape: Shape) -> Coord:
    """Return the coordinate after one: the first mode moves, each that is at its end carries.

    Law: ``crd2idx(increment_coord(c, s), s) == crd2idx(c, s) + 1``, nested as the shape; the last
    mode takes what is past the end. Raises `CoordError` where the coordinate does not fit.
    C++: ``increment``; CuTe IR: ``increment_coord``.

    >>> increment_coord((3, 2), (4, 8)), increment_coord((1, (2, 0)), (4, (3, 8)))
    ((0, 3), (2, (2, 0)))
    """
    return idx2crd(crd2idx(coord, shape) + 1, shape)


def coordinates(shape: Shape) -> Iterator[Coord]:
    """Yield every natural coordinate of a shape, first mode fastest.

    >>> list(coordinates((2, 2)))
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    for index in range(product(shape)):
        yield idx2crd(index, shape)


def as_coordinate(value: Any) -> ArithTuple:
    """Return a coordinate value as an `ArithTuple`, promoting basis elements and integers.

    >>> as_coordinate(0), as_coordinate((1, 2))
    (ArithTuple(()), ArithTuple((1, 2)))
    """
    if isinstance(value, (Basis, BasisSum)):
        return value.as_coord()
    if is_tuple(value):
        return ArithTuple(value)
    return ArithTuple(()) if value == 0 else ArithTuple((value,))
