"""What the assumptions leave open is asked for by name, and the way out answers it."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pycute_xe import algebra, symbolic
from pycute_xe.algebra import (
    complement,
    composition,
    downcast,
    filter_zeros,
    functionally_equal,
    is_bijective,
    is_contiguous,
    is_injective,
    is_surjective,
    left_inverse,
    logical_divide,
    make_layout_like,
    nullspace,
    recast_layout,
    right_inverse,
    tile_to_shape,
    upcast,
    zipped_divide,
)
from pycute_xe.errors import CuteError, DivisibilityError, ShapeError, UndecidableError
from pycute_xe.int_tuple import compatible
from pycute_xe.layout import Layout, cosize
from pycute_xe.symbolic import symbol
from pycute_xe.typing import at_most, in_order, same

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
            'symbol("M", multiple_of=16, at_least=32) or symbol("M", multiple_of=16, at_most=16)',
        ),
        (
            lambda: composition(Layout((ROWS, 4), (1, 100)), Layout(32, 4)),
            "composition",
            "rows % 4 == 0",
            'symbol("rows", multiple_of=4, at_least=64, at_most=99)',
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
            "pad == 0",
            'symbol("pad")',
        ),
        (
            lambda: left_inverse(Layout((M, N), (1, 32))),
            "left_inverse",
            "M <= 32",
            'symbol("M", multiple_of=16, at_least=48) or symbol("M", multiple_of=16, at_most=32)',
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
            "coshape",
            "pad - 1 < 0",
            'symbol("pad") or symbol("pad", at_least=0, at_most=0)',
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
    st.sampled_from((None, 0, -70)),
)
def test_the_way_out_answers_the_question(
    unit: int, c: int, k: int, relation: str, least: int | None
) -> None:
    ask = RELATIONS[relation]
    try:
        ask(c * symbol("X", multiple_of=unit, at_least=least), k)
    except UndecidableError as error:
        for code in error.fix.split(" or "):
            try:
                x = eval(code, {"symbol": symbol})
            except CuteError:
                pytest.fail(f"{code} cannot be made")
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
    assert same(3, 3)
    assert not same(N, 0)
    with pytest.raises(UndecidableError, match="needs N == 1"):
        same(1, N)


D = symbol("d", at_least=0)


@pytest.mark.parametrize(
    "call",
    [
        # Whether a stride is 0 or 1, or an extent above a gap 1, changes the function.
        lambda: downcast(Layout(4, N), 4),
        lambda: recast_layout(Layout((M, 8), (1, N)), 16, 8),
        lambda: nullspace(Layout((4, M), (3, P))),
        lambda: algebra.filter(Layout((4, 8), (P, 1))),
        lambda: filter_zeros(Layout((4, 8), (P, 1))),
        lambda: make_layout_like(Layout(4, P)),
        lambda: complement(Layout(N, 4), 6),
        lambda: complement(Layout(4), D),
        lambda: logical_divide(Layout(6), Layout(N, 4)),
        lambda: zipped_divide(Layout(2), Layout(N, 4)),
        lambda: left_inverse(Layout(M, D)),
        lambda: is_injective(Layout(N, 0)),
        lambda: is_surjective(Layout(N, 2)),
        lambda: is_bijective(Layout((4, 4), (1, 4 + P))),
        lambda: is_contiguous(Layout((4, 4), (1, 4 + P))),
        lambda: functionally_equal(Layout((4, 4), (1, 4 + P)), Layout(16)),
        lambda: compatible(4, N),
        lambda: right_inverse(Layout((M, N), (1, 1))),
    ],
)
def test_what_depends_on_the_symbols_is_not_answered(call: Any) -> None:
    with pytest.raises(UndecidableError) as info:
        call()
    assert info.value.fact
    assert info.value.fix


def test_what_does_not_is() -> None:
    assert is_injective(TWO)
    assert is_bijective(TWO)
    assert is_surjective(Layout((M, N)))
    assert is_contiguous(Layout((M, N)))
    assert functionally_equal(Layout((M, N)), Layout(M * N))
    assert is_injective(Layout((M, N), (1, M + P)))
    assert compatible(M * N, (M, N))
    assert str(complement(Layout(N, 4), 8 * N)) == "(4,2):(1,4*N)"


def test_every_name_of_the_package_is_documented() -> None:
    for name in symbolic.__all__:
        assert getattr(symbolic, name).__doc__
