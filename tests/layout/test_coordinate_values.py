"""Coordinates as values: zeros that one of them leaves out are implied."""

from __future__ import annotations

from pycute_xe import coalesce
from pycute_xe.basis import ArithTuple, E
from pycute_xe.int_tuple import coordinates
from pycute_xe.layout import Layout, make_identity_layout


def test_missing_modes_are_zero() -> None:
    assert ArithTuple((1,)) == ArithTuple((1, 0)) == (1, 0, (0, 0))
    assert ArithTuple(((1,), 2)) == (1, 2)
    assert ArithTuple((1,)) != (0, 1)
    differ = ArithTuple((1,)) != (1, 0)
    assert not differ
    assert ArithTuple((1,)) != 1


def test_a_set_of_values_is_one_of_tuples() -> None:
    whole = make_identity_layout((2, 3))
    assert {whole(c) for c in coordinates((2, 3))} == set(coordinates((2, 3)))


def test_coalesced_coordinates_compare() -> None:
    layout = Layout((4, 1), (E(0), E(1)))
    assert [coalesce(layout)(i) for i in range(4)] == [layout(i) for i in range(4)]
