"""A layout in the arithmetic of its coordinate: integers, indices of kernels, symbols."""

from __future__ import annotations

import pytest
import sympy as sp

from pycute_xe.algebra.compose import index_at
from pycute_xe.kernel import Index
from pycute_xe.layout import Layout, size

LAYOUTS = [
    Layout(1, 0),
    Layout(8, 3),
    Layout((2, 4), (8, 1)),
    Layout(((2, 3), 4), ((1, 10), 2)),
    Layout((4, 1, 2), (0, 7, -5)),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_an_offset_is_the_same_in_every_arithmetic(layout: Layout) -> None:
    index, symbol = Index("x"), sp.Symbol("x", integer=True, nonnegative=True)
    said, formula = index_at(layout, index), index_at(layout, symbol)
    for i in range(size(layout)):
        assert index_at(layout, i) == layout(i)
        assert said.at({"x": i}) == layout(i)
        assert sp.sympify(formula).subs({symbol: i}) == layout(i)
