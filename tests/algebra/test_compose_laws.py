"""Composition beyond its law: what is neutral, what is refused, and small modes without gaps."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from strategies import layouts

from pycute_xe.algebra import composition, laws
from pycute_xe.errors import DivisibilityError
from pycute_xe.int_tuple import coordinates
from pycute_xe.layout import Layout, make_identity_layout


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
    """Whether the values are those of some layout each of whose strides stays in one mode.

    The modes of the layout under test have the strides 1, 100 and 10000: a stride is a digit of
    base 100, followed by zeros.
    """
    if len(values) == 1:
        return values[0] == 0
    first = values[1]
    if first >= 100 and first % 100:
        return False
    return any(
        is_layout(values[::f])
        and all(v == i % f * first + values[i - i % f] for i, v in enumerate(values))
        for f in range(2, len(values) + 1)
        if len(values) % f == 0
    )


@pytest.mark.parametrize("step", range(1, 26))
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
    assert (accepted > 0) == (step % 4 == 0 or step < 4)
