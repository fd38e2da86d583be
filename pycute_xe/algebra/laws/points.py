"""How a law is judged: coordinate by coordinate, two values at a time.

Every claim of a law goes through the few functions here. A claim returns ``None`` where it holds,
else a sentence, so that claims chain with ``or``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from operator import index
from typing import Any, TypeAlias

from pycute_xe.algebra.compose import flat_modes
from pycute_xe.algebra.inverse import complement
from pycute_xe.composed import ComposedLayout
from pycute_xe.int_tuple import ceil_div, compatible, crd2idx, depth, leaves, product
from pycute_xe.layout import Layout, flatten, has_symbols, make_layout, pair, rank, size
from pycute_xe.typing import Coord, IntTuple, Shape, Symbolic, Tiler, in_order, is_tuple

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
    "plain",
    "points",
    "position",
    "same",
    "values",
    "Places",
    "by_mode",
    "find_places",
    "named_modes",
    "split",
    "zipped",
    "places_among",
    "unfilled",
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
            where = ",".join(map(plain, c)) if is_tuple(c) else str(c)
            return f"{one.format(c=where)} is {plain(x)}, {other.format(c=where)} is {plain(y)}"
    return None


def equal(one: str, x: Any, other: str, y: Any) -> str | None:
    """Claim that two figures are equal.

    >>> equal("size(result)", 6, "size(b)", 12)
    'size(result) is 6, size(b) is 12'
    """
    return None if same(x, y) else f"{one} is {plain(x)}, {other} is {plain(y)}"


def plain(value: Any) -> str:
    """The value as the layouts print: no blanks, no class names."""
    return f"({','.join(map(plain, value))})" if is_tuple(value) else str(value)


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
    return f"the shape of the result is {plain(result.shape)}, which {plain(shape)} does not index"


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
            return f"{name}({seen[value]}) and {name}({i}) are both {plain(value)}"
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


# ------------------------------------------------------------ tiling
# Where copies of a layout stand when they fill the offsets, and what is cut by modes.

# What judges one layout against one tiler.
Law = Callable[[Layout, Any, Layout], "str | None"]


@dataclass(frozen=True)
class Places:
    """Where copies of a layout start that together hold each integer at most once, in order.

    ``starts`` are the first; no copy of those holds ``free``, the least such integer. Where they
    leave no hole below it the rest ``repeats``, else no copy fits there and there are no more.

    >>> places = Places((0, 1), 4, True)
    >>> [places(k) for k in range(5)], places.count(9)
    ([0, 1, 4, 5, 8], 6)
    """

    starts: tuple[int, ...]
    free: int
    repeats: bool

    def __call__(self, k: Any) -> Any:
        """Return the place of copy ``k``."""
        period = len(self.starts)
        index: int = k % period
        return self.starts[index] + k // period * self.free

    def count(self, end: Any) -> Any:
        """Return how many copies fill the least whole number of periods that reaches ``end``."""
        return ceil_div(end, self.free) * len(self.starts)

    def short(self, count: Any, end: Any) -> str | None:
        """Claim that so many copies hold what is below ``end``, in whole periods if there are.

        >>> Places((0, 1), 4, True).short(2, 8), Places((0, 2), 3, False).short(1, 3)
        ('the number of tiles is 2, of those needed is 4', 'no tile holds index 2')
        """
        if self.repeats:
            return equal("the number of tiles", count, "of those needed", self.count(end))
        index: int = count
        first = self.starts[index] if index < len(self.starts) else self.free
        return f"no tile holds index {first}" if first < end else None


def find_places(part: Layout) -> Places:
    """Return the places, found by listing: the next copy starts at the least integer not held.

    No other copy can hold it. Elements that repeat count once.

    >>> find_places(Layout((2, 2), (1, 6)))
    Places(starts=(0, 2, 4), free=12, repeats=True)
    >>> find_places(Layout((2, 2), (1, 3)))
    Places(starts=(0,), free=2, repeats=False)
    """
    offsets = set(values(part))
    taken: set[int] = set()
    starts: list[int] = []
    free = 0
    while min(offsets) == 0:
        copy = {free + offset for offset in offsets}
        if copy & taken:
            break
        taken |= copy
        starts.append(free)
        while free in taken:
            free += 1
        if free == len(taken):  # no hole is left behind
            return Places(tuple(starts), free, repeats=True)
    return Places(tuple(starts), free, repeats=False)


def named_modes(law: Law, whole: Layout, tiler: tuple[Any, ...], result: Layout) -> str | None:
    """Claim a law for each mode that the tiler names, and that the result has no others.

    >>> named_modes(lambda a, t, r: f"{a} by {t}", Layout((4, 2)), (2,), Layout((2,)))
    'in mode 0: 4:1 by 2'
    """
    if len(tiler) > len(whole):
        return f"the tiler has {len(tiler)} modes, the layout {len(whole)}"
    broken = equal("rank(result)", rank(result), "of the tiler", len(tiler))
    for i, part in enumerate(() if broken else tiler):
        broken = broken or in_mode(i, law(whole[i], part, result[i]))
    return broken


def by_mode(law: Law, whole: Layout, tiler: tuple[Any, ...], result: Layout) -> str | None:
    """Claim a law for each mode that the tiler names, and that the others are as they were.

    >>> by_mode(lambda a, t, r: f"{a} by {t}", Layout((4, 2)), (2,), Layout((4, 2)))
    'in mode 0: 4:1 by 2'
    """
    broken = _ranks(whole, tiler, result)
    for i, mode in enumerate(() if broken else whole):
        fault = law(mode, tiler[i], result[i]) if i < len(tiler) else kept(mode, result[i])
        broken = broken or in_mode(i, fault)
    return broken


def _ranks(whole: Layout, tiler: tuple[Any, ...], result: Layout) -> str | None:
    if len(tiler) > len(whole):
        return f"the tiler has {len(tiler)} modes, the layout {len(whole)}"
    return equal("rank(result)", rank(result), "rank(layout)", rank(whole))


def zipped(law: Law, whole: Layout, tiler: Tiler, result: Layout) -> str | None:
    """Claim a law of pairs for a result that gathers first parts and second parts.

    ``None`` in a tiler takes a mode whole and pairs it with one element; modes beyond the tiler
    are among the second parts.

    >>> zipped(lambda a, t, r: f"{a} by {t}", Layout((4, 6)), (None, 2), Layout(((4, 2), (1, 3))))
    'in mode 1: 6:4 by 2'
    """
    broken = equal("rank(result)", rank(result), "of a pair", 2)
    if broken:
        return broken
    first, second = result
    if tiler is None:
        return kept(whole, first) or equal("the size of the second part", size(second), "of one", 1)
    if not is_tuple(tiler):
        return law(whole, tiler, result)
    broken = equal("the rank of the first part", rank(first), "of the tiler", len(tiler))
    broken = broken or _ranks(whole, tiler, second)
    for i, mode in enumerate(() if broken else whole):
        if i < len(tiler):
            fault = zipped(law, mode, tiler[i], pair(first[i], second[i]))
        else:
            fault = kept(mode, second[i])
        broken = broken or in_mode(i, fault)
    return broken


def split(result: Layout, count: int) -> Layout:
    """Gather the first ``count`` modes and the others into a pair; one mode alone stays as it is.

    Where there are no others, the result comes back as it is.

    >>> print(split(Layout((4, 8, 2, 2)), 2), split(Layout((4, 8)), 1))
    ((4,8),(2,2)):((1,4),(32,64)) (4,8):(1,4)
    """
    modes = list(result)
    if len(modes) <= count:
        return result
    parts = [modes[:count], modes[count:]]
    return make_layout(*(part[0] if len(part) == 1 else make_layout(*part) for part in parts))


# ------------------------------------------------------------ proofs
# What takes the place of listing where symbols stand for numbers.
#
# Numbers are listed. Of symbols three things are enough: one coordinate that stands for all (see
# `points`), strides in order that are digits of a number, and a complement that is shown to be one.


def unfilled(layout: Layout, result: Layout, end: IntTuple) -> str | None:
    """Claim that sums of two layouts' offsets are all integers below the least end, each once.

    They are where each stride is the number of offsets that the smaller ones reach: the digits
    of a number. The least end is the least that whole copies of the layout reach.

    >>> unfilled(Layout((2, 2), (1, 6)), Layout((3, 2), (2, 12)), 24)
    >>> unfilled(Layout((2, 2), (1, 6)), Layout((3, 2), (2, 6)), 24)
    'the strides below 6 reach 12 offsets'
    """
    reach: Any = 1
    for d, s in _moving(layout, result):
        if not same(d, reach):
            return f"the strides below {d} reach {reach} offsets"
        reach = reach * s
    span = _span(layout)
    least = ceil_div(product(end), span) * span
    return equal("the number of offsets reached", reach, "the least that copies fill", least)


def _moving(*layouts: Layout) -> list[tuple[Any, ...]]:
    """Return (stride, extent) of the leaves that move, by stride."""
    modes = [mode for layout in layouts for mode in flat_modes(layout)]
    return in_order([(d, s) for s, d in modes if s != 1 and d != 0])


def _span(layout: Layout) -> Any:
    """Return how far the leaf of the greatest stride reaches, 1 where nothing moves."""
    modes = _moving(layout)
    return modes[-1][0] * modes[-1][1] if modes else 1


@dataclass(frozen=True)
class ProvedPlaces:
    """As `Places`, where symbols decide: a layout, unbounded in its last mode.

    ``period`` copies stand below ``free``.
    """

    layout: Layout
    free: Any
    period: Any
    repeats: bool = True

    def __call__(self, k: Any) -> Any:
        """Return the place of copy ``k``."""
        return self.layout(k)

    def short(self, count: Any, end: Any) -> str | None:
        """Claim that so many copies hold what is below ``end``, in whole periods."""
        needed = ceil_div(end, self.free) * self.period
        return equal("the number of tiles", count, "of those needed", needed)


def places_among(part: Layout, *others: Any) -> Places | ProvedPlaces:
    """Return where copies of a part start: listed, or with symbols anywhere, a proved complement.

    Raises as `complement` where symbols leave it open.

    >>> places_among(Layout((2, 2), (1, 6))).free
    12
    """
    if not has_symbols(part, *others):
        return find_places(part)
    span = _span(part)
    twice = complement(part, 2 * span)
    broken = unfilled(part, twice, 2 * span)
    if broken:
        return Places((), 0, repeats=False)
    return ProvedPlaces(twice, span, size(twice) // 2)
