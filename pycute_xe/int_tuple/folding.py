"""Tuples folded into a value, filled, multiplied from the back, and put in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.errors import CongruenceError, DivisibilityError
from pycute_xe.int_tuple.indexing import product, shape_div
from pycute_xe.int_tuple.nesting import congruent, flatten_tuple
from pycute_xe.signatures import typed
from pycute_xe.typing import IntTuple, Shape, at_most, is_tuple

__all__ = [
    "colex_less",
    "fold",
    "lex_less",
    "product_like",
    "repeat_like",
    "shape_mod",
    "suffix_product",
]


@typed
def fold(value: Any, init: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Combine a value with all leaves of a tuple, left to right.

    Law: of two leaves ``function(function(init, leaf_0), leaf_1)``; ``fold(t, 1, mul)`` is
    ``product(t)``. Raises what the function raises. tensor-layouts: ``fold``. C++: ``fold``, of the
    entries of the tuple instead of its leaves.

    >>> fold(((1, 2), 3), 0, lambda total, leaf: 10 * total + leaf)
    123
    """
    if not is_tuple(value):
        return function(init, value)
    for part in value:
        init = fold(part, init, function)
    return init


@typed
def repeat_like(value: Any, target: Any) -> Any:
    """Return a tuple that nests as ``target`` does, with ``value`` at each of its leaves.

    Law: congruent to ``target``. CuTe DSL: ``repeat_like(x, target)``. C++: ``repeat_like``, whose
    first argument is the target.

    >>> repeat_like(0, ((1, 2), 3)), repeat_like(2, 5)
    (((0, 0), 0), 2)
    """
    return tuple(repeat_like(value, part) for part in target) if is_tuple(target) else value


@typed
def product_like(value: IntTuple, target: Any) -> IntTuple:
    """Return the product of what stands at each leaf of ``target``.

    Law: congruent to ``target``, and ``product(product_like(t, p)) == product(t)``. Raises
    `CongruenceError` where the target nests deeper or has other modes. C++, CuTe DSL: same name.

    >>> product_like(((2, 3), 4, (5, 6)), (0, 0, (0, 0)))
    (6, 4, (5, 6))
    """
    if not is_tuple(target):
        return product(value)
    if not is_tuple(value) or len(value) != len(target):
        raise CongruenceError(
            "product_like",
            {"value": value, "target": target},
            "the target nests deeper than the value, or has another number of modes",
            "give a target whose leaves stand for modes of the value",
        )
    return tuple(map(product_like, value, target))


@typed
def suffix_product(value: IntTuple, init: Any = 1) -> IntTuple:
    """Return for each leaf the product of all leaves after it, times ``init``.

    Law: congruent to ``value``; the strides of a row-major layout, but for leaves of extent 1.
    A tuple ``init`` has an entry for each mode, from which that mode begins. Raises
    `CongruenceError` where it has other modes. tensor-layouts: ``suffix_product``.

    >>> suffix_product(((2, 3), 1, 4)), suffix_product((3, (2, 4)), (5, 1))
    (((12, 4), 4, 1), (5, (4, 1)))
    """
    if is_tuple(init):
        if not is_tuple(value) or len(value) != len(init):
            raise CongruenceError(
                "suffix_product",
                {"value": value, "init": init},
                "init has other modes than the value",
                "give one number, or one for each mode",
            )
        return tuple(map(suffix_product, value, init))
    if not is_tuple(value):
        return init
    out: list[Any] = []
    for mode in reversed(value):
        out.append(suffix_product(mode, init))
        init = init * product(mode)
    return tuple(reversed(out))


@typed
def shape_mod(shape: Shape, divisor: Any) -> Shape:
    """Return the part of a shape that ``shape_div`` takes away: its first ``divisor`` elements.

    Law: congruent to ``shape``, and ``product(shape_div(s, d)) * product(shape_mod(s, d)) ==
    product(s)``; a leaf and what is left of the divisor there keep the smaller of the two. Raises
    `DivisibilityError` where neither divides the other. tensor-layouts: ``shape_mod``.

    >>> shape_mod((4, 3), 2), shape_mod((4, 3), 12), shape_mod((4, (2, 8)), 16)
    ((2, 1), (4, 3), (4, (2, 2)))
    """
    if is_tuple(shape):
        out: list[Any] = []
        for mode in shape:
            out.append(shape_mod(mode, divisor))
            divisor = shape_div(divisor, product(out[-1]))
        return tuple(out)
    try:
        shape_div(shape, divisor)
    except DivisibilityError as error:
        given = {"shape": shape, "divisor": divisor}
        raise DivisibilityError("shape_mod", given, error.condition, error.fix) from None
    return shape if at_most(shape, divisor) else divisor


@typed
def lex_less(left: IntTuple, right: IntTuple) -> bool:
    """Tell whether a coordinate comes before another when the last mode moves fastest.

    Law: ``lex_less(a, b)`` is ``a < b`` of Python's tuples; ``not lex_less(b, a)`` is C++'s
    ``lex_leq(a, b)``. Raises `CongruenceError` where the two nest differently. C++: ``lex_less``.

    >>> lex_less((0, 5), (1, 2)), lex_less((1, 5), (1, 2))
    (True, False)
    """
    return _precedes("lex_less", left, right, 1)


@typed
def colex_less(left: IntTuple, right: IntTuple) -> bool:
    """Tell whether a coordinate comes before another in CuTe's order: the first mode is fastest.

    Law: ``colex_less(a, b) == (crd2idx(a, s) < crd2idx(b, s))`` for coordinates of any shape ``s``;
    ``not colex_less(b, a)`` is C++'s ``colex_leq(a, b)``. Raises `CongruenceError` where the two
    nest differently. C++: ``colex_less``.

    >>> colex_less((0, 5), (1, 2)), colex_less((1, 2), (0, 5))
    (False, True)
    """
    return _precedes("colex_less", left, right, -1)


def _precedes(operation: str, left: IntTuple, right: IntTuple, step: int) -> bool:
    """Compare from the entry that moves slowest on: the first, or with a step of -1 the last."""
    if not congruent(left, right):
        raise CongruenceError(
            operation,
            {"left": left, "right": right},
            "the two nest differently",
            "compare coordinates of one shape",
        )
    ones, others = flatten_tuple(left)[::step], flatten_tuple(right)[::step]
    return next((bool(a < b) for a, b in zip(ones, others, strict=True) if a != b), False)
