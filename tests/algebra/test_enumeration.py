"""A sample of the enumeration that docs/enumeration.md reports: right or refused, never wrong."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import pytest
from enumeration import count, indivisible, judge, sampled_pairs, small_layouts, unordered
from every import every
from libraries import Library, ours
from postconditions import POSTCONDITIONS, Flat
from sampling import WHOLE

import pycute_xe as cx

PAIRS = 3000 if WHOLE else 1200
Counts: TypeAlias = dict[tuple[str, str], Any]


@cache
def counted() -> Counts:
    return count([ours()], list(sampled_pairs(small_layouts(), PAIRS)))


@pytest.mark.long
def test_small_layouts_are_right_or_refused() -> None:
    counts = counted()
    for verdicts in counts.values():
        assert verdicts["wrong"] == 0
        assert verdicts["right"] >= PAIRS // 5


def test_the_sample_is_even() -> None:
    layouts = small_layouts()
    pairs = list(sampled_pairs(layouts, 20_000))
    assert len(set(pairs)) == len(pairs)
    assert len({a for a, _ in pairs}) == len(layouts)
    assert len({b for _, b in pairs}) > 0.9 * len(layouts)


@every("operation", POSTCONDITIONS)
def test_wrong_answers_are_seen(operation: str) -> None:
    wrong = Library("wrong", cx.Layout, {operation: lambda *_: cx.Layout((2, 2), (5, 5))}, cx.table)
    a, b = ((4, 6), (1, 4)), ((2, 3), (1, 4))
    assert judge(wrong, operation, a, b) == "wrong"
    assert Flat(*a).size == 24


def test_what_cute_does_not_compile() -> None:
    # As the compiler says of CUTLASS 4.2.0.
    assert unordered(((2, 2), (2, 3)))
    assert not unordered(((2, 2), (1, 3)))
    assert not unordered(((2, 6), (0, 3)))
    assert indivisible(((2, 2), (2, 5)))
    assert not indivisible(((3, 4), (1, 6)))
    assert not indivisible(((2, 4), (3, 6)))


@pytest.mark.long
def test_what_cute_complements_is_not_refused() -> None:
    counts = counted()
    refused = counts["pycute_xe", "complement"]
    # But for the few whose holes put the cotarget out of reach, which C++ does not check.
    assert refused["refused"] - refused["refused by C++ too"] < PAIRS // 100
