"""Expressions of sympy as extents and strides."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

from pycute_xe.algebra import complement, composition, logical_divide
from pycute_xe.errors import CuteError, InputError
from pycute_xe.layout import Layout
from pycute_xe.symbolic import SymbolicInt, from_sympy, substitute, symbol

m, n = sp.symbols("m n", integer=True, positive=True)
i = sp.Symbol("i", integer=True, nonnegative=True)


def test_a_layout_of_sympy_expressions() -> None:
    layout = Layout((32 * m, n), (n, 1))
    assert str(layout) == "(32*m,n):(n,1)"
    assert str(logical_divide(Layout(32 * m), Layout(32))) == "(32,m):(1,32)"
    assert isinstance(layout.shape[0], SymbolicInt)


@pytest.mark.parametrize(
    "expr",
    [
        m * n + 3,
        m**2 * n,
        sp.floor(m / 4),
        sp.ceiling((m + 1) / (2 * n)),
        sp.Mod(m * n, 7),
        sp.floor((i + m) / 3) * 3 - sp.Mod(i, 5),
        sp.Integer(7),
    ],
)
def test_read_as_sympy_means_it(expr: Any) -> None:
    value = from_sympy(expr)
    for given in ({"m": 3, "n": 5, "i": 0}, {"m": 12, "n": 1, "i": 9}, {"m": 1, "n": 8, "i": 4}):
        wanted = expr.subs({m: given["m"], n: given["n"], i: given["i"]})
        assert substitute(value, given) == int(wanted)


def test_mixing_with_symbolic_integers() -> None:
    x = symbol("x")
    for total in (x + m, m + x):
        assert isinstance(total, SymbolicInt)
        assert substitute(total, x=2, m=5) == 7
    assert x * m == m * x


@pytest.mark.parametrize(
    ("expr", "condition"),
    [
        (sp.Symbol("q"), "not an integer expression"),
        (sp.Symbol("q", integer=True), "the sign of q is unknown"),
        (m / 2, "not an integer expression"),
        (sp.sqrt(m), "not an integer expression"),
        (sp.Float(2.0), "not an integer expression"),
        (m**n, "not an integer expression"),
    ],
)
def test_refused(expr: Any, condition: str) -> None:
    with pytest.raises(InputError, match=condition):
        Layout((expr, 4))


def test_wherever_a_symbol_may_stand() -> None:
    assert str(complement(Layout(4), 4 * m)) == "m:4"
    assert str(logical_divide(Layout(16 * m), 16)) == "(16,m):(1,16)"
    assert str(composition(Layout((8 * m, 4)), (4 * m,))) == "(4*m):(1)"
    assert Layout((4, 8))(m) == from_sympy(m)


def test_what_sympy_makes_by_hand_is_no_extent() -> None:
    with pytest.raises(CuteError):
        Layout(sp.Function("f")(m))
