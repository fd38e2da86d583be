"""Composition beyond its law: what is neutral, what is refused, and small modes without gaps."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from every import every
from hypothesis import given
from strategies import layouts

from pycute_xe.algebra import composition, laws, zipped_divide
from pycute_xe.basis import E
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import DivisibilityError
from pycute_xe.int_tuple import coordinates
from pycute_xe.layout import Layout, make_identity_layout
from pycute_xe.swizzle import Swizzle


@given(layouts())
def test_identity_is_neutral(a: Layout) -> None:
    whole = make_identity_layout(a.shape)
    for c in coordinates(a.shape):
        assert composition(a, whole)(c) == a(c)
        assert composition(a, Layout(a.shape))(c) == a(c)
    assert composition(a, None) == a


def walks_of(rank_: int) -> list[Layout]:
    """All layouts of a few small extents and strides."""
    modes = list(product((1, 2, 3, 4, 6), (0, 1, 2, 3, 4, 6, 12)))
    if rank_ == 1:
        return [Layout(*mode) for mode in modes]
    return [Layout(s, d) for pairs in product(modes, modes) for s, d in [zip(*pairs, strict=True)]]


WHOLES = [
    Layout((4, 6), (1, 100)),
    Layout((6, 4, 2), (10, 1, 1000)),
    Layout((3, 1, 4), (5, 7, 1)),
    Layout((12, 2), (1, 12)),
    Layout(((2, 3), 4), ((50, 1), 7)),
]


@pytest.mark.parametrize("whole", WHOLES, ids=str)
def test_what_is_accepted_is_right(whole: Layout) -> None:
    """Every pair of small modes is composed correctly or refused, never composed wrongly."""
    accepted = 0
    for b in walks_of(1) + walks_of(2):
        try:
            found = composition(whole, b)
        except DivisibilityError:
            continue
        accepted += 1
        assert laws.composition(whole, b, found) is None
    assert accepted > 300


def is_layout(values: list[int]) -> bool:
    """Whether the values are those of some layout."""
    if len(values) == 1:
        return values[0] == 0
    first = values[1]
    return any(
        is_layout(values[::f])
        and all(v == i % f * first + values[i - i % f] for i, v in enumerate(values))
        for f in range(2, len(values) + 1)
        if len(values) % f == 0
    )


@every("step", range(1, 26))
def test_a_mode_is_refused_exactly_when_no_layout_walks_it(step: int) -> None:
    whole, accepted = Layout((4, 6, 5), (1, 100, 10000)), 0
    for extent in range(2, 40):
        values = [whole(i * step) for i in range(extent)]
        if is_layout(values):
            accepted += 1
            found = composition(whole, Layout(extent, step))
            assert [found(i) for i in range(extent)] == values
        else:
            with pytest.raises(DivisibilityError):
                composition(whole, Layout(extent, step))
    assert accepted > 0


# The offsets that C++ gives for run-time integers; for static ones it asserts.
STRAIGHT = [
    ((4, 1), (1, 1), 4, 5, "4:2"),
    ((4, 5), (9, 9), 3, 5, "3:18"),
    ((5, 2), (0, 4), 3, 6, "3:4"),
    ((2, 4, 5), (10, 1, 11), 2, 11, "2:22"),
    ((5, 3), (4, 12), 2, 8, "2:24"),
]


@every(("shape", "stride", "extent", "step", "expected"), STRAIGHT)
def test_a_walk_may_step_in_several_modes(
    shape: Any, stride: Any, extent: int, step: int, expected: str
) -> None:
    a, b = Layout(shape, stride), Layout(extent, step)
    found = composition(a, b)
    assert str(found) == expected
    assert [found(i) for i in range(extent)] == [a(i * step) for i in range(extent)]
    with pytest.raises(DivisibilityError):
        composition(a, Layout(shape[0] + 1, step))


def test_a_walk_in_two_coordinates_has_a_sum_as_stride() -> None:
    walk = composition(Layout((4, 8), (E(0), E(1))), Layout(3, 5))
    assert walk == Layout(3, E(0) + E(1))
    assert [walk(i) for i in range(3)] == [(i, i) for i in range(3)]


def test_a_tuple_drops_the_modes_that_it_does_not_name() -> None:
    a = Layout((4, (2, 3), 5))
    assert str(composition(a, (Layout(2),))) == "(2):(1)"
    assert str(composition(a, (2, (2,)))) == "(2,(2)):(1,(4))"
    assert composition(a, ()) == Layout((), ())
    for tiler in ((2,), (2, 3), (2, 3, 5), (2, (2,))):
        assert zipped_divide(a, tiler)[0] == composition(a, tiler)
    swizzled = ComposedLayout(Swizzle(1, 0, 3), 0, a)
    assert composition(swizzled, (2,)) == swizzled.with_layout(Layout((2,)))
