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
    elif not congruent(shape, stride):
        raise _incongruent("crd2idx", shape, stride)
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
        "an entry of a coordinate is an integer",
        "use integers, nested as the shape is",
    )


_NO_INDEX = (float, complex, str, bytes, list, set, dict, type(None))


def _check_strides(operation: str, shape: Shape, stride: Stride) -> None:
    if is_tuple(stride) != is_tuple(shape) or (is_tuple(shape) and len(shape) != len(stride)):
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
    """Return the coordinate of an offset: for each leaf ``(index // stride) % extent``.

    Law: ``crd2idx(idx2crd(i, s), s) == i`` for ``0 <= i < product(s)``. With strides, the layout
    must be a compact permutation. Raises `CoordError` when a tuple of indices has other modes than
    the shape, `CongruenceError` when the strides have, `ShapeError` for basis strides.
    C++: ``idx2crd``.

    >>> idx2crd(9, (4, (2, 4)))
    (1, (0, 1))
    """
    if stride is None:
        stride = compact_col_major(shape)
    _check_strides("idx2crd", shape, stride)
    if is_tuple(index):
        if not is_tuple(shape) or len(index) != len(shape):
            raise CoordError(
                "idx2crd",
                {"index": index, "shape": shape},
                "the index has other modes than the shape",
                "give one entry for each mode, or one integer for all",
            )
        return tuple(map(idx2crd, index, shape, stride))
    if isinstance(index, _NO_INDEX):
        raise _no_integer("idx2crd", index, shape)
    if hasattr(shape, "shape"):
        raise ShapeError(
            "idx2crd",
            {"shape": repr(shape)},
            "a layout stands where its shape belongs",
            "idx2crd(index, layout.shape)",
        )
    if is_tuple(shape):
        return tuple(idx2crd(index, s, d) for s, d in zip(shape, stride, strict=True))
    if isinstance(stride, Basis):
        raise ShapeError(
            "idx2crd",
            {"stride": stride},
            "basis strides have no inverse here",
            "the value of such a layout is the coordinate already",
        )
    return 0 if shape == 1 or stride == 0 else (index // stride) % shape


@typed
def crd2crd(coord: Coord, source: Shape, target: Shape) -> Coord:
    """Move a coordinate from one shape to another of the same size. C++: ``crd2crd``.

    >>> crd2crd((1, 2), (4, 8), 32)
    9
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
