"""Floor 1: coordinates and indices of a shape; the first mode moves fastest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycute_xe.basis import ArithTuple, Basis
from pycute_xe.errors import CongruenceError, CoordError, ShapeError
from pycute_xe.int_tuple.arithmetic import compact_col_major, product
from pycute_xe.int_tuple.nesting import congruent
from pycute_xe.signatures import typed
from pycute_xe.typing import Coord, Shape, Stride, is_tuple
from pycute_xe.unknown import adopted

__all__ = ["as_coordinate", "coordinates", "crd2crd", "crd2idx", "idx2crd", "offset_of"]


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
    if type(coord) is not int and is_tuple(coord):
        if not is_tuple(shape) or len(coord) != len(shape):
            raise CoordError(
                "crd2idx",
                {"coord": coord, "shape": shape},
                "the coordinate has other modes than the shape",
                "give one entry for each mode, or one integer for all",
            )
        total: Any = 0
        for c, s, d in zip(coord, shape, stride, strict=True):
            total = total + (c * d if type(c) is int and type(s) is int else offset_of(c, s, d))
        return total
    if type(coord) is not int:
        if isinstance(coord, _NO_INDEX):
            raise _no_integer("crd2idx", coord, shape)
        coord = adopted(coord)
    if type(shape) is int or not is_tuple(shape):
        return coord * stride
    if not shape:
        return 0
    total = 0
    for s, d in zip(shape[:-1], stride[:-1], strict=True):
        if type(s) is int:
            total = total + coord % s * d
            coord = coord // s
        else:
            size: Any = product(s)
            total = total + offset_of(coord % size, s, d)
            coord = coord // size
    return total + offset_of(coord, shape[-1], stride[-1])


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
    if is_tuple(index):
        _check_modes(index, shape)
        return tuple(map(_split, index, shape))
    if type(index) is not int:
        if isinstance(index, _NO_INDEX):
            raise _no_integer("idx2crd", index, shape)
        index = adopted(index)
    if not is_tuple(shape):
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
    if isinstance(value, Basis):
        return value.as_coord()
    if is_tuple(value):
        return ArithTuple(value)
    return ArithTuple(()) if value == 0 else ArithTuple((value,))
