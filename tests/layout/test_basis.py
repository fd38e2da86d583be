"""Basis elements and the coordinates they add up to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from every import every
from hypothesis import given, strategies as st
from strategies import coordinate_layouts, profiles, shapes

from pycute_xe.basis import ArithTuple, Basis, E, basis_get, is_basis
from pycute_xe.bulk import offsets, table
from pycute_xe.errors import ShapeError
from pycute_xe.int_tuple import coordinates, crd2idx, flatten_tuple, unflatten_tuple
from pycute_xe.layout import Layout, coshape, cosize, make_identity_layout, size

NUMBERS = st.integers(-9, 9)


@st.composite
def alike(draw: st.DrawFn, count: int) -> list[Any]:
    """Several coordinates that nest alike."""
    leaves = draw(st.integers(1, 4))
    profile = draw(profiles(leaves, leaf=False))
    flats = [draw(st.tuples(*[NUMBERS] * leaves)) for _ in range(count)]
    return [ArithTuple(unflatten_tuple(flat, profile)) for flat in flats]


@given(alike(3), NUMBERS)
def test_coordinates_are_a_module(values: list[Any], n: int) -> None:
    a, b, c = values
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + 0 == 0 + a == a
    assert a * n == n * a
    assert n * (a + b) == n * a + n * b
    assert sum([a, b, c]) == a + b + c
    assert flatten_tuple(a + b) == tuple(
        x + y for x, y in zip(flatten_tuple(a), flatten_tuple(b), strict=True)
    )
    assert flatten_tuple(n * a) == tuple(n * x for x in flatten_tuple(a))
    assert isinstance(a + b, ArithTuple)
    assert isinstance(n * a, ArithTuple)


def test_missing_modes_are_zero() -> None:
    assert ArithTuple((1,)) + ArithTuple((0, 5, 3)) == (1, 5, 3)
    plain = (1, 2)
    assert ArithTuple(()) + plain == plain
    assert plain + ArithTuple((1,)) == (2, 2)
    assert ArithTuple((1, 2)) + 3 * E(3) == (1, 2, 0, 3)
    assert ArithTuple((0, 1)) + ArithTuple(((2, 3), 0)) == ((2, 3), 1)


def test_what_does_not_add() -> None:
    for value in ("a", 2.5, None):
        with pytest.raises(TypeError):
            _ = ArithTuple((1, 2)) + value
        with pytest.raises(TypeError):
            _ = E(0) + value
    for value in (E(1), (1, 2)):
        with pytest.raises(TypeError):
            _ = E(0) * value


MIXED = Layout((4, 4), (E(0), 4))


@every(
    "call",
    [
        lambda: MIXED(1, 1),
        lambda: MIXED(5),
        lambda: crd2idx((1, 2), (4, 4), (4, E(0))),
        lambda: coshape(MIXED),
        lambda: cosize(MIXED),
        lambda: 4 + E(0),
        lambda: sum([E(0), E(1), 1]),
        lambda: table(MIXED),
        lambda: offsets(MIXED, (1, 1)),
    ],
)
def test_an_offset_is_not_added_to_a_coordinate(call: Callable[[], Any]) -> None:
    with pytest.raises(ShapeError, match="coordinate"):
        call()


def test_zeros_are_both() -> None:
    assert MIXED(3, 0) == (3,)
    broadcast = Layout((4, 4), (0, E(1)))
    assert broadcast(3, 2) == (0, 2)
    assert table(broadcast).tolist()[6] == [0, 1]


def test_coordinates_are_tuples_that_print_as_such() -> None:
    value = ArithTuple((1, 2))
    assert value == (1, 2)
    assert hash(value) == hash((1, 2))
    assert (str(value), repr(value)) == ("(1, 2)", "ArithTuple((1, 2))")
    assert str(ArithTuple((1,))) == "(1,)"
    assert str(ArithTuple(())) == "()"


@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), NUMBERS, NUMBERS)
def test_basis_elements_are_unit_vectors(path: list[int], n: int, m: int) -> None:
    unit = E(*path)
    assert n * unit == unit * n == (Basis(n, tuple(path)) if n else 0)
    assert n * unit + m * unit == (n + m) * unit
    assert (n * unit) + 0 == 0 + n * unit == n * unit
    assert -(n * unit) == (-n) * unit
    assert n * (m * unit) == (n * m) * unit
    coord = unit.as_coord()
    assert basis_get(unit, coord) == 1
    assert sum(flatten_tuple(coord)) == 1
    assert flatten_tuple(coord)[-1] == 1
    assert is_basis(unit)
    assert not is_basis(coord)


def test_basis_elements_add_to_coordinates() -> None:
    assert 2 * E(0) + 3 * E(1) == (2, 3)
    plain = (5,)
    assert E(1) + plain == plain + E(1) == (5, 1)
    assert E(1, 0) + E(1, 1) + 4 * E(0) == (4, (1, 1))


def test_basis_elements_print_as_in_cute() -> None:
    assert [str(E(0)), str(3 * E(0, 1)), str(-E(2))] == ["1@0", "3@1@0", "-1@2"]
    assert [repr(E(0)), repr(3 * E(0, 1)), repr(-E(2))] == ["E(0)", "3*E(0, 1)", "-1*E(2)"]


def test_basis_get() -> None:
    assert basis_get(E(1, 0), (1, ("a", "b"))) == "a"
    assert basis_get(7, (1, 2)) == (1, 2)


# ------------------------------------------------------------------ layouts into coordinates


@given(shapes())
def test_the_identity_maps_a_coordinate_to_itself(shape: Any) -> None:
    identity = make_identity_layout(shape)
    for index, coord in enumerate(coordinates(shape)):
        assert identity(coord) == coord
        assert identity(index) == coord
        assert isinstance(identity(coord), ArithTuple if isinstance(shape, tuple) else int)
    box = shape
    assert coshape(identity) == box
    assert cosize(identity) == size(identity)


@given(shapes(), st.data())
def test_the_value_is_the_sum_of_the_strides(shape: Any, data: st.DataObject) -> None:
    layout = data.draw(coordinate_layouts((1, 2, 3)))
    for coord in coordinates(layout.shape):
        expected = [0, 0, 0]
        for c, d in zip(flatten_tuple(coord), flatten_tuple(layout.stride), strict=True):
            if isinstance(d, Basis):
                expected[d.modes[0]] += c * d.value
        assert layout(coord) == tuple(expected)
    assert crd2idx(1, 2, 5 * E(1)) == 5 * E(1)


@given(coordinate_layouts((1, 2, 3)))
def test_the_box_holds_every_value_and_is_tight(layout: Layout) -> None:
    values = [layout(i) for i in range(size(layout))]
    box = coshape(layout)
    assert tuple(max(column) + 1 for column in zip(*values, strict=True)) == box
    assert cosize(layout) == box[0] * box[1] * box[2]


def test_zeros_of_a_coordinate_are_there() -> None:
    identity = make_identity_layout((4, 8))
    assert identity(0, 0) == (0, 0)
    assert identity(1, 0) == (1, 0)
    assert Layout(3, E(1))(2) == (0, 2)
    assert make_identity_layout(((2, 3), 4))(1) == ((1, 0), 0)
    assert coshape(make_identity_layout(((2, 1), 4))) == ((2, 1), 4)
    assert coshape(Layout((1, 1), (E(0), E(1)))) == (1, 1)
