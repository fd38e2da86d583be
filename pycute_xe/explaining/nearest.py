"""What a refused composition, divide or product would have taken: the nearest operand, and cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from pycute_xe.algebra.compose import as_tiler, flat_modes
from pycute_xe.errors import CuteError
from pycute_xe.int_tuple import leaves, unflatten_tuple
from pycute_xe.layout import Layout
from pycute_xe.typing import is_tuple

__all__ = ["nearest_operand", "refinement_of"]

MOST = 2_000
"""Operands that are tried before the search gives up."""


def nearest_operand(
    operation: Callable[[Layout, Any], Any], layout: Layout, operand: Any
) -> Layout | None:
    """Return the layout nearest to an operand that the operation takes, if one is near.

    Near is a small sum of differences of extents and strides, extents counting first among equals;
    at most two of these numbers change, each to at most twice itself and 4. Leaves stay where they
    are. Numbers that are not integers are not changed.

    >>> from pycute_xe.algebra import composition
    >>> print(nearest_operand(composition, Layout((4, 6), (1, 100)), Layout(3, 3)))
    2:3
    """
    if is_tuple(operand) or operand is None:
        return None
    tiler = as_tiler(operand)
    numbers = [*leaves(tiler.shape), *leaves(tiler.stride)]
    if any(type(number) is not int for number in numbers):
        return None
    for changed in _changes(numbers, len(numbers) // 2):
        half = len(numbers) // 2
        shape = unflatten_tuple(tuple(changed[:half]), tiler.shape)
        stride = unflatten_tuple(tuple(changed[half:]), tiler.shape)
        candidate = Layout(shape, stride)
        try:
            operation(layout, candidate)
        except CuteError:
            continue
        return candidate
    return None


def _changes(numbers: list[int], extents: int) -> Iterator[list[int]]:
    """Yield the numbers with one or two of them changed, the least changes first."""
    steps: list[tuple[int, int, int]] = []  # difference, place, new value
    for place, number in enumerate(numbers):
        lowest = 1 if place < extents else 0
        for value in range(lowest, 2 * number + 5):
            if value != number:
                steps.append((abs(value - number), place, value))
    steps.sort()
    pairs = [(a[0] + b[0], (a[1:], b[1:])) for a in steps for b in steps if a[1] < b[1]]
    one: list[tuple[int, tuple[tuple[int, int], ...]]] = [(s[0], (s[1:],)) for s in steps]
    ordered = sorted([*one, *pairs], key=lambda change: (change[0], len(change[1])))
    for _, places in ordered[:MOST]:
        out = list(numbers)
        for place, value in places:
            out[place] = value
        yield out


def refinement_of(layout: Layout, operand: Any) -> tuple[int, ...] | None:
    """Return the least shape of indices that has the cuts of a layout and those of an operand.

    The cuts of a layout are where its modes start and end among the indices, those of an operand
    where its strides start and end. ``None`` where two cuts do not divide each other.

    >>> refinement_of(Layout((4, 6)), Layout(3, 8)), refinement_of(Layout((4, 6)), Layout(3, 3))
    ((4, 2, 3), None)
    """
    if is_tuple(operand) or operand is None:
        return None
    cuts = {1}
    reach: Any = 1
    for s, _ in flat_modes(layout):
        reach = reach * s
        cuts.add(reach)
    for s, d in flat_modes(as_tiler(operand)):
        if s != 1:
            cuts |= {d, d * s}
    if any(type(cut) is not int or cut < 1 for cut in cuts):
        return None
    ordered = sorted(cuts)
    if any(high % low for low, high in pairwise(ordered)):
        return None
    return tuple(high // low for low, high in pairwise(ordered))
