"""Floor 1: arithmetic of nested tuples: products, divisions, comparisons."""

from __future__ import annotations

from typing import Any

from pycute_xe.errors import CongruenceError, DivisibilityError
from pycute_xe.int_tuple.nesting import congruent, leaves
from pycute_xe.signatures import STUMBLES, blame, typed
from pycute_xe.typing import IntTuple, Shape, Stride, is_tuple
from pycute_xe.unknown import same

__all__ = [
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


def product(value: IntTuple) -> Any:
    """Return the product of all leaves; 1 for the empty tuple.

    >>> product(((2, 3), 4))
    24
    """
    if not is_tuple(value):
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
    return tuple(product(mode) for mode in value) if is_tuple(value) else (value,)


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
