"""What the assumptions leave open is asked for by name, and the way out answers it."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycute_xe import symbolic
from pycute_xe.algebra import (
    complement,
    composition,
    left_inverse,
    tile_to_shape,
    upcast,
)
from pycute_xe.errors import CuteError, DivisibilityError, ShapeError, UndecidableError
from pycute_xe.layout import Layout, cosize
from pycute_xe.symbolic import symbol
from pycute_xe.unknown import at_most, in_order

M = symbol("M", multiple_of=16)
N = symbol("N")
P = symbol("pad", at_least=0)
ROWS = symbol("rows", at_least=64, at_most=99)
TWO = Layout((M, N), (N, 1))


@pytest.mark.parametrize(
    ("call", "operation", "fact", "fix"),
    [
        (
            lambda: tile_to_shape(Layout((8, 32)), (M, N)),
            "tile_to_shape",
            "N % 32 == 0",
            'symbol("N", multiple_of=32)',
        ),
        (
            lambda: composition(TWO, Layout(32)),
            "composition",
            "M >= 32",
            'symbol("M", at_least=32) or symbol("M", at_most=16)',
        ),
        (
            lambda: composition(Layout((ROWS, 4), (1, 100)), Layout(32, 4)),
            "composition",
            "rows % 4 == 0",
            'symbol("rows", multiple_of=4)',
        ),
        (
            lambda: complement(Layout((M, N), (1, 2 * M + P)), 100),
            "complement",
            "pad % M == 0",
            'make one a multiple of the other, as N = M * symbol("n")',
        ),
        (
            lambda: complement(Layout((M, N), (1, P)), 100),
            "complement",
            "pad <= 1",
            'symbol("pad", at_least=2) or symbol("pad", at_most=1)',
        ),
        (
            lambda: left_inverse(Layout((M, N), (1, 32))),
            "left_inverse",
            "M > 32",
            'symbol("M", at_least=48) or symbol("M", at_most=32)',
        ),
        (
            lambda: upcast(TWO, 2),
            "upcast",
            "N % 2 == 0",
            'symbol("N", multiple_of=2)',
        ),
        (
            lambda: Layout((M, N - 1)),
            "Layout",
            "N - 1 >= 1",
            'symbol("N", at_least=2) or symbol("N", at_most=1)',
        ),
        (
            lambda: cosize(Layout(N, P - 1)),
            "decide",
            "pad - 1 < 0",
            'symbol("pad", at_least=1) or symbol("pad", at_most=0)',
        ),
    ],
)
def test_named(call: Any, operation: str, fact: str, fix: str) -> None:
    with pytest.raises(UndecidableError) as info:
        call()
    error = info.value
    assert (error.operation, error.fact, error.fix) == (operation, fact, fix)
    assert f"needs {fact}, which is not known" in str(error)


def test_known_to_fail_is_no_question() -> None:
    with pytest.raises(DivisibilityError):
        tile_to_shape(Layout(32), (32 * N + 1,))
    with pytest.raises(ShapeError):
        Layout(-N)
    with pytest.raises(DivisibilityError):
        composition(Layout((5 * N + 1, 5), (1, 100 * N)), Layout(10 * N, 5))


RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@given(
    st.sampled_from((1, 3, 4)),
    st.sampled_from((-3, -1, 1, 2, 5)),
    st.integers(-60, 60),
    st.sampled_from(tuple(RELATIONS)),
)
def test_the_way_out_answers_the_question(unit: int, c: int, k: int, relation: str) -> None:
    ask = RELATIONS[relation]
    try:
        ask(c * symbol("X", multiple_of=unit), k)
    except UndecidableError as error:
        for code in error.fix.split(" or "):
            bounded = code.removesuffix(")") + f", multiple_of={unit})"
            try:
                x = eval(bounded, {"symbol": symbol})
            except CuteError:
                pytest.fail(f"{bounded} cannot be made")
            assert ask(c * x, k) in (True, False)


@given(st.integers(2, 40), st.sampled_from((1, 4, 6)))
def test_the_way_out_of_a_remainder(divisor: int, unit: int) -> None:
    x = symbol("X", multiple_of=unit)
    if not isinstance(x % divisor, int):
        with pytest.raises(UndecidableError) as info:
            bool(x % divisor)
        assert info.value.fact.startswith("X % ") or "X//" in info.value.fact
        assert eval(info.value.fix, {"symbol": symbol}) % divisor == 0


def test_choosing_and_sorting() -> None:
    # Either branch does where both values are equal, so 1 <= N is enough to know.
    assert at_most(1, N)
    assert at_most(N, M * N)
    assert not at_most(N + 1, 1)
    assert in_order([(M * N, 1), (1, 2), (M, 3)]) == [(1, 2), (M, 3), (M * N, 1)]
    with pytest.raises(UndecidableError, match="needs N <= 5"):
        at_most(N, 5)
    with pytest.raises(UndecidableError, match="needs N >= 5"):
        at_most(5, N)
    with pytest.raises(UndecidableError):
        in_order([(N, 1), (5, 2)])


def test_every_name_of_the_package_is_documented() -> None:
    for name in symbolic.__all__:
        assert getattr(symbolic, name).__doc__
