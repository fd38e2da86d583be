"""Random nested layouts put through the algebra, each result judged by listing: right or refused.

A layout is listed by adding up multiples of strides in nested loops, without a division, and what
an operation owes is asked of the lists alone, so that nothing here is a formula of the library.
``python benchmarks/random_layouts.py --count 300000`` fails where anything was wrong.
"""

from __future__ import annotations

import random
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pycute_xe as cx
from pycute_xe import E, Layout
from pycute_xe.errors import CuteError

MOST = 512
Listed = tuple[Any, ...]


def listed(shape: Any, stride: Any) -> list[Any]:
    """All values, first mode fastest, by adding one stride after the other."""
    if not isinstance(shape, tuple):
        out = [0 * stride]
        while len(out) < shape:
            out.append(out[-1] + stride)
        return out
    values: list[Any] = [0]
    for s, d in zip(shape, stride, strict=True):
        values = [inner + step for step in listed(s, d) for inner in values]
    return values


@cache
def values_of(layout: Layout) -> Listed:
    """The values of a layout."""
    return tuple(listed(layout.shape, layout.stride))


def random_layout(rng: random.Random, most: int = MOST) -> Layout:
    """Any extents and strides, or compact ones with gaps in any order, nested at will."""
    shape: list[Any] = []
    size = 1
    for _ in range(rng.randint(1, 5)):
        extent = rng.choice((1, 2, 2, 3, 4, 5, 6, 8))
        if size * extent <= most:
            shape.append(extent)
            size *= extent
    shape = shape or [1]
    stride: list[Any] = [rng.choice((0, 1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 64, 100)) for _ in shape]
    if rng.random() < 0.6:
        reach = 1
        for place in rng.sample(range(len(shape)), len(shape)):
            reach *= rng.choice((1, 1, 1, 2, 3))
            stride[place] = reach
            reach *= shape[place]
    while len(shape) > 1 and rng.random() < 0.5:
        at = rng.randrange(len(shape) - 1)
        shape[at : at + 2], stride[at : at + 2] = (
            [tuple(shape[at : at + 2])],
            [tuple(stride[at : at + 2])],
        )
    if len(shape) == 1:
        return Layout(shape[0], stride[0])
    return Layout(tuple(shape), tuple(stride))


def right_coalesce(a: Layout, _: Layout, out: Layout) -> bool:
    """The same values, and no tuple within the shape."""
    flat = not isinstance(out.shape, tuple) or not any(isinstance(s, tuple) for s in out.shape)
    return flat and values_of(out) == values_of(a)


def right_composition(a: Layout, b: Layout, out: Layout) -> bool:
    """The value of ``a`` at each value of ``b``; beyond the end of ``a`` nothing is asked."""
    outer = values_of(a)
    pairs = zip(values_of(b), values_of(out), strict=True)
    return all(i >= len(outer) or outer[i] == value for i, value in pairs)


def right_complement(a: Layout, b: Layout, out: Layout) -> bool:
    """Sums of both are distinct, as far as ``a`` is, and reach up to the cotarget."""
    mine, rest = set(values_of(a)), values_of(out)
    sums = {x + y for x in mine for y in rest}
    ordered = all(x < y for x, y in pairwise(rest))
    return ordered and len(sums) == len(mine) * len(rest) and max(sums) + 1 >= len(values_of(b))


def right_right_inverse(a: Layout, _: Layout, out: Layout) -> bool:
    """``a`` of it counts from 0, and no longer one of whole modes would."""
    outer = values_of(a)
    found = [outer[i] for i in values_of(out)]
    return found == list(range(len(found)))


def right_left_inverse(a: Layout, _: Layout, out: Layout) -> bool:
    """It gives an index of each value."""
    outer = values_of(a)
    return all(outer[out(value)] == value for value in set(outer))


def right_divide(a: Layout, b: Layout, out: Layout) -> bool:
    """The first mode is ``a`` of ``b``, and all values of ``a`` occur as often as in ``a``."""
    outer, tile = values_of(a), values_of(b)
    first = values_of(out[0])
    inside = all(i >= len(outer) or first[k] == outer[i] for k, i in enumerate(tile))
    repeats = len(set(tile)) < len(tile)
    return inside and (repeats or set(outer) <= set(values_of(out)))


def right_product(a: Layout, b: Layout, out: Layout) -> bool:
    """The first mode is ``a``; copies at different places do not meet."""
    shifts, places = values_of(out[1]), values_of(b)
    where = dict[int, int]()
    if any(where.setdefault(p, s) != s for p, s in zip(places, shifts, strict=True)):
        return False
    mine = set(values_of(a))
    sums = {x + y for x in mine for y in where.values()}
    return out[0] == a and len(sums) == len(mine) * len(where)


JUDGED: dict[str, tuple[Callable[[Layout, Layout], Any], Callable[..., bool]]] = {
    "coalesce": (lambda a, _: cx.coalesce(a), right_coalesce),
    "composition": (cx.composition, right_composition),
    "complement": (lambda a, b: cx.complement(a, cx.size(b)), right_complement),
    "right_inverse": (lambda a, _: cx.right_inverse(a), right_right_inverse),
    "left_inverse": (lambda a, _: cx.left_inverse(a), right_left_inverse),
    "logical_divide": (cx.logical_divide, right_divide),
    "logical_product": (cx.logical_product, right_product),
}


def moved(layout: Layout, axis: int) -> Layout:
    """The same layout along an axis of coordinates."""

    def along(stride: Any) -> Any:
        return tuple(map(along, stride)) if isinstance(stride, tuple) else stride * E(axis)

    return Layout(layout.shape, along(layout.stride))


def lost_among_coordinates(name: str, a: Layout, b: Layout, out: Layout) -> bool:
    """Whether an operation on ``a`` along an axis gives another thing than along the line."""
    axis = 1
    if name not in ("coalesce", "composition", "logical_divide"):
        return False
    there = JUDGED[name][0](moved(a, axis), b)
    found = [there(i) for i in range(len(values_of(out)))]
    wanted = [(0, value) for value in values_of(out)]
    return found != wanted and found != [value[1] for value in wanted if value == (0, 0)]


def main() -> int:
    """Count the verdicts; the number of wrong ones is the exit code."""
    options = ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=300_000)
    options.add_argument("--seed", type=int, default=5)
    given = options.parse_args()
    rng = random.Random(given.seed)
    counts = {name: Counter[str]() for name in JUDGED}
    wrong = 0
    b = random_layout(rng, 24)
    for turn in range(given.count):
        a = random_layout(rng)
        if turn % 1000 == 0:
            values_of.cache_clear()
        for name, (act, is_right) in JUDGED.items():
            try:
                out = act(a, b)
            except CuteError:
                counts[name]["refused"] += 1
                continue
            right = is_right(a, b, out)
            if turn % 20 == 0:
                right = right and not lost_among_coordinates(name, a, b, out)
            counts[name]["right" if right else "wrong"] += 1
            if not right:
                wrong += 1
                print(f"{name} of {a} and {b} is {out}", flush=True)
        b = a if cx.size(a) <= 24 else random_layout(rng, 24)
    for name, verdicts in counts.items():
        print(
            f"{name:16}" + "".join(f"{verdicts[v]:>10,} {v}" for v in ("right", "refused", "wrong"))
        )
    print(f"{given.count:,} layouts, {wrong} results wrong")
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
