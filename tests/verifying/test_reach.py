"""Integers that 32 bits do not hold, in every place of a kernel that takes one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from compiled_kinds import CASES
from sampling import sampled
from unsound_kernels import A, M, N, kernel, load, store

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel import If, Index, Kernel, Loop, Tiles
from pycute_xe.kernel.ir.reach import too_far

LARGE = [
    sign * ((1 << bits) + more)
    for bits in (31, 32, 33, 62, 63, 64, 65, 100)
    for more in (0, 8)
    for sign in (1, -1)
    if (bits, sign, more) != (31, -1, 0)
]
SMALL = ((1 << 31) - 1 - (1 << 25), (1 << 30), -(1 << 31))
"""Integers that fit: a coordinate goes at most an extent beyond."""

Made = Callable[[int], Kernel]
PLACES: dict[str, Made] = {
    "the row of a store": lambda c: kernel(
        A, load("A", "x"), store("D", "x"), store("D", "x", (M * 8 + c, N * 16))
    ),
    "the column of a load": lambda c: kernel(
        A, load("A", "y", (M * 8, N * 16 + c)), load("A", "x"), store("D", "x")
    ),
    "a factor": lambda c: kernel(
        A, load("A", "x"), store("D", "x"), store("D", "x", (M * c + abs(c), N * 16))
    ),
    "a divisor": lambda c: kernel(
        A, load("A", "x"), store("D", "x", (M * 8 + (M // abs(c)) * 8, N * 16))
    ),
    "inside of a quotient": lambda c: kernel(
        A, load("A", "x"), store("D", "x"), If((M + c) // 7, 0, (store("D", "x"),))
    ),
    "a condition": lambda c: kernel(
        A, load("A", "x"), store("D", "x"), If(M, c, (store("D", "x"),))
    ),
    "the other side of a condition": lambda c: kernel(
        A, load("A", "x"), store("D", "x"), If(M * 0 + c, M, (store("D", "x"),))
    ),
    "the bounds of a loop": lambda c: kernel(
        A,
        load("A", "x"),
        Loop("k", Index(offset=abs(c)), Index(offset=abs(c) + 1), (store("D", "x"),)),
    ),
    "the grid": lambda c: kernel(
        A,
        load("A", "x", (M * 8 - abs(c), N * 16)),
        store("D", "x", (M * 8 - abs(c), N * 16)),
        grid=(("m", Tiles("M", 8) + abs(c)), ("n", Tiles("N", 16))),
    ),
}  # fmt: skip
GIVEN = np.arange(24 * 40, dtype=np.float32).reshape(24, 40)


def outcome(made: Kernel, executor: str) -> object:
    try:
        return np.asarray(cx.run(made, GIVEN, executor=executor)).tobytes()
    except CuteError as error:
        return "inner error" if "inner error" in str(error) else "refused"


@pytest.mark.parametrize("large", sampled(LARGE, 1))
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.whole
def test_an_integer_beyond_32_bits_is_refused_and_runs_as_it_is_written(
    place: str, large: int
) -> None:
    made = PLACES[place](large)
    report = cx.check(made)
    assert not report
    assert "32 bits" in str(report) or "coordinate" in str(report)
    assert outcome(made, "fast") == outcome(made, "reference") != "inner error"
    assert cx.verify(made).answer != "proved"


@pytest.mark.parametrize("small", SMALL)
def test_an_integer_of_32_bits_is_legal(small: int) -> None:
    made = PLACES["the row of a store"](small)
    assert cx.check(made), str(cx.check(made))
    assert outcome(made, "fast") == outcome(made, "reference") != "refused"


def test_a_factor_that_takes_rows_beyond_32_bits_is_refused() -> None:
    """Row 16 * 2**28 is row 0 of the hardware, and overwrites it."""
    report = cx.check(PLACES["a factor"](1 << 28))
    assert not report
    assert "coordinate-max" in str(report)


@pytest.mark.parametrize("name", [*sampled([*CASES], 2)])
@pytest.mark.whole
def test_kernels_of_kinds_reach_no_further(name: str) -> None:
    assert too_far(CASES[name].make()[0]) is None
