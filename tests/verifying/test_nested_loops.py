"""Loops in loops: what is carried from trip to trip is of one loop, and never of another."""

from __future__ import annotations

import dataclasses

import pytest
from nested_loops import judged
from sampling import sampled
from small_kernels import fragment
from unsound_kernels import A, X, Y, kernel, load, store

import pycute_xe as cx
from pycute_xe.kernel import Fill, If, Index, Kernel, Loop, Map, Slot
from pycute_xe.kernel.ir.trips import in_short_trips

W, Z, Q = map(Slot, "wzq")
J = Index("j")


def number(value: int) -> Index:
    return Index(None, value)


def outer_and_inner(multiple: float) -> Kernel:
    """``w`` is what ``z`` was when the outer trip began; the inner loop changes ``z``, and not w.

    Two trips outside: then w is 0 and 3*A, and two of three inner trips add it to q: 6*A.
    """
    trip = (Map("q", Q + Y), Map("y", W + 0), Map("z", Z + X))
    inner = Loop("i", number(0), number(3), trip)
    outer = Loop("j", number(0), number(2), (Map("w", Z + 0), Fill("y"), inner))
    made = kernel(A * multiple, load("A", "x"), store("D", "x"))
    fragments = tuple(fragment(name, "f32", 8) for name in "xyzqw")
    body = (load("A", "x"), *map(Fill, "qzy"), outer, store("D", "q"))
    return dataclasses.replace(made, fragments=fragments, body=body)


@pytest.mark.parametrize(("multiple", "answer"), [(6.0, "proved"), (8.0, "disproved")])
def test_what_the_outer_trip_began_with_is_not_what_the_inner_one_did(
    multiple: float, answer: str
) -> None:
    made = outer_and_inner(multiple)
    verdict = cx.verify(made)
    assert verdict.answer == answer, str(verdict)
    if verdict.counterexample is not None:
        assert cx.replay(made, verdict.counterexample).shows


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
@pytest.mark.parametrize("seed", sampled(range(300), 8))
def test_what_is_said_of_nested_loops_is_so(seed: int, right: bool) -> None:
    word, why = judged(seed, right)
    assert not word.startswith("BAD"), why


def test_loops_of_few_trips_are_written_out_and_others_stay() -> None:
    first = If(J, number(1), (Map("x", X + 1),))
    short = Loop("j", number(1), number(3), (Map("x", X * 2), first))
    long = Loop("k", number(0), Index("M"), (short,))
    again = Loop("l", number(1), number(3), (Map("x", X * 2),))
    many = Loop("i", number(0), number(9), (again,))
    made = kernel(A, load("A", "x"), long, many, store("D", "x"))
    found = in_short_trips(made)
    twice = (Map("x", X * 2), Map("x", X * 2))
    assert found.body == (made.body[0], *(dataclasses.replace(x, body=twice) for x in (long, many)),
                          made.body[-1])  # fmt: skip
