"""Nested tuples: how they nest, their leaves, functions leaf by leaf, and modes merged to one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pycute_xe.basis import ArithTuple, Basis, BasisSum
from pycute_xe.errors import CongruenceError
from pycute_xe.signatures import STUMBLES, blame, demand_leaf, typed
from pycute_xe.typing import TUPLE, IntTuple, Mode, Shape, Stride, is_tuple

__all__ = [
    "congruent",
    "depth",
    "flatten_tuple",
    "leaves",
    "merge",
    "merged",
    "rank_of",
    "transform_leaf",
    "unbounded",
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
    try:
        for mode in value:
            if type(mode) is not int and is_tuple(mode):
                out.extend(flatten_tuple(mode))
            else:
                out.append(mode)
    except STUMBLES as error:
        blame(flatten_tuple, (value,), error)
        raise
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
    if is_tuple(value):
        return len(value)
    demand_leaf("rank", value)
    return 1


def depth(value: IntTuple) -> int:
    """Return how deep the nesting goes: 0 for a leaf, 1 for a flat tuple.

    >>> depth(((2, 3), 4))
    2
    """
    if not is_tuple(value):
        demand_leaf("depth", value)
        return 0
    return 1 + max((depth(mode) for mode in value), default=0)


@typed
def congruent(left: IntTuple, right: IntTuple) -> bool:
    """Tell whether two tuples nest alike. C++: ``congruent``.

    >>> congruent((1, (2, 3)), (4, (5, 6))), congruent(4, (4,))
    (True, False)
    """
    if is_tuple(left) and is_tuple(right):
        return len(left) == len(right) and all(map(congruent, left, right))
    return not is_tuple(left) and not is_tuple(right)


@typed
def weakly_congruent(left: IntTuple, right: IntTuple) -> bool:
    """Tell whether ``right`` nests at least as deep as ``left``, mode by mode.

    A basis element or a sum of them is a coordinate, whose further modes are zeros.

    >>> weakly_congruent((1, 2), (1, (2, 3))), weakly_congruent((1, (2, 3)), (1, 2))
    (True, False)
    """
    left = left.as_coord() if isinstance(left, (Basis, BasisSum)) else left
    if is_tuple(left):
        if not is_tuple(right) or len(left) > len(right):
            return False
        fits = len(left) == len(right) or isinstance(left, ArithTuple)
        return fits and all(map(weakly_congruent, left, right))
    return True


@typed
def transform_leaf(value: IntTuple, function: Callable[..., Any], *others: IntTuple) -> IntTuple:
    """Apply a function to each leaf, or to the leaves of several congruent tuples at one place.

    Law: congruent to ``value``. Raises `CongruenceError` where another tuple nests differently.
    Raises `InputError` for a leaf that is not an integer.
    C++: ``transform_leaf(t, f)`` and ``transform_leaf(t, u, f)``.

    >>> transform_leaf((1, (2, 3)), lambda x: 10 * x)
    (10, (20, 30))
    """
    for other in others:
        if not congruent(value, other):
            raise CongruenceError(
                "transform_leaf",
                {"value": value, "other": other},
                "the two nest differently",
                "unflatten one as the other nests",
            )
    if is_tuple(value):
        rows = zip(value, *others, strict=True)
        return tuple(transform_leaf(row[0], function, *row[1:]) for row in rows)
    for leaf in (value, *others):
        demand_leaf("transform_leaf", leaf)
    return function(value, *others)


def merge(modes: Iterable[Mode], shapes: list[Any], strides: list[Any]) -> None:
    """Add modes, which may nest, to lists of extents and strides, merged with what is there.

    >>> shapes, strides = [2], [1]
    >>> merge([((1, 4), (9, 2)), (3, 100)], shapes, strides)
    >>> shapes, strides
    ([8, 3], [1, 100])
    """
    for s, d in modes:
        if type(s) is TUPLE:
            merge(zip(s, d), shapes, strides)
        elif s == 1:
            continue
        elif shapes and shapes[-1] * strides[-1] == d:
            shapes[-1] = shapes[-1] * s
        else:
            shapes.append(s)
            strides.append(d)


def merged(modes: Iterable[Mode]) -> list[Mode]:
    """Drop size-1 modes and merge each mode with the next where one continues the other.

    >>> merged([(2, 1), (1, 9), (4, 2), (3, 100)])
    [(8, 1), (3, 100)]
    """
    shapes: list[Any] = []
    strides: list[Any] = []
    merge(modes, shapes, strides)
    return list(zip(shapes, strides))


def unbounded(shape: Shape, stride: Stride) -> list[Mode]:
    """Return the merged modes, but keep the last, which has no end even when its extent is 1.

    >>> unbounded((2, 4, 1), (1, 2, 8)), unbounded((2, 4, 1), (1, 2, 5))
    ([(8, 1)], [(8, 1), (1, 5)])
    """
    out = merged([(shape, stride)])
    while type(shape) is TUPLE and shape:
        shape, stride = shape[-1], stride[-1]
    if type(shape) is not TUPLE and shape == 1 and not (out and out[-1][0] * out[-1][1] == stride):
        out.append((shape, stride))
    return out
