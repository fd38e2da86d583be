"""Symbolic integers compute as the integers they stand for."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from sampling import WHOLE

from pycute_xe.basis import E
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CuteError, InputError, ShapeError, UndecidableError
from pycute_xe.layout import Layout
from pycute_xe.swizzle import Swizzle
from pycute_xe.symbolic import SymbolicInt, substitute, symbol, symbols

M = symbol("M", multiple_of=32)
N = symbol("N")
K = symbol("K", multiple_of=6, at_least=4)
LANE = symbol("lane", at_least=0, at_most=15)
AT = symbol("at", at_least=0, at_most=M * N - 1)
LEAVES: list[Any] = [M, N, K, LANE, AT, 1, 2, 3, 5, 16, 32, -7]


@st.composite
def choices(draw: st.DrawFn) -> dict[str, int]:
    """Numbers that meet the assumptions."""
    m, n = 32 * draw(st.integers(1, 9)), draw(st.integers(1, 40))
    return {
        "M": m,
        "N": n,
        "K": 6 * draw(st.integers(1, 9)),
        "lane": draw(st.integers(0, 15)),
        "at": draw(st.integers(0, m * n - 1)),
    }


Term = tuple[Any, str]


def combined(left: Term, sign: str, right: Term) -> Term:
    """Two values and two texts under one operation; a refused or impossible one keeps the left."""
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "//": operator.floordiv,
        "%": operator.mod,
    }
    try:
        return functions[sign](left[0], right[0]), f"({left[1]} {sign} {right[1]})"
    except (CuteError, ZeroDivisionError):
        return left


@st.composite
def terms(draw: st.DrawFn) -> Term:
    """A value and the Python text of how it was computed."""
    leaves = st.sampled_from(LEAVES).map(lambda leaf: (leaf, str(leaf)))
    out = draw(leaves)
    for _ in range(draw(st.integers(1, 4))):
        sign = draw(st.sampled_from(("+", "-", "*", "//", "%")))
        right = draw(leaves)
        if draw(st.booleans()):
            right = combined(right, draw(st.sampled_from(("+", "*", "//", "%"))), draw(leaves))
        out = combined(out, sign, right)
    return out


@settings(max_examples=(4 if WHOLE else 2) * settings().max_examples)
@given(terms(), choices())
def test_substituting_commutes_with_computing(term: Term, chosen: dict[str, int]) -> None:
    value, text = term
    wanted = eval(text, {}, dict(chosen))
    assert substitute(value, chosen) == wanted
    # What is printed is Python, and says the same.
    assert eval(str(value), {}, dict(chosen)) == wanted


@settings(max_examples=(2 if WHOLE else 1) * settings().max_examples)
@given(terms(), terms(), choices())
def test_answers_hold_for_every_choice(one: Term, other: Term, chosen: dict[str, int]) -> None:
    (a, _), (b, _) = one, other
    left, right = substitute(a, chosen), substitute(b, chosen)
    if a == b:
        assert left == right
        assert hash(a) == hash(b)
    for relation in (operator.lt, operator.le, operator.gt, operator.ge):
        try:
            answer = relation(a, b)
        except UndecidableError:
            continue
        assert answer == relation(left, right)
    with suppress(UndecidableError):
        assert bool(a - b) == (left != right)


@given(terms())
def test_values_pickle(term: Term) -> None:
    copied = pickle.loads(pickle.dumps(term[0]))
    assert copied == term[0]
    assert hash(copied) == hash(term[0])
    assert str(copied) == str(term[0])


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (M // 32, "M//32"),
        ((N + 31) // 32, "(N + 31)//32"),
        (-(-N // 32) * 32, "32*((N + 31)//32)"),
        (AT % 16, "at % 16"),
        (AT % M, "at % M"),
        (M * N // 64, "(M*N)//64"),
        (3 * M * N // 32, "3*M*N//32"),
        (1 - (M * N) // 64, "1 - (M*N)//64"),
        (-(M * N // 64), "-((M*N)//64)"),
        (M // 64, "M//64"),
        (300 % M * N + 300 // M, "N*(300 % M) + 300//M"),
        (1 - N, "1 - N"),
        (LANE // 16 + 2 * LANE % 32, "2*lane"),
        (AT // 4 // 8, "at//32"),
        ((AT + 5) // 1, "at + 5"),
        (N * N, "N**2"),
    ],
)
def test_printed(value: Any, printed: str) -> None:
    assert str(value) == printed


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (M % 32, 0),
        (M % 16, 0),
        (M - M, 0),
        (LANE // 16, 0),
        ((M * N) // (M * N), 1),
        ((M + 31) // 32 * 32 - M, 0),
        (AT // (M * N), 0),
        (-M // M, -1),
        (M * N % N, 0),
        ((6 * LANE) // 96, 0),
        ((LANE - 16) // 16, -1),
    ],
)
def test_what_does_not_vary_is_an_integer(value: Any, number: int) -> None:
    assert type(value) is int
    assert value == number


def test_equality_is_for_all_values() -> None:
    assert 16 * (AT // 16) + AT % 16 == AT
    assert M // 32 * 32 == M
    assert M // 64 * 64 != M
    assert N != 5
    assert N != "N"
    assert {M: 1}[symbol("M", multiple_of=32)] == 1
    assert len({M // 2, M - M // 2, M}) == 2


def test_a_name_is_one_symbol() -> None:
    other = symbol("M", multiple_of=64)
    assert other != M
    with pytest.raises(InputError, match="M stands for two different symbols"):
        M + other
    with pytest.raises(InputError, match="M stands for two different symbols"):
        Layout((M, N), (N, other))


def test_large_numbers() -> None:
    unit = 10**30
    large = symbol("L", multiple_of=unit)
    assert substitute(large // 7, L=unit) == unit // 7
    assert substitute((N + 10**20) // 7, N=5) == (5 + 10**20) // 7
    assert substitute(N * 2**80 // 3, N=5) == 5 * 2**80 // 3
    a, b = symbols("A B", multiple_of=2**32)
    assert substitute((a * b + 5) // 2**65, A=2**32, B=3 * 2**32) == 1


def test_powers_and_divmod() -> None:
    assert N**3 == N * N * N
    assert N**0 == 1
    assert divmod(M, 16) == (M // 16, 0)
    for wrong in (lambda: N**-1, lambda: N**N, lambda: 1.5 % N, lambda: divmod(N, 2.5)):
        with pytest.raises(TypeError):
            wrong()


def test_quotients_within_quotients_are_compared() -> None:
    a, b = symbols("a b")
    with pytest.raises(UndecidableError):
        assert (a // b) % 4 >= 1
    assert (20 // N) % 3 <= 2


def test_symbols_makes_several() -> None:
    with pytest.raises(InputError, match="names must be one str"):
        symbols(["M", "N"])
    assert symbols("M, N K", multiple_of=32)[0] == M
    assert [str(s) for s in symbols("M, N K")] == ["M", "N", "K"]


def test_values_cannot_change() -> None:
    with pytest.raises(AttributeError):
        N.expr = 5


def test_sign() -> None:
    assert abs(-N) == N
    assert abs(N) == N
    with pytest.raises(UndecidableError, match=r"symbol\(\"d\", at_least=0\)"):
        abs(symbol("d", at_least=-3))


def test_division_needs_a_divisor_that_is_not_zero() -> None:
    assert M // -1 == -M
    assert (-M) // -N == M // N
    with pytest.raises(ShapeError, match="b is 0"):
        M // 0
    with pytest.raises(UndecidableError, match="needs N - 1 >= 1"):
        M // (N - 1)
    with pytest.raises(UndecidableError):
        5 % symbol("d", at_least=-1)


@pytest.mark.parametrize("other", ["4", 2.5, None, (1,)])
def test_only_integers_take_part(other: Any) -> None:
    for function in (operator.add, operator.mul, operator.sub, operator.floordiv, operator.lt):
        for pair in ((N, other), (other, N)):
            # Python repeats a tuple or a text an unknown number of times: no.
            with pytest.raises((TypeError, UndecidableError)):
                function(*pair)


@pytest.mark.parametrize(
    "use", [range, lambda n: [0][n], lambda n: n & 3, lambda n: 3 ^ n, lambda n: int(n)]
)
def test_a_symbol_is_no_number(use: Callable[[Any], Any]) -> None:
    with pytest.raises(UndecidableError, match="a number is needed here"):
        use(N)


@pytest.mark.parametrize(
    ("assumptions", "condition"),
    [
        ({"name": "2M"}, "a name must be letters"),
        ({"name": "µ"}, "a name must be letters"),
        ({"name": "M", "multiple_of": 0}, "multiple_of must be 1 or more"),
        ({"name": "M", "multiple_of": N}, "multiple_of must be 1 or more"),
        ({"name": "M", "at_least": N}, "at_least must be an integer"),
        ({"name": "M", "at_least": 5, "at_most": 4}, "no value meets all assumptions"),
        ({"name": "M", "at_most": 31, "multiple_of": 32}, "no value meets all assumptions"),
        ({"name": "lambda"}, "not a keyword"),
        ({"name": 3}, "a name must be letters"),
        (
            {"name": "P", "at_least": 10, "at_most": symbol("Q", at_most=3)},
            "no value meets all assumptions",
        ),
        ({"name": "M", "at_most": "N"}, "at_most must be an integer or a symbolic value"),
    ],
)
def test_assumptions_that_cannot_be(assumptions: dict[str, Any], condition: str) -> None:
    with pytest.raises(InputError, match=condition):
        symbol(**assumptions)


@pytest.mark.parametrize(
    "given", [{"M": 33}, {"M": 0}, {"lane": 16}, {"M": 32, "N": 2, "at": 64}, {"lane": -1}]
)
def test_substituting_against_the_assumptions(given: dict[str, int]) -> None:
    with pytest.raises(InputError, match="substitute"):
        substitute(M + N + LANE + AT, given)


def test_substituting_by_name() -> None:
    sizes = {"M": 64, "N": 3, "elsewhere": 1}
    assert substitute((M, (N, 5)), sizes) == (64, (3, 5))
    swizzled = ComposedLayout(Swizzle(2, 3, 3), 0, Layout((M, 8)))
    assert str(substitute(swizzled, M=32)) == "Sw<2,3,3> o 0 o (32,8):(1,32)"
    assert substitute(Layout((M, N), (E(0), M * E(1))), sizes) == Layout((64, 3), (E(0), 64 * E(1)))
    for value, numbers, more in (
        (M, None, {"Q": 3}),
        (M, 3, {}),
        (M, {M: 64}, {}),
        ([M], {"M": 64}, {}),
        (swizzled, None, {"N": 1}),
    ):
        with pytest.raises(InputError, match="substitute"):
            substitute(value, numbers, **more)


def test_substituting_symbols() -> None:
    assert substitute(M * N, N=4) == 4 * M
    assert isinstance(substitute(N + 1, N=K), SymbolicInt)
    assert substitute(N // 4, N=symbol("P", multiple_of=8)) == symbol("P", multiple_of=8) // 4
    with pytest.raises(InputError, match="substitute"):
        substitute(M, M=N)
