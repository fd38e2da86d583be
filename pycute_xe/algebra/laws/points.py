"""Floor 3: how a law is judged: coordinate by coordinate, two values at a time.

Every claim of a law goes through the few functions here. A claim returns ``None`` where it holds,
else a sentence, so that claims chain with ``or``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from operator import index
from typing import Any, TypeAlias

from pycute_xe.composed import ComposedLayout
from pycute_xe.int_tuple import compatible, crd2idx, depth, leaves
from pycute_xe.layout import Layout, flatten, has_symbols, size
from pycute_xe.typing import Coord, Shape, is_tuple
from pycute_xe.unknown import Symbolic, in_order

__all__ = [
    "Function",
    "agree",
    "at",
    "equal",
    "flat",
    "in_mode",
    "kept",
    "leaf_modes",
    "moving_shape",
    "nests",
    "overlap",
    "points",
    "position",
    "same",
    "values",
]

Function: TypeAlias = "Layout | ComposedLayout"


def points(shape: Shape, name: str = "_c") -> Iterator[Coord]:
    """Yield the coordinates of a shape, nested as it is, first mode fastest.

    Along a symbolic extent there is one coordinate, a symbol that stands for all: what is found of
    it is proved of each.

    >>> list(points((2, (2, 1))))
    [(0, (0, 0)), (1, (0, 0)), (0, (1, 0)), (1, (1, 0))]
    """
    if isinstance(shape, Symbolic):
        yield shape.coordinate(name)
    elif not is_tuple(shape):
        yield from range(shape)
    elif not shape:
        yield ()
    else:
        for rest in points(shape[1:], f"{name}_"):
            for first in points(shape[0], f"{name}0"):
                yield (first, *rest)


def same(x: Any, y: Any) -> bool:
    """Tell whether two offsets, or two coordinates, are equal; missing modes count as zero.

    >>> same(3, 3), same((1, 2, (0, 0)), (1, 2)), same((1, 2), (2, 1))
    (True, True, False)
    """
    if is_tuple(x) or is_tuple(y):
        # An integer is a coordinate of one mode.
        left, right = (v if is_tuple(v) else (v,) for v in (x, y))
        return all(same(a, b) for a, b in zip_longest(left, right, fillvalue=0))
    return bool(x == y)


def agree(
    shape: Shape, one: str, f: Callable[[Any], Any], other: str, g: Callable[[Any], Any]
) -> str | None:
    """Claim that two functions agree on a shape. Their names hold ``{c}`` for the coordinate.

    >>> agree(3, "f({c})", lambda c: c, "g({c})", lambda c: c % 2)
    'f(2) is 2, g(2) is 0'
    """
    for c in points(shape):
        x, y = f(c), g(c)
        if not same(x, y):
            where = ",".join(map(_plain, c)) if is_tuple(c) else str(c)
            return f"{one.format(c=where)} is {_plain(x)}, {other.format(c=where)} is {_plain(y)}"
    return None


def equal(one: str, x: Any, other: str, y: Any) -> str | None:
    """Claim that two figures are equal.

    >>> equal("size(result)", 6, "size(b)", 12)
    'size(result) is 6, size(b) is 12'
    """
    return None if same(x, y) else f"{one} is {_plain(x)}, {other} is {_plain(y)}"


def _plain(value: Any) -> str:
    """The value as the layouts print: no blanks, no class names."""
    return f"({','.join(map(_plain, value))})" if is_tuple(value) else str(value)


def in_mode(mode: int, broken: str | None, kind: str = "mode") -> str | None:
    """Say in which mode, or which leaf, a claim fails.

    >>> in_mode(1, "result(0) is 1, a(0) is 0"), in_mode(1, None)
    ('in mode 1: result(0) is 1, a(0) is 0', None)
    """
    return broken and f"in {kind} {mode}: {broken}"


def nests(shape: Shape, result: Function) -> str | None:
    """Claim that the coordinates of a shape index the result: equal sizes, mode by mode.

    >>> nests((4, 6), Layout(((2, 2), 6))), nests((4, 6), Layout((4, 5)))
    (None, 'the shape of the result is (4,5), which (4,6) does not index')
    """
    if compatible(shape, result.shape):
        return None
    return (
        f"the shape of the result is {_plain(result.shape)}, which {_plain(shape)} does not index"
    )


def flat(result: Function) -> str | None:
    """Claim that no mode nests.

    >>> flat(Layout((4, 6))), flat(Layout((4, (2, 3))))
    (None, 'the depth of the result is 2, of a flat layout at most 1')
    """
    nesting = depth(result.shape)
    return (
        None
        if nesting <= 1
        else f"the depth of the result is {nesting}, of a flat layout at most 1"
    )


def kept(whole: Function, result: Function) -> str | None:
    """Claim that the result is the layout as it was.

    >>> kept(Layout(4), Layout(4)), kept(Layout(4), Layout(4, 2))
    (None, 'result(1) is 2, layout(1) is 1')
    """
    return equal("the shape of the result", result.shape, "of the layout", whole.shape) or agree(
        whole.shape, "result({c})", result, "layout({c})", whole
    )


def at(function: Function, value: Any) -> Any:
    """Return a layout's value at an index, or at a coordinate that may end early.

    >>> at(Layout((4, 8)), 5), at(Layout((4, 8)), (3,)), at(Layout(8, 2), (3,))
    (5, 3, 6)
    """
    return function(_fitted(value, function.shape))


def _fitted(value: Any, shape: Shape) -> Any:
    """Fill in the zeros that a coordinate leaves out at its end."""
    if not is_tuple(value):
        return value
    if not is_tuple(shape):
        return value[0] if value else 0
    return tuple(_fitted(v, s) for v, s in zip_longest(value, shape, fillvalue=0))


def values(function: Function) -> list[Any]:
    """List the values of a layout, first mode fastest. Raises `UndecidableError` for symbols.

    >>> values(Layout((2, 2), (5, 1)))
    [0, 5, 1, 6]
    """
    index(size(function))
    return [function(c) for c in points(function.shape)]


def _crossing(name: str, layout: Layout) -> str | None:
    """Claim that each stride is beyond what the smaller ones reach, so that no offset recurs."""
    reach: Any = 0
    modes = zip(leaves(layout.shape), leaves(layout.stride), strict=True)
    for d, s in in_order([(d, s) for s, d in modes if s != 1]):
        if not reach < d:
            return f"{name} steps by {d}, and its smaller steps reach {reach}"
        reach = reach + (s - 1) * d
    return None


def overlap(name: str, function: Function) -> str | None:
    """Claim that no two coordinates have one value.

    >>> overlap("result", Layout(4)), overlap("result", Layout((2, 2), (1, 1)))
    (None, 'result(1) and result(2) are both 1')
    """
    if isinstance(function, Layout) and has_symbols(function):
        return _crossing(name, function)
    seen: dict[Any, int] = {}
    for i, value in enumerate(values(function)):
        if value in seen:
            return f"{name}({seen[value]}) and {name}({i}) are both {_plain(value)}"
        seen[value] = i
    return None


def leaf_modes(layout: Layout) -> list[Layout]:
    """Return the leaves, each as a layout of its own.

    >>> [str(leaf) for leaf in leaf_modes(Layout(((2, 3), 4)))]
    ['2:1', '3:2', '4:6']
    """
    return list(flatten(layout))


def moving_shape(layout: Layout) -> tuple[Any, ...]:
    """Return the extents of the leaves, 1 where a step leaves the value as it is.

    >>> moving_shape(Layout((2, (3, 4)), (1, (0, 2))))
    (2, 1, 4)
    """
    return tuple(1 if same(leaf(1), 0) else size(leaf) for leaf in leaf_modes(layout))


def position(entries: tuple[Any, ...], extents: tuple[Any, ...], ranks: tuple[Any, ...]) -> Any:
    """Return how many coordinates come before one, when the mode of least rank moves fastest.

    Equal ranks move left to right.

    >>> position((1, 2), (4, 8), (1, 0))
    10
    """
    order = sorted(range(len(ranks)), key=lambda i: ranks[i])
    return crd2idx(tuple(entries[i] for i in order), tuple(extents[i] for i in order))
