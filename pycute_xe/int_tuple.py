"""Floor 1: nested integer tuples and the coordinates that index them.

Coordinates run colexicographically: the first mode moves fastest. Every function here is a plain
function of tuples and knows no layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pycute_xe.basis import ArithTuple, Basis
from pycute_xe.errors import CongruenceError, CoordError, DivisibilityError, ShapeError
from pycute_xe.typing import Coord, IntTuple, Shape, Stride, is_tuple
from pycute_xe.unknown import adopted, same

__all__ = [
    "ceil_div",
    "compact_col_major",
    "compatible",
    "congruent",
    "coordinates",
    "crd2crd",
    "crd2idx",
    "depth",
    "elem_less",
    "elem_scale",
    "flatten_tuple",
    "idx2crd",
    "inner_product",
    "leaves",
    "offset_of",
    "product",
    "product_each",
    "rank_of",
    "round_up",
    "shape_div",
    "transform_leaf",
    "unflatten_tuple",
    "weakly_congruent",
]


def leaves(value: IntTuple) -> Iterator[Any]:
    """Yield the leaves from left to right.

    >>> list(leaves(((2, 3), 4)))
    [2, 3, 4]
    """
    if is_tuple(value):
        for mode in value:
            yield from leaves(mode)
    else:
        yield value


def flatten_tuple(value: IntTuple) -> tuple[Any, ...]:
    """Return all leaves as one flat tuple; a leaf becomes a 1-tuple. C++: ``flatten_to_tuple``.

    >>> flatten_tuple(((2, 3), 4))
    (2, 3, 4)
    """
    if not is_tuple(value):
        return (value,)
    out: list[Any] = []
    for mode in value:
        if type(mode) is not int and is_tuple(mode):
            out.extend(flatten_tuple(mode))
        else:
            out.append(mode)
    return tuple(out)


def unflatten_tuple(flat: tuple[Any, ...], profile: IntTuple) -> IntTuple:
    """Nest flat leaves as ``profile`` nests.

    Law: ``unflatten_tuple(flatten_tuple(t), t) == t``. Raises `CongruenceError` when the number of
    leaves differs. C++: ``unflatten``.

    >>> unflatten_tuple((1, 2, 3), ((0, 0), 0))
    ((1, 2), 3)
    """
    wanted = len(flatten_tuple(profile))
    if wanted != len(flat):
        raise CongruenceError(
            "unflatten",
            {"flat": flat, "profile": profile},
            f"{len(flat)} leaves for {wanted} places",
            "give one leaf for each place of the profile",
        )
    source = iter(flat)

    def build(part: IntTuple) -> IntTuple:
        return tuple(build(p) for p in part) if is_tuple(part) else next(source)

    return build(profile)


def rank_of(value: IntTuple) -> int:
    """Return the number of modes: 1 for a leaf.

    >>> rank_of((2, (3, 4))), rank_of(7)
    (2, 1)
    """
    return len(value) if is_tuple(value) else 1


def depth(value: IntTuple) -> int:
    """Return how deep the nesting goes: 0 for a leaf, 1 for a flat tuple.

    >>> depth(((2, 3), 4))
    2
    """
    if not is_tuple(value):
        return 0
    return 1 + max((depth(mode) for mode in value), default=0)


def product(value: IntTuple) -> Any:
    """Return the product of all leaves; 1 for the empty tuple.

    >>> product(((2, 3), 4))
    24
    """
    if not is_tuple(value):
        return value
    total: Any = 1
    for mode in value:
        total = total * (mode if type(mode) is int else product(mode))
    return total


def product_each(value: IntTuple) -> tuple[Any, ...]:
    """Return the size of every mode. C++: ``product_each``.

    >>> product_each(((2, 3), 4))
    (6, 4)
    """
    return tuple(product(mode) for mode in value) if is_tuple(value) else (value,)


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
            "they nest differently",
            "unflatten one as the other nests",
        )
    total: Any = 0
    for a, b in zip(leaves(left), leaves(right), strict=True):
        total = total + a * b
    return total


def congruent(left: IntTuple, right: IntTuple) -> bool:
    """Tell whether two tuples nest alike. C++: ``congruent``.

    >>> congruent((1, (2, 3)), (4, (5, 6))), congruent(4, (4,))
    (True, False)
    """
    if is_tuple(left) and is_tuple(right):
        return len(left) == len(right) and all(map(congruent, left, right))
    return not is_tuple(left) and not is_tuple(right)


def weakly_congruent(left: IntTuple, right: IntTuple) -> bool:
    """Tell whether ``right`` nests at least as deep as ``left``, mode by mode.

    >>> weakly_congruent((1, 2), (1, (2, 3))), weakly_congruent((1, (2, 3)), (1, 2))
    (True, False)
    """
    if is_tuple(left):
        if not is_tuple(right) or len(left) != len(right):
            return False
        return all(map(weakly_congruent, left, right))
    return True


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
            "they nest differently",
            "compare tuples with tuples and integers with integers",
        )
    return bool(left < right)


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


def transform_leaf(value: IntTuple, function: Callable[..., Any], *others: IntTuple) -> IntTuple:
    """Apply a function to each leaf, or to the leaves of several congruent tuples at one place.

    Law: congruent to ``value``. Raises `CongruenceError` where another tuple nests differently.
    C++: ``transform_leaf(t, f)`` and ``transform_leaf(t, u, f)``.

    >>> transform_leaf((1, (2, 3)), lambda x: 10 * x)
    (10, (20, 30))
    """
    for other in others:
        if not congruent(value, other):
            raise CongruenceError(
                "transform_leaf",
                {"value": value, "other": other},
                "they nest differently",
                "unflatten one as the other nests",
            )
    if is_tuple(value):
        rows = zip(value, *others, strict=True)
        return tuple(transform_leaf(row[0], function, *row[1:]) for row in rows)
    return function(value, *others)


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


def ceil_div(a: Any, b: Any) -> Any:
    """Return ``a / b`` rounded up.

    Two tuples divide mode by mode (missing modes of ``b`` count as 1); an integer ``b`` divides the
    leftmost modes of a tuple first. Raises `CongruenceError` when ``b`` has more modes than ``a``.
    C++: ``ceil_div``.

    >>> ceil_div(10, 4), ceil_div((10, 8), (4, 2)), ceil_div((2, 4), 4)
    (3, (3, 4), (1, 2))
    """
    if not is_tuple(a):
        return -(-a // product(b))
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


def round_up(a: Any, b: Any) -> Any:
    """Return the least multiple of ``b`` that is at least ``a``, mode by mode for tuples.

    Missing modes of ``b`` count as 1. Raises `CongruenceError` when ``b`` has other modes than
    ``a``. C++: ``round_up``.

    >>> round_up(10, 4), round_up((10, 7), (4,))
    (12, (12, 7))
    """
    if is_tuple(a) or is_tuple(b):
        return tuple(map(round_up, a, _ones_appended("round_up", a, b)))
    return ceil_div(a, b) * b


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
                "they nest differently",
                "give one factor for each mode, which may be nested",
            )
        return tuple(map(elem_scale, left, right))
    return left * product(right)


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
    if a != 1 and b != 1 and a % b and b % a:
        raise DivisibilityError(
            "shape_div",
            {"a": a, "b": b},
            f"neither of {a} and {b} divides the other",
            "use extents of which one divides the other",
        )
    return -(-a // b)


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
