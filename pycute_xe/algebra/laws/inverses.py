"""The laws of complements and inverses, and of what two layouts share."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pycute_xe.algebra.laws import points as law
from pycute_xe.int_tuple import idx2crd, product
from pycute_xe.layout import Layout, has_symbols, size
from pycute_xe.typing import IntTuple, Shape

__all__ = [
    "complement",
    "greatest_common_domain",
    "left_inverse",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "right_inverse",
]


def complement(layout: Layout, cotarget: IntTuple, result: Layout) -> str | None:
    """Judge ``complement(layout, cotarget)``: what repeats the layout until nothing is left out.

    Law: the values of the result increase from 0, ``layout(c) + result(d)`` takes no value twice
    (repeats of the layout aside) and reaches ``product(cotarget) - 1``; flat. Where copies of the
    layout can hold every offset, ``result(k)`` is the place of the ``k``-th of those that hold each
    offset of ``[0, n)``, for the least such ``n >= product(cotarget)``. CuTe: ``complement`` in
    ``layout.hpp``; section *Complement* of its ``02_layout_algebra.md``.

    >>> complement(Layout((2, 2), (1, 6)), 24, Layout((3, 2), (2, 12)))
    >>> complement(Layout((2, 2), (1, 6)), 24, Layout((3, 2), (2, 6)))
    'the copies at 0 and result(3) = 6 both hold 6'
    """
    if has_symbols(layout, cotarget):
        return law.flat(result) or law.unfilled(layout, result, cotarget)
    places = law.find_places(layout)
    end = product(cotarget)
    broken = law.flat(result) or _increasing(result) or _apart(layout, result, end)
    if broken or not places.repeats:
        return broken
    return law.equal("size(result)", size(result), "copies needed", places.count(end)) or law.agree(
        size(result), "result({c})", result, "the place of copy {c}", places
    )


def _increasing(result: Layout) -> str | None:
    """Claim that values start at 0 and increase."""
    before = -1
    for i in law.points(size(result)):
        if result(i) <= before or not (i or result(i) == 0):
            return (
                f"result({i}) is {result(i)}, after {before}" if i else f"result(0) is {result(0)}"
            )
        before = result(i)
    return None


def _apart(layout: Layout, result: Layout, end: Any) -> str | None:
    """Claim that copies of a layout do not meet, and reach an end together."""
    offsets = sorted(set(law.values(layout)))
    seen: dict[Any, Any] = {}
    for i in law.points(size(result)):
        for offset in offsets:
            sum_ = offset + result(i)
            if sum_ in seen:
                return f"the copies at {seen[sum_]} and result({i}) = {result(i)} both hold {sum_}"
            seen[sum_] = result(i)
    return None if max(seen) + 1 >= end else f"the copies end at {max(seen)}, before {end - 1}"


def right_inverse(layout: law.Function, result: law.Function) -> str | None:
    """Judge ``right_inverse(layout)``: where each offset from 0 on is found.

    Law: ``layout(result(i)) == i`` for ``0 <= i < size(result)``, each ``result(i)`` an index of
    the layout; where no offset occurs twice, the layout does not reach ``size(result)``, so that no
    inverse is longer; of symbols that is not asked. CuTe: ``right_inverse`` in ``layout.hpp``.

    >>> right_inverse(Layout((4, 8), (8, 1)), Layout((8, 4), (4, 1)))
    >>> right_inverse(Layout((4, 8), (8, 1)), Layout((8, 4), (1, 8)))
    'layout(result(1)) is 8, the offset is 1'
    >>> right_inverse(Layout((4, 8), (8, 1)), Layout(8, 4))
    'size(result) is 8, an offset of the layout as well'
    """
    broken = law.agree(
        size(result), "layout(result({c}))", lambda i: layout(result(i)), "the offset", lambda i: i
    )
    return broken or _inside(result, size(layout)) or _reached(layout, size(result))


def _reached(layout: law.Function, end: Any) -> str | None:
    """Claim that an end is not an offset, of a layout where none occurs twice."""
    if has_symbols(layout) or law.overlap("layout", layout):
        return None
    if not any(law.same(value, end) for value in law.values(layout)):
        return None
    return f"size(result) is {end}, an offset of the layout as well"


def left_inverse(layout: law.Function, result: law.Function) -> str | None:
    """Judge ``left_inverse(layout)``: which index an offset came from.

    Law: ``result(layout(i)) == i`` for ``0 <= i < size(layout)``, of the first index where strides
    of 0 repeat an offset. CuTe: ``left_inverse`` in ``layout.hpp``.

    >>> left_inverse(Layout((4, 8), (16, 2)), Layout((2, 8, 4), (0, 4, 1)))
    >>> left_inverse(Layout((4, 8), (16, 2)), Layout((8, 4), (4, 1)))
    'result(layout(1)) is 2, the index is 1'
    """
    first: dict[Any, Any] = {}
    for i in law.points(size(layout)):
        first.setdefault(layout(i), i)
    return law.agree(
        size(layout),
        "result(layout({c}))",
        lambda i: result(layout(i)),
        "the index",
        lambda i: first.get(layout(i), i),
    )


def nullspace(layout: Layout, result: Layout) -> str | None:
    """Judge ``nullspace(layout)``: the indices along the strides of 0.

    Law: ``layout(result(i)) == 0``, no index twice, and as many as the leaves along which the
    offset stays have coordinates: all that map to 0, where the other leaves repeat nothing. CuTe:
    ``nullspace`` in ``layout.hpp``.

    >>> nullspace(Layout((2, 3, 4), (1, 0, 2)), Layout(3, 2))
    >>> nullspace(Layout((2, 3, 4), (1, 0, 2)), Layout(3, 6))
    'layout(result(1)) is 2, the offset is 0'
    """
    repeats = size(layout) // product(law.moving_shape(layout))
    return (
        law.equal("size(result)", size(result), "the repeats of an offset", repeats)
        or law.agree(
            size(result),
            "layout(result({c}))",
            lambda i: layout(result(i)),
            "the offset",
            lambda i: 0,  # noqa: ARG005 - an offset for each coordinate
        )
        or law.overlap("result", result)
        or _inside(result, size(layout))
    )


def _inside(result: law.Function, end: Any) -> str | None:
    """Claim that all values are indices of a layout of that size."""
    for c in law.points(size(result)):
        if not 0 <= result(c) < end:
            return f"result({c}) is {result(c)}, the size of the layout {end}"
    return None


def max_common_layout(a: law.Function, b: law.Function, result: Layout) -> str | None:
    """Judge ``max_common_layout(a, b)``: the indices of what both hold at the start, in order.

    Law: ``a(result(i)) - a(0) == i == b(result(i)) - b(0)`` for ``0 <= i < size(result)``, each
    ``result(i)`` an index of ``b``; where ``b`` has no offset twice, no more follows (see
    `max_common_vector`). CuTe: ``max_common_layout`` in ``layout.hpp``.

    >>> max_common_layout(Layout((4, 8)), Layout((4, 8), (1, 8)), Layout(4))
    >>> max_common_layout(Layout((4, 8)), Layout((4, 8), (1, 8)), Layout(5))
    'b(result(4)) is 8, offset 4 from the start is 4'
    """
    for name, side in (("a", a), ("b", b)):
        broken = law.agree(
            size(result),
            f"{name}(result({{c}}))",
            lambda i, side=side: side(result(i)),
            "offset {c} from the start",
            lambda i, side=side: side(0) + i,
        )
        if broken:
            return broken
    return _inside(result, size(b)) or max_common_vector(a, b, size(result))


def max_common_vector(a: law.Function, b: law.Function, result: Any) -> str | None:
    """Judge ``max_common_vector(a, b)``: how many elements both hold at the start, in order.

    Law: for ``0 <= i < result`` an index has ``a(index) - a(0) == i == b(index) - b(0)``; where
    ``b`` has no offset twice, none has it for ``i == result``. CuTe: ``max_common_vector`` in
    ``layout.hpp``.

    >>> max_common_vector(Layout((4, 8)), Layout((4, 8), (1, 8)), 4)
    >>> max_common_vector(Layout((4, 8)), Layout((4, 8), (1, 8)), 3)
    'the result is 3, but both hold offset 3 from the start at one index'
    >>> max_common_vector(Layout((4, 8)), Layout((4, 8), (1, 8)), 5)
    'the result is 5, but no index holds offset 4 from the start in both'
    """
    shared: defaultdict[Any, list[Any]] = defaultdict(list)
    for index in law.points(size(b)):
        if law.same(a(index) - a(0), b(index) - b(0)):
            shared[b(index) - b(0)].append(index)
    for i in law.points(result):
        if i not in shared:
            return f"the result is {result}, but no index holds offset {i} from the start in both"
    # Cutting a swizzled layout short may lose some.
    if result in shared and isinstance(b, Layout) and not law.overlap("b", b):
        return f"the result is {result}, but both hold offset {result} from the start at one index"
    return None


def greatest_common_domain(a: Layout | Shape, b: Layout | Shape, result: Layout) -> str | None:
    """Judge ``greatest_common_domain(a, b)``: indices that step evenly through both shapes.

    Law: in either shape the coordinate of ``result(c)`` is the sum of as many equal steps as
    ``c`` says, so none crosses from one mode into the next; indices occur once and lie
    in both; the depth is 1. That none is larger is not judged. NVIDIA's PyCuTe defines it.

    >>> greatest_common_domain((5, 3, 4), (10, 6), Layout((5, 2), (1, 30)))
    >>> greatest_common_domain((5, 3, 4), (10, 6), Layout((5, 3), (1, 5)))
    'the coordinate of result(0,2) in b is (0,1), the sum of its steps is (10,0)'
    """
    broken = law.flat(result) or law.overlap("result", result)
    for name, side in (("a", a), ("b", b)):
        shape = side.shape if isinstance(side, Layout) else side
        broken = broken or _inside(result, product(shape)) or _even(name, shape, result)
    return broken


def _even(name: str, shape: Shape, result: Layout) -> str | None:
    extents = tuple(size(leaf) for leaf in law.leaf_modes(Layout(shape)))

    def coordinate(index: Any) -> tuple[Any, ...]:
        return tuple(idx2crd(index, extents))

    def summed(c: Any) -> tuple[Any, ...]:
        steps = [coordinate(leaf(1)) for leaf in law.leaf_modes(result)]
        moves = zip(*steps, strict=True)
        return tuple(sum(i * d for i, d in zip(c, move, strict=True)) for move in moves)

    return law.agree(
        tuple(size(leaf) for leaf in law.leaf_modes(result)),
        f"the coordinate of result({{c}}) in {name}",
        lambda c: coordinate(result(c)),
        "the sum of its steps",
        summed,
    )
