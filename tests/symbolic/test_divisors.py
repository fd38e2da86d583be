"""What is known, or assumed, of the divisors of integers."""

from __future__ import annotations

import pytest

import pycute_xe as cx
from pycute_xe.errors import CuteError


def test_divisors_that_are_assumed() -> None:
    rows, columns = cx.symbol("M"), cx.symbol("N", multiple_of=16)
    assert cx.get_divisibility(cx.assume(rows, divby=32)) == 32
    assert cx.assume(columns, divby=24) % 48 == 0
    assert cx.get_divisibility(columns * rows + 32) == 16
    assert cx.assume(4 * columns, divby=64) == 4 * columns
    for call in (
        lambda: cx.assume(rows + 1, divby=2),
        lambda: cx.assume(12, divby=5),
        lambda: cx.assume(rows, pow2=True),
        lambda: cx.assume(12, divby=4, pow2=True),
        lambda: cx.assume(8, divby=0),
        lambda: cx.get_divisibility("M"),
    ):
        with pytest.raises(CuteError):
            call()
