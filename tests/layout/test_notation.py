"""Layouts as text: what is printed is read back, and a slip is shown where it is."""

from __future__ import annotations

import pytest
from every import every
from hypothesis import given
from strategies import coordinate_layouts, layouts

from pycute_xe.basis import Basis, E
from pycute_xe.errors import CongruenceError, InputError, ShapeError
from pycute_xe.layout import Layout
from pycute_xe.notation import cpp_layout


@given(layouts(negative=True) | coordinate_layouts((4, 4, 4)))
def test_what_is_printed_is_read_back(layout: Layout) -> None:
    assert Layout.from_str(str(layout)) == layout


@every(
    ("text", "layout"),
    [
        ("4:1", Layout(4, 1)),
        ("_4:_1", Layout(4, 1)),
        ("(4):(1)", Layout((4,), (1,))),
        ("(4,):(1,)", Layout((4,), (1,))),
        (" ( ( _2 , 4 ) , 8 ) : ((1,16),-2) ", Layout(((2, 4), 8), ((1, 16), -2))),
        ("(2,2):(1@0,3@1@0)", Layout((2, 2), (E(0), 3 * E(0, 1)))),
        ("():()", Layout((), ())),
    ],
)
def test_forms(text: str, layout: Layout) -> None:
    assert Layout.from_str(text) == layout


@every(
    ("text", "column", "wanted"),
    [
        ("", 1, "an integer or '(' expected, not the end"),
        ("(4,8)", 6, "':' expected, not the end"),
        ("(4,8:(1,4)", 5, "',' or ')' expected, not ':'"),
        ("(4,8):(1,4", 11, "',' or ')' expected, not the end"),
        ("(4,8):(1,4) x", 13, "the end expected, not 'x'"),
        ("(4,M):(1,4)", 4, "an integer or '(' expected, not 'M'"),
        ("(4,,8):(1,4)", 4, "an integer or '(' expected, not ','"),
    ],
)
def test_a_slip_is_shown_where_it_is(text: str, column: int, wanted: str) -> None:
    with pytest.raises(InputError) as refused:
        Layout.from_str(text)
    assert refused.value.condition == f"column {column}: {wanted}"


def test_what_is_read_must_be_a_layout() -> None:
    with pytest.raises(CongruenceError):
        Layout.from_str("(4,8):1")
    with pytest.raises(ShapeError):
        Layout.from_str("(0,8):(1,2)")


def test_types_in_cpp() -> None:
    assert Layout(8, 0).to_cpp() == "Layout<_8,_0>"
    assert Layout((4, 7), (-1, 5)).to_cpp() == "Layout<Shape<_4,_7>,Stride<Int<-1>,_5>>"
    assert cpp_layout((4, 33), (E(1), Basis(3, (0, 1)))) == (
        "Layout<Shape<_4,Int<33>>,Stride<E<1>,ScaledBasis<_3,0,1>>>"
    )
    with pytest.raises(ShapeError):
        cpp_layout((4, "M"), (1, 4))
